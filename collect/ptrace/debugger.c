// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/debugger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/child-tid.h"
#include "collect/ptrace/clone3.h"
#include "collect/ptrace/pidns.h"
#include "collect/ptrace/quiesce.h"
#include "collect/ptrace/stop-cost.h"
#include "collect/ptrace/takeover.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/tracer-call.h"

#define REGSET_MAX 65536	/* bytes: more than any set has */
#define REGSET_UNIT 16		/* a multiple of any set's unit */

int debugger_wanted(long nr)
{
	return nr == SYS_clone || nr == SYS_clone3 || nr == SYS_ptrace ||
	       nr == SYS_wait4;
}

static int put(const struct task *t, uint64_t addr, const void *p, size_t len)
{
	struct iovec local = { (void *)p, len }, there = { (void *)addr, len };

	return process_vm_writev(t->tid, &local, 1, &there, 1, 0) ==
			       (ssize_t)len ? 0 : -EFAULT;
}

/* Another task of t's memory, by the number that t knows it by. */
static struct task *find_target(const struct task *t, pid_t number)
{
	int nested = pidns_is_nested(t->tid);
	struct task *v;

	for (v = tasks_next(NULL); v; v = tasks_next(v))
		if (v != t && v->announced && v->space && v->space == t->space &&
		    (nested ? pidns_number(v->tid) : v->tid) == number)
			return v;
	return NULL;
}

static long attach(struct task *t, struct task *v)
{
	if (v->held_by)
		return -EPERM;
	if (v->stop == TASK_RUNNING) {
		if (v->in_vfork)
			return -EPERM;
		tracee_interrupt(v);
		if (quiesce_wait(v))
			return -EPERM;
	}
	if (!v->status || !WIFSTOPPED(v->status))
		return -ESRCH;
	v->held_by = t->tid;
	return 0;
}

static long get_regset(const struct task *t, const struct task *v,
		       uint64_t type, uint64_t addr)
{
	static char buf[REGSET_MAX + REGSET_UNIT];
	struct iovec theirs, ours = { buf, 0 };

	if (tracee_read(t->tid, addr, &theirs, sizeof(theirs)) !=
	    sizeof(theirs))
		return -EFAULT;
	/* A length that is no multiple of the set's unit is refused: so is ours. */
	ours.iov_len = theirs.iov_len <= REGSET_MAX ? theirs.iov_len :
			       REGSET_MAX + theirs.iov_len % REGSET_UNIT;
	if (tracer_call(PTRACE_GETREGSET, v->tid, (void *)type, &ours))
		return -errno;
	if (ours.iov_len > sizeof(buf) ||
	    put(t, (uint64_t)theirs.iov_base, buf, ours.iov_len) ||
	    put(t, addr + offsetof(struct iovec, iov_len), &ours.iov_len,
		sizeof(ours.iov_len)))
		return -EFAULT;
	return 0;
}

/* 1: carried out, with *ret as its result. */
static int do_ptrace(struct task *t, const struct tracee_regs *regs, long *ret)
{
	struct task *v = find_target(t, (pid_t)regs->reg_a1);
	struct tracee_regs theirs __attribute__((unused));

	if (!v || (regs->reg_a0 != PTRACE_ATTACH && v->held_by != t->tid))
		return 0;
	switch (regs->reg_a0) {
	case PTRACE_ATTACH:
		*ret = attach(t, v);
		return 1;
	case PTRACE_DETACH:
	case PTRACE_CONT:
		task_let_go(v);
		return 1;
	case PTRACE_KILL:
		kill(v->tid, SIGKILL);
		task_let_go(v);
		return 1;
#if MOCA_IS_X86
	case PTRACE_GETREGS:
		*ret = tracee_get_regs(v, &theirs);
		if (!*ret)
			*ret = put(t, regs->reg_a3, &theirs, sizeof(theirs));
		return 1;
#endif
	case PTRACE_GETREGSET:
		*ret = get_regset(t, v, regs->reg_a2, regs->reg_a3);
		return 1;
	default:
		*ret = -EIO;
		return 1;
	}
}

