// SPDX-License-Identifier: GPL-2.0-or-later
/* The collector's first thread: whatever happens, one thing at a time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/ring/clock.h"

#define LOOK_NS 1000000000ull	/* at threads, metadata */
#define TICK_MS 250

int tracer_watch(struct tracer_session *s, int fd, struct tracer_source *src)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = src };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

void tracer_server_hear(struct tracer_session *s, int yes)
{
	struct epoll_event e = { .events = yes ? EPOLLIN : 0,
				 .data.ptr = &s->on_connect };

	if (s->deaf != yes || s->listener < 0)
		return;
	s->deaf = !yes;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener, &e);
}

static void on_connect(struct tracer_session *s, struct tracer_source *src,
		       uint32_t events)
{
	tracer_connection_accept(s);
}

/* Jobs that the drain has done. */
static void on_done(struct tracer_session *s, struct tracer_source *src,
		    uint32_t events)
{
	struct tracer_job *job, *next;
	uint64_t n;

	if (read(s->done_fd, &n, sizeof(n)) < 0)
		return;
	pthread_mutex_lock(&s->lock);
	job = s->done;
	s->done = NULL;
	pthread_mutex_unlock(&s->lock);
	for (; job; job = next) {
		next = job->next;
		if (job == s->finish)
			s->finished = 1;
		else
			tracer_control_done(s, job);
	}
}

/* Through /proc: the folder's own path may be too long for a socket's. */
static void socket_address(struct tracer_session *s, struct sockaddr_un *a)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	snprintf(a->sun_path, sizeof(a->sun_path), "/proc/self/fd/%d/%s.sock",
		 s->slot.reg.dirfd, s->slot.name);
}

int tracer_server_listen(struct tracer_session *s)
{
	struct sockaddr_un a;
	char file[80];
	int err;

	s->on_connect.ready = on_connect;
	s->on_done.ready = on_done;
	snprintf(file, sizeof(file), "%s.sock", s->slot.name);
	socket_address(s, &a);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
				      SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return -errno;
	/* What a dead collector of this name left; the slot is ours. */
	unlinkat(s->slot.reg.dirfd, file, 0);
	/* The file's mode is the socket's, but for the umask. */
	if (fchmod(s->listener, 0600) ||
	    bind(s->listener, (struct sockaddr *)&a, sizeof(a)))
		return -errno;
	if (fchmodat(s->slot.reg.dirfd, file, 0600, 0) ||
	    listen(s->listener, SOMAXCONN))
		return -errno;
	err = tracer_watch(s, s->listener, &s->on_connect);
	return err ? err : tracer_watch(s, s->done_fd, &s->on_done);
}

void tracer_server_close(struct tracer_session *s)
{
	char file[80];

	if (s->listener < 0)
		return;
	snprintf(file, sizeof(file), "%s.sock", s->slot.name);
	unlinkat(s->slot.reg.dirfd, file, 0);
	close(s->listener);
	s->listener = -1;
}

/* What nobody tells us about. */
static void look_around(struct tracer_session *s)
{
	uint64_t now = moca_now_ns();

	tracer_connection_expire(s, 0);
	if (now - s->looked_ns < LOOK_NS)
		return;
	s->looked_ns = now;
	tracer_process_poll(s);
	tracer_describe_now(s);
}

void tracer_server_run(struct tracer_session *s)
{
	struct tracer_source *src;
	struct epoll_event e;
	int n;

	s->looked_ns = moca_now_ns();
	while (!s->finished) {
		/* One at a time: handling it may free what others are of. */
		n = epoll_wait(s->epoll, &e, 1, TICK_MS);
		if (n > 0) {
			src = e.data.ptr;
			src->ready(s, src, e.events);
		} else {
			tracer_server_hear(s, 1);
		}
		look_around(s);
	}
}
