/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accesses are left out by more than a cursor knows of: by what they went to. */
#ifndef MOCA_EXPORT_PICK_H
#define MOCA_EXPORT_PICK_H

#include <moca/reader.h>

struct export_pick {
	/*
	 * *chunk becomes one with the accesses that are wanted alone, maybe none, until
	 * the next call; addresses are looked at, too. before: accesses that the
	 * cursor gave of its task before. 0 or -errno.
	 */
	int (*chunk)(void *arg, uint64_t before, const struct moca_chunk **chunk);
	void *arg;
};

/* What a cursor of q is opened with: accesses of other addresses count as `before`. */
static inline struct moca_query export_pick_query(const struct export_pick *p,
						  const struct moca_query *q)
{
	struct moca_query of = *q;

	if (p)
		of.addr_begin = of.addr_end = 0;
	return of;
}

/*
 * As moca_cursor_chunk() of a cursor of one task, and what p leaves of the chunk; p is
 * NULL: all. *before is 0 at first.
 */
static inline int export_pick_chunk(const struct export_pick *p,
				    struct moca_cursor *c, uint64_t *before,
				    const struct moca_chunk **chunk)
{
	int ret = moca_cursor_chunk(c, chunk), err;
	size_t n;

	if (ret <= 0 || !p)
		return ret;
	n = (*chunk)->count;
	err = p->chunk(p->arg, *before, chunk);
	*before += n;
	return err ? err : ret;
}

#endif
