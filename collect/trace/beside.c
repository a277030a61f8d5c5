// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/beside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/trace/shm.h"
#include "collect/trace/slot.h"
#include "lib/base/clock.h"
#include "lib/base/companion.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"
#include "lib/ring/layout.h"
#include "lib/ring/meter.h"

#define DOORBELL_SIZE 4096u

struct moca_trace_session {
	pid_t pid;
	int control;
	char id[17];
	char *dir;
	char *doorbell;		/* mapped, or NULL */
	int doorbell_fd;	/* -1: none */
	int stopped;		/* it was told to end */
};

/* The session's number, and with it the descriptor of the doorbell page. */
static void send_ready(int control, const char *id, int fd)
{
	char space[CMSG_SPACE(sizeof(fd))] = "";
	struct iovec part = { (void *)id, strlen(id) + 1 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
			    .msg_control = space,
			    .msg_controllen = sizeof(space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(control, &m, MSG_NOSIGNAL);
}

/* The same on the other side: the length of the number, or what recvmsg says. */
static ssize_t receive_ready(struct moca_trace_session *s, char *id,
			     size_t size)
{
	char space[CMSG_SPACE(sizeof(int))];
	struct iovec part = { id, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
			    .msg_control = space,
			    .msg_controllen = sizeof(space) };
	ssize_t n = recvmsg(s->control, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	void *page;
	int fd;

	if (!c || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return n;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	s->doorbell_fd = fd;
	page = mmap(NULL, DOORBELL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (page != MAP_FAILED)
		s->doorbell = page;
	return n;
}

struct moca_meter *moca_trace_session_meter(struct moca_trace_session *s)
{
	void *at = s->doorbell ? s->doorbell + MOCA_METER_OFFSET : NULL;

	return at;
}

int moca_trace_session_page(const struct moca_trace_session *s)
{
	return s->doorbell_fd;
}

uint64_t moca_trace_session_cpu_ns(const struct moca_trace_session *s)
{
	return moca_process_cpu_ns(s->pid);
}

pid_t moca_trace_session_pid(const struct moca_trace_session *s)
{
	return s->pid;
}

/* The collector has ended; its exit was taken. */
static void free_session(struct moca_trace_session *s)
{
	close(s->control);
	if (s->doorbell)
		munmap(s->doorbell, DOORBELL_SIZE);
	if (s->doorbell_fd >= 0)
		close(s->doorbell_fd);
	free(s->dir);
	free(s);
}

static int beside_main(const char *dir, uint64_t session, int control,
		       struct moca_quota *quota)
{
	const struct tracer_options opt = {
		.name = "", .dir = dir, .filter = "", .mask = UINT32_MAX,
		.mode = MOCA_RING_BLOCK, .timeout_ms = 100,
		.subbuf_size = TRACER_SUBBUF_BESIDE,
		.subbufs = TRACER_SUBBUFS_BESIDE, .is_private = 1,
		.session = session, .beside = 1, .quiet = 1, .quota = quota,
	};
	struct tracer_result result;
	struct tracer_session *s;
	const char *id;
	int status;

	if (tracer_session_open(&s, &opt) || tracer_session_begin(s))
		return 1;
	tracer_session_set_control(s, control);
	id = tracer_session_id(s);
	send_ready(control, id, tracer_session_doorbell(s));
	tracer_session_run(s, &status);
	tracer_session_close(s, &result);
	send(control, &result, sizeof(result), MSG_NOSIGNAL);
	return 0;
}

int moca_trace_session_start(struct moca_trace_session **out, const char *dir,
			     struct moca_quota *quota)
{
	struct moca_trace_session *s = calloc(1, sizeof(*s));
	uint64_t session = tracer_random_session();
	int err;

	if (!s)
		return -ENOMEM;
	s->doorbell_fd = -1;
	snprintf(s->id, sizeof(s->id), "%016" PRIx64, session);
	s->dir = strdup(dir);
	if (!s->dir) {
		err = -ENOMEM;
		goto err_free;
	}
	s->pid = companion_fork("moca-trace", &s->control);
	if (s->pid < 0) {
		err = s->pid;
		goto err_free;
	}
	if (!s->pid)
		_exit(beside_main(dir, session, s->control, quota));
	*out = s;
	return 0;
err_free:
	free(s->dir);
	free(s);
	return err;
}

int moca_trace_session_ready(struct moca_trace_session *s)
{
	char id[sizeof(s->id)];
	ssize_t n;

	do
		n = receive_ready(s, id, sizeof(id));
	while (n < 0 && errno == EINTR);
	if (n == sizeof(id))
		return 0;
	/* It has said why. */
	waitpid(s->pid, NULL, 0);
	free_session(s);
	return -ECANCELED;
}

const char *moca_trace_session_id(const struct moca_trace_session *s)
{
	return s->id;
}

/*
 * The collector was killed. What it left is for recover, or else there are no
 * buffers.
 */
static int clean_up(const struct moca_trace_session *s)
{
	uint64_t session = strtoull(s->id, NULL, 16);
	struct tracer_registry reg;
	struct tracer_shm shm;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", s->dir, MOCA_META_SESSION);
	if (!access(path, F_OK))
		return -EOWNERDEAD;
	if (!tracer_registry_open(&reg)) {
		tracer_registry_reclaim(&reg, session);
		tracer_registry_close(&reg);
	}
	tracer_shm_path(path, sizeof(path), session);
	if (!tracer_shm_open(&shm, path))
		tracer_shm_remove(&shm);
	return -EPIPE;
}

void moca_trace_session_stop(struct moca_trace_session *s)
{
	/* A second word would be left unread, and reset the connection. */
	if (s->stopped)
		return;
	s->stopped = 1;
	send(s->control, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int moca_trace_session_finish(struct moca_trace_session *s,
			      struct tracer_result *result)
{
	int err, status = 0;
	ssize_t n;

	memset(result, 0, sizeof(*result));
	moca_trace_session_stop(s);
	/* Its first word is there still when the recording failed before it. */
	do
		n = recv(s->control, result, sizeof(*result), 0);
	while ((n < 0 && errno == EINTR) || n == sizeof(s->id));
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n == sizeof(*result))
		err = result->error;
	else
		/* One that did not begin has said why. */
		err = WIFEXITED(status) && WEXITSTATUS(status) ? -ECANCELED :
								 clean_up(s);
	free_session(s);
	return err;
}
