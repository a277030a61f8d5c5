// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/ptrace/takeover.h"

#include "collect/ptrace/tasks.h"
#include "collect/ptrace/wait.h"
#include "lib/base/err.h"

#define PATIENCE_NS 1000000000ull

static unsigned int under_way;

/* Interrupt the wait loop each second, as long as there is something. */
static void set_timer(int on)
{
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGURG };
	struct itimerspec each = { 0 };
	static timer_t timer;
	static int made;

	to._sigev_un._tid = gettid();
	if (!made && timer_create(CLOCK_MONOTONIC, &to, &timer)) {
		moca_debug("no timer: a leader may wait for a thread's exec");
		return;
	}
	made = 1;
	each.it_value.tv_sec = each.it_interval.tv_sec = on;
	timer_settime(timer, 0, &each, NULL);
}

static int is_exec(const struct tracee_regs *regs)
{
	return regs_are_32bit(regs) ? regs->reg_nr == REGS_EXECVE_32BIT
				    : regs->reg_nr == SYS_execve ||
					      regs->reg_nr == SYS_execveat;
}

int takeover_begin(struct task *t, const struct tracee_regs *regs)
{
	struct task *leader;

	if (t->tid == t->pid || !is_exec(regs))
		return 0;
	leader = tasks_find(t->pid);
	if (!leader || leader->held_by)
		return 0;
	leader->held_by = t->tid;
	t->exec_ns = moca_now_ns();
	if (!under_way++)
		set_timer(1);
	return 1;
}

void takeover_end(struct task *t, pid_t tid)
{
	if (t->exec_ns && !--under_way)
		set_timer(0);
	t->exec_ns = 0;
	tasks_let_go(tid);
}

void takeover_look(void)
{
	uint64_t now = moca_now_ns();
	struct task *t;

	for (t = under_way ? tasks_next(NULL) : NULL; t; t = tasks_next(t))
		if (t->exec_ns && now > t->exec_ns + PATIENCE_NS)
			tasks_let_go(t->tid);
}

void task_let_go(struct task *t)
{
	t->held_by = 0;
	if (t->status)
		wait_keep(t->tid, t->status & ~TASK_STATUS_SET);
}

void tasks_let_go(pid_t tid)
{
	for (struct task *t = tasks_next(NULL); t; t = tasks_next(t))
		if (t->held_by == tid)
			task_let_go(t);
}
