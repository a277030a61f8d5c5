/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the walks of `moca info` share. */
#ifndef MOCA_ANALYSIS_INFO_WALK_H
#define MOCA_ANALYSIS_INFO_WALK_H

#include "analysis/identity.h"
#include "analysis/info/info.h"
#include "analysis/info/page-set.h"

/* What holds the access: a group, and where its page is one page for all. */
struct place {
	size_t group;
	uint32_t owner;		/* of the page: a process, or a memory */
	uint64_t page;
	int own;		/* it is Moca's */
};

struct walk {
	struct moca_info *s;
	struct moca_trace *t;
	struct moca_identities identities;
	unsigned page_shift;
	const struct moca_mapping *maps;
	size_t map_count;
	size_t *group_of;	/* by mapping: index in s->mappings */
	uint32_t *of;		/* likewise: number of identities */
	const struct moca_mapping *last;	/* where the last access was */
	size_t unmapped;	/* the last group found for what is in none */
	struct page_set group_pages;
	struct page_set task_pages;
	struct page_set process_pages;
	int counts_all;		/* a working set alone is wanted, and by samples:
				   count s->total.pages with it */
	struct page_set written;	/* pages of private mappings of files that
					   their process, the owner, wrote */
	struct page_set users;	/* of memories: pages are processes */
};

/* The mapping of an access, which was the one before's most times; or NULL. */
const struct moca_mapping *moca_info_find_mapping(struct walk *w, uint32_t pid,
						const struct moca_access *a);
/*
 * Where an access was, in that mapping, if there is one. Accesses of a process that come first are to be
 * told first. 0 or -ENOMEM.
 */
int moca_info_place(struct walk *w, uint32_t pid, const struct moca_mapping *m,
		  const struct moca_access *a, struct place *out);
/* Its page in its group, where pages of a process and of a file are told apart. */
uint64_t moca_info_group_page(const struct place *at);
/* Note that a process touched it. 0 or -ENOMEM. */
int moca_info_count_process(struct walk *w, uint32_t pid, size_t group);
/* Counts as if they were accesses: of traces without these. 0 or -errno. */
int moca_info_walk_counts(struct walk *w);

#endif
