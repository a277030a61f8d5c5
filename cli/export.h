/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the formats of `moca export` share. */
#ifndef MOCA_CLI_EXPORT_H
#define MOCA_CLI_EXPORT_H

#include <moca/reader.h>

#include "export/out.h"
#include "lib/cmdline/options.h"

struct export {
	const char *trace;
	const char *out;	/* "-": stdout */
	const char *to;
	/* What is wanted of the trace. */
	struct moca_query range;
	const char *object;
	struct string_list tables;
	uint64_t window_ns;	/* of sums; 0: as short as may be */
	int no_objects;
	int events_only;
	const char *value;	/* what folded stacks sum; NULL: accesses, or the first
				   that there is */
	int partition;
	char *partition_path;	/* then, out */
	int quiet;
	struct moca_trace *t;
	int dirfd;		/* of a format that writes a directory; or -1 */
	int fd;			/* of one that writes a file; or -1 */
	int read_failed;	/* what went wrong is the trace */
	int refused;		/* after a message: the command line is wrong */
};

/*
 * Make a file of the directory, which is removed when the export fails. Its
 * descriptor, which the caller closes, or -errno.
 */
int export_create(struct export *x, const char *name);

/*
 * --partition: out becomes OUT/job=JOB/rank=RANK, and what is above that is made. 0,
 * or -1 after a message. The caller frees partition_path.
 */
int export_partition(struct export *x);
/* Before OUT is made: 0, or after a message an exit code. */
int export_partition_refuse(const struct export *x);

/* Is it of less than the whole trace? Rates and phases are not, then. */
static inline int export_is_narrowed(const struct export *x)
{
	return x->object || x->range.begin_ns || x->range.end_ns ||
	       x->range.addr_begin || x->range.addr_end || x->range.one_task;
}

/* Of the formats; 0, or -errno. Those of several say it by x->to. */
int export_ctf(struct export *x);	/* export-ctf.c */
int export_callgrind(struct export *x);	/* export-callgrind.c */
int export_dhat(struct export *x);	/* export-dhat.c */
int export_framesoc(struct export *x);	/* export-framesoc.c */
int export_paje(struct export *x);	/* export-paje.c */
int export_perfetto(struct export *x);	/* export-perfetto.c */
int export_tabarnac(struct export *x);	/* export-tabarnac.c */
int export_tables(struct export *x);	/* export-tables.c */
int export_stacks(struct export *x);	/* export-stacks.c */

/* Before OUT is made: 0, or after a message an exit code. */
int export_ctf_refuse(const struct export *x);
int export_stacks_refuse(const struct export *x);
int export_callgrind_refuse(const struct export *x);
int export_picked_refuse(const struct export *x);	/* --object of counts: export-picked.c */

#endif
