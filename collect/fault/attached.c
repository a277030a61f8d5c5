// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/attached.h"

#include <errno.h>
#include <sys/syscall.h>

#include "collect/fault/image.h"
#include "collect/fault/mm.h"
#include "collect/fault/stub-call.h"
#include "collect/fault/witness.h"
#include "collect/fault/zap.h"
#include "collect/ptrace/attach.h"
#include "collect/ptrace/restart.h"
#include "collect/ptrace/supervisor.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/vdso.h"
#include "lib/base/err.h"

/* Our calls need a task that can run: not one that is stopped by ^Z. */
static int move_running(struct recorder *rec, struct mm *mm, struct task *t)
{
	struct tracee_regs regs;
	struct tracee_calls c;
	uint64_t insn;
	int err;

	restart_interrupted(t);
	err = tracee_get_regs(t, &regs);
	if (err)
		return err;
	if (regs_are_32bit(&regs))
		return -ENOEXEC;
	insn = vdso_syscall(t->tid);
	if (!insn)
		return -ENOEXEC;
	err = tracee_begin(&c, t, &regs);
	if (err)
		return err;
	err = image_take_over(rec, mm, &c, insn);
	if (tracee_end(&c) && !err)
		err = -ESRCH;
	return err;
}

void attached_begin(struct recorder *rec, struct space *s, struct task *t)
{
	struct task *u;
	int limited = 0, err = -EBUSY;

	/* Its filters would kill it for our calls. */
	for (u = tasks_next(NULL); u; u = tasks_next(u))
		limited |= supervisor_limited(rec, u->tid);
	if (t)
		err = limited ? -EPERM : move_running(rec, mm_of(s), t);
	if (t && err != -ESRCH)
		witness_attach(rec, t);
	if (!err)
		return;
	mm_of(s)->untold = 1;
	task_event_unmapped(rec, t ? t : tasks_next(NULL), limited ?
			    "its system calls are limited by seccomp: real "
			    "faults only" :
			    "memory could not be moved: real faults only");
}

/* Take the stub and the descriptor away again. */
static void clean_up(struct mm *mm, struct task *t)
{
	uint64_t insn = vdso_syscall(t->tid);
	uint64_t shut[6] = { mm->remote_fd };
	struct tracee_regs regs;
	struct tracee_calls c;
	long ret;

	if (!insn || tracee_get_regs(t, &regs) || tracee_begin(&c, t, &regs))
		return;
	if (!stub_remove(&c) && mm->remote_fd >= 0)
		tracee_raw_call(&c, insn, SYS_close, shut, &ret);
	tracee_end(&c);
}

static int release_mm(struct recorder *rec, struct mm *mm)
{
	struct task *t = attach_pick(&mm->space, mm->space.pid);
	struct tracee_regs regs;
	struct tracee_calls c;
	int err = t ? 0 : -EBUSY;

	if (t)
		restart_interrupted(t);
	if (!err)
		err = tracee_get_regs(t, &regs);
	if (!err)
		err = tracee_begin(&c, t, &regs);
	if (err)
		return err;
	pthread_mutex_lock(&mm->lock);
	zap_end(mm);	/* it runs in the stub */
	err = mm_unmove(rec, mm, &c, NULL);
	if (err != -ESRCH)
		tracee_end(&c);
	pthread_mutex_unlock(&mm->lock);
	if (!err)
		clean_up(mm, t);
	return err;
}

void attached_end(struct recorder *rec)
{
	struct task *t;

	for (t = tasks_next(NULL); t; t = tasks_next(t)) {
		witness_end(rec, t);
		if (mm_of(t->space))
			mm_of(t->space)->witnessed = 0;	/* it was looked at */
	}
	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (mm_of(t->space) && mm_of(t->space)->state == MM_MOVED && !mm_of(t->space)->dead &&
		    release_mm(rec, mm_of(t->space)) == -EBUSY) {
			mm_of(t->space)->dead = 1;	/* said once */
			moca_error("cannot make the memory of process %d its "
				   "own again, because none of its threads "
				   "can be stopped: it runs on, but may "
				   "compute wrong results after its next fork; "
				   "end it, and start it anew", t->pid);
		}
}
