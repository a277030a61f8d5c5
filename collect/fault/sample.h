/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which memory a sweep lets go when it lets go a sample (lib/base/stripe.h), and
 * which it lets go whole nevertheless: what a program uses little of, such as a
 * thread's stack or a library's variables.
 *
 * Each sweep draws anew, so that a structure too small for one sample is met in
 * its share of the intervals. Nothing that a program does depends on the draw, so
 * sums of pageset_weigh() are, in the mean, what sweeps of everything would tell.
 */
#ifndef MOCA_FAULT_SAMPLE_H
#define MOCA_FAULT_SAMPLE_H

#include "collect/fault/memory.h"
#include "lib/base/stripe.h"
#include "lib/format/meta.h"
#include "lib/text/text.h"

/*
 * Runs of touched blocks of no more pages are let go whole, the smaller first, as
 * long as all of them in an address space have no more than SAMPLE_WHOLE_ALL.
 */
#define SAMPLE_WHOLE 256
#define SAMPLE_WHOLE_ALL 2048

/* The blocks of an address space, in order. */
struct block_list {
	struct page_block **items;
	size_t count, room;
};

/* Whether sweeps let go, or protect, anything of r. */
int sample_is_watched(const struct mm *mm, const struct region *r);
/* Whether sweeps may let go a sample of r's entries. */
int sample_has(const struct recorder *rec, const struct region *r);
/*
 * Set the `large` of each block of l: the list of all. Stripes of the core, of that
 * rank and more (lib/base/stripe.h), are not: each sweep lets them go. mm->lock held.
 */
void sample_classify(struct mm *mm, const struct block_list *l,
		     unsigned int core);

/*
 * Keys sample.levels and sample_core, by how many intervals began with a sweep of
 * each level; shares: the same in words, empty where none took a sample.
 */
void sample_describe(const uint64_t levels[MOCA_STRIPE_RANK_MAX + 1],
		     struct moca_meta *m, char shares[TEXT_SAMPLES_MAX]);

#endif
