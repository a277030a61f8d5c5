/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `moca diff` compares of a run, as a small file of text to keep beside a
 * program's sources: a line for each fact, its fields parted by tabs, with \xHH
 * for what acts on a terminal and for the backslash.
 *
 *	moca-baseline	1
 *	of	PATH
 *	way	pages|counts
 *	machine	TEXT
 *	finding	TITLE			as many as there are
 *	total	METRICS UNKNOWN
 *	object	METRICS UNKNOWN NAME [FUNCTION FILE]
 *	end	OBJECTS			how many there are
 *
 * METRICS are those of enum condition_metric, in its order; UNKNOWN are accesses
 * whose node is not known. What allocates an object without a name of its own is
 * FUNCTION in FILE.
 */
#ifndef MOCA_ANALYSIS_BASELINE_H
#define MOCA_ANALYSIS_BASELINE_H

#include <stdio.h>

#include "analysis/comparison.h"

/* The number of the file's first line. */
#define MOCA_BASELINE_VERSION "1"

struct moca_baseline_row {
	const char *name;
	const char *function, *file;	/* NULL: it has a name */
	double value[DIFF_METRICS];	/* shares from 0 to 1 */
	double unknown;
};

struct moca_baseline {
	char *text;		/* all strings lie in it */
	const char *of, *machine;
	int counts;		/* of exact mode */
	const char **findings;
	size_t finding_count;
	struct moca_baseline_row all, *rows;
	size_t count;
	int whole;		/* its last line was read */
};

/* Is it a file that begins as a baseline does? */
int moca_baseline_is(const char *path);
/*
 * 0; -EPROTO: of a newer moca; -ENODATA: it is cut off; -EBADMSG: line *line of it
 * is none, or it is too large; -errno. Free it with moca_baseline_free() also then.
 */
int moca_baseline_read(struct moca_baseline *b, const char *path, size_t *line);
void moca_baseline_free(struct moca_baseline *b);

/* Side B of a comparison. Look at ferror(f). */
void moca_baseline_write(FILE *f, const struct comparison *c, const char *of,
			 const char *machine);

#endif
