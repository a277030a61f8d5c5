/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pool.c (instructions by chance) and pool-macros.c (by hand) share. */
#ifndef MOCA_TESTS_EXACT_POOL_H
#define MOCA_TESTS_EXACT_POOL_H

#include "machine.h"

#include <Zydis/Zydis.h>

#define ACCESSES_MAX 160
/* A template while it is made. */
struct draft {
	struct template t;
	struct access a[ACCESSES_MAX];
	int broken; /* too long, or too many accesses */
};

extern struct rng pool_rng;
static inline unsigned int below(unsigned int n)
{
	return rng_below(&pool_rng, n);
}

void emit(struct draft *d, const void *bytes, unsigned int n);
void emit8(struct draft *d, unsigned int byte);
void emit32(struct draft *d, uint32_t value);
/* Text of bytes in hexadecimal, blanks allowed. */
void emit_hex(struct draft *d, const char *hex);
/* mov to GPR reg, the shortest or a longer form; flags stay. */
void emit_mov(struct draft *d, unsigned int reg, uint64_t value);
/* vmovdqu64 zmm / vmovdqu ymm from an absolute address: a load. */
void emit_vload(struct draft *d, unsigned int reg, uint32_t addr);
void emit_kmov(struct draft *d, unsigned int k, unsigned int gpr, uint64_t v);
void count(struct draft *d, uint64_t addr, unsigned int loads,
	   unsigned int stores);

/* Where a template may read and write n bytes; now and then across pages. */
uint32_t data_address(unsigned int n);

/* Keeps the draft if it runs, without a fault and twice the same; 0 if so. */
int keep(struct draft *d);

void make_macros(unsigned int rounds);

#endif
