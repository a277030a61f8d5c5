/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that a program shares with its children since a fork. It would take
 * long, and as much memory again, to copy it at each fork. So both map the same
 * memfd privately instead ("frozen": nobody writes to it any more), and the
 * kernel copies what is written. A page's first touch shows there, and its
 * writes in each interval where userfaultfd has WP_ASYNC; but entries of such
 * mappings cannot be thrown away, so later reads do not show.
 *
 * When nobody else uses the memfd any more, what the program wrote since then
 * goes into it, and it is mapped shared again ("thawed"). A process with little
 * frozen memory that lives on does not wait for that: it gets a copy.
 *
 * What is mapped after a freeze takes another plane of the memfd, so that it
 * never has an offset that a child still maps.
 *
 * Supervisor thread, mm->lock held.
 */
#ifndef MOCA_FAULT_FREEZE_H
#define MOCA_FAULT_FREEZE_H

#include "collect/fault/memory.h"
#include "collect/ptrace/maps.h"
#include "collect/ptrace/tracee.h"

/* Memory that a fork freezes: less is copied quicker. */
#define FREEZE_MIN (2ull << 20)
/*
 * What a process that lives on may copy of frozen memory that others use as
 * well, and all of them together: it takes as much memory again.
 */
#define THAW_COPY_MAX (16ull << 20)
#define THAW_COPY_ALL (64ull << 20)
/* The longest that a thaw is put off at a time. */
#define FREEZE_WAIT_MAX_NS 10000000000ull

/*
 * Whether mm, of which a task has just forked, can be frozen; l are the
 * child's mappings. All other tasks of it shall stand still.
 */
int freeze_possible(const struct mm *mm, const struct task *forked,
		    const struct vma_list *l);

/*
 * 1 when the kernel has been given pages for later (asynchronous input, locked
 * or pinned memory), which must stay the ones that are mapped. l are the
 * mappings of task tid.
 */
int freeze_holds_pages(pid_t tid, const struct vma_list *l);

/* One mapping to be frozen: a part of a region, of one protection. */
struct freeze_range {
	struct region region;
	int prot;
};

/*
 * Freeze n ranges of mm; c is begun by one of its tasks. done[i] says which
 * were, of freeze.bytes in all; others are as before. 0 or -errno: the process
 * is dead or dying.
 */
int freeze_ranges(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		  const struct freeze_range *ranges, size_t n, char *done);

/* mm forked, or is the child of a fork: when it may be thawed. */
void freeze_forked(struct mm *mm, int frozen_now);
/* Tell that from now on less is seen of t's memory, freeze.bytes of it. */
void freeze_tell(struct recorder *rec, struct task *t);
/* ... and that this ended, if it was told; by task t. */
void freeze_told(struct recorder *rec, struct mm *mm, struct task *t);

/*
 * What of the frozen pages in [start, end) was touched, for the certificate:
 * to be called before they are unmapped. tid: any task of mm.
 */
void freeze_look(struct mm *mm, pid_t tid, uint64_t start, uint64_t end);

/* The frozen pages in [start, end) shall read as zeroes. 0 or -errno. */
int freeze_empty(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		 uint64_t start, uint64_t end);

/* Some moments' work on thawing what nobody else uses. 0 or -errno. */
int freeze_thaw(struct recorder *rec, struct mm *mm, struct tracee_calls *c);
/* Thaw [start, end), by a copy of what others still use. 0 or -errno. */
int freeze_thaw_range(struct recorder *rec, struct mm *mm,
		      struct tracee_calls *c, uint64_t start, uint64_t end);

/* Calls that give a mapping made anew what r's flags say: how many, to 2. */
size_t freeze_advice(const struct region *r, struct stub_call *out);

/* 1 when freeze_thaw would have something to do. */
int freeze_can_thaw(struct recorder *rec, const struct mm *mm);

/* Show writes to frozen memory again in the next interval. Any thread. */
void freeze_protect(struct mm *mm);

#endif
