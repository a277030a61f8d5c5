/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read or write, from the instruction that faulted (Zydis). */
#ifndef MOCA_PERF_DECODE_H
#define MOCA_PERF_DECODE_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/fault/memory.h"
#include "collect/fault/sampler.h"

struct decoder;
struct text;

/* text, borrowed: what code was where. NULL: no memory. */
struct decoder *decoder_new(const struct text *text);
void decoder_free(struct decoder *d);

/*
 * The samples that follow were all taken by now: what code in memory is read from
 * here on is how it is behind them.
 */
void decoder_turn(struct decoder *d);

/*
 * What the instruction of s, a sample of mm (NULL: not known yet), did at its
 * address: enum moca_access_type. UNKNOWN where one instruction both reads and writes
 * different places, and where other code may have been there then. Takes mm->lock for
 * a moment.
 */
uint8_t decoder_type(struct decoder *d, struct mm *mm, const struct sample *s);

#endif
