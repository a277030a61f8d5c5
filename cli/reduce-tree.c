// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reduce-tree.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/baseline-file.h"
#include "cli/commands.h"
#include "cli/record-ranks.h"
#include "cli/reduce-seen.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/cmdline/unfinished.h"

#define LOOK_NS 20000000	/* no inotify: other hosts write these files */
#define SECOND 1000000000u
#define BEGIN "moca-part 1"
#define TEMPORARY 7		/* ".XXXXXX" of unfinished_beside() */

/* What this process is at. */
struct at {
	const struct reduce_options *o;
	const struct reduce_tree *t;
	struct moca_job *job;
	uint32_t below;		/* it has the parts from its own to this one, excluded */
	int late;		/* one did not come: wait for no other */
};

static char *part_path(const struct reduce_tree *t, uint32_t part)
{
	char *path;

	if (asprintf(&path, "%s.%s.part-%u", t->out, t->job, part) >= 0)
		return path;
	moca_error("reduce: out of memory");
	return NULL;
}

int reduce_tree_place(struct reduce_options *o, struct reduce_tree *t)
{
	struct ranks_place p = { 0 };
	char *own;

	if (!ranks_place(&p)) {
		moca_error("reduce --tree: no launcher has said which of how many processes this is (OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and PMI_SIZE, SLURM_PROCID and SLURM_STEP_NUM_TASKS); start it as: mpirun moca reduce --tree DIR -o FILE");
		return EXIT_USAGE;
	}
	if (p.size < 2)
		return 0;
	o->part = p.rank;
	o->parts = p.size;
	/* The launcher has chosen how many there are. */
	if (!o->processes)
		o->processes = 1;
	if (!strcmp(t->out, "-")) {
		moca_error("reduce --tree: %u processes of one job write one file together: give its name with -o, not -",
			   p.size);
		return EXIT_USAGE;
	}
	if (!t->job)
		t->job = p.job;
	if (!t->job || !*t->job || strchr(t->job, '/')) {
		moca_error("reduce --tree: this is process %u of %u, and %s: name it with --job, by another name each time, without /",
			   p.rank, p.size, t->job ?
				   "that is no name for files of a job" :
				   "their launcher does not say of which job");
		return EXIT_USAGE;
	}
	/* Of a run before this one, which did not take it. */
	own = p.rank ? part_path(t, p.rank) : NULL;
	if (own && unlink(own) && errno != ENOENT)
		moca_warn("reduce: cannot remove '%s' of an earlier run: %s",
			  own, strerror(errno));
	free(own);
	return 0;
}

/* --- what a part says of itself ------------------------------------------ */

/*
 * Before the profile: which process of how many wrote it, how many traces it saw in
 * all, and then a line for each that it covers, with its sum. Those are in the order
 * of all traces: its own share, and the shares of the parts that it took.
 */
static int covers(size_t i, const struct reduce_options *o, uint32_t from,
		  uint32_t below)
{
	return i % o->parts >= from && i % o->parts < below;
}

static int fill(FILE *f, const void *ctx)
{
	const struct at *a = ctx;
	const struct reduce_seen *seen = a->o->seen;

	/* A part that failed: no profile, so that who reads it fails as well. */
	if (!a->job)
		return 0;
	fprintf(f, BEGIN " %u %u %zu\n", a->o->part, a->o->parts, seen->count);
	for (size_t i = 0; i < seen->count; i++)
		if (covers(i, a->o, a->o->part, a->below))
			fprintf(f, "%016" PRIx64 "\n", seen->items[i].sum);
	return moca_job_write(f, a->job);
}

static int refuse(const struct at *a, uint32_t part, const char *path,
		  const char *what)
{
	moca_error("reduce: '%s', of process %u of %u, is not of the traces that are there now: %s. It may be of an earlier run, and is removed: run it again",
		   path, part, a->o->parts, what);
	return EXIT_USAGE;
}

/* Does it cover what this process sees there? 0, or an exit code after a message. */
static int compare(const struct at *a, FILE *f, uint32_t part, uint32_t below,
		   const char *path)
{
	struct reduce_seen *seen = a->o->seen;
	char want[128], line[128] = "", text[512];
	struct reduce_seen_item *x;

	snprintf(want, sizeof(want), BEGIN " %u %u %zu\n", part, a->o->parts,
		 seen->count);
	if (!fgets(line, sizeof(line), f) || strcmp(line, want)) {
		line[strcspn(line, "\n")] = 0;
		snprintf(text, sizeof(text),
			 "it begins with '%.90s', and this process sees %zu traces",
			 line, seen->count);
		return refuse(a, part, path, text);
	}
	for (size_t i = 0; i < seen->count; i++) {
		if (!covers(i, a->o, part, below))
			continue;
		x = &seen->items[i];
		x->sum = reduce_seen_sum(x);
		snprintf(want, sizeof(want), "%016" PRIx64 "\n", x->sum);
		if (fgets(line, sizeof(line), f) && !strcmp(line, want))
			continue;
		snprintf(text, sizeof(text),
			 "it has another one than '%.300s', by name or by content",
			 x->path);
		return refuse(a, part, path, text);
	}
	return 0;
}

