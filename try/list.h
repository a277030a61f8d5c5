/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes that can be tried; a new one is a file and a line. */
#ifndef MOCA_TRY_LIST_H
#define MOCA_TRY_LIST_H

#include <stdint.h>

#include "try/plan.h"

struct moca_advice;
struct moca_profile;

enum try_allocator {
	TRY_ALLOCATOR_UNKNOWN, TRY_ALLOCATOR_GLIBC, TRY_ALLOCATOR_JEMALLOC,
	TRY_ALLOCATOR_TCMALLOC, TRY_ALLOCATOR_MIMALLOC
};

/* What the program, and this machine, have that a change could act on. */
struct try_subject {
	enum try_allocator allocator;	/* whose malloc it is */
	int openmp;		/* libgomp or libomp is mapped */
	int threads;		/* most tasks that its processes had */
	const struct moca_advice *advice;
	const struct moca_profile *profile;
	unsigned nodes;		/* that this process may have memory on */
	unsigned cores;		/* that it may run on; 0: not known */
	int is_virtual;		/* what it tells of its cores may be untrue */
};

/* What a change is made of. All but the plan are constants. */
struct try_made {
	const char *title;
	const char *setting;	/* variables; NULL: none */
	struct try_plan plan;	/* nothing in it: none */
	const char *note;	/* why it may gain nothing here; NULL */
	uint32_t kinds;		/* bits of the kinds of findings that it follows */
	double predicted;	/* share of CPU time; NAN: not known */
	int err;		/* -ENOMEM */
};

/*
 * Fills what it would change; else it has nothing for such a program, and says so
 * by returning why. FINDING: it follows findings, and is listed where there is one;
 * ALL: it is tried without a finding.
 */
#define TRY_LIST(X) \
	X(try_huge_sites, "huge-sites", FINDING) \
	X(try_pad_64, "pad-64", FINDING) \
	X(try_pad_128, "pad-128", FINDING) \
	X(try_interleave, "interleave", FINDING) \
	X(try_bind, "bind", FINDING) \
	X(try_keep_memory, "keep-memory", ALL) \
	X(try_huge_pages, "huge-pages", ALL) \
	X(try_prefault, "prefault", ALL) \
	X(try_prefault_huge, "prefault-huge", ALL) \
	X(try_one_arena, "one-arena", ALL) \
	X(try_bind_threads, "bind-threads", ALL)

/* NULL, or why it cannot act on such a program. */
#define X(function, id, when) \
	const char *function(const struct try_subject *s, struct try_made *out);
TRY_LIST(X)
#undef X

#endif
