/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rechecks: pages of which one thread alone is known are let go once more within an
 * interval, behind their first use in it, so that the next thread that uses them shows
 * as well. A sweep finds who comes first behind it, and of threads that take turns that
 * is mostly the same one (doc/design/fault-collector.md).
 *
 * Single pages in turn, other ones in each interval, are let go behind each use. They
 * tell when a phase of the program begins in which threads come to pages of others:
 * then the blocks around are let go as a whole. What rechecks let go is no more than a
 * share of what sweeps do. Pure arithmetic; collector thread only.
 */
#ifndef MOCA_FAULT_RECHECK_H
#define MOCA_FAULT_RECHECK_H

#include <stddef.h>
#include <stdint.h>

#include "collect/fault/sample.h"
#include "collect/run/pageset.h"

/* Pages that may be let go. */
struct recheck_room {
	uint64_t turn;		/* those whose turn it is */
	uint64_t near;		/* of blocks around finds */
};

/* Zero-initialise, but for start_ns. */
struct recheck {
	uint64_t start_ns;	/* of the recording */
	/* Pages so far. */
	uint64_t swept;		/* let go by sweeps */
	uint64_t tried_turn, tried_near;	/* let go by rechecks */
	uint64_t found;		/* of these, a second thread came to */
	/* Pages since the last recheck. */
	uint64_t hits;		/* that a second thread came to */
	uint64_t misses;	/* that their only thread came back to */
	uint64_t intervals;
	uint64_t every;		/* one page of so many has its turn; 0: none has */
	uint64_t at_ns;		/* none before */
	/* Of the recheck that goes on. */
	uint64_t now_ns;
	uint64_t near_every;	/* one stripe of so many, of blocks around finds */
	struct recheck_room room;
};

/* What a fault tells; r may be all of a recording. */
void recheck_note(struct recheck *r, const struct page_record *p);
/*
 * A sweep let go so many pages: another interval begins. single: pages of which one
 * thread alone is known, whether they have an entry or not.
 */
void recheck_swept(struct recheck *r, uint64_t pages, uint64_t single);
/*
 * Pages that sweeps leave of the budget, so that a phase that begins can be looked at
 * at once.
 */
double recheck_reserve(const struct recheck *r, uint64_t single);
/*
 * A recheck begins; `most` pages fit under the budget. 1: it may let something go. Then
 * recheck_choose, and recheck_mask of all stripes, for each address space.
 */
int recheck_begin(struct recheck *r, uint64_t now_ns, double most);
/* l: all blocks of an address space, in order. Sets `near` of each. */
void recheck_choose(struct recheck *r, const struct block_list *l);
/* The pages of a stripe to let go; takes them off the room. */
uint64_t recheck_mask(struct recheck *r, struct page_block *b,
		      unsigned int stripe);
/* It is done, in cpu_ns of the collector's CPU time: sets when the next one may be. */
void recheck_end(struct recheck *r, uint64_t now_ns, uint64_t cpu_ns);

#endif
