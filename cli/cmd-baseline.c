// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"
#include "analysis/trace.h"
#include "cli/baseline-file.h"
#include "cli/commands.h"
#include "cli/diff-runs.h"
#include "cli/open.h"
#include "cli/reduce-job.h"
#include "lib/base/err.h"
#include "lib/cmdline/unfinished.h"
#include "report/advice.h"
#include "report/job.h"

struct written {
	const struct comparison *comparison;
	const char *of, *machine;
};

static int fill(FILE *f, const void *ctx)
{
	const struct written *w = ctx;

	moca_baseline_write(f, w->comparison, w->of, w->machine);
	return 0;
}

static int write_file(const char *path, const struct written *w)
{
	int err = baseline_file_write(path, fill, w);

	if (!err)
		return 0;
	moca_error("baseline: cannot write '%s': %s; name a file that can be written",
		   path, strerror(err));
	return EXIT_USAGE;
}

/* Both sides are the trace: what is written is what moca diff finds in it. */
static int run(const char *path, const char *out, const char *topology)
{
	struct moca_profile *profile = NULL;
	struct comparison c = { 0 };
	struct moca_damage damage;
	struct moca_trace *t;
	char machine[256];
	int ret;

	t = trace_open("baseline", path);
	if (!t)
		return EXIT_USAGE;
	ret = advice_profile("baseline", path, t, topology, &profile);
	if (ret) {
		moca_trace_close(t);
		return EXIT_USAGE;
	}
	moca_trace_damage(t, &damage);
	if (trace_damaged(&damage)) {
		moca_error("baseline: parts of '%s' are missing or damaged, and what is compared with it would lack them: 'moca check %s' says which; record it again",
			   path, path);
		ret = 1;
	}
	if (!ret) {
		const char *const paths[] = { path, path };
		struct moca_trace *const traces[] = { t, t };
		struct moca_profile *const profiles[] = { profile, profile };

		ret = diff_runs("baseline", &c, paths, traces, profiles);
	}
	if (!ret) {
		advice_topology(profile, machine, sizeof(machine));
		ret = write_file(out, &(struct written){ &c, path, machine });
	}
	comparison_free(&c);
	moca_profile_free(profile);
	moca_trace_close(t);
	return ret;
}

static int fill_job(FILE *f, const void *job)
{
	return moca_job_write(f, job);
}

/* Of a job its profile, which moca diff takes for it; of all ranks, or none. */
static int run_job(const char *path, const char *out, const char *topology)
{
	const struct reduce_options o = { .command = "baseline",
					  .topology = topology };
	char *const paths[] = { (char *)path };
	struct moca_job_view view = { 0 };
	struct moca_job job;
	int ret = reduce_load(&job, &o, paths, 1), err;

	if (!ret && moca_job_look(&view, &job)) {
		moca_error("baseline: out of memory");
		ret = EXIT_USAGE;
	}
	if (!ret && job_warn("baseline", &view, 0)) {
		moca_error("baseline: what is compared with '%s' would lack these ranks: record it again, or 'moca reduce' keeps the others",
			   path);
		ret = 1;
	}
	err = ret ? 0 : baseline_file_write(out, fill_job, &job);
	if (err) {
		moca_error("baseline: cannot write '%s': %s; name a file that can be written",
			   out, strerror(err));
		ret = EXIT_USAGE;
	}
	moca_job_view_free(&view);
	moca_job_free(&job);
	return ret;
}

static const char about[] =
	"Write what 'moca diff' compares of a run into a small file of text, to keep beside a program's sources: 'moca diff FILE DIR' compares later runs with it. Of a job (mpirun moca record -o DIR) it is what 'moca reduce' writes.\n"
	"The exit code is 1 when parts of the trace are damaged, 2 when the command line is wrong or the file cannot be written.";

int cmd_baseline(int argc, char **argv)
{
	const char *topology = NULL, *out = NULL;
	const struct option_spec specs[] = {
		OPT_STRING('o', "output", &out, "FILE", "write it there; - is the standard output"),
		OPT_STRING(0, "topology", &topology, "MACHINE", "as if on this machine: NODESxCPUS, as 4x16, or an XML file of hwloc"),
		OPT_END
	};
	int first = moca_options_parse_mixed(specs, argc, argv,
					     "moca baseline -o FILE [OPTIONS] DIR",
					     about);

	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (argc - first != 1 || !out) {
		moca_error("baseline: a trace and a file are needed: moca baseline DIR -o FILE");
		return EXIT_USAGE;
	}
	unfinished_signals("baseline");
	return reduce_is_job(argv[first]) ? run_job(argv[first], out, topology) :
					    run(argv[first], out, topology);
}
