/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks with sums, one after the other: query/ has them, export/ writes them,
 * and neither knows the other.
 */
#ifndef MOCA_TEXT_SAMPLES_H
#define MOCA_TEXT_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* A function that runs, or calls, at a place. Strings last as long as the samples. */
struct samples_line {
	const char *function;
	const char *file;	/* NULL: not known */
	unsigned line;		/* 0: not known */
};

/* What an address is: functions inlined into others, the innermost first. */
struct samples_place {
	const struct samples_line *lines;
	uint32_t count;		/* 1 or more */
	const char *path;	/* of the file with the code; NULL: none */
	uint64_t address;	/* in that file as it is linked, or in memory */
};

struct samples {
	const char *const *kinds;	/* what is summed: "first-touches" */
	const uint8_t *kind_bytes;	/* of each kind: does it sum bytes? */
	size_t kind_count;
	uint64_t begin_ns, length_ns;	/* of the recording; Unix time */
	/* The stack at hand. */
	const char *process, *thread;	/* names; may be "" */
	uint32_t pid, tid;
	const uint32_t *places;	/* numbers, the innermost first; none: not known */
	size_t count;
	int cut;		/* the outermost are not known */
	const uint64_t *values;	/* of each kind */
	/* The next stack: 1, at the end 0, or -errno. */
	int (*next)(struct samples *s);
	/* Begin anew. */
	void (*rewind)(struct samples *s);
	/* Valid until the next stack. */
	struct samples_place (*place)(struct samples *s, uint32_t number);
};

#endif