static int read_part(const struct at *a, struct moca_job *one, uint32_t part,
		     uint32_t below, const char *path)
{
	FILE *f = fopen(path, "re");
	int ret;

	if (!f) {
		moca_error("reduce: cannot read '%s' of process %u: %s", path,
			   part, strerror(errno));
		return EXIT_USAGE;
	}
	ret = compare(a, f, part, below, path);
	if (!ret)
		ret = reduce_read_file(one, a->o, f, path);
	fclose(f);
	return ret;
}

/* --- the files ------------------------------------------------------------ */

static int pass_on(const struct at *a)
{
	char *path = part_path(a->t, a->o->part);
	int err = path ? baseline_file_write(path, fill, a) : ENOMEM;

	if (err)
		moca_error("reduce: cannot write '%s', which process %u is to merge: %s",
			   path ? path : a->t->out,
			   a->o->part & (a->o->part - 1), strerror(err));
	free(path);
	return err ? EXIT_USAGE : 0;
}

/* 1: it is there, or cannot be looked at; 0: it did not come in time. */
static int wait_for(const struct at *a, const char *path)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	uint64_t begun = moca_now_ns();
	struct stat st;

	while (stat(path, &st)) {
		if (errno != ENOENT)
			return 1;
		if (a->late || (moca_now_ns() - begun) / SECOND >= a->t->wait)
			return 0;
		nanosleep(&look, NULL);
	}
	return 1;
}

/* The number of a part whose file, or whose unfinished file, is called so; or 0. */
static uint32_t part_of(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	unsigned long v;
	char *end;

	if (strncmp(name, prefix, len) || name[len] < '1' || name[len] > '9')
		return 0;
	v = strtoul(name + len, &end, 10);
	if (*end && (*end != '.' || strlen(end) != TEMPORARY))
		return 0;
	return v < UINT32_MAX ? (uint32_t)v : 0;
}

/* One did not come: nobody takes what those below this process have written. */
static void remove_parts(const struct at *a)
{
	const char *slash = strrchr(a->t->out, '/');
	char *prefix, *folder = NULL;
	struct dirent *e;
	uint32_t part;
	DIR *d;

	if (asprintf(&prefix, "%s.%s.part-", slash ? slash + 1 : a->t->out,
		     a->t->job) < 0)
		return;
	folder = slash ? strndup(a->t->out, (size_t)(slash - a->t->out) + 1) :
			 strdup(".");
	d = folder ? opendir(folder) : NULL;
	while (d && (e = readdir(d))) {
		part = part_of(e->d_name, prefix);
		if (part > a->o->part && part < a->below)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
	free(folder);
	free(prefix);
}

/* The part, with all below it, of another process. failed: it is only removed. */
static int take(struct at *a, uint32_t part, int failed)
{
	uint32_t below = part + (part - a->o->part);
	char *path = part_path(a->t, part);
	struct moca_job one;
	struct stat st;
	int ret = failed;

	if (!path)
		return EXIT_USAGE;
	if (below > a->o->parts)
		below = a->o->parts;
	a->below = below;
	if (!wait_for(a, path)) {
		moca_error("reduce: process %u of %u has not written '%s'%s within %" PRIu64 " s, with what processes %u to %u read: the profile would lack that. Has it ended, does it see the same folder and the same --job, and is it still reading (--wait SECONDS)?",
			   part, a->o->parts, path, a->late ? " either" : "",
			   a->t->wait, part, below - 1);
		a->late = 1;
		free(path);
		return failed ? failed : EXIT_USAGE;
	}
	moca_job_init(&one);
	if (!ret && !stat(path, &st) && !st.st_size) {
		moca_error("reduce: process %u of %u could not read its ranks, and has said why: the profile would lack them",
			   part, a->o->parts);
		ret = EXIT_USAGE;
	} else if (!ret) {
		ret = read_part(a, &one, part, below, path);
	}
	if (!ret)
		ret = reduce_merge(a->job, &one, a->o, path);
	moca_job_free(&one);
	if (unlink(path))
		moca_warn("reduce: cannot remove '%s': %s", path,
			  strerror(errno));
	free(path);
	return ret;
}

int reduce_tree(struct moca_job *job, const struct reduce_options *o,
		const struct reduce_tree *t, int failed)
{
	struct at a = { o, t, job, o->part + 1, 0 };
	uint32_t step;
	int ret;

	unfinished_signals("reduce");
	/* Its lowest bit says when part r passes on what it has, to r without it. */
	for (step = 1; step < o->parts && !(o->part & step); step <<= 1)
		if (o->parts - o->part > step)
			failed = take(&a, o->part + step, failed);
	if (a.late)
		remove_parts(&a);
	if (!o->part)
		return failed;
	a.job = failed ? NULL : job;
	ret = pass_on(&a);
	return failed ? failed : ret;
}
