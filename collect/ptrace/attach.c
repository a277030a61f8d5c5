// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/attach.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collect/ptrace/debugger.h"
#include "collect/run/launch.h"
#include "collect/fault/mapcall.h"
#include "collect/fault/mm.h"
#include "collect/ptrace/quiesce.h"
#include "collect/ptrace/supervisor.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/vdso.h"
#include "collect/fault/witness.h"
#include "collect/fault/zap.h"
#include "lib/base/err.h"

#define SETTLE_NS 10000000000ull

/* A filter cannot be taken off again, so attached programs get none. */
int moca_attach_request(const struct recorder *rec)
{
	return rec->attach ? PTRACE_SYSCALL : PTRACE_CONT;
}

/* Seize threads until a pass over the directory finds no new one. */
static int seize_all(pid_t pid)
{
	int found, ret = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	do {
		DIR *d = opendir(path);
		struct dirent *e;

		if (!d)
			return -errno;
		found = 0;
		while (!ret && (e = readdir(d))) {
			pid_t tid = atoi(e->d_name);
			struct task *t;

			if (tid <= 0 || tasks_find(tid))
				continue;
			/* Left alive if we die: never killed for our sake. */
			if (ptrace(PTRACE_SEIZE, tid, NULL,
				   LAUNCH_TRACE_OPTIONS & ~PTRACE_O_EXITKILL)) {
				if (errno != ESRCH)
					ret = -errno;
				continue;
			}
			found = 1;
			t = tasks_add(tid);
			if (!t)
				ret = -ENOMEM;
			else
				t->pid = pid;
		}
		closedir(d);
	} while (found && !ret);
	return ret;
}

/* Stopped by our interrupt, not in the middle of a call or a signal. */
static int settled(const struct task *t)
{
	return t->stop == TASK_STOPPED && WIFSTOPPED(t->status) &&
	       t->status >> 16 == PTRACE_EVENT_STOP;
}

/* One step of t towards that. 0 when there is none. */
static int settle_task(struct recorder *rec, struct task *t)
{
	int status = t->status;

	if (t->own || !t->announced || t->in_vfork || settled(t))
		return 0;
	if (t->stop == TASK_RUNNING) {
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		return !quiesce_wait(t);
	}
	if (!status)
		return 0;
	/* A fork, a signal, a call: as ever, and stop again behind it. */
	t->status = 0;
	if (WIFSTOPPED(status))
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	supervisor_stop(rec, t, status);
	return 1;
}

/*
 * Make all tasks stand still where memory can be moved: a task that has
 * forked has a child already that shares what we are about to change, one at
 * the entry of a call would lose the call, and one with a signal the signal.
 * What cannot be stopped within SETTLE_NS stays as it is.
 */
static void settle(struct recorder *rec)
{
	uint64_t limit = moca_now_ns() + SETTLE_NS;
	int moved = 1;

	while (moved && moca_now_ns() < limit) {
		struct task *t = tasks_next(NULL);

		moved = 0;
		while (t) {
			unsigned int before = tasks_departures();

			moved |= settle_task(rec, t);
			/* What leaves its place may be t: begin again. */
			t = tasks_next(tasks_departures() == before ? t : NULL);
		}
	}
}

static struct task *pick_task(const struct mm *mm, pid_t pid)
{
	struct task *t = tasks_find(pid);

	if (t && t->mm == mm && settled(t))
		return t;
	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (t->mm == mm && settled(t))
			return t;
	return NULL;
}

/* Our calls need a task that can run: not one that is stopped by ^Z. */
static int move_running(struct recorder *rec, struct mm *mm, struct task *t)
{
	struct user_regs_struct regs;
	struct tracee_calls c;
	uint64_t insn;
	int err;

	quiesce_hide_interrupt(t);
	err = tracee_get_regs(t, &regs);
	if (err)
		return err;
	if (regs.cs == 0x23)
		return -ENOEXEC;
	insn = vdso_syscall(t->tid);
	if (!insn)
		return -ENOEXEC;
	err = tracee_begin(&c, t, &regs);
	if (err)
		return err;
	err = mm_setup(rec, mm, &c, insn);
	if (!err)
		err = supervisor_calibrate(rec, &c);
	if (!err) {
		pthread_mutex_lock(&mm->lock);
		err = mm_move_all(rec, mm, &c);
		pthread_mutex_unlock(&mm->lock);
	}
	if (tracee_end(&c) && !err)
		err = -ESRCH;
	return err;
}

