// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls that wait for a time from now, while a tracer has reasons to stop the
 * thread again and again before that: each ends by its time, as without one.
 */
#include "case.h"

#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

#define WAIT_MS 300

static const struct timespec wait_for_it = { 0, WAIT_MS * 1000000 };
static const struct timeval wait_us = { 0, WAIT_MS * 1000 };

struct wait {
	const char *name;
	int (*call)(void);	/* 1: the time is over, as it says it */
	int frozen;		/* does its process let forks share memory? */
	pthread_t thread;
	int tid;
	atomic_int done;
	int early, wrong;
};

static int by_epoll_wait(void)
{
	struct epoll_event e;

	return epoll_wait(epoll_create1(0), &e, 1, WAIT_MS) == 0;
}

static int by_epoll_pwait2(void)
{
	struct epoll_event e;
	long ret = syscall(SYS_epoll_pwait2, epoll_create1(0), &e, 1,
			   &wait_for_it, NULL, 8);

	if (ret < 0 && errno == ENOSYS)
		return by_epoll_wait();
	return ret == 0;
}

static int by_poll(void)
{
	return poll(NULL, 0, WAIT_MS) == 0;
}

static int by_ppoll(void)
{
	return ppoll(NULL, 0, &wait_for_it, NULL) == 0;
}

static int by_select(void)
{
	struct timeval t = wait_us;

	return select(0, NULL, NULL, NULL, &t) == 0;
}

static int by_pselect(void)
{
	return pselect(0, NULL, NULL, NULL, &wait_for_it, NULL) == 0;
}

static int by_nanosleep(void)
{
	return nanosleep(&wait_for_it, NULL) == 0;
}

static int by_clock_nanosleep(void)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_for_it, NULL) == 0;
}

static int by_sem_timedwait(void)
{
	struct timespec t;
	sem_t s;

	sem_init(&s, 0, 0);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += WAIT_MS * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return sem_timedwait(&s, &t) == -1 && errno == ETIMEDOUT;
}

static int by_futex(void)
{
	uint32_t word = 0;

	return syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, &wait_for_it,
		       NULL, 0) == -1 && errno == ETIMEDOUT;
}

static int by_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &wait_for_it) == -1 && errno == EAGAIN;
}

static int by_semtimedop(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600), ok;
	struct sembuf op = { 0, -1, 0 };

	ok = semtimedop(id, &op, 1, &wait_for_it) == -1 && errno == EAGAIN;
	semctl(id, 0, IPC_RMID);
	return ok;
}

static int timed_pair(int pair[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	       setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait_us,
			  sizeof(wait_us)) ||
	       setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &wait_us,
			  sizeof(wait_us));
}

static int by_recv(void)
{
	int pair[2];
	char c;

	return !timed_pair(pair) && recv(pair[0], &c, 1, 0) == -1 &&
	       errno == EAGAIN;
}

static int by_readv(void)
{
	struct iovec v;
	int pair[2];
	char c;

	v = (struct iovec){ &c, 1 };
	return !timed_pair(pair) && readv(pair[0], &v, 1) == -1 &&
	       errno == EAGAIN;
}

static int by_write(void)
{
	static char much[4096];
	int pair[2];

	if (timed_pair(pair))
		return 0;
	while (send(pair[0], much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	return write(pair[0], much, sizeof(much)) == -1 && errno == EAGAIN;
}

/* A socket that listens and whose queue of one is full. */
static int listening(struct sockaddr_un *name, socklen_t *len)
{
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	name->sun_family = AF_UNIX;
	*len = sizeof(name->sun_family);
	CHECK(s >= 0 && !bind(s, (struct sockaddr *)name, *len));
	*len = sizeof(*name);
	CHECK(!getsockname(s, (struct sockaddr *)name, len) && !listen(s, 0));
	return s;
}

static int by_accept(void)
{
	struct sockaddr_un name;
	socklen_t len;
	int s = listening(&name, &len);

	return !setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &wait_us,
			   sizeof(wait_us)) &&
	       accept(s, NULL, NULL) == -1 && errno == EAGAIN;
}

static int by_connect(void)
{
	struct sockaddr_un name;
	socklen_t len;
	int ok = listening(&name, &len) >= 0, first, s;

	first = socket(AF_UNIX, SOCK_STREAM, 0);
	s = socket(AF_UNIX, SOCK_STREAM, 0);
	return ok && !connect(first, (struct sockaddr *)&name, len) &&
	       !setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &wait_us,
			   sizeof(wait_us)) &&
	       connect(s, (struct sockaddr *)&name, len) == -1 &&
	       errno == EAGAIN;
}

static int by_io_getevents(void)
{
	struct timespec t = wait_for_it;
	aio_context_t aio = 0;
	struct io_event e;

	if (syscall(SYS_io_setup, 1, &aio))
		return by_poll();
	return syscall(SYS_io_getevents, aio, 1L, 1L, &e, &t) == 0;
}

