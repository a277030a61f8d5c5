/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read or write, from the instruction that faulted (Zydis). */
#ifndef MOCA_PERF_DECODE_H
#define MOCA_PERF_DECODE_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/perf/sampler.h"

struct decoder;
struct text;

/* text, borrowed: what code was where. NULL: no memory. */
struct decoder *decoder_new(const struct text *text);
void decoder_free(struct decoder *d);

/*
 * The caller says that all samples it will pass were taken before this call. Code that
 * the decoder reads from memory from here on is the code as it was after them.
 */
void decoder_turn(struct decoder *d);

/* An address space, and what of its memory may be read for its code. */
struct code_space {
	int id;			/* any number that tells address spaces apart */
	pid_t pid;		/* whose memory is looked into; 0: nobody's, only
				   the files that are mapped */
	/*
	 * Up to len bytes at addr from where sweeps take no page away; how many, or -1:
	 * nothing of it is there. NULL: there is no such place.
	 */
	ssize_t (*read)(void *arg, uint64_t addr, uint8_t *bytes, size_t len);
	void *arg;
};

/*
 * What the instruction of s, a sample of that space, did at its address: enum
 * moca_access_type. UNKNOWN where one instruction both reads and writes different
 * places, and where other code may have been there then.
 */
uint8_t decoder_type(struct decoder *d, const struct code_space *space,
		     const struct sample *s);

#endif
