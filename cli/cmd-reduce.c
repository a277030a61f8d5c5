// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/job/spread.h"
#include "cli/baseline-file.h"
#include "cli/commands.h"
#include "cli/reduce-job.h"
#include "cli/reduce-seen.h"
#include "cli/reduce-tree.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/cmdline/unfinished.h"
#include "report/job.h"

#define WAIT 600	/* seconds, of --tree */

static int write_profile(FILE *f, const void *job)
{
	return moca_job_write(f, job);
}

/* Only a folder is to have all ranks. */
static int has_folder(char *const *paths, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (reduce_is_job(paths[i]) && !moca_job_is(paths[i]))
			return 1;
	return 0;
}

static int run(const struct reduce_options *o, const struct reduce_tree *tree,
	       char **paths, size_t count)
{
	struct moca_job_view view = { 0 };
	const char *out = tree->out;
	struct moca_job job;
	int ret, err;

	ret = reduce_load(&job, o, paths, count);
	if (o->parts) {
		ret = reduce_tree(&job, o, tree, ret);
		if (o->part) {
			moca_job_free(&job);
			return ret;
		}
	}
	if (!ret && moca_job_look(&view, &job)) {
		moca_error("reduce: out of memory");
		ret = EXIT_USAGE;
	}
	if (!ret) {
		unfinished_signals("reduce");
		err = baseline_file_write(out, write_profile, &job);
		if (err) {
			moca_error("reduce: cannot write '%s': %s; name a file that can be written",
				   out, strerror(err));
			ret = EXIT_USAGE;
		}
	}
	if (!ret)
		ret = job_warn("reduce", &view, !has_folder(paths, count));
	moca_job_view_free(&view);
	moca_job_free(&job);
	return ret;
}

static const char about[] =
	"Put what is told of the ranks of a job together, into a small file of text, the job's profile: 'moca summary FILE', 'moca info FILE' and 'moca diff FILE FILE' show it.\n"
	"An operand is a folder that 'mpirun moca record -o DIR' wrote, the trace of one rank, or a profile of some ranks: of all orders and groups of these the result is the same, to the byte. The exit code is 1 when a rank is damaged, cannot be read or is missing in a folder, 2 when the command line is wrong or the file cannot be written.";

int cmd_reduce(int argc, char **argv)
{
	struct reduce_options o = { .command = "reduce" };
	struct reduce_tree tree = { .wait = WAIT };
	struct reduce_seen seen = { 0 };
	int many = 0, ret;
	const struct option_spec specs[] = {
		OPT_STRING('o', "output", &tree.out, "FILE", "write it there; - is the standard output"),
		OPT_UINT('j', "jobs", &o.processes, "N", "so many processes at once (one per CPU)"),
		OPT_FLAG(0, "tree", &many, "mpirun or srun starts it many times: they share the ranks out, and merge in a tree"),
		OPT_STRING(0, "job", &tree.job, "NAME", "of --tree: what their files in common are named by, where the launcher names no job, or parts of it differ in the name"),
		OPT_UINT(0, "wait", &tree.wait, "SECONDS", "of --tree: fail when a part of another process does not come for so long (600)"),
		OPT_STRING(0, "topology", &o.topology, "MACHINE", "as if on this machine: NODESxCPUS, as 4x16, or an XML file of hwloc"),
		OPT_END
	};
	int first = moca_options_parse_mixed(specs, argc, argv,
					     "moca reduce -o FILE [OPTIONS] DIR...",
					     about);

	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (first == argc || !tree.out) {
		moca_error("reduce: ranks and a file are needed: moca reduce DIR -o FILE");
		return EXIT_USAGE;
	}
	if (!many && (tree.job || tree.wait != WAIT)) {
		moca_error("reduce: --job and --wait are for --tree: give that too, in each process that mpirun starts");
		return EXIT_USAGE;
	}
	if (many && reduce_tree_place(&o, &tree))
		return EXIT_USAGE;
	o.seen = &seen;
	ret = run(&o, &tree, argv + first, (size_t)(argc - first));
	reduce_seen_free(&seen);
	return ret;
}
