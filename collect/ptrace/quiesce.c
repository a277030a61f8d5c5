// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/quiesce.h"

#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "collect/ptrace/takeover.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/tracer-call.h"
#include "collect/ptrace/wait.h"
#include "collect/run/waiting.h"
#include "lib/base/proc.h"

char quiesce_state(pid_t tid)
{
	char text[1024];

	moca_proc_stat(text, sizeof(text), tid);
	return text[0];
}

/*
 * 1 when the task cannot be waited for: it sleeps uninterruptibly, for 200 ms
 * now, or is a leader that ended before its threads. One that merely finds no
 * CPU will stop.
 */
static int out_of_reach(pid_t tid, int waited_ms)
{
	char state = quiesce_state(tid);

	return !state || state == 'Z' || state == 'X' ||
	       (state == 'D' && waited_ms >= 200) || waited_ms >= 10000;
}

static int wait_until_stopped(struct task *t)
{
	const struct timespec ms = { 0, 1000000 };
	int status;

	for (int i = -200; t->stop == TASK_RUNNING; i++) {
		int got = wait_poll(t->tid, &status);

		if (got < 0)
			return got;
		if (got) {
			t->stop = TASK_STOPPED;
			t->status = task_status(status);
		} else if (i < 0) {
			sched_yield();
		} else if (out_of_reach(t->tid, i)) {
			return -ETIMEDOUT;
		} else {
			nanosleep(&ms, NULL);
		}
	}
	return 0;
}

int quiesce_wait(struct task *t)
{
	int ret;

	waiting_begin(WAITING_STILL, t->tid);
	ret = wait_until_stopped(t);
	waiting_end(WAITING_STILL);
	return ret;
}

static int concerned(const struct task *t, const struct space *space,
		     const struct task *except)
{
	return t->space == space && t != except && t->announced;
}

void quiesce(struct space *space, const struct task *except)
{
	struct task *t;

	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (concerned(t, space, except) && t->stop == TASK_RUNNING &&
		    !t->in_vfork)
			tracee_interrupt(t);
	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (concerned(t, space, except) && t->stop == TASK_RUNNING &&
		    !t->in_vfork)
			quiesce_wait(t);
}

int quiesced(const struct space *space, const struct task *except)
{
	struct task *t;

	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (concerned(t, space, except) && t->stop == TASK_RUNNING &&
		    !t->in_vfork && quiesce_state(t->tid) != 'Z')
			return 0;
	return 1;
}

int quiesced_settled(const struct space *space, const struct task *except)
{
	struct task *t;

	for (t = tasks_next(NULL); t; t = tasks_next(t)) {
		int event = t->status >> 16;

		/* A child that was here before its parent's event. */
		if (!t->own && !t->announced)
			return 0;
		if (!concerned(t, space, except) || !t->status)
			continue;
		if (!WIFSTOPPED(t->status & ~TASK_STATUS_SET) ||
		    event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		    event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_EXEC)
			return 0;
	}
	return quiesced(space, except);
}

void quiesce_end(struct space *space, const struct task *except)
{
	struct task *t;

	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if ((!space || t->space == space) && t != except && !t->own &&
		    t->status && !task_waits(t, t->status))
			wait_keep(t->tid, t->status & ~TASK_STATUS_SET);
}
