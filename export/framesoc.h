/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CSV files that importers of the original's traces read since 2016: events, and
 * who touched which page. doc/formats/framesoc.md has their columns.
 */
#ifndef MOCA_EXPORT_FRAMESOC_H
#define MOCA_EXPORT_FRAMESOC_H

#include "export/classic.h"
#include "export/out.h"

/* Pages and who touched them, to be written twice; and what was written. */
struct framesoc {
	struct moca_trace *t;
	struct classic_options options;
	uint32_t only;		/* pages that this thread touched (number + 1); or 0 */
	struct framesoc_pages {
		struct framesoc_touch *touches;	/* by page and thread */
		size_t cap, count;
	} virt, phys;
	struct out *o;
	uint64_t events;
	int read_failed;	/* what went wrong is the trace */
};

/*
 * Find who touched what: of one task alone, the others' accesses say what it shares.
 * options->pick then leaves those of all tasks. 0 or -errno; free it in any case.
 */
int framesoc_begin(struct framesoc *x, struct moca_trace *t,
		   const struct classic_options *options);
void framesoc_free(struct framesoc *x);

/* Each is a file. 0 or -errno. */
int framesoc_events(struct framesoc *x, struct out *o);
int framesoc_producers(struct framesoc *x, struct out *o, int physical);

#endif
