// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/trace/guard.h"
#include "collect/trace/shm.h"
#include "collect/trace/slot.h"
#include "lib/base/err.h"
#include "lib/ring/protocol.h"

#define PATIENCE_S 120	/* a snapshot to a slow disk takes its time */

static int connect_to(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = PATIENCE_S };
	char dir[PATH_MAX];
	int dirfd, fd, err;

	err = moca_registry_dir(dir, sizeof(dir));
	if (err)
		return err;
	dirfd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd < 0)
		return -errno;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		snprintf(a.sun_path, sizeof(a.sun_path),
			 "/proc/self/fd/%d/%s.sock", dirfd, name);
	}
	err = fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) ?
		      -errno : 0;
	close(dirfd);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* Is the other end of the connection one of us? */
static int check_server(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	return cred.uid == geteuid() ? 0 : -EPERM;
}

static int send_request(int fd, const char *const *args, size_t count)
{
	char buf[MOCA_MSG_MAX];
	struct moca_msg m = { .magic = MOCA_MSG_MAGIC,
			      .version = MOCA_MSG_VERSION,
			      .type = MOCA_MSG_CONTROL };
	size_t len = sizeof(m), n, i;

	for (i = 0; i < count; i++) {
		n = strlen(args[i]) + 1;
		if (n > sizeof(buf) - len)
			return -E2BIG;
		memcpy(buf + len, args[i], n);
		len += n;
	}
	m.len = (uint32_t)(len - sizeof(m));
	memcpy(buf, &m, sizeof(m));
	return send(fd, buf, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -errno;
}

static int receive(int fd, char **text)
{
	char *buf = malloc(MOCA_REPLY_MAX + 1);
	struct moca_reply r;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	do
		n = recv(fd, buf, MOCA_REPLY_MAX, 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(r)) {
		free(buf);
		return n < 0 ? (errno == EAGAIN ? -ETIMEDOUT : -errno) :
			       -ECONNRESET;
	}
	memcpy(&r, buf, sizeof(r));
	memmove(buf, buf + sizeof(r), (size_t)n - sizeof(r));
	buf[(size_t)n - sizeof(r)] = 0;
	*text = buf;
	return r.error;
}

int tracer_client_ask(const char *name, const char *const *args, size_t count,
		      char **text)
{
	int fd, err;

	*text = NULL;
	if (!tracer_name_is_valid(name))
		return -ENOENT;
	fd = connect_to(name);
	if (fd < 0)
		return fd;
	err = check_server(fd);
	if (!err)
		err = send_request(fd, args, count);
	if (!err)
		err = receive(fd, text);
	close(fd);
	return err;
}

/* Call for each slot that is taken. 0 or -errno, said. */
static int each_slot(void (*call)(const struct tracer_registry *r,
				  unsigned int i,
				  const struct moca_registry_slot *s,
				  void *arg),
		     void *arg)
{
	struct moca_registry_slot s;
	struct tracer_registry r;
	unsigned int i;
	int err = tracer_guard_install();

	if (!err)
		err = tracer_registry_open(&r);
	if (err)
		return err;
	for (i = 0; i < MOCA_REGISTRY_SLOTS; i++)
		if (!tracer_registry_read(&r, i, &s) &&
		    s.state != MOCA_SLOT_FREE)
			call(&r, i, &s, arg);
	tracer_registry_close(&r);
	return 0;
}

struct names {
	char text[2048];
	size_t len;
};

static void add_name(const struct tracer_registry *r, unsigned int i,
		     const struct moca_registry_slot *s, void *arg)
{
	struct names *n = arg;

	if (!tracer_name_is_valid(s->name))
		return;
	n->len += (size_t)snprintf(n->text + n->len, sizeof(n->text) - n->len,
				   "%s%s%s", n->len ? ", " : "", s->name,
				   tracer_registry_is_held(r, i) ? "" :
								   " (dead)");
}

struct dead {
	const char *name;
	char dir[PATH_MAX];
	uint64_t session;
};

static void find_dead(const struct tracer_registry *r, unsigned int i,
		      const struct moca_registry_slot *s, void *arg)
{
	struct dead *d = arg;

	if (strcmp(s->name, d->name) || tracer_registry_is_held(r, i))
		return;
	d->session = s->session;
	tracer_shm_noted_directory(s->session, d->dir, sizeof(d->dir));
}

int tracer_client_bury(const char *name)
{
	struct dead dead = { .name = name };
	struct tracer_registry r;
	int err;

	if (each_slot(find_dead, &dead) || !dead.session ||
	    (dead.dir[0] && !tracer_shm_is_orphan(dead.dir)))
		return 0;
	err = tracer_registry_open(&r);
	if (err)
		return 0;
	err = tracer_shm_drop(dead.session);
	if (!err || err == -ENOENT)
		err = tracer_registry_reclaim(&r, dead.session);
	tracer_registry_close(&r);
	if (err)
		return 0;
	if (dead.dir[0])
		moca_say("%s: its collector was dead and %s is gone: what was "
			 "in its buffers is dropped", name, dead.dir);
	else
		moca_say("%s: its collector was dead and its buffers are gone; "
			 "moca trace recover DIR completes its directory",
			 name);
	return 1;
}

void tracer_client_explain(const char *name, const char *tried, int err)
{
	struct names names = { .len = 0 };
	struct dead dead = { .name = name };

	if (err == -EPERM) {
		moca_error("cannot %s trace %s: who listens at its socket is "
			   "another user", tried, name);
		return;
	}
	if (err != -ENOENT && err != -ECONNREFUSED) {
		moca_error("cannot %s trace %s: its collector does not answer: "
			   "%s", tried, name, strerror(-err));
		return;
	}
	if (each_slot(find_dead, &dead))
		return;
	if (dead.session && dead.dir[0]) {
		moca_error("cannot %s trace %s: its collector is dead; what "
			   "programs wrote since is still in memory, get it "
			   "with: moca trace recover %s", tried, name,
			   dead.dir);
		return;
	}
	if (dead.session) {
		moca_error("cannot %s trace %s: its collector is dead, and its "
			   "buffers are gone; moca trace recover DIR completes "
			   "its directory", tried, name);
		return;
	}
	each_slot(add_name, &names);
	moca_error("cannot %s trace %s: there is no trace of this name; there "
		   "%s", tried, name, names.len ? "are:" : "is none. Begin one "
		   "with: moca trace start NAME");
	if (names.len)
		fprintf(stderr, "  %s\n", names.text);
}

struct listing {
	int json;
	int count;
};

static void print_dead(const struct listing *l,
		       const struct moca_registry_slot *s)
{
	char dir[PATH_MAX];

	tracer_shm_noted_directory(s->session, dir, sizeof(dir));
	if (!l->json && tracer_shm_is_orphan(dir)) {
		printf("%s: dead, its collector (process %u) was killed\n"
		       "  %s is gone: end it with moca trace destroy %s\n",
		       s->name, s->owner, dir, s->name);
		return;
	}
	if (!l->json) {
		printf("%s: dead, its collector (process %u) was killed\n",
		       s->name, s->owner);
		printf("  %s%s\n", dir[0] ? "get what is left with: moca trace "
					    "recover " : "nothing is left",
		       dir);
		return;
	}
	printf("{\"name\": \"%s\", \"state\": \"dead\", \"session\": "
	       "\"%016llx\", \"pid\": %u, \"directory\": ", s->name,
	       (unsigned long long)s->session, s->owner);
	tracer_json_string(stdout, dir);
	printf("}");
}

static void print_one(const struct tracer_registry *r, unsigned int i,
		      const struct moca_registry_slot *s, void *arg)
{
	const char *args[] = { "status", "json" };
	struct listing *l = arg;
	char *text;
	int err;

	if (!tracer_name_is_valid(s->name))
		return;
	err = tracer_client_ask(s->name, args, l->json ? 2 : 1, &text);
	/* Between our looks it may have ended. */
	if (err && tracer_registry_is_held(r, i))
		goto out;
	if (l->json && l->count)
		printf(",\n ");
	l->count++;
	if (err)
		print_dead(l, s);
	else
		fputs(text, stdout);
out:
	free(text);
}

int tracer_client_status_all(int json)
{
	struct listing l = { .json = json };
	int err;

	if (json)
		putchar('[');
	err = each_slot(print_one, &l);
	if (json)
		puts("]");
	else if (!l.count && !err)
		puts("no trace; begin one with: moca trace start NAME");
	return err;
}
