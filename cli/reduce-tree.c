// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reduce-tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/baseline-file.h"
#include "cli/commands.h"
#include "cli/record-ranks.h"
#include "lib/base/err.h"

#define LOOK_NS 20000000	/* no inotify: other hosts write these files */

int reduce_tree_place(struct reduce_options *o, const char **name,
		      const char *out)
{
	struct ranks_place p = { 0 };
	char *both;

	if (!ranks_place(&p) || p.size < 2)
		return 0;
	o->part = p.rank;
	o->parts = p.size;
	/* The launcher has chosen how many there are. */
	if (!o->processes)
		o->processes = 1;
	if (!strcmp(out, "-")) {
		moca_error("reduce: %u processes of one job write one file together: give its name with -o, not -",
			   p.size);
		return EXIT_USAGE;
	}
	if (!*name && p.job && p.step) {
		if (asprintf(&both, "%s.%s", p.job, p.step) < 0) {
			moca_error("reduce: out of memory");
			return EXIT_USAGE;
		}
		*name = both;	/* for as long as we run */
	} else if (!*name) {
		*name = p.job;
	}
	if (!*name || !**name || strchr(*name, '/')) {
		moca_error("reduce: this is process %u of %u, and their launcher does not say of which job: name it with --job, by another name each time",
			   p.rank, p.size);
		return EXIT_USAGE;
	}
	return 0;
}

static char *part_path(const char *out, const char *name, uint32_t part)
{
	char *path;

	if (asprintf(&path, "%s.%s.part-%u", out, name, part) >= 0)
		return path;
	moca_error("reduce: out of memory");
	return NULL;
}

static int fill(FILE *f, const void *job)
{
	/* A part that failed: no profile, so that who reads it fails as well. */
	return job ? moca_job_write(f, job) : 0;
}

static int pass_on(const struct moca_job *job, const struct reduce_options *o,
		   const char *name, const char *out)
{
	char *path = part_path(out, name, o->part);
	int err = path ? baseline_file_write(path, fill, job) : ENOMEM;

	if (err)
		moca_error("reduce: cannot write '%s', which process %u is to merge: %s",
			   path ? path : out, o->part & (o->part - 1),
			   strerror(err));
	free(path);
	return err ? EXIT_USAGE : 0;
}

/* Waits for the part of another process: what ends that one, ends us, by mpirun. */
static int take(struct moca_job *job, const struct reduce_options *o,
		const char *name, const char *out, uint32_t part, int failed)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	char *path = part_path(out, name, part);
	struct moca_job one;
	struct stat st;
	int ret;

	if (!path)
		return EXIT_USAGE;
	while (stat(path, &st) && errno == ENOENT)
		nanosleep(&look, NULL);
	moca_job_init(&one);
	if (!failed && !stat(path, &st) && !st.st_size) {
		moca_error("reduce: process %u of %u could not read its ranks, and has said why: the profile would lack them",
			   part, o->parts);
		ret = EXIT_USAGE;
	} else {
		ret = failed ? failed : reduce_read(&one, o, path);
	}
	if (!ret)
		ret = reduce_merge(job, &one, o, path);
	moca_job_free(&one);
	if (unlink(path))
		moca_warn("reduce: cannot remove '%s': %s", path,
			  strerror(errno));
	free(path);
	return ret;
}

int reduce_tree(struct moca_job *job, const struct reduce_options *o,
		const char *name, const char *out, int failed)
{
	uint32_t step;
	int ret;

	/* Its lowest bit says when part r passes on what it has, to r without it. */
	for (step = 1; step < o->parts && !(o->part & step); step <<= 1)
		if (o->parts - o->part > step)
			failed = take(job, o, name, out, o->part + step, failed);
	if (!o->part)
		return failed;
	ret = pass_on(failed ? NULL : job, o, name, out);
	return failed ? failed : ret;
}
