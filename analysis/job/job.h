/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of a job: what is told of its ranks, of one to all of them, as sums
 * of whole numbers. Profiles merge in any order and grouping to the same bytes:
 * each part is a set by a key, with sums that saturate, least and most values,
 * or, for text, that of the lowest rank. doc/design/ranks.md has the reasons.
 */
#ifndef MOCA_ANALYSIS_JOB_H
#define MOCA_ANALYSIS_JOB_H

#include <stdint.h>
#include <stdio.h>

#include "lib/base/strings.h"

struct moca_profile;
struct moca_trace;

/* The number of the file's first line. */
#define MOCA_JOB_VERSION "1"
#define MOCA_JOB_NOT_KNOWN UINT64_MAX
#define MOCA_JOB_RANK_MAX 999999999u
/* Structures of a rank that are told by name; the rest are one, called "". */
#define MOCA_JOB_ROWS 2000u

enum moca_job_state {
	MOCA_JOB_WHOLE,
	MOCA_JOB_CUT,		/* its recording did not end properly */
	MOCA_JOB_DAMAGED,	/* parts of its trace were left out */
	MOCA_JOB_UNREADABLE,	/* it has no values at all */
	MOCA_JOB_STATES
};

/* Of a rank. Each may be MOCA_JOB_NOT_KNOWN. */
enum moca_job_value {
	MOCA_JOB_SIZE,		/* ranks of the job, as its launcher said */
	MOCA_JOB_CHOSEN,	/* 1: --ranks or --one-per-node left some out */
	MOCA_JOB_EXIT,		/* as of wait(2) */
	MOCA_JOB_BEGIN,		/* ns of Unix time, by its host's clock */
	MOCA_JOB_TIME,		/* ns that were recorded */
	MOCA_JOB_ACCESSES,	/* to data; so are the next ones */
	MOCA_JOB_READS,
	MOCA_JOB_WRITES,
	MOCA_JOB_REMOTE,
	MOCA_JOB_NO_NODE,	/* accesses whose node is not known */
	MOCA_JOB_PAGES,
	MOCA_JOB_SHARED,	/* pages that threads use in turn */
	MOCA_JOB_THREADS,	/* most that lived at a time */
	MOCA_JOB_WSS,		/* most pages in a window */
	MOCA_JOB_FAULTS,	/* page faults of its own */
	MOCA_JOB_COST,		/* a millionth: how long it took by its own time */
	MOCA_JOB_SEEN,		/* pages with a record, of those that were */
	MOCA_JOB_TOUCHED,	/* touched */
	MOCA_JOB_VALUES
};

/* Strings of all of these are the profile's. */
struct moca_job_rank {
	uint32_t number;
	enum moca_job_state state;
	const char *host, *job, *machine, *command;	/* "": not known */
	uint64_t value[MOCA_JOB_VALUES];
};

/* Of a data structure: what comparison_pair has of a run. */
enum moca_job_sum {
	MOCA_JOB_SUM_ACCESSES, MOCA_JOB_SUM_READS, MOCA_JOB_SUM_WRITES,
	MOCA_JOB_SUM_PAGES, MOCA_JOB_SUM_SHARED, MOCA_JOB_SUM_REMOTE,
	MOCA_JOB_SUM_NO_NODE,
	MOCA_JOB_SUMS
};

struct moca_job_bound {
	uint64_t value;
	uint32_t rank;		/* the lowest one that has it */
};

struct moca_job_row {
	const char *name;
	const char *function, *file;	/* that allocate it; NULL: not told */
	uint32_t ranks;			/* that have it */
	uint64_t threads;		/* the most in a rank */
	uint64_t sum[MOCA_JOB_SUMS];
	struct moca_job_bound least, most;	/* accesses of a rank */
	struct moca_job_bound remote;		/* most remote ones */
};

struct moca_job_range {
	uint32_t first, last;
};

struct moca_job_finding {
	const char *kind;	/* moca_finding_id() */
	const char *object;
	const char *title;	/* of the lowest rank that has it */
	uint32_t gain_least, gain_most;	/* millionths of all accesses */
	struct moca_job_range *ranges;	/* ranks that have it, by number */
	size_t range_count;
};

struct moca_job {
	int counts;		/* of exact mode; -1: no rank was readable */
	struct moca_job_rank *ranks;		/* by number */
	size_t rank_count;
	struct moca_job_row *rows;		/* by name */
	size_t row_count;
	struct moca_job_finding *findings;	/* by kind, then object */
	size_t finding_count;
	struct moca_strings strings;
};

/* The empty profile, which changes nothing that it is merged with. */
void moca_job_init(struct moca_job *j);
void moca_job_free(struct moca_job *j);

/*
 * Add all of `from`. 0; -EEXIST: both have rank *rank; -EXDEV: one has counts, one
 * has records of pages; -ENOMEM. After an error `to` can only be freed.
 */
int moca_job_merge(struct moca_job *to, const struct moca_job *from,
		   uint32_t *rank);

/*
 * Make j, an empty one, the profile of one rank. machine: as text, kept as it is.
 * 0, -ENOMEM, or as the reader says.
 */
int moca_job_take(struct moca_job *j, uint32_t rank, struct moca_trace *t,
		  const struct moca_profile *p, const char *machine);
/* The same, of a rank whose trace cannot be read. */
int moca_job_take_unreadable(struct moca_job *j, uint32_t rank);

/* Does a regular file begin as a profile does? */
int moca_job_is(const char *path);
/* Look at ferror(f), and write to a file that was empty. -ENOMEM or 0. */
int moca_job_write(FILE *f, const struct moca_job *j);
/*
 * j is an empty one. 0; -EPROTO: of a newer moca; -ENODATA: it is cut off;
 * -EBADMSG: line *line is none that a profile has (0: its checksum is wrong, it
 * is no text or larger than 64 MiB); -errno. Free it also then.
 */
int moca_job_read(struct moca_job *j, FILE *f, size_t *line);

/* The checksum of a profile's lines, all but the last. */
uint64_t moca_job_sum(const char *text, size_t len);

/* For building and reading: the order of the parts, and what adds up. */
uint64_t moca_job_add(uint64_t a, uint64_t b);
int moca_job_finding_order(const struct moca_job_finding *a,
			   const struct moca_job_finding *b);
/* y, of the same key, becomes part of x. The strings of y are x's profile's. */
void moca_job_row_join(struct moca_job_row *x, const struct moca_job_row *y);
const char *moca_job_state_name(enum moca_job_state s);

#endif
