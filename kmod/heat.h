/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Heat: between sweeps, the accessed and dirty bits of all open entries are read
 * and cleared, without a fault. doc/design/kernel-heat.md
 *
 * What was accessed without a fault the next sweep has to know (MOCA_ACC_SWEPT):
 * so a session remembers of which pages it has cleared the bit. A sweep is a look
 * as well. All is under the session's lock but moca_heat_was.
 */
#ifndef MOCA_KMOD_HEAT_H
#define MOCA_KMOD_HEAT_H

#include <linux/types.h>
#include <uapi/moca.h>

#include "entry.h"

struct moca_heat;
struct moca_session;
struct moca_space;

/* Of the entries of one table: a bit for each page. */
struct moca_heat_bits {
	u64 touched[MOCA_HEAT_WORDS], written[MOCA_HEAT_WORDS];
};

/* MOCA_HAS_HEAT, where entries can be read so. May sleep. */
u32 moca_heat_features(void);
/* What it takes of the kernel's memory. */
u64 moca_heat_bytes(void);
/* period_ns: between two looks, at least. NULL: no memory. */
struct moca_heat *moca_heat_create(u64 period_ns);
void moca_heat_destroy(struct moca_heat *h);

/* The recording begins: what the bits say so far is of no interest. */
void moca_heat_start(struct moca_session *s);
/* Look at all processes, and tell. */
void moca_heat_look(struct moca_session *s);
/* The last time: what finds no room is lost. */
void moca_heat_end(struct moca_session *s);
/* Around a sweep of all processes at `now`, whose walks have w->heat. */
void moca_heat_sweep(struct moca_session *s, u64 now);
void moca_heat_swept(struct moca_session *s);

/*
 * For moca_walk, under the table's lock: tell of the 512 pages from `table` on. False:
 * there is no room, and the entries shall stay as they are; else those that are in
 * b when it returns shall be cleared.
 */
bool moca_heat_tell(struct moca_walk *w, unsigned long table,
		    struct moca_heat_bits *b);
/*
 * Of which of these pages an accessed bit was cleared since the last sweep; NULL:
 * of none. Under the table's lock.
 */
const u64 *moca_heat_was(const struct moca_walk *w, unsigned long table);

/* When the next look is due; U64_MAX: never. */
u64 moca_heat_due(const struct moca_session *s);
/* What looks took since the last call, in ns. */
u64 moca_heat_took(struct moca_session *s);
void moca_heat_totals(const struct moca_session *s, struct moca_totals *t);

#endif
