/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Physical addresses and NUMA nodes of the pages that accesses went to.
 * Collector thread.
 */
#ifndef MOCA_FAULT_PHYS_H
#define MOCA_FAULT_PHYS_H

#include <stddef.h>
#include <sys/types.h>

#include "collect/fault/memory.h"
#include "collect/perf/text.h"
#include "collect/run/queue.h"

struct phys;

/* text knows the files, queue what goes meanwhile; both outlive it. */
struct phys *phys_new(const struct text *text, struct queue *queue);
void phys_free(struct phys *p);

/* 1 when this user may see physical addresses (CAP_SYS_ADMIN). */
int phys_addresses(const struct phys *p);

/*
 * Fill in phys and node of n accesses of a task, in order of time, as far as
 * possible: the node where each page was then, or was known to be last. mm may
 * be NULL: not known. Takes mm->lock for a moment.
 */
void phys_fill(struct phys *p, struct mm *mm, pid_t tid,
	       struct moca_access *recs, size_t n);

/*
 * Some pages of mm went at that time, from where the list tells: for accesses
 * before it that are not filled in yet. Takes over the list. 1: there are so
 * many that these accesses are to be filled in now, then phys_forget.
 */
int phys_went(struct mm *mm, uint64_t time_ns, struct placed *list,
	      size_t count);
/* Messages that were taken from the queue and are still to be told, or NULL. */
void phys_taken(struct phys *p, const struct message *list);
/* All accesses of mm until now are filled in. */
void phys_forget(struct mm *mm);
/* Of all address spaces. */
void phys_forget_all(struct recorder *rec);

#endif
