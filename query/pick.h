/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which accesses a filter leaves, for those who read the trace by themselves. */
#ifndef MOCA_QUERY_PICK_H
#define MOCA_QUERY_PICK_H

#include "query/export.h"

struct query_pick;

/*
 * What f leaves of the accesses of t, which must outlive *out as f must. window: of
 * its times and task alone are the accesses that will be asked for; it may be f's, or
 * larger. Without f->object nothing is computed; with it, memory is some 2 bytes for
 * each access of the window. 0 or -errno.
 */
int query_pick_open(struct query_pick **out, struct moca_trace *t,
		    const struct query_filter *f,
		    const struct moca_query *window);
void query_pick_close(struct query_pick *p);

/*
 * Is the access left? task: the index of its task, or SIZE_MAX; n: its number, from 0,
 * among those that a cursor of the window gives of its task.
 */
int query_pick_has(struct query_pick *p, size_t task, uint64_t n,
		   const struct moca_access *a);

/*
 * The same of a chunk: *chunk becomes one with the accesses that are left, maybe none,
 * until the next call. before: accesses that the cursor gave of its task before.
 * 0 or -ENOMEM.
 */
int query_pick_chunk(struct query_pick *p, uint64_t before,
		     const struct moca_chunk **chunk);

/* Does f leave objects of that name? */
int query_pick_name(const struct query_filter *f, const char *name);

#endif
