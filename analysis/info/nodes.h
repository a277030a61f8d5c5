/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine, and which accesses went to which of its NUMA nodes.
 * An access is remote when its page was on another node than the CPU that made
 * it, as the trace tells both.
 */
#ifndef MOCA_ANALYSIS_INFO_NODES_H
#define MOCA_ANALYSIS_INFO_NODES_H

#include <moca/reader.h>

#include "analysis/info/page-set.h"

struct nodes_counts {
	uint64_t local, remote;
	uint64_t unknown;	/* the page's node or the CPU's is not known */
};

struct nodes_table {
	const struct moca_machine *machine;	/* the trace's; NULL = unknown */
	struct {
		uint64_t accesses;	/* to its pages */
		uint64_t remote;	/* of these */
		uint64_t from;		/* of its CPUs, to any node */
		struct page_set pages;
	} *nodes;		/* of machine, by index */
	struct nodes_counts total;
	struct nodes_counts *tasks;	/* by the trace's task index */
	size_t task_count;
};

/* 0 or -ENOMEM. */
int nodes_init(struct nodes_table *n, const struct moca_trace *t);
/* task: its index; owner and page: who has the page, and which, as of page_set. */
int nodes_add(struct nodes_table *n, size_t task, uint32_t owner,
	      uint64_t page, const struct moca_access *a);
void nodes_free(struct nodes_table *n);

#endif
