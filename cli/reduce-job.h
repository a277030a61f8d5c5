/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of a job, of the traces of its ranks: moca reduce writes it, moca
 * summary, info and diff tell it.
 */
#ifndef MOCA_CLI_REDUCE_JOB_H
#define MOCA_CLI_REDUCE_JOB_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/job/job.h"

struct reduce_seen;

struct reduce_options {
	const char *command;	/* for messages */
	const char *topology;	/* as --topology, or NULL */
	uint64_t processes;	/* at work at once; 0: one per CPU */
	uint32_t part, parts;	/* only each parts-th of them; parts 0: all */
	struct reduce_seen *seen;	/* to be filled, with parts; or NULL */
};

/*
 * Is it a folder with ranks' traces (rank-0 and so on) and none itself, or a file
 * with a profile?
 */
int reduce_is_job(const char *path);
/*
 * A folder of an array of Slurm jobs, whose tasks' traces or jobs are task-N: the
 * path of the first of these, which the caller frees; or NULL.
 */
char *reduce_task_of(const char *path);
/*
 * What all of these have together: folders of ranks, traces of ranks, profiles.
 * 0, or an exit code after a message. A rank whose trace cannot be read is told,
 * and has its place in the profile. Free it also then.
 */
int reduce_load(struct moca_job *out, const struct reduce_options *o,
		char *const *paths, size_t count);
/* The profile that is the rest of f; path: for messages. As reduce_load. */
int reduce_read_file(struct moca_job *j, const struct reduce_options *o,
		     FILE *f, const char *path);
/* Add `from`, which was read from path. 0, or an exit code after a message. */
int reduce_merge(struct moca_job *to, const struct moca_job *from,
		 const struct reduce_options *o, const char *path);

/* What moca summary and moca info show of a job. */
struct reduce_shown {
	const char *path;
	int json, all;
	enum { REDUCE_SUMMARY, REDUCE_FIRST, REDUCE_INFO } print;
};
/* The exit code. */
int reduce_show(const struct reduce_options *o, const struct reduce_shown *s);

#endif
