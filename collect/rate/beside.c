// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sampler beside a recording: a process of its own, so that neither can stop
 * or break the other. One socket: to it the program's pid, then a byte at the
 * end; from it the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/rate/rate.h"
#include "collect/rate/stat.h"
#include "lib/base/clock.h"
#include "lib/base/companion.h"
#include "lib/ring/clock.h"

/* At threads, in a second: what keeps it below half a percent of a CPU. */
#define LOOKS 300u

struct rate_beside {
	pid_t pid;
	int fd;			/* pidfd of it, so that no other is killed */
	int control;
	int stopped;		/* it was told to end */
};

/* To the sampler: what to begin with. */
struct begin {
	pid_t pid;
	int is_child;
};

static void raise_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim))
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
}

static void name_and_parent(pid_t pid, char *name, pid_t *parent)
{
	struct rate_stat st;
	int fd = rate_open(pid, 0, "stat");

	strcpy(name, "?");
	*parent = 0;
	if (fd < 0)
		return;
	if (!rate_stat_read(&st, fd)) {
		strcpy(name, st.name);
		*parent = st.ppid;
	}
	close(fd);
}

/* Rounds until the program has ended, or the recording has. */
static int rounds(struct rate_sampler *s)
{
	struct pollfd p = { s->control, POLLIN, 0 };
	int n, err = rate_sampler_run(s);

	/* When the recorder has waited for the program, it knows all of it. */
	while (!err && poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	if (err)
		return err;
	n = s->source->round(s->state, moca_now_ns());
	return n < 0 ? n : 0;
}

static int sample(struct rate_sampler *s, struct moca_rate_writer *w,
		  const struct begin *b)
{
	struct rate_options opt = {
		.children = 1, .threads = 1,
		.thread_limit = (unsigned int)(LOOKS * s->period_ns /
					       1000000000u) + 1,
	};
	const struct rate_sink sink = rate_sink_writer(w);
	char name[STAT_NAME];
	pid_t parent;
	uint64_t now = moca_now_ns();
	int err = s->source->open(&s->state, &opt, &sink);

	if (err == -EOPNOTSUPP) {
		opt.threads = 0;
		err = s->source->open(&s->state, &opt, &sink);
	}
	if (err)
		return err;
	/* The stream is told of the program's first thread. */
	name_and_parent(b->pid, name, &parent);
	err = moca_rate_writer_start(w, (uint32_t)b->pid, name, now);
	moca_rate_settings(w, now, s->period_ns, s->source->name);
	if (!err && b->is_child && parent)
		/* Without, what it does last is lost. */
		s->source->watch(s->state, parent, b->pid);
	if (!err)
		err = s->source->add(s->state, b->pid);
	/* Gone already: nothing is to be sampled, and nothing is wrong. */
	if (!err)
		err = rounds(s);
	else if (err == -ESRCH)
		err = 0;
	s->source->close(s->state);
	return err ?: moca_rate_writer_end(w, moca_now_ns());
}

static int beside_main(int dirfd, uint64_t period_ns, int control)
{
	struct rate_beside_result r = { 0 };
	struct rate_sampler s = { .source = &rate_source_proc,
				  .period_ns = period_ns, .control = control };
	struct moca_rate_writer *w;
	struct begin begin;
	char byte;
	int err;

	raise_limit();
	err = (int)recv(control, &begin, sizeof(begin), 0);
	/* It is told to end before there is a program: that is all right. */
	if (err == 1)
		send(control, &r, sizeof(r), MSG_NOSIGNAL);
	if (err != sizeof(begin))
		return 0;
	r.error = moca_rate_writer_create(&w, dirfd, MOCA_RATE_STREAM);
	if (!r.error) {
		r.error = sample(&s, w, &begin);
		err = moca_rate_writer_close(w);
		if (!r.error)
			r.error = err;
	}
	r.rounds = s.rounds;
	r.missed = s.missed;
	r.cpu_ns = moca_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (recv(control, &byte, 1, 0) == 1)
		send(control, &r, sizeof(r), MSG_NOSIGNAL);
	return 0;
}

int rate_beside_start(struct rate_beside **out, const char *dir,
		      uint64_t period_ns)
{
	struct rate_beside *b = calloc(1, sizeof(*b));
	int dirfd, err;

	if (!b)
		return -ENOMEM;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = dirfd < 0 ? -errno : moca_rate_describe(dirfd);
	if (err)
		goto err_free;
	b->pid = companion_fork("moca-rate", &b->control);
	if (b->pid < 0) {
		err = b->pid;
		goto err_free;
	}
	if (!b->pid)
		_exit(beside_main(dirfd, period_ns, b->control));
	close(dirfd);
	b->fd = (int)syscall(SYS_pidfd_open, b->pid, 0);
	*out = b;
	return 0;
err_free:
	if (dirfd >= 0)
		close(dirfd);
	free(b);
	return err;
}

void rate_beside_begin(struct rate_beside *b, pid_t pid, int is_child)
{
	const struct begin begin = { pid, is_child };

	send(b->control, &begin, sizeof(begin), MSG_NOSIGNAL | MSG_DONTWAIT);
}

pid_t rate_beside_pid(const struct rate_beside *b)
{
	return b->pid;
}

uint64_t rate_beside_cpu_ns(const struct rate_beside *b)
{
	return moca_process_cpu_ns(b->pid);
}

void rate_beside_stop(struct rate_beside *b)
{
	if (b->stopped)
		return;
	b->stopped = 1;
	send(b->control, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int rate_beside_finish(struct rate_beside *b, struct rate_beside_result *r)
{
	struct pollfd p = { b->control, POLLIN, 0 };
	uint64_t end = moca_now_ns() + RATE_PATIENCE_MS * 1000000ull, now;
	ssize_t n = -1;
	int got = 0;

	memset(r, 0, sizeof(*r));
	rate_beside_stop(b);
	while (!got && (now = moca_now_ns()) < end) {
		got = poll(&p, 1, (int)((end - now) / 1000000) + 1);
		if (got < 0 && errno == EINTR)
			got = 0;
	}
	if (got > 0)
		n = recv(b->control, r, sizeof(*r), MSG_DONTWAIT);
	close(b->control);
	if (n != sizeof(*r) && b->fd >= 0)
		syscall(SYS_pidfd_send_signal, b->fd, SIGKILL, NULL, 0);
	if (b->fd >= 0)
		close(b->fd);
	/* The one who started it may be another process of the recorder. */
	waitpid(b->pid, NULL, 0);
	free(b);
	if (!got)
		return -ETIMEDOUT;
	return n == sizeof(*r) ? r->error : -EPIPE;
}
