// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/record-ranks.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"

/* Ranks beyond this are no numbers that a launcher gives. */
#define RANK_DIGITS 9
#define JOB_MOST 128

/* What the launchers say; of each, the first that is there. */
static const char *const rank_names[] = {
	"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", NULL
};
static const char *const size_names[] = {
	"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL
};
static const char *const local_names[] = {
	"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", NULL
};
static const char *const task_names[] = { "SLURM_ARRAY_TASK_ID", NULL };
static const char *const job_names[] = {
	"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PMIX_NAMESPACE",
	"PMI_JOBID", NULL
};

/* mpirun's own name first: of a batch job that runs it twice, each has another. */
static const char *const launch_names[] = {
	"PMIX_NAMESPACE", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
	"PMI_JOBID", NULL
};

static const char *number_of(const char *const *names)
{
	const char *s;
	size_t n;

	for (; *names; names++) {
		/* A batch script has one as well, and is no rank. */
		if (!strcmp(*names, "SLURM_PROCID") &&
		    !getenv("SLURM_STEP_ID") && !getenv("SLURM_STEPID"))
			continue;
		s = getenv(*names);
		n = s ? strspn(s, "0123456789") : 0;
		if (n && n <= RANK_DIGITS && !s[n])
			return s;
	}
	return NULL;
}

static const char *name_of(const char *const *names)
{
	const char *s;

	for (; *names; names++) {
		s = getenv(*names);
		if (s && *s && strlen(s) <= JOB_MOST &&
		    s[strspn(s, "0123456789abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ._:@-[]")] == 0)
			return s;
	}
	return NULL;
}

int ranks_place(struct ranks_place *p)
{
	const char *rank = number_of(rank_names), *size = number_of(size_names);

	if (!rank || !size)
		return 0;
	p->rank = (uint32_t)strtoul(rank, NULL, 10);
	p->size = (uint32_t)strtoul(size, NULL, 10);
	p->job = name_of(launch_names);
	return p->rank < p->size;
}

/* One number of a list. -EINVAL: there is none. */
static int list_number(const char **s, unsigned long *v)
{
	char *end;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	*v = strtoul(*s, &end, 10);
	if (end - *s > RANK_DIGITS)
		return -EINVAL;
	*s = end;
	return 0;
}

/* Is rank in "0,17,100-107"? 1, 0 or -EINVAL. */
static int list_has(const char *s, unsigned long rank)
{
	unsigned long from, to;
	int has = 0;

	if (!strcmp(s, "none"))
		return 0;
	for (;;) {
		if (list_number(&s, &from))
			return -EINVAL;
		to = from;
		if (*s == '-') {
			s++;
			if (list_number(&s, &to) || to < from)
				return -EINVAL;
		}
		has |= rank >= from && rank <= to;
		if (!*s)
			return has;
		if (*s++ != ',')
			return -EINVAL;
	}
}

/*
 * DIR/KIND-N instead of DIR, which others of the job may make at the same time; for a
 * task of an array of jobs, or a rank.
 */
static int own_folder(struct moca_record_options *o, const char *kind,
		      const char *number)
{
	struct stat st;
	char *path;

	if (asprintf(&path, "%s/metadata", o->dir) < 0)
		goto no_memory;
	if (!stat(path, &st)) {
		free(path);
		moca_error("-o %s: this is a trace, and cannot hold one for each rank of a job; give another directory",
			   o->dir);
		return -EINVAL;
	}
	free(path);
	if (mkdir(o->dir, 0700) && errno != EEXIST) {
		moca_error("cannot make %s for the traces of a job: %s", o->dir,
			   strerror(errno));
		return -EINVAL;
	}
	if (asprintf(&path, "%s/%s-%lu", o->dir, kind,
		     strtoul(number, NULL, 10)) < 0)
		goto no_memory;
	o->dir = path;	/* for as long as we run */
	return 0;
no_memory:
	moca_error("out of memory");
	return -EINVAL;
}

int ranks_choose(const struct ranks_options *r, struct moca_record_options *o)
{
	const char *given = number_of(rank_names), *local;
	const char *rank = r->off ? NULL : given, *task;
	int has = r->list && !r->off ? list_has(r->list, rank ? strtoul(rank, NULL, 10) : 0) : 1;

	if (has < 0) {
		moca_error("--ranks takes numbers and ranges, as 0,17,100-107, or none; not %s",
			   r->list);
		return -EINVAL;
	}
	if (r->off && (r->list || r->one_per_node)) {
		moca_error("--no-ranks and %s contradict each other: give one of them",
			   r->list ? "--ranks" : "--one-per-node");
		return -EINVAL;
	}
	if ((r->list || r->one_per_node) && !rank) {
		moca_error("%s: no launcher has said which rank this is (OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID); start it as: mpirun moca record -o DIR -- PROGRAM",
			   r->list ? "--ranks" : "--one-per-node");
		return -EINVAL;
	}
	if (o->attach && (r->list || r->one_per_node)) {
		moca_error("%s is for programs that a launcher starts; -p takes the process that it names",
			   r->list ? "--ranks" : "--one-per-node");
		return -EINVAL;
	}
	o->launched = given && !o->attach;
	if (r->off || o->attach)
		return RANKS_RECORD;
	task = number_of(task_names);
	if (!rank)
		return task && o->dir ? own_folder(o, "task", task) : RANKS_RECORD;
	local = number_of(local_names);
	if (r->one_per_node && !local) {
		moca_error("--one-per-node: the launcher does not say which ranks share a node (OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, SLURM_LOCALID); name ranks with --ranks");
		return -EINVAL;
	}
	if (!has || (r->one_per_node && strtoul(local, NULL, 10)))
		return RANKS_PLAIN;
	o->rank = rank;
	o->ranks = number_of(size_names);
	o->ranks_chosen = r->list || r->one_per_node;
	o->job = name_of(job_names);
	if (task && o->dir && own_folder(o, "task", task))
		return -EINVAL;
	/* The only one needs no folder of its own: a shell below srun, say. */
	if (o->ranks && strtoul(o->ranks, NULL, 10) == 1)
		return RANKS_RECORD;
	return o->dir ? own_folder(o, "rank", rank) : RANKS_RECORD;
}

int ranks_exec(char **argv)
{
	int err;

	fflush(NULL);
	execvp(argv[0], argv);
	err = errno;
	moca_error("cannot run %s: %s", argv[0], strerror(err));
	return err == ENOENT ? 127 : 126;
}