int attach_begin(struct recorder *rec, pid_t pid)
{
	struct task *t, *first;
	struct mm *mm;
	int ret = seize_all(pid);

	if (ret)
		return ret;
	mm = mm_new(rec, pid);
	if (!mm)
		return -ENOMEM;
	for (t = tasks_next(NULL); t; t = tasks_next(t)) {
		t->mm = mm_get(mm);
		t->filtered = 0;
		t->announced = 1;
		supervisor_announce(rec, t, NULL, MOCA_TASK_ATTACHED);
	}
	mm->refs--;	/* each task has its own now */
	settle(rec);
	first = pick_task(mm, pid);
	ret = first ? move_running(rec, mm, first) : -EBUSY;
	if (first && ret != -ESRCH)
		witness_attach(rec, first);
	if (ret)
		mm_event(rec, first ? first : tasks_next(NULL), MOCA_EVENT_GAP,
			 0, 0, 0, 0, 0,
			 "memory could not be moved: real faults only");
	quiesce_end(rec, NULL, NULL);
	return 0;
}

int attach_syscall(struct recorder *rec, struct task *t)
{
	struct __ptrace_syscall_info info;
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info) <= 0)
		return 0;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		if (info.exit.rval == -EINTR)
			quiesce_hide_interrupt(t);
		return 1;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return 0;
	if (debugger_wanted(info.entry.nr)) {
		if (!tracee_get_regs(t, &regs))
			debugger_call(rec, t, &regs);
	} else if (mapcall_wanted(info.entry.nr) && !tracee_get_regs(t, &regs)) {
		mapcall_handle(rec, t, &regs);
	}
	return 0;
}

/* Take the stub and the descriptor away again. */
static void clean_up(struct mm *mm, struct task *t)
{
	uint64_t insn = vdso_syscall(t->tid);
	uint64_t unmap[6] = { STUB_BASE, STUB_SIZE };
	uint64_t shut[6] = { mm->remote_fd };
	struct user_regs_struct regs;
	struct tracee_calls c;
	long ret;

	if (!insn || tracee_get_regs(t, &regs) || tracee_begin(&c, t, &regs))
		return;
	if (!tracee_raw_call(&c, insn, SYS_munmap, unmap, &ret) &&
	    mm->remote_fd >= 0)
		tracee_raw_call(&c, insn, SYS_close, shut, &ret);
	tracee_end(&c);
}

static int release_mm(struct recorder *rec, struct mm *mm)
{
	struct task *t = pick_task(mm, mm->pid);
	struct user_regs_struct regs;
	struct tracee_calls c;
	int err = t ? 0 : -EBUSY;

	if (t)
		quiesce_hide_interrupt(t);
	if (!err)
		err = tracee_get_regs(t, &regs);
	if (!err)
		err = tracee_begin(&c, t, &regs);
	if (err)
		return err;
	pthread_mutex_lock(&mm->lock);
	zap_settle(mm);
	err = mm_unmove(rec, mm, &c, NULL);
	if (err != -ESRCH)
		tracee_end(&c);
	pthread_mutex_unlock(&mm->lock);
	if (!err)
		clean_up(mm, t);
	return err;
}

/* A task leaves with the signal, if any, that it stopped for. */
static void detach(struct task *t)
{
	int sig = 0;

	if (t->status && WIFSTOPPED(t->status) && !(t->status >> 16) &&
	    WSTOPSIG(t->status) != (SIGTRAP | 0x80) &&
	    WSTOPSIG(t->status) != SIGTRAP)
		sig = WSTOPSIG(t->status);
	quiesce_hide_interrupt(t);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)sig);
}

void attach_end(struct recorder *rec)
{
	struct task *t, *next;

	settle(rec);
	for (t = tasks_next(NULL); t; t = tasks_next(t)) {
		witness_end(rec, t);
		if (t->mm)
			t->mm->witnessed = 0;	/* it was looked at */
	}
	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (t->mm && t->mm->state == MM_MOVED && !t->mm->dead &&
		    release_mm(rec, t->mm) == -EBUSY) {
			t->mm->dead = 1;	/* said once */
			moca_error("cannot make the memory of process %d its "
				   "own again, because none of its threads "
				   "stopped within 10 seconds: it runs on, but "
				   "may compute wrong results after its next "
				   "fork; end it, and start it anew", t->pid);
		}
	for (t = tasks_next(NULL); t; t = next) {
		next = tasks_next(t);
		if (t->stop == TASK_STOPPED && (!t->status ||
						WIFSTOPPED(t->status)))
			detach(t);
		mm_put(rec, t->mm);
		tasks_remove(t);
	}
	rec->root_done = 1;
}