static int by_io_uring(void)
{
	static const struct {
		int64_t s, ns;
	} t = { 0, WAIT_MS * 1000000 };
	struct io_uring_params params = { 0 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&t };
	int ring = syscall(SYS_io_uring_setup, 4, &params);

	if (ring < 0 || !(params.features & IORING_FEAT_EXT_ARG))
		return by_poll();
	return syscall(SYS_io_uring_enter, ring, 0, 1,
		       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg,
		       sizeof(arg)) == -1 && errno == ETIME;
}

static struct wait waits[] = {
	{ .name = "epoll_wait", .call = by_epoll_wait, .frozen = 1 },
	{ .name = "epoll_pwait2", .call = by_epoll_pwait2, .frozen = 1 },
	{ .name = "poll", .call = by_poll, .frozen = 1 },
	{ .name = "ppoll", .call = by_ppoll, .frozen = 1 },
	{ .name = "select", .call = by_select, .frozen = 1 },
	{ .name = "pselect", .call = by_pselect, .frozen = 1 },
	{ .name = "nanosleep", .call = by_nanosleep, .frozen = 1 },
	{ .name = "clock_nanosleep", .call = by_clock_nanosleep, .frozen = 1 },
	{ .name = "sem_timedwait", .call = by_sem_timedwait, .frozen = 1 },
	{ .name = "futex", .call = by_futex, .frozen = 1 },
	{ .name = "sigtimedwait", .call = by_sigtimedwait, .frozen = 1 },
	{ .name = "semtimedop", .call = by_semtimedop, .frozen = 1 },
	{ .name = "recv", .call = by_recv, .frozen = 1 },
	{ .name = "readv", .call = by_readv, .frozen = 1 },
	{ .name = "write", .call = by_write, .frozen = 1 },
	{ .name = "accept", .call = by_accept, .frozen = 1 },
	{ .name = "connect", .call = by_connect, .frozen = 1 },
	{ .name = "io_getevents", .call = by_io_getevents, .frozen = 0 },
	{ .name = "io_uring_enter", .call = by_io_uring, .frozen = 0 },
};

#define COUNT (sizeof(waits) / sizeof(waits[0]))

static void *one(void *arg)
{
	struct timespec a, b;
	struct wait *w = arg;
	double ms;

	w->tid = (int)syscall(SYS_gettid);
	clock_gettime(CLOCK_MONOTONIC, &a);
	w->wrong = w->call() ? 0 : errno ? errno : -1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	ms = (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6;
	/* Not all of them wait by the clock that is looked at. */
	w->early = ms < WAIT_MS - 5;
	atomic_store(&w->done, 1);
	return NULL;
}

/* Forks that share memory, which mremap makes the process's own again. */
static void by_memory(void)
{
	static char *area;
	static size_t size = 4 * MIB;
	int pid;

	if (!area)
		area = map_pages(size / PAGE);
	fill(area, size / PAGE, 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(0);
	wait_ok(pid);
	area = mremap(area, size, size ^ (4 * MIB ^ (4 * MIB + PAGE)),
		      MREMAP_MAYMOVE);
	CHECK(area != MAP_FAILED);
	size ^= 4 * MIB ^ (4 * MIB + PAGE);
}

/* Which nobody but a tracer hears of. */
static void by_ignored_signals(void)
{
	for (size_t i = 0; i < COUNT; i++)
		if (waits[i].tid && !atomic_load(&waits[i].done))
			syscall(SYS_tgkill, getpid(), waits[i].tid, SIGWINCH);
	pause_ms(2);
}

static void disturbed(void (*disturb)(void), int all)
{
	size_t left = COUNT;
	sigset_t child;

	/* An ignored signal that one thread takes may wake another up for nothing,
	 * of which no tracer hears. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	for (size_t i = 0; i < COUNT; i++)
		if (all || waits[i].frozen)
			CHECK(!pthread_create(&waits[i].thread, NULL, one,
					      &waits[i]));
		else
			atomic_store(&waits[i].done, 1);
	pthread_sigmask(SIG_UNBLOCK, &child, NULL);
	while (left) {
		disturb();
		left = 0;
		for (size_t i = 0; i < COUNT; i++)
			left += !atomic_load(&waits[i].done);
	}
	for (size_t i = 0; i < COUNT; i++)
		if (all || waits[i].frozen)
			printf("%s: %d%s\n", waits[i].name, waits[i].wrong,
			       waits[i].early ? ", too early" : "");
}

static void stopped(void)
{
	disturbed(by_memory, 0);
}

static void ignored(void)
{
	disturbed(by_ignored_signals, 1);
}

/* A filter of its own says EINTR, and no signal. */
static void filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_epoll_wait, 0, 1),
		BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | EINTR),
		BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };
	struct epoll_event e;
	int others = 0;

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	      !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
	for (int i = 0; i < 200; i++) {
		others += syscall(SYS_epoll_wait, -1, &e, 1, -1) != -1 ||
			  errno != EINTR;
		pause_ms(2);
	}
	printf("otherwise: %d\n", others);
}

static const struct test_case cases[] = {
	{ "stopped", stopped },
	{ "ignored", ignored },
	{ "filtered", filtered },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
