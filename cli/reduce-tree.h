/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moca reduce --tree, started many times by mpirun or srun: each process reads its
 * share of the ranks, and they merge in a tree, by files beside the one that is
 * written.
 */
#ifndef MOCA_CLI_REDUCE_TREE_H
#define MOCA_CLI_REDUCE_TREE_H

#include "cli/reduce-job.h"

struct reduce_tree {
	const char *job;	/* --job, or as the launcher calls it */
	const char *out;
	uint64_t wait;		/* seconds for a part, at most */
};

/*
 * Which process of how many is this, by the launcher's environment? Sets o->part and
 * o->parts (0: it is the only one), and t->job where that is NULL. 0, or an exit code
 * after a message.
 */
int reduce_tree_place(struct reduce_options *o, struct reduce_tree *t);
/*
 * Merge what others below this one have into job, and, but for part 0, pass it on.
 * failed: an exit code, when this process could not read its share; others are told.
 * An exit code.
 */
int reduce_tree(struct moca_job *job, const struct reduce_options *o,
		const struct reduce_tree *t, int failed);

#endif
