/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moca reduce started many times by mpirun or srun: each process reads its share of
 * the ranks, and they merge in a tree, by files beside the one that is written.
 */
#ifndef MOCA_CLI_REDUCE_TREE_H
#define MOCA_CLI_REDUCE_TREE_H

#include "cli/reduce-job.h"

/*
 * Are there others, by the launcher's environment? Then o->part and o->parts are
 * set, and *name, which an option may have given, names their files. 0, or an
 * exit code after a message.
 */
int reduce_tree_place(struct reduce_options *o, const char **name,
		      const char *out);
/*
 * Merge what others below this one have into job, and, but for part 0, pass it on.
 * failed: an exit code, when this process could not read its share; others are told.
 * An exit code.
 */
int reduce_tree(struct moca_job *job, const struct reduce_options *o,
		const char *name, const char *out, int failed);

#endif
