/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions have of the accesses of two runs, matched by their names. */
#ifndef MOCA_FLAME_CHANGE_H
#define MOCA_FLAME_CHANGE_H

#include "analysis/flame-tree.h"

struct moca_flame_change {
	const char *name;	/* of a's tree or b's */
	struct moca_flame_function in[2];	/* all 0: not there */
};

struct moca_flame_changes {
	struct moca_flame_change *list;	/* what changed most comes first */
	size_t count, room;
	uint64_t all[2][MOCA_FLAME_COUNTS];
};

/*
 * By the share of all that a function has, with what it calls, then in its own
 * code. The trees must outlive it. 0 or -ENOMEM, with nothing to free.
 */
int moca_flame_changes_make(struct moca_flame_changes *out,
			    const struct moca_flame_tree *a,
			    const struct moca_flame_tree *b,
			    enum moca_flame_count by);
void moca_flame_changes_free(struct moca_flame_changes *x);

/* n of all of the run, 0 to 1. */
double moca_flame_share(const struct moca_flame_changes *x, int run,
			enum moca_flame_count count, uint64_t n);

#endif
