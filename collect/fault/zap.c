// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/zap.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/ptrace/event.h"
#include "collect/ptrace/quiesce.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/wait.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

int zap_advice(void)
{
	static int advice;
	void *p;

	if (advice)
		return advice;
	p = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	advice = p != MAP_FAILED && !madvise(p, PAGE_SIZE, MADV_DONTNEED_LOCKED) ?
			 MADV_DONTNEED_LOCKED : MADV_DONTNEED;
	if (p != MAP_FAILED)
		munmap(p, PAGE_SIZE);
	return advice;
}

static int done(const struct mm *mm)
{
	/* Pairs with the stub's store after its last madvise. */
	return __atomic_load_n(&mm->stub->zap_done, __ATOMIC_ACQUIRE) ==
	       mm->zap_seq;
}

/* Wait up to 10 ms for the zapper. */
static void wait_a_little(struct mm *mm)
{
	struct timespec ts = { 0, 10000000 };
	uint32_t seen = __atomic_load_n(&mm->stub->zap_done, __ATOMIC_ACQUIRE);

	if (seen != mm->zap_seq)
		syscall(SYS_futex, &mm->stub->zap_done, FUTEX_WAIT, seen, &ts);
}

static int alive(const struct mm *mm)
{
	struct pollfd p = { mm->zapper_fd, POLLIN, 0 };

	/*
	 * Readable once it has ended, reaped or not. Interrupted means not
	 * known: a second zapper beside a living one would zap what the list
	 * held before.
	 */
	return mm->zapper && poll(&p, 1, 0) <= 0;
}

/* SIGSTOP for the whole process group stops the zapper too, and we may be
 * waiting for it where the wait loop would have to let it go on. */
static void see_to_stops(struct mm *mm)
{
	struct task *t = tasks_find(mm->zapper);
	int status;

	if (!t || wait_poll(mm->zapper, &status) <= 0)
		return;
	if (WIFSTOPPED(status)) {
		tracee_let_helper_go(mm->zapper, status);
		return;
	}
	tasks_remove(t);
	mm->zapper = 0;
}

static void command(struct mm *mm)
{
	/* Release: the list is written before the number that announces it. */
	__atomic_store_n(&mm->stub->zap_seq, ++mm->zap_seq, __ATOMIC_RELEASE);
	syscall(SYS_futex, &mm->stub->zap_seq, FUTEX_WAKE, INT_MAX);
}

/* Looks, 10 ms apart and each with a call to wake up, that find it asleep. */
#define LOOKS 90

/* It has work and will never do it. *asleep counts, from 0 on. */
static int is_lost(const struct mm *mm, unsigned int *asleep)
{
	if (__atomic_load_n(&mm->stub->zap_seq, __ATOMIC_RELAXED) !=
	    mm->zap_seq)
		return 1;
	if (quiesce_state(mm->zapper) != 'S') {
		*asleep = 0;
		return 0;
	}
	syscall(SYS_futex, &mm->stub->zap_seq, FUTEX_WAKE, INT_MAX);
	return ++*asleep >= LOOKS;
}

/* The kernel lets it finish the range at hand. */
static void kill_zapper(const struct mm *mm)
{
	syscall(SYS_pidfd_send_signal, mm->zapper_fd, SIGKILL, NULL, 0);
}

static void give_up(struct mm *mm)
{
	kill_zapper(mm);
	atomic_store(&mm->no_zapper, 1);
	atomic_store(&mm->zap_lost, 1);
}

void zap_tell(struct recorder *rec, struct mm *mm, struct task *t)
{
	if (atomic_exchange(&mm->zap_lost, 0))
		task_event(rec, t, MOCA_CHANGE_GAP, 0, 0, 0, 0, 0,
			   "pages are seen once only from here on: the program "
			   "has written over the page by which Moca lets "
			   "entries go");
}

/* The CPUs that the zapper had, while it is held on one of them. */
struct held {
	cpu_set_t allowed;
	pid_t zapper;		/* 0: it is not held */
};

/* It is there for certain, so its number is nobody else's. */
static int is_there(const struct mm *mm)
{
	struct pollfd p = { mm->zapper_fd, POLLIN, 0 };

	return mm->zapper && !poll(&p, 1, 0);
}

/* Where that cannot be, it stays with the scheduler. */
static void hold(const struct mm *mm, struct held *h)
{
	cpu_set_t one;

	h->zapper = 0;
	if (mm->zap_cpu < 0 || mm->zap_cpu >= CPU_SETSIZE || !is_there(mm))
		return;
	CPU_ZERO(&one);
	CPU_SET(mm->zap_cpu, &one);
	if (!sched_getaffinity(mm->zapper, sizeof(h->allowed), &h->allowed) &&
	    !sched_setaffinity(mm->zapper, sizeof(one), &one))
		h->zapper = mm->zapper;
}

static void release(const struct mm *mm, struct held *h)
{
	if (h->zapper && h->zapper == mm->zapper && is_there(mm))
		sched_setaffinity(h->zapper, sizeof(h->allowed), &h->allowed);
	h->zapper = 0;
}

/* h: released where its CPU does not let it work. */
static int wait_held(struct mm *mm, struct held *h)
{
	unsigned int asleep = 0;

	if (!mm->zapper)
		return -ESRCH;
	for (int i = 0; i < 100 && !done(mm); i++) {
		wait_a_little(mm);
		if (!done(mm) && !alive(mm)) {
			mm->zapper = 0;
			return -ESRCH;
		}
		release(mm, h);
		if (!done(mm) && is_lost(mm, &asleep)) {
			give_up(mm);
			break;
		}
	}
	return done(mm) ? 0 : -ETIMEDOUT;
}

int zap_wait(struct mm *mm)
{
	struct held none = { .zapper = 0 };

	return wait_held(mm, &none);
}

int zap_run(struct mm *mm, unsigned int n)
{
	struct held h;
	int err;

	mm->stub->zap_count = n;
	mm->stub->zap_advice = zap_advice();
	hold(mm, &h);
	command(mm);
	err = wait_held(mm, &h);
	release(mm, &h);
	return err;
}

void zap_settle(struct mm *mm)
{
	unsigned int asleep = 0;

	/* To its end: the caller is about to change what is being zapped. */
	while (mm->zapper && !done(mm)) {
		see_to_stops(mm);
		wait_a_little(mm);
		if (!done(mm) && !alive(mm))
			mm->zapper = 0;
		else if (!done(mm) && is_lost(mm, &asleep))
			give_up(mm);
	}
}

void zap_command_exit(struct mm *mm)
{
	if (!mm->zapper)
		return;
	mm->stub->zap_exit = 1;
	command(mm);
}

void zap_end(struct mm *mm)
{
	struct timespec ts = { 0, 20000 };

	zap_settle(mm);
	if (mm->zapper)
		kill_zapper(mm);
	while (mm->zapper && alive(mm)) {
		see_to_stops(mm);
		nanosleep(&ts, NULL);
	}
	mm->zapper = 0;
}
