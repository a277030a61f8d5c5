/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What random.c and the builders of its sequences share. */
#ifndef MOCA_TESTS_EXACT_RANDOM_H
#define MOCA_TESTS_EXACT_RANDOM_H

#include "machine.h"

#define SEQUENCE_MAX 12288u /* bytes */

/* One sequence while it is built; its code will run at addr. */
struct sequence {
	uint8_t *code;
	uint64_t addr;
	uint32_t len;
	uint16_t undefined; /* flags at its end */
	int counting;	    /* only what has known accesses */
	unsigned int times; /* that what is emitted runs */
};

extern const struct template *pool;
extern const struct access *pool_accesses;

void put(struct sequence *s, const void *bytes, unsigned int n);
void put8(struct sequence *s, unsigned int byte);
void put32(struct sequence *s, uint32_t value);
/* mov r32/r64, value */
void put_mov(struct sequence *s, unsigned int reg, uint64_t value);
/* Appends a template, its flags and accesses. */
void put_template(struct sequence *s, const struct template *t);
/* Expect accesses to the line of addr. */
void expect(uint64_t addr, uint64_t loads, uint64_t stores);

/* Loops over arrays: random-affine.c. */
void build_affine(struct sequence *s, struct rng *r);

/* random-rewrite.c: before code runs near its memory, where translations may lie then. */
void rewrite_begin(void);
/* Code that changes itself, in memory that is writable and executable:
 * random-rewrite.c. Returns a hash of what a batch of n did; prints nothing. */
uint64_t run_rewriting(struct rng *r, unsigned int n, int counting);

#endif
