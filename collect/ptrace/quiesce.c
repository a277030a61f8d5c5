// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/quiesce.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "collect/ptrace/takeover.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/tracer-call.h"
#include "collect/ptrace/wait.h"
#include "lib/base/proc.h"

/*
 * Calls that return EINTR after any stop, even without a signal, and that
 * have done nothing yet when they do (signal(7)).
 */
static int restartable(long nr)
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
	case SYS_rt_sigtimedwait:
	case SYS_read:		/* inotify */
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_futex:
	case SYS_recvfrom:	/* with a timeout set on the socket */
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_sendto:
	case SYS_sendmsg:
		return 1;
	default:
		return 0;
	}
}

/* Whether a signal of the program's own is about to be delivered. */
static int signal_waits(const struct task *t)
{
	struct __ptrace_peeksiginfo_args where = { .nr = 32 };
	siginfo_t info[32];
	uint64_t blocked;

	if (tracer_call(PTRACE_GETSIGMASK, t->tid, sizeof(blocked), &blocked))
		return 1;
	for (where.flags = 0; where.flags <= PTRACE_PEEKSIGINFO_SHARED;
	     where.flags++) {
		long n = tracer_call(PTRACE_PEEKSIGINFO, t->tid, &where, info);

		for (long i = 0; i < n; i++)
			if (!(blocked >> (info[i].si_signo - 1) & 1))
				return 1;
	}
	return 0;
}

void quiesce_hide_interrupt(struct task *t)
{
	struct user_regs_struct r;

	if (tracee_get_regs(t, &r) || (long)r.orig_rax < 0 ||
	    (long)r.rax != -EINTR || !restartable(r.orig_rax) ||
	    signal_waits(t))
		return;
	r.rax = r.orig_rax;
	r.rip -= 2;
	r.orig_rax = -1;
	tracee_set_regs(t, &r);
}

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

int quiesce_wait(struct task *t)
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
			tracer_call(PTRACE_INTERRUPT, t->tid, NULL, NULL);
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
