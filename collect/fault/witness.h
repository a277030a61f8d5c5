/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The independent witness of memory that is not on our memfd: which of its
 * pages exist, as the kernel's page tables tell (PAGEMAP_SCAN, or
 * /proc/PID/pagemap), before a process or a mapping ends. certify.h compares
 * that with what was seen. Supervisor thread.
 */
#ifndef MOCA_FAULT_WITNESS_H
#define MOCA_FAULT_WITNESS_H

#include "collect/fault/memory.h"

/* System calls of i386 after which a program's memory is no more. */

/*
 * t's address space is as new, or as its parent's: what exists in it is not
 * its doing. From now on it is looked at.
 */
void witness_begin(struct recorder *rec, struct task *t);
/*
 * t's process ran before we came. What exists where each touch shows from now
 * on is not counted; of the rest, such as the main stack, nothing is known.
 */
void witness_attach(struct recorder *rec, struct task *t);
/* t is about to leave its address space, or we are to leave t. */
void witness_end(struct recorder *rec, struct task *t);
/* The same if it is at the entry of a call that ends its memory. 1: so it is. */
int witness_at_call(struct recorder *rec, struct task *t,
		    const struct tracee_regs *regs);
/* Of [addr, addr + len) nothing can be shown: a gap, and a region. mm->lock
 * held. */
void witness_unseen(struct recorder *rec, struct task *t, uint64_t addr,
		    uint64_t len, const char *why);
/* [start, end) is about to be unmapped. mm->lock held. */
void witness_range(struct recorder *rec, struct mm *mm, struct task *t,
		   uint64_t start, uint64_t end);
/* What exists there now was put there by the kernel (MAP_POPULATE, mlock). */
void witness_filled(struct recorder *rec, struct mm *mm, struct task *t,
		    uint64_t start, uint64_t end);

#endif
