// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/reduce-job.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "report/advice.h"
#include "report/latency.h"

#define LATENCIES 10	/* structures whose latency is listed */

int advice_profile(const char *command, const char *path,
		   struct moca_trace *t, const char *topology,
		   struct moca_profile **out)
{
	struct moca_topology machine;
	int err;

	if (topology) {
		err = moca_topology_parse(&machine, topology, t);
		if (err == -EINVAL)
			moca_error("%s: '--topology %s' is neither NODESxCPUS (as 4x16: at most %d nodes, %d CPUs in all) nor an XML file of hwloc ('lstopo FILE.xml' writes one)",
				   command, topology, MOCA_TOPOLOGY_NODES,
				   MOCA_TOPOLOGY_CPUS);
		else if (err)
			moca_error("%s: cannot read the topology '%s': %s (give NODESxCPUS, as 4x16, or an XML file of hwloc)",
				   command, topology, strerror(-err));
		if (err)
			return EXIT_USAGE;
	}
	trace_raise_limit();
	err = moca_profile_compute(out, t, topology ? &machine : NULL);
	if (!err)
		return 0;
	moca_error("%s: cannot read the trace '%s': %s%s", command, path,
		   strerror(-err), err != -EMFILE ? "" :
		   " (raise the limit with 'ulimit -n')");
	return 1;
}

int advice_compute(struct advice_view *v, double detail, int json)
{
	int err = moca_phases_compute(&v->phases, v->profile, detail);

	if (!err && json)
		err = moca_overview_compute(&v->overview, v->profile, detail);
	advice_tried_read(v);
	return err ? err : moca_advice_compute(&v->advice, v->trace,
					       v->profile);
}

void advice_free(struct advice_view *v)
{
	moca_phases_free(&v->phases);
	moca_overview_free(&v->overview);
	moca_advice_free(v->advice);
	moca_tried_free(&v->tried);
}

static int show(struct advice_view *v, const char *topology, double detail,
		int json)
{
	int err = advice_profile("summary", v->path, v->trace, topology,
				 &v->profile);

	if (err)
		return err;
	/* The JSON has none of them: moca info --json does. */
	err = json || v->first || v->plan ? 0 : moca_rates_compute(&v->rates, v->trace, 1);
	if (err) {
		moca_error("summary: cannot read the trace '%s': %s", v->path,
			   strerror(-err));
		return 1;
	}
	if (advice_compute(v, detail, json)) {
		moca_error("summary: out of memory");
		return 1;
	}
	if (v->plan)
		advice_plan_print(stdout, v);
	else if (v->first)
		advice_first_print(v);
	else if (json)
		advice_json(stdout, v);
	else
		advice_print(v);
	if (!v->plan && !v->first && !json &&
	    latency_print(v->trace, NULL, LATENCIES)) {
		moca_error("summary: out of memory");
		return 1;
	}
	advice_tried_warn("summary", v->path);
	return trace_warn_damage("summary", v->trace, v->path);
}

/* A number from 0 to 1; -1 when there is none. */
static int parse_detail(const char *s, double *out)
{
	char *end;

	*out = -1;
	if (!s)
		return 0;
	*out = strtod(s, &end);
	if (end != s && !*end && *out >= 0 && *out <= 1)
		return 0;
	moca_error("summary: '--detail' needs a number from 0 (all differences) to 1 (one phase), not '%s'",
		   s);
	return -EINVAL;
}

/* Of ranks phases are not told: each has its own clock. */
static int show_job(struct advice_view *v, const char *topology,
		    const char *detail, int json)
{
	const struct reduce_options o = { .command = "summary",
					  .topology = topology };
	struct reduce_shown shown = { .path = v->path, .json = json,
				      .all = v->all };

	if (detail) {
		moca_error("summary: '--detail' is of phases, which a job of many ranks has none of: give the trace of one rank, as %s/rank-0",
			   v->path);
		return EXIT_USAGE;
	}
	shown.print = v->first ? REDUCE_FIRST : REDUCE_SUMMARY;
	return reduce_show(&o, &shown);
}

static const char about[] =
	"Say what could be better in how a program uses memory, with the evidence and what to try; which data structures are used most, how and by whom; how much of it would be remote on a NUMA machine; and in which phases.\n"
	"Of a folder with the traces of a job's ranks, and of a profile by 'moca reduce': how the ranks differ, which of them have which finding, and which data structures they use.\n"
	"On a machine with one node, and with --topology, the machine is a supposed one.";

int cmd_summary(int argc, char **argv)
{
	struct advice_view v = { 0 };
	const char *topology = NULL, *detail = NULL;
	int json = 0, first, ret;
	double p;
	const struct option_spec specs[] = {
		OPT_STRING(0, "topology", &topology, "MACHINE", "as if on this machine: NODESxCPUS, as 4x16, or an XML file of hwloc"),
		OPT_STRING(0, "detail", &detail, "P", "phases: 0 shows each difference, 1 none (best trade)"),
		OPT_FLAG(0, "all", &v.all, "list all objects, also those that are little used, and sections one by one"),
		OPT_FLAG(0, "first", &v.first, "print the first finding only, in three lines at most"),
		OPT_FLAG(0, "plan", &v.plan, "print what findings advise as a plan for moca place"),
		OPT_FLAG(0, "json", &json, "print JSON for programs, with everything in it"),
		OPT_END
	};

	first = moca_options_parse_mixed(specs, argc, argv,
					 "moca summary [OPTIONS] DIR", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (v.plan + v.first + json > 1) {
		moca_error("summary: --plan, --first and --json do not go together: give one of them");
		return EXIT_USAGE;
	}
	v.path = trace_operand(argc, argv, first);
	if (!v.path || parse_detail(detail, &p))
		return EXIT_USAGE;
	if (reduce_is_job(v.path))
		return show_job(&v, topology, detail, json);
	v.trace = trace_open("summary", v.path);
	if (!v.trace)
		return EXIT_USAGE;
	ret = show(&v, topology, p, json);
	advice_free(&v);
	moca_rates_free(v.rates);
	moca_profile_free(v.profile);
	moca_trace_close(v.trace);
	return ret;
}
