/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of the memfd that outlive their mapping. A program that gives memory back
 * and maps memory at the same addresses soon after would have the kernel free and
 * allocate each page. Instead, munmap and brk leave the pages in the memfd. They are
 * zeroed when a mapping gets their offsets, and punched when none does for a second.
 *
 * A kept page exists before its new mapping touches it. The memfd is no witness
 * for the certificate then; the page tables are (keep_look).
 *
 * Nothing is kept where the kernel or a device may write to a page that is not mapped
 * any more, where a control group limits memory, where a fork shares the memfd, and
 * where the machine has several nodes: a kept page stays on its node, and the program's
 * next first touch would move it.
 *
 * All functions: supervisor thread, mm->lock held, unless said otherwise.
 */
#ifndef MOCA_FAULT_KEEP_H
#define MOCA_FAULT_KEEP_H

#include "collect/fault/memory.h"
#include "collect/ptrace/event.h"

struct ctx;

/*
 * Offer [off, off + len) of the memfd, whose last mapping is gone. Returns 1 if its
 * pages are kept, and 0 if the caller has to punch them.
 */
int keep_range(struct recorder *rec, struct mm *mm, uint64_t off, uint64_t len);

/*
 * Region r was mapped. The kept pages that it covers are zeroed, and the collector
 * is told that nobody has touched them. Returns 0, or -errno if the memory of r is
 * not all zero.
 */
int keep_take(struct recorder *rec, struct mm *mm, const struct region *r);

/* [start, end) is about to be filled, or mapped where another thread may look: punch
 * what is kept for it. 0 or -errno. */
int keep_clear(struct mm *mm, uint64_t start, uint64_t end);

/*
 * Tell the collector which of the pages of keep_take in [start, end) are in the page
 * tables: they were touched. To be called before they are unmapped. tid: any task.
 */
void keep_look(struct recorder *rec, struct mm *mm, pid_t tid, uint64_t start,
	       uint64_t end);

/*
 * Ahead of calls that map, move, lock or share memory in other ways than mmap and
 * brk: punch what is kept. What keep_take gave and is not touched by then is known to
 * be touched by its records alone. 0 or -errno: what is kept is not zero.
 */
int keep_forget(struct recorder *rec, struct mm *mm, pid_t tid);

/* The same look ahead of a sweep, which takes the entries away. Collector thread. */
void keep_swept(struct recorder *rec, struct mm *mm);

/* Does call nr leave kept pages as they are? Ahead of all others: keep_forget. */
int keep_goes_along(long nr);
/*
 * x is a call of mincore, which has kept pages in memory that nobody touched: they are
 * punched before. 0 or -errno. concerns: whether there may be any.
 */
int keep_mincore(struct ctx *x);
int keep_concerns(const struct ctx *x);

/* Punch what has been kept for a second. Collector thread, no lock. */
void keep_expire(struct recorder *rec);

/* The memfd goes away. No lock. */
void keep_free(struct mm *mm);

#endif