/*
 * What v has used so far, as far as /proc says it: times and page faults; the
 * rest is 0. 0, or -EFAULT: addr is not writable, or v has just ended.
 */
static int put_usage(const struct task *t, const struct task *v, uint64_t addr)
{
	unsigned long minor, major, user, system;
	long ticks = sysconf(_SC_CLK_TCK);
	char path[64], text[512], *p;
	struct rusage usage = { 0 };
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", v->tid, v->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')');	/* names may have blanks */
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u "
				"%lu %lu", &minor, &major, &user, &system) != 4)
		return -EFAULT;
	usage.ru_minflt = minor;
	usage.ru_majflt = major;
	usage.ru_utime.tv_sec = user / ticks;
	usage.ru_utime.tv_usec = user % ticks * 1000000 / ticks;
	usage.ru_stime.tv_sec = system / ticks;
	usage.ru_stime.tv_usec = system % ticks * 1000000 / ticks;
	return put(t, addr, &usage, sizeof(usage));
}

/* The stop that an attach waits for. */
static int do_wait(struct task *t, const struct tracee_regs *regs, long *ret)
{
	const int stopped = SIGSTOP << 8 | 0x7f;
	struct task *v;

	if ((int)regs->reg_a0 <= 0)
		return 0;
	v = find_target(t, (pid_t)regs->reg_a0);
	if (!v || v->held_by != t->tid)
		return 0;
	*ret = (regs->reg_a1 &&
		put(t, regs->reg_a1, &stopped, sizeof(stopped))) ||
			       (regs->reg_a3 && put_usage(t, v, regs->reg_a3))
		       ? -EFAULT
		       : (pid_t)regs->reg_a0;
	return 1;
}

static int change_clone(struct recorder *rec, struct task *t,
			const struct tracee_regs *regs)
{
	int err = tracee_set_regs(t, regs);

	t->clone_changed = 1;
	t->clone_sp = regs->reg_sp;
	cost_stop_is(&rec->costs, COST_FORK, 0);
	return err ? err : 2;
}

int debugger_call(struct recorder *rec, struct task *t,
		  struct tracee_regs *regs)
{
	uint64_t away;
	long ret = 0;
	int done = 0, err;

	switch (regs->reg_nr) {
	case SYS_clone:
		away = (regs->reg_a0 & CLONE_UNTRACED) |
		       child_tid_takes(rec, t, regs->reg_a0);
		if (!away)
			return 0;
		t->clone_tid = away & CLONE_CHILD_SETTID ?
				       regs->reg_child_tid : 0;
		regs->reg_a0 = child_tid_put_away(regs->reg_a0, away);
		return change_clone(rec, t, regs);
	case SYS_clone3:
		return clone3_change(rec, t, regs) ?
			       change_clone(rec, t, regs) : 0;
	case SYS_ptrace:
		done = t->space && do_ptrace(t, regs, &ret);
		break;
	case SYS_wait4:
		done = t->space && do_wait(t, regs, &ret);
		break;
	}
	if (!done)
		return 0;
	regs->reg_nr = -1;
	regs->reg_ret = ret;
	err = tracee_set_regs(t, regs);
	return err ? err : 1;
}

void debugger_called(struct task *t)
{
	struct tracee_regs regs;
	uint64_t child_tid;

	if (!t->clone_changed)
		return;
	t->clone_changed = 0;
	if (tracee_get_regs(t, &regs))
		return;
	if (regs.reg_nr != SYS_clone3) {
		regs_restore_a0(&regs, child_tid_restore(regs.reg_a0));
	} else {
		clone3_restore(t->tid, &regs, &child_tid);
		clone3_made(t);
	}
	tracee_set_regs(t, &regs);
}
