// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/zap.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
	       __atomic_load_n(&mm->stub->zap_seq, __ATOMIC_RELAXED);
}

/* Wait up to 10 ms for the zapper. */
static void wait_a_little(struct mm *mm)
{
	struct timespec ts = { 0, 10000000 };
	uint32_t seen = __atomic_load_n(&mm->stub->zap_done, __ATOMIC_ACQUIRE);

	if (seen != __atomic_load_n(&mm->stub->zap_seq, __ATOMIC_RELAXED))
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
		tracee_let_helper_go(mm->zapper);
		return;
	}
	tasks_remove(t);
	mm->zapper = 0;
}

static void command(struct mm *mm)
{
	/* Release: the list is written before the number that announces it. */
	__atomic_fetch_add(&mm->stub->zap_seq, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &mm->stub->zap_seq, FUTEX_WAKE, INT_MAX);
}

int zap_run(struct mm *mm, unsigned int n)
{
	if (!mm->zapper)
		return -ESRCH;
	if (!done(mm))
		return -ETIMEDOUT;
	mm->stub->zap_count = n;
	mm->stub->zap_advice = zap_advice();
	command(mm);
	for (int i = 0; i < 100 && !done(mm); i++) {
		wait_a_little(mm);
		if (!done(mm) && !alive(mm)) {
			mm->zapper = 0;
			return -ESRCH;
		}
	}
	return done(mm) ? 0 : -ETIMEDOUT;
}

void zap_settle(struct mm *mm)
{
	/* Without an end: the caller is about to change what is being zapped. */
	while (mm->zapper && !done(mm)) {
		see_to_stops(mm);
		wait_a_little(mm);
		if (!done(mm) && !alive(mm))
			mm->zapper = 0;
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
	zap_command_exit(mm);
	while (mm->zapper && alive(mm)) {
		see_to_stops(mm);
		nanosleep(&ts, NULL);
	}
	mm->zapper = 0;
}
