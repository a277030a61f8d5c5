/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of other tools into a directory that is a trace of Moca's. */
#ifndef MOCA_IMPORT_IMPORT_H
#define MOCA_IMPORT_IMPORT_H

#include <stdint.h>

#include "import/lines.h"
#include "import/trace.h"

struct moca_meta;

struct import {
	/* Set by the caller. */
	const char *path;	/* of what is read */
	int dirfd;		/* the empty directory for the trace */
	int type;		/* enum moca_access_type of what does not tell it */
	/* What came of it. */
	struct import_error error;
	struct import_trace trace;
	struct moca_meta *meta;
	const char *from;	/* the name of the format */
	const char *reason;	/* why nothing can be certified */
	uint64_t left_out;	/* records that no trace of Moca's can have */
};

/* Of the formats: 0, or -errno after *error says why where it is not errno alone. */
int import_perf(struct import *x);	/* perf.c */
int import_classic(struct import *x);	/* classic.c */
int import_framesoc(struct import *x);	/* framesoc.c */
int import_tabarnac(struct import *x);	/* tabarnac.c */

/* Say what went wrong with no line in particular: -EBADMSG. */
int import_wrong(struct import *x, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A note of the metadata: what a reader should know. 0 or -ENOMEM. */
int import_note(struct import *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Open a file to read, which may be no device or pipe. NULL after import_wrong(). */
FILE *import_open(struct import *x, const char *path);

#endif
