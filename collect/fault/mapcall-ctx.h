/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A system call that mapcall.c carries out, for the files that do so. */
#ifndef MOCA_FAULT_MAPCALL_CTX_H
#define MOCA_FAULT_MAPCALL_CTX_H

#include <sys/syscall.h>

#include "collect/fault/freeze.h"
#include "collect/fault/keep.h"
#include "collect/ptrace/tracee.h"

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

/* One call being carried out. */
struct ctx {
	struct recorder *rec;
	struct mm *mm;
	struct task *task;
	struct tracee_calls c;
	uint64_t a[6];		/* the program's arguments */
	long nr;
	long ret;		/* what the program gets */
	int quiesced;		/* its other tasks stand still: let them go */
};

/* Run the program's own call, with the arguments in x->a. 0 or -errno. */
static inline int run_own(struct ctx *x)
{
	int err;

	x->ret = tracee_call(&x->c, &err, x->nr, x->a[0], x->a[1], x->a[2],
			     x->a[3], x->a[4], x->a[5]);
	return err;
}

static inline int failed(long ret)
{
	return ret < 0 && ret >= -4095;
}

/* [start, end) is about to be unmapped, or mapped anew. */
static inline void look(struct ctx *x, uint64_t start, uint64_t end)
{
	freeze_look(x->mm, x->task->tid, start, end);
	keep_look(x->rec, x->mm, x->task->tid, start, end);
}

/*
 * The program's memory becomes all its own, and it makes the call in x itself, once
 * more: after one that limits its calls, the stub could not even say that it is
 * done. 0 or -errno.
 */
int mapcall_leave(struct ctx *x, const char *why);
/* madvise.c: 1 when any of the range is on the memfd. */
int mapcall_on_memfd(const struct mm *mm, uint64_t start, uint64_t end);
/* x is a call of madvise: whether it is of such memory; carry it out. */
int mapcall_madvise_concerns(const struct ctx *x);
int mapcall_madvise(struct ctx *x);
/* mlock.c: x is a call of mlock, mlock2 or mlockall. 0 or -errno. */
int mapcall_mlock(struct ctx *x);
/* mseal.c: x is a call of mseal. 0 or -errno. */
int mapcall_mseal(struct ctx *x);
/* mremap.c: x is a call of mremap. 0 or -errno. */
int mapcall_mremap(struct ctx *x);

#endif
