// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/wait.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/takeover.h"
#include "collect/ptrace/tasks.h"
#include "lib/base/vec.h"

/* Tasks whose status is kept in struct task, oldest first. */
static pid_t *kept;
static size_t kept_count, kept_room;
static int options = __WALL;	/* of wait_any */

/*
 * Looks at one task before we sleep: its calls take a few us. Whoever sleeps
 * waits for any task, and the kernel goes through all of them.
 */
#define LOOKS 16
/*
 * Where the task has no CPU but ours, it cannot get on while we look. After so many
 * sleeps in a row that followed such looks, one round in VAIN_EVERY looks so often.
 */
#define VAIN 8
#define VAIN_EVERY 32

void wait_plain(void)
{
	options |= WUNTRACED | WCONTINUED;
}

void wait_keep(pid_t tid, int status)
{
	struct task *t = tasks_find(tid);

	/* A child that its parent has not announced may stop, not end. */
	if (!t && WIFSTOPPED(status))
		t = tasks_add(tid);
	if (!t)
		return;
	/* A stop that is forgotten would stop its task for ever. */
	while (moca_vec_fit(kept, kept_room, kept_count + 1))
		usleep(1000);
	t->stop = TASK_STOPPED;
	t->status = task_status(status);
	kept[kept_count++] = tid;
}

/* 1 and its status when this task's event is among the kept ones. */
static int take_kept(pid_t tid, int *status)
{
	struct task *t = tasks_find(tid);

	for (size_t i = 0; t && t->status && i < kept_count; i++)
		if (kept[i] == tid) {
			*status = t->status & ~TASK_STATUS_SET;
			t->status = 0;
			kept[i] = 0;
			return 1;
		}
	return 0;
}

int wait_task(pid_t tid, int *status)
{
	return take_kept(tid, status) ? 0 : wait_resumed(tid, status);
}

int wait_resumed(pid_t tid, int *status)
{
	static unsigned int vain, round;
	int looks = vain < VAIN || !(round++ % VAIN_EVERY) ? LOOKS : 1;
	pid_t got;

	for (int i = 0; i < looks; i++) {
		got = waitpid(tid, status, __WALL | WNOHANG);
		if (got == tid && i)
			vain = 0;
		/* Also finds that there is nothing to wait for. */
		if (got)
			return got == tid ? 0 : -errno;
	}
	vain++;
	for (;;) {
		got = waitpid(-1, status, __WALL);
		if (got == tid)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got < 0)
			continue;
		wait_keep(got, *status);
		/* It may have gone without a report (takeover.h). */
		got = waitpid(tid, status, __WALL | WNOHANG);
		if (got)
			return got == tid ? 0 : -errno;
	}
}

int wait_is_over(pid_t tid)
{
	siginfo_t info;

	return waitid(P_PID, tid, &info, WEXITED | WSTOPPED | WNOHANG |
						 WNOWAIT | __WALL) &&
	       errno == ECHILD;
}

int wait_poll(pid_t tid, int *status)
{
	pid_t got;

	if (take_kept(tid, status))
		return 1;
	got = waitpid(tid, status, __WALL | WNOHANG);
	if (got)
		return got == tid ? 1 : -errno;
	/* The end of others may be what this one's end waits for. */
	while ((got = waitpid(-1, status, __WALL | WNOHANG)) > 0) {
		if (got == tid)
			return 1;
		wait_keep(got, *status);
	}
	return 0;
}

pid_t wait_any(int *status)
{
	size_t i = 0;

	while (i < kept_count) {
		pid_t tid = kept[i++];
		struct task *t = tasks_find(tid);

		/*
		 * It may have been dealt with, by quiesce_end say, or will be
		 * when it may go on.
		 */
		if (!t || !t->status || task_waits(t, t->status))
			continue;
		*status = t->status & ~TASK_STATUS_SET;
		t->status = 0;
		kept_count -= i;
		for (size_t j = 0; j < kept_count; j++)
			kept[j] = kept[i + j];
		return tid;
	}
	kept_count = 0;
	return waitpid(-1, status, options);
}
