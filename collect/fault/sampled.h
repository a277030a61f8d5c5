/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A task as the collector knows it, by its samples. Collector thread only. */
#ifndef MOCA_FAULT_SAMPLED_H
#define MOCA_FAULT_SAMPLED_H

#include <moca/types.h>

#include "collect/fault/memory.h"
#include "collect/run/own-faults.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"

struct sampled_task {
	struct sampled_task *next;
	pid_t tid, pid;
	uint32_t id;
	int cpu;		/* of its last sample */
	int seen;		/* there was one in this interval */
	int known;		/* id and mm are */
	int ignore;
	struct mm *mm;
	struct moca_access *recs;
	size_t count, room;
	uint64_t lost;		/* samples, not written */
	uint64_t faults[PAGE_FAULTS];	/* since the last account */
	struct own_count own;
	struct message *events, **events_tail;	/* to be written */
	size_t event_count;
};

/* What a fault of t is: *f, and for the trace. Notes it in the pages of its memory. */
struct page_record sampled_see(struct sampled_task *t, uint64_t addr, int write,
			       enum page_fault *f);
/* Its records in order of time, none of them before begin_ns. */
void sampled_sort(struct sampled_task *t, uint64_t begin_ns);

#endif
