/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of compiled code from files that programs wrote: hostile. */
#ifndef MOCA_RUN_JIT_READ_H
#define MOCA_RUN_JIT_READ_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/format/jit.h"

struct jit_read {
	struct moca_jits *out;
	uint32_t pid;		/* of the process that they are of */
	uint64_t full;		/* names that found no room */
	uint64_t damaged;	/* lines or records that are none */
	uint64_t bytes;		/* that were read; a file is some by itself */
	const atomic_int *stop;	/* NULL, or: no more is read once it is not 0 */
};

/*
 * What may be read, of all files: who records waits for it. Bytes; what a file takes
 * at least; names that found no room.
 */
#define JIT_BYTES_MAX (256ull << 20)
#define JIT_FILE_BYTES 4096u
#define JIT_FULL_MAX (1u << 16)
/* A longer line of a map is damage, and the file's end. */
#define JIT_LINE_MAX (64u << 10)

/* Is nothing read any more? What there is of the file at hand counts. */
int jit_read_over(const struct jit_read *r);

/* A map: "BEGIN SIZE NAME" a line, hexadecimal. fd is closed. 0 or -errno. */
int jit_read_map(struct jit_read *r, int fd);
/*
 * A dump in the format of perf's jitdump. fd is closed. 0; -EPROTO: it is none, or
 * its times are no CLOCK_MONOTONIC; -errno.
 */
int jit_read_dump(struct jit_read *r, int fd);

#endif
