/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of compiled code from files that programs wrote: hostile. */
#ifndef MOCA_RUN_JIT_READ_H
#define MOCA_RUN_JIT_READ_H

#include <stdint.h>

#include "lib/format/jit.h"

struct jit_read {
	struct moca_jits *out;
	uint32_t pid;		/* of the process that they are of */
	uint64_t full;		/* names that found no room */
	uint64_t damaged;	/* lines or records that are none */
};

/* Bytes of a file, at most; what is behind them counts as damaged. */
#define JIT_FILE_MAX (1ull << 30)

/* A map: "BEGIN SIZE NAME" a line, hexadecimal. fd is closed. 0 or -errno. */
int jit_read_map(struct jit_read *r, int fd);
/*
 * A dump in the format of perf's jitdump. fd is closed. 0; -EPROTO: it is none, or
 * its times are no CLOCK_MONOTONIC; -errno.
 */
int jit_read_dump(struct jit_read *r, int fd);

#endif
