/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counting took, by how often each kind of it was done: no clock tells it
 * from the program's own work. Pure arithmetic. Every input may be nonsense, as the
 * program can write what its agent counts.
 */
#ifndef MOCA_EXACT_PRICE_H
#define MOCA_EXACT_PRICE_H

#include "collect/run/cost.h"
#include "include/abi/exact-arena.h"

enum price_kind {
	PRICE_COUNT,	/* accesses counted where they are made */
	PRICE_LOOP,	/* accesses of loops that are counted when they are left */
	PRICE_STRING,	/* accesses of string instructions */
	PRICE_HELP,	/* calls of C to count, of which strings are a part */
	PRICE_EXIT,	/* jumps whose target C looked up */
	PRICE_KINDS
};

/* CPU time of the program's tasks, ns. */
struct price {
	uint64_t count[PRICE_KINDS];
	double least[PRICE_KINDS];
	double sum_least, sum_most;
};

/*
 * accesses: all that were counted, those of `apart` among them; cpu_ns: CPU time of
 * the program, which no sum exceeds.
 */
void price_of(uint64_t accesses, const struct moca_exact_apart *apart,
	      uint64_t cpu_ns, struct price *p);
enum cost_kind price_cost(enum price_kind kind);

#endif
