// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One connection: one request, one reply. Nothing here waits for a client; one
 * that says nothing is cut off after a while, sooner when others wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/ring/clock.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define DEADLINE_NS 2000000000ull
#define CONNECTIONS_MAX 128
#define UNHURRIED_NS 200000000ull /* who waits to ask may take so long */
#define LAST_MAX 8192u		/* more than the kernel lets wait */
#define FDS_MAX 2

struct tracer_connection {
	struct tracer_source source;	/* first */
	struct tracer_connection *next;	/* newest first */
	int fd;
	uint64_t begun_ns;
	const struct tracer_job *job;	/* whose end is awaited */
};

static void close_connection(struct tracer_session *s,
			     struct tracer_connection *c)
{
	struct tracer_connection **p;

	for (p = &s->connections; *p != c; p = &(*p)->next)
		;
	*p = c->next;
	s->connection_count--;
	close(c->fd);
	free(c);
	tracer_server_hear(s, 1);
}

static void reply(struct tracer_session *s, struct tracer_connection *c,
		  int error, uint32_t value, const struct iovec *more,
		  const int *fds, int n)
{
	union {
		char buf[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct moca_reply r = { .magic = MOCA_MSG_MAGIC, .error = error,
				.value = value,
				.len = (uint32_t)more->iov_len };
	struct iovec iov[2] = { { &r, sizeof(r) }, *more };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *h;

	if (n) {
		memset(&control, 0, sizeof(control));
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	}
	/* First: who then waits for another answer sees that there was one. */
	if (s->shm.doorbell)
		__atomic_fetch_add(&s->shm.doorbell->served, 1,
				   __ATOMIC_RELAXED);
	/* A client that is gone or full has itself to blame. */
	sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	close_connection(s, c);
}

void tracer_connection_reply(struct tracer_session *s,
			     struct tracer_connection *c, int error,
			     uint32_t value, const char *text, const int *fds,
			     int n)
{
	struct iovec more = { (void *)text, 0 };

	if (text)
		more.iov_len = strnlen(text, MOCA_REPLY_MAX -
						     sizeof(struct moca_reply));
	reply(s, c, error, value, &more, fds, n);
}

void tracer_connection_reply_ids(struct tracer_session *s,
				 struct tracer_connection *c,
				 const uint32_t *ids, unsigned int n)
{
	struct iovec more = { (void *)ids, n > 1 ? n * sizeof(*ids) : 0 };

	reply(s, c, 0, ids[0], &more, NULL, 0);
}

void tracer_connection_await(struct tracer_session *s,
			     struct tracer_connection *c,
			     const struct tracer_job *job)
{
	struct epoll_event e = { .events = 0, .data.ptr = &c->source };

	/* Only its hanging up is of interest now. */
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e);
	c->job = job;
}

struct tracer_connection *tracer_connection_of(struct tracer_session *s,
					       const struct tracer_job *job)
{
	struct tracer_connection *c = s->connections;

	while (c && c->job != job)
		c = c->next;
	return c;
}

struct peer {
	pid_t pid;		/* 0: not of our pid namespace */
	uid_t uid;
};

static void get_peer(int fd, struct peer *peer)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	peer->pid = 0;
	peer->uid = (uid_t)-1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return;
	peer->pid = cred.pid;
	peer->uid = cred.uid;
}

