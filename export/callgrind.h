/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of Callgrind's format: costs by file, function and line, and what functions cost
 * that are called from there. They are put in any order and written at the end; memory
 * grows with functions, lines and calls.
 */
#ifndef MOCA_EXPORT_CALLGRIND_H
#define MOCA_EXPORT_CALLGRIND_H

#include "export/out.h"
#include "lib/text/samples.h"

#define CALLGRIND_EVENTS_MAX 8u

struct callgrind;

/* Where a cost is. */
struct callgrind_place {
	const char *object;	/* the file with the code; NULL: not known */
	const char *file;	/* of source; NULL: not known */
	const char *function;
	unsigned line;		/* 0: not known */
};

/*
 * kinds: names such as "first-touches", of which events' names are made; at most
 * CALLGRIND_EVENTS_MAX. NULL: no memory.
 */
struct callgrind *callgrind_begin(const char *const *kinds, size_t count);
void callgrind_free(struct callgrind *c);
/* Adds values, one of each kind, to what the place at costs. 0 or -ENOMEM. */
int callgrind_cost(struct callgrind *c, const struct callgrind_place *at,
		   const uint64_t *values);
/*
 * Each stack: its innermost function costs what the stack sums, and each call on it
 * as much, once. *count: stacks. 0; -ENOMEM, or -errno of the samples.
 */
int callgrind_stacks(struct callgrind *c, struct samples *s, uint64_t *count);
/* All of it. command: what was recorded. 0, or o's error. */
int callgrind_write(struct callgrind *c, struct out *o, const char *command);

#endif
