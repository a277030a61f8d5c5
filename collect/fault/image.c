// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/image.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/fault/base.h"
#include "collect/fault/mm.h"
#include "collect/fault/witness.h"
#include "collect/fault/zap.h"
#include "collect/ptrace/child-tid.h"
#include "collect/ptrace/inject.h"
#include "collect/ptrace/preload.h"
#include "collect/ptrace/quiesce.h"
#include "collect/ptrace/supervisor.h"
#include "collect/ptrace/vdso.h"
#include "lib/base/err.h"

/* A static program has no loader that would do it. */
static void inject_agent(struct recorder *rec, struct task *t,
			 struct tracee_calls *c)
{
	char why[100], text[200];

	if (moca_inject_static(rec, c, why, sizeof(why)) > 0)
		preload_configure(rec, t, &c->saved);
	if (!why[0])
		return;
	snprintf(text, sizeof(text), "not all allocations of a static program "
		 "are seen: %s", why);
	supervisor_gap(rec, t, text);
}

/* Not into a program that is not dumpable. */
static int may_look(pid_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Move its memory, if it can be. 0 or -errno: it died. */
static int take_memory(struct recorder *rec, struct task *t, int limited)
{
	struct mm *mm = mm_of(t->space);
	struct tracee_regs regs;
	struct tracee_calls c;
	uint64_t insn;
	int err, loads;

	err = tracee_get_regs(t, &regs);
	if (err)
		return err;
	if (regs_are_32bit(&regs)) {
		supervisor_gap(rec, t, "a 32-bit program: real faults only");
		return 0;
	}
	if (limited) {
		supervisor_gap(rec, t, "its system calls are limited by seccomp: real "
			    "faults only, and no allocations");
		return 0;
	}
	insn = vdso_syscall(t->tid);
	if (!insn) {
		supervisor_gap(rec, t, may_look(t->tid) ?
			       "no vDSO in the program: real faults only" :
			       "a program that has gained rights, or whose "
			       "file may not be read: the kernel tells nothing "
			       "of it");
		return 0;
	}
	loads = supervisor_preload(rec, t, &regs);
	if (loads < 0)
		return loads;
	err = tracee_begin(&c, t, &regs);
	if (err)
		return err;
	err = image_take_over(rec, mm, &c, insn);
	if (err && err != -ESRCH) {
		char why[200];

		snprintf(why, sizeof(why), "memory could not be moved (%s): "
			 "real faults only", err == -EBUSY ?
			 "it has a file at Moca's descriptor number, or may have none" :
			 strerror(-err));
		mm->untold = 1;
		task_event_unmapped(rec, t, why);
	}
	if (!err && loads == PRELOAD_STATIC)
		inject_agent(rec, t, &c);
	return tracee_end(&c);
}

int image_take_over(struct recorder *rec, struct mm *mm,
		    struct tracee_calls *c, uint64_t insn)
{
	int err = mm_setup(rec, mm, c, insn);

	if (!err)
		err = supervisor_calibrate(rec, c);
	if (err)
		return err;
	pthread_mutex_lock(&mm->lock);
	err = mm_move_all(rec, mm, c);
	pthread_mutex_unlock(&mm->lock);
	return err;
}

int image_after_exec(struct recorder *rec, struct task *t, const char *path)
{
	int limited = supervisor_limited(rec, t->tid), err;

	if (!record_wanted(rec, t->pid, path)) {
		supervisor_gap(rec, t, "left out by the user's choice");
		return 0;
	}
	err = take_memory(rec, t, limited);
	/* Behind all that we touch ourselves. */
	if (!err)
		witness_begin(rec, t);
	return err;
}

/* What fork-native.c left of an ancestor's memfd stays as long as anyone has it. */
static int share_frozen(struct mm *from, struct mm *to)
{
	int err = 0;

	pthread_mutex_lock(&from->lock);
	for (size_t i = 0; i < from->base_count && !err; i++)
		err = base_use(to, from->bases[i]);
	pthread_mutex_unlock(&from->lock);
	return err;
}

/* The child of a fork: a copy of its parent's memory, or none of it is. */
void image_after_fork(struct recorder *rec, struct task *t, struct task *child)
{
	struct mm *mm = mm_of(t->space);
	int err;

	if (mm->state != MM_MOVED) {
		mm_of(child->space)->untold = mm->untold || mm->refused;
		err = share_frozen(mm, mm_of(child->space));
		if (err)
			moca_warn("the memory that process %d shares with its "
				  "ancestors since a fork cannot be kept for its "
				  "child %d: %s; end the child, it may see what "
				  "they write", t->pid, child->pid,
				  strerror(-err));
		child_tid_write(child);
		if (mm->witnessed)
			witness_begin(rec, child);
		return;
	}
	pthread_mutex_lock(&mm->lock);
	zap_settle(mm);
	quiesce(t->space, t);
	err = mm_fork(rec, t, child);
	pthread_mutex_unlock(&mm->lock);
	quiesce_end(t->space, t);
	if (!err && mm->witnessed)
		witness_begin(rec, child);
	if (!err || err == -ESRCH)
		return;
	/* Nothing could be mapped over what it shares (fork-native.c). */
	supervisor_lose_child(rec, t, child, err);
}
