/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How memory is shared: the one definition for all commands, for accesses and
 * for counts. Of a page (or a cache line), by who touched it in all of the
 * recorded time; where its memory was given back or allocated anew, by what was
 * the strongest of the histories that it had:
 *
 *	private		one alone
 *	shared read	several, and no write is recorded
 *	one writer	several, of which one wrote
 *	shared write	several wrote
 *
 * An object is of the strongest of these (the last above) that a tenth of its
 * pages has, or of its accesses went to: a few pages at the borders of parts do
 * not make an array shared, and one hot page does. Of one instance that more touched
 * than it has pages, one shared page is enough: they had none of their own, even if
 * so few intervals saw most pages with one of them only.
 *
 * "Who" is threads, and once more processes: those only share pages of a file, a
 * memfd, a SysV segment, or memory that was mapped shared.
 */
#ifndef MOCA_SHARING_H
#define MOCA_SHARING_H

#include <stdint.h>

#include <moca/reader.h>

enum moca_sharing {
	MOCA_SHARING_PRIVATE,
	MOCA_SHARING_READ,
	MOCA_SHARING_ONE_WRITER,
	MOCA_SHARING_WRITE,
	MOCA_SHARINGS
};

/* users, writers: how many there were; more than 2 are as 2. */
enum moca_sharing moca_sharing_of(unsigned users, unsigned writers);

struct moca_sharing_sums {
	uint64_t pages[MOCA_SHARINGS];
	uint64_t accesses[MOCA_SHARINGS];
};

/* One page more, with what went to it since it is shared. */
void moca_sharing_add(struct moca_sharing_sums *s, enum moca_sharing of,
		      uint64_t accesses);
/* All other accesses of the object went to pages of one alone. */
void moca_sharing_rest(struct moca_sharing_sums *s, uint64_t accesses);
/* What the object is, that so many touched; one: it is one instance. */
enum moca_sharing moca_sharing_sum(const struct moca_sharing_sums *s,
				   uint64_t users, int one);

/* "shared write". */
const char *moca_sharing_name(enum moca_sharing s);

/*
 * Is each thread's first write to a page in an interval in the trace? If not, as
 * where the kernel module records, writes are a lower bound, and no page is known
 * not to be written.
 */
int moca_sharing_writes_known(const struct moca_trace *t);

#endif
