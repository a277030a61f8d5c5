/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the walks of `moca info` share. */
#ifndef MOCA_CLI_SUMMARY_INTERNAL_H
#define MOCA_CLI_SUMMARY_INTERNAL_H

#include "cli/page-set.h"
#include "cli/summary.h"

struct walk {
	struct summary *s;
	struct moca_trace *t;
	unsigned page_shift;
	const struct moca_mapping *maps;
	size_t map_count;
	size_t *group_of;	/* by mapping: index in s->mappings */
	const struct moca_mapping *last;	/* where the last access was */
	size_t unmapped;	/* the last group found for what is in none */
	struct page_set group_pages;
	struct page_set task_pages;
	struct page_set process_pages;
};

/* The group of the mapping that an access was in. 0 or -ENOMEM. */
int summary_find_group(struct walk *w, uint32_t pid,
		       const struct moca_access *a, size_t *group);
/* Counts as if they were accesses: of traces without these. 0 or -errno. */
int summary_walk_counts(struct walk *w);

#endif
