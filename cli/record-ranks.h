/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moca record below mpirun or srun: which rank of a job this process is, as the
 * launcher's environment says.
 */
#ifndef MOCA_CLI_RECORD_RANKS_H
#define MOCA_CLI_RECORD_RANKS_H

#include <stdint.h>

#include "collect/run/record.h"

struct ranks_options {
	const char *list;	/* --ranks 0,17,100-107, or none; NULL: all */
	int one_per_node;
	int off;		/* --no-ranks: no launcher is looked for */
};

enum ranks_choice {
	RANKS_RECORD,		/* record as o says now */
	RANKS_PLAIN,		/* run the program without recording it */
};

/*
 * Is this rank to be recorded? With -o its trace becomes DIR/rank-N, and DIR is
 * made. A choice, or -EINVAL after a message.
 */
int ranks_choose(const struct ranks_options *r, struct moca_record_options *o);

/* Of any command that a launcher started many times. */
struct ranks_place {
	uint32_t rank, size;
	const char *job;	/* the same in all of them; NULL: not known */
};

/* 1: the launcher says which of how many this process is. */
int ranks_place(struct ranks_place *p);
/* Become the program. Only returns, an exit code, after a message. */
int ranks_exec(char **argv);

#endif
