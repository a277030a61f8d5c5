/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moca diff --flame: functions by what changed of the accesses, and of what is allocated, below them. */
#ifndef MOCA_CLI_DIFF_FLAME_H
#define MOCA_CLI_DIFF_FLAME_H

#include "analysis/flame-change.h"
#include "lib/text/json.h"

struct diff_flame {
	struct moca_callers *callers[2];
	struct moca_objects *objects[2];	/* of allocations; NULL: none */
	struct moca_flame_tree tree[2];
	struct moca_flame_changes changes;	/* by accesses; or by allocated
						   bytes, where it has no stacks */
	struct moca_flame_changes bytes;	/* by these, where it has both */
	int by;		/* what changes are sorted by */
};

/* 0, or an exit code after a message; free it also then. */
int diff_flame_make(struct diff_flame *x, const char *const path[2],
		    struct moca_trace *const trace[2]);
void diff_flame_free(struct diff_flame *x);

void diff_flame_print(const struct diff_flame *x, int width);
/* The member "flame". */
void diff_flame_json(const struct diff_flame *x, struct json *j);

#endif