int tracer_peer_pidfd(struct tracer_connection *c, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	/* Since 6.5; surely of who connected, not of a later namesake. */
	if (!getsockopt(c->fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		return fd;
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static void dispatch(struct tracer_session *s, struct tracer_connection *c,
		     const struct moca_msg *m, size_t size)
{
	const char *payload = (const char *)(m + 1);
	struct peer peer;
	size_t len = size - sizeof(*m);

	get_peer(c->fd, &peer);
	if (peer.uid != geteuid()) {
		tracer_connection_reply(s, c, -EPERM, 0, NULL, NULL, 0);
		return;
	}
	if (m->magic != MOCA_MSG_MAGIC || m->version != MOCA_MSG_VERSION ||
	    m->len != len) {
		tracer_connection_reply(s, c, -EPROTO, 0, NULL, NULL, 0);
		return;
	}
	if (m->type != MOCA_MSG_CONTROL && m->session != s->slot.session) {
		tracer_connection_reply(s, c, -ESTALE, 0, NULL, NULL, 0);
		return;
	}
	switch (m->type) {
	case MOCA_MSG_JOIN:
		tracer_request_join(s, c, peer.pid, payload, len);
		break;
	case MOCA_MSG_EVENT:
		tracer_request_event(s, c, payload, len);
		break;
	case MOCA_MSG_LOST:
		tracer_request_lost(s, c, payload, len);
		break;
	case MOCA_MSG_CONTROL:
		tracer_request_control(s, c, payload, len);
		break;
	default:
		tracer_connection_reply(s, c, -ENOSYS, 0, NULL, NULL, 0);
	}
}

static void on_request(struct tracer_session *s, struct tracer_source *src,
		       uint32_t events)
{
	struct tracer_connection *c = (struct tracer_connection *)src;
	/* 8 bytes more: one that is too long shows. */
	uint64_t buf[MOCA_MSG_MAX / 8 + 1];
	ssize_t n;

	if (c->job) {
		close_connection(s, c);
		return;
	}
	n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < (ssize_t)sizeof(struct moca_msg) || n > MOCA_MSG_MAX)
		close_connection(s, c);
	else
		dispatch(s, c, (struct moca_msg *)buf, (size_t)n);
}

/*
 * Room for one more. The oldest that has asked nothing yet is heard, or goes if
 * it has been silent for long. 0: there is none before one of them asks.
 */
static int make_room(struct tracer_session *s)
{
	unsigned int count = s->connection_count;
	struct tracer_connection *c, *oldest = NULL;

	for (c = s->connections; c; c = c->next)
		if (!c->job)
			oldest = c;
	if (!oldest)
		return 0;
	on_request(s, &oldest->source, EPOLLIN);
	if (s->connection_count < count)
		return 1;
	if (moca_now_ns() - oldest->begun_ns < UNHURRIED_NS)
		return 0;
	close_connection(s, oldest);
	return 1;
}

/* NULL: nobody waits; there is no memory; or -errno in *err. */
static struct tracer_connection *take(struct tracer_session *s, int *err)
{
	struct tracer_connection *c;
	int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	*err = fd < 0 ? -errno : 0;
	if (fd < 0)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return NULL;
	}
	c->source.ready = on_request;
	c->fd = fd;
	c->begun_ns = moca_now_ns();
	c->next = s->connections;
	s->connections = c;
	s->connection_count++;
	return c;
}

void tracer_connection_accept(struct tracer_session *s)
{
	struct tracer_connection *c;
	int err;

	if (s->connection_count >= CONNECTIONS_MAX && !make_room(s)) {
		tracer_server_hear(s, 0);
		return;
	}
	c = take(s, &err);
	if (c && tracer_watch(s, c->fd, &c->source))
		close_connection(s, c);
	/* Out of descriptors: those of idle clients will do. */
	if ((err == -EMFILE || err == -ENFILE) && !make_room(s))
		tracer_server_hear(s, 0);
}

void tracer_connection_hear_last(struct tracer_session *s)
{
	struct tracer_connection *c, *next;
	unsigned int heard = 0;
	int err;

	for (c = s->connections; c; c = next) {
		next = c->next;
		if (!c->job)
			on_request(s, &c->source, EPOLLIN);
	}
	/* Not for ever: others may come while we listen. */
	while (heard++ < LAST_MAX && (c = take(s, &err))) {
		on_request(s, &c->source, EPOLLIN);
		if (s->connections == c && !c->job)
			close_connection(s, c);
	}
}

void tracer_connection_expire(struct tracer_session *s, int all)
{
	struct tracer_connection *c, *next;
	uint64_t now = moca_now_ns();

	for (c = s->connections; c; c = next) {
		next = c->next;
		if (all || (!c->job && now - c->begun_ns > DEADLINE_NS))
			close_connection(s, c);
	}
}
