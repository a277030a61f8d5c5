/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read or write, from the instruction that faulted (Zydis). */
#ifndef MOCA_FAULT_DECODE_H
#define MOCA_FAULT_DECODE_H

#include <stdint.h>
#include <sys/types.h>

struct decoder;
struct text;

/* text, borrowed: the code of processes that are gone. NULL: no memory. */
struct decoder *decoder_new(const struct text *text);
void decoder_free(struct decoder *d);

/*
 * What the instruction at ip, of address space `space` (any number that tells
 * address spaces apart) and process pid, did at addr: enum moca_access_type.
 * UNKNOWN where one instruction both reads and writes different places.
 */
uint8_t decoder_type(struct decoder *d, pid_t pid, int space, uint64_t ip,
		     uint64_t addr);

#endif
