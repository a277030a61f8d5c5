// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/record-agent.h"
#include "cli/record-cgroup.h"
#include "cli/record-companion.h"
#include "cli/record-own.h"
#include "cli/record-ranks.h"
#include "collect/exact/record.h"
#include "collect/fault/record.h"
#include "collect/kernel/record.h"
#include "collect/native/record.h"
#include "collect/rate/rate.h"
#include "lib/base/arch.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"

static const char usage[] = "moca record [options] -- CMD [ARG...]\n"
			    "       moca record [options] -p PID | --cgroup PATH | --container ID";
static const char about[] =
	"Run CMD and record which of its threads touch which pages, when, and\n"
	"whether they read or write; or, with --exact, count every load and store.\n"
	"No root, no kernel module, though one is used where it is loaded. The trace\n"
	"is a directory; `moca info DIR` summarises it.";

#define NOT_GIVEN (-1.0)		/* a budget */
#define NOT_GIVEN_HZ UINT64_MAX
#define NOT_GIVEN_NS UINT64_MAX
/* Intervals, where --interval does not say it. */
#define SHORTEST_NS 5000000
#define LONGEST_NS 50000000
#define CREDIT_NS 200000000
/* Of each stack, the innermost frames: a multiple of 8. */
#define STACK_BYTES 2048
#define STACK_BYTES_MIN 256
#define STACK_BYTES_MAX 32768

/* What the options fill in, besides struct moca_record_options. */
struct extra {
	struct string_list include, exclude;
	const char *on_error;
	const char *out, *err;
	const char *sample;
	uint64_t pid;
	int no_zap;
	int stacks;
	uint64_t stack_bytes;
	int no_allocs;
	int exact, pages;
	const char *via;
	int credit;		/* one was asked for */
	struct moca_exact_options counts;
	uint64_t hz;		/* of samples of faults and CPU time */
	int no_rates;
	int no_summary;
	struct agent_options agent;
	struct ranks_options ranks;
	struct cgroup_options cgroup;
};

/* Which option says that running processes are recorded; NULL: none. */
static const char *attaches(const struct extra *x)
{
	return x->pid ? "-p" : x->cgroup.path ? "--cgroup" :
	       x->cgroup.container ? "--container" : NULL;
}

/* How --via names the ways of recording page accesses. */
static const struct way {
	const char *name;
	int (*run)(const struct moca_record_options *o);
	int credits;		/* holds a credit besides the budget */
	int samples;		/* may look at a share of memory */
} ways[] = {
	{ "user", moca_fault_run, 1, 1 },
	{ "kernel", moca_kernel_run, 0, 0 },
	{ "native", moca_native_run, 1, 0 },
};

static const struct way *find_way(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	return NULL;
}

static int open_output(const char *path, int *fd)
{
	if (!path)
		return 0;
	*fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (*fd < 0) {
		moca_error("cannot open %s for the program's output: %s", path,
			   strerror(errno));
		return -errno;
	}
	return 0;
}

/* Options that only page accesses have, and what of them was given. */
static const char *only_pages(const struct moca_record_options *o,
			      const struct extra *x)
{
	return x->pages ? "--pages" : attaches(x) ? attaches(x) : o->stack ? "--stack" :
	       o->tracepoints ? "--tracepoints" : x->no_zap ? "--no-zap" :
	       o->budget != NOT_GIVEN ? "--budget" :
	       x->hz != NOT_GIVEN_HZ ? "--rate" :
	       o->credit_ns != NOT_GIVEN_NS ? "--credit" :
	       o->interval_ns ? "--interval" : o->heat_ns ? "--heat" : x->sample ? "--sample" : NULL;
}

/* 1, or 1/N for a power of two up to 4096, as a level. -EINVAL after a message. */
static int parse_sample(const char *share, unsigned int *level, int *automatic)
{
	char *end = NULL;
	unsigned long n = 0;

	*level = 0;
	*automatic = share && !strcmp(share, "auto");
	if (!share || *automatic || !strcmp(share, "1"))
		return 0;
	if (!strncmp(share, "1/", 2) && share[2] >= '0' && share[2] <= '9')
		n = strtoul(share + 2, &end, 10);
	if (!end || *end || !n || n > 4096 || n & (n - 1)) {
		moca_error("--sample takes auto, 1 (all memory), or 1/2, 1/4, 1/8 and "
			   "so on to 1/4096, not %s", share);
		return -EINVAL;
	}
	*level = (unsigned int)__builtin_ctzl(n);
	return 0;
}

static int check_exact(const struct moca_record_options *o,
		       const struct extra *x, size_t objects)
{
	const struct moca_exact_options *c = &x->counts;
	const char *other = x->via && !strcmp(x->via, "kernel") ? "--via kernel" :
			    x->via && !strcmp(x->via, "native") ? "--via native" :
						     only_pages(o, x);

	if (!x->exact && (c->granularity || c->slice_ns)) {
		moca_error("%s goes with --exact only",
			   c->granularity ? "--granularity" : "--slice");
		return -EINVAL;
	}
	if (!x->exact)
		return 0;
	if (other) {
		moca_error("--exact does not go with %s: %s", other,
			   attaches(x) ? "a program is counted from its first "
				    "instruction on" :
			   x->via && !strncmp(other, "--via", strlen("--via")) ?
				      "that way sees pages, not each load and "
				      "store" :
			   x->pages ? "the same run is recorded one way or the "
				      "other; record it twice" :
			   x->hz != NOT_GIVEN_HZ ?
				      "page faults and CPU time would be "
				      "the translator's, too" :
			   "that is of page accesses; all accesses are counted");
		return -EINVAL;
	}
	if (objects) {
		moca_error("--exact does not go with --object: counts are of "
			   "all; moca objects shows those of one");
		return -EINVAL;
	}
	if (c->granularity && (c->granularity < 64 || c->granularity > 4096 ||
			       c->granularity & (c->granularity - 1))) {
		moca_error("--granularity takes a power of two from 64 (a cache "
			   "line) to 4k (a page)");
		return -EINVAL;
	}
	if (c->slice_ns && c->slice_ns < 1000000) {
		moca_error("--slice must be 1ms at least");
		return -EINVAL;
	}
	return 0;
}

/* Call stacks of accesses come with page faults, and nothing else has them. */
static int check_stacks(struct moca_record_options *o, const struct extra *x)
{
	uint64_t bytes = x->stack_bytes ? x->stack_bytes : STACK_BYTES;

	if (x->stack_bytes && !x->stacks) {
		moca_error("--stack-bytes goes with --stacks only");
		return -EINVAL;
	}
	if (!x->stacks)
		return 0;
	if (x->exact) {
		moca_error("--exact does not go with --stacks: counts are sums of "
			   "many accesses, which have no call stack each; record "
			   "pages with --stacks (without --exact) to see the callers");
		return -EINVAL;
	}
	if (x->via && !strcmp(x->via, "kernel")) {
		moca_error("--via kernel does not go with --stacks: the module "
			   "tells accesses without their call stacks; --via user "
			   "--stacks records them");
		return -EINVAL;
	}
	if (o->tracepoints) {
		moca_error("--tracepoints does not go with --stacks: stacks come "
			   "with perf's page-fault event; leave --tracepoints out");
		return -EINVAL;
	}
	if (bytes < STACK_BYTES_MIN || bytes > STACK_BYTES_MAX || bytes % 8) {
		moca_error("--stack-bytes takes a multiple of 8 from %d to %d, not "
			   "%lu", STACK_BYTES_MIN, STACK_BYTES_MAX, bytes);
		return -EINVAL;
	}
	o->stack_bytes = (uint32_t)bytes;
	return 0;
}

/* Only the module can look at the bits. */
static int check_heat(const struct moca_record_options *o,
		      const struct extra *x)
{
	const char *what = x->via && strcmp(x->via, "kernel") &&
			   strcmp(x->via, "auto") ? "--via" :
			   x->stacks ? "--stacks" :
			   o->sample_level || o->sample_auto ? "--sample" : NULL;

	if (o->heat_ns && what) {
		moca_error("--heat does not go with %s%s%s: it takes the kernel "
			   "module, --via kernel", what,
			   !strcmp(what, "--via") ? " " : "",
			   !strcmp(what, "--via") ? x->via : "");
		return -EINVAL;
	}
	if (o->heat_ns && o->heat_ns < 1000000) {
		moca_error("--heat must be 1ms at least");
		return -EINVAL;
	}
	return 0;
}

/* What page mode on native memory does not do yet, or never needs. */
static int check_native(const struct moca_record_options *o,
			const struct extra *x)
{
	const char *what = attaches(x) ? attaches(x) : x->stacks ? "--stacks" :
			   x->no_zap ? "--no-zap" :
			   o->sample_level || o->sample_auto ? "--sample" : NULL;

	if (!x->via || strcmp(x->via, "native") || !what)
		return 0;
	moca_error("--via native does not go with %s%s; --via user does", what,
		   attaches(x) ? ": it records programs that it starts" : "");
	return -EINVAL;
}

static int check(struct moca_record_options *o, const struct extra *x,
		 size_t objects, int operands)
{
	if (x->via && strcmp(x->via, "auto") && !find_way(x->via)) {
		moca_error("--via takes auto, user, native or kernel, not %s",
			   x->via);
		return -EINVAL;
	}
	if (x->on_error && strcmp(x->on_error, "stop") &&
	    strcmp(x->on_error, "continue")) {
		moca_error("--on-error takes continue or stop, not %s",
			   x->on_error);
		return -EINVAL;
	}
	if (!!x->pid + !!x->cgroup.path + !!x->cgroup.container + !!operands != 1) {
		moca_error(!attaches(x) ?
				   "what shall be recorded? Give a command "
				   "(moca record -- CMD ARGS) or -p PID" :
			   x->cgroup.path || x->cgroup.container ?
				   "give one of a command, -p, --cgroup and --container" :
				   "give either a command or -p PID, not both");
		return -EINVAL;
	}
	if (x->pid > INT32_MAX) {
		moca_error("-p %lu: no process has such a number", x->pid);
		return -EINVAL;
	}
	if (x->hz != NOT_GIVEN_HZ && (!x->hz || x->hz > RATE_HZ_MAX)) {
		moca_error("--rate must be from 1 to %u (--no-rates: none)",
			   RATE_HZ_MAX);
		return -EINVAL;
	}
	if (o->interval_ns && o->interval_ns < 1000000) {
		moca_error("--interval must be 1ms at least");
		return -EINVAL;
	}
	if (o->credit_ns && o->credit_ns != NOT_GIVEN_NS &&
	    isinf(o->budget)) {
		moca_error("--credit does not go with --budget none: nothing "
			   "is held to it");
		return -EINVAL;
	}
	if (!x->agent.min_size) {
		moca_error("--min-size must be 1 at least");
		return -EINVAL;
	}
	if (agent_check(&x->agent) || parse_sample(x->sample, &o->sample_level,
						     &o->sample_auto))
		return -EINVAL;
	if ((o->sample_level || o->sample_auto) && x->via &&
	    !strcmp(x->via, "kernel")) {
		moca_error("--sample does not go with --via kernel: the module "
			   "looks at all pages; --via user takes samples");
		return -EINVAL;
	}
	if (attaches(x) && objects) {
		moca_error("--object does not go with %s: a running process "
			   "is recorded without its allocations", attaches(x));
		return -EINVAL;
	}
	if (o->budget != NOT_GIVEN && !(o->budget > 0)) {
		moca_error("--budget must be more than 0 (or none)");
		return -EINVAL;
	}
	if (check_native(o, x) || check_stacks(o, x) || check_heat(o, x))
		return -EINVAL;
	return check_exact(o, x, objects);
}

/*
 * Which what the user asked for and what is there decide. NULL: not as asked,
 * after a message.
 */
static const struct way *choose_way(const struct moca_record_options *o,
				    const struct extra *x)
{
	struct moca_kernel_check c;
	int asked = o->heat_ns || (x->via && !strcmp(x->via, "kernel"));
	const char *wants = o->heat_ns ? "--heat" : "--via kernel";
	const char *why;

	if (x->via && strcmp(x->via, "auto") && !asked)
		return find_way(x->via);
	/* The module has neither samples nor stacks. */
	if (o->stack_bytes ||
	    (x->sample && (o->sample_level || o->sample_auto)))
		return find_way("user");
	moca_kernel_try(&c, (pid_t)x->pid);
	if (c.state == MOCA_KERNEL_READY && o->heat_ns &&
	    (why = moca_kernel_no_heat(&c))) {
		moca_error("--heat: the module that is loaded cannot look at "
			   "accessed bits: %s", why);
		return NULL;
	}
	if (c.state == MOCA_KERNEL_READY)
		return find_way("kernel");
	/* Neither way can: the other one's words are the plainer ones. */
	if (c.error == ESRCH && x->pid)
		return find_way(MOCA_IS_X86 ? "user" : "kernel");
	if (asked) {
		moca_error("%s: %s%s%s", wants, c.why,
			   c.fix ? "; to allow it: " : "", c.fix ? c.fix : "");
		return NULL;
	}
	if (c.state == MOCA_KERNEL_REFUSED)
		moca_warn("the kernel module is loaded, but not used: %s%s%s. "
			  "Recording from user space (--via user says nothing "
			  "of it)", c.why, c.fix ? "; to allow it: " : "",
			  c.fix ? c.fix : "");
	return find_way("user");
}

/* What was not said, and what follows from what was. */
static void settle(struct moca_record_options *o, struct extra *x)
{
	if (o->budget == NOT_GIVEN)
		o->budget = 0.10;
	x->credit = o->credit_ns && o->credit_ns != NOT_GIVEN_NS;
	if (o->credit_ns == NOT_GIVEN_NS)
		o->credit_ns = o->interval_ns || isinf(o->budget) ? 0 :
								    CREDIT_NS;
	if (!o->interval_ns) {
		o->interval_ns = LONGEST_NS;
		o->shortest_ns = o->credit_ns ? SHORTEST_NS : 0;
	}
	/* Of a translated program, these would tell of the translator. */
	if (x->no_rates || x->exact)
		x->hz = 0;
	else if (x->hz == NOT_GIVEN_HZ)
		x->hz = RATE_HZ_DEFAULT;
	o->rate_period_ns = x->hz ? 1000000000ull / x->hz : 0;
	o->attach = x->pid;
	o->zap = !x->no_zap;
	o->include = x->include.items;
	o->include_count = x->include.count;
	o->exclude = x->exclude.items;
	o->exclude_count = x->exclude.count;
	o->stop_on_error = x->on_error && !strcmp(x->on_error, "stop");
}

static int run(struct moca_record_options *o, struct extra *x)
{
	const struct way *way = x->exact ? NULL : choose_way(o, x);

	record_own();
	if (!way && !x->exact)
		return EXIT_RECORD;
	if (way && !way->credits) {
		if (x->credit) {
			moca_error("--credit does not go with --via kernel: "
				   "the module knows the budget alone (--via "
				   "user)");
			return EXIT_USAGE;
		}
		o->credit_ns = o->shortest_ns = 0;
		o->sample_auto = 0;
	}
	if (way && way->samples && !x->sample && o->shortest_ns &&
	    o->credit_ns && !isinf(o->budget))
		o->sample_auto = 1;
	if (!x->no_allocs && !x->pid) {
		o->preload = agent_find();
		/* Beside counting each access, allocations cost nothing. */
		x->agent.budget = x->exact ? HUGE_VAL : o->budget;
		o->preload_config = agent_config(&x->agent);
	}
	if (open_output(x->out, &o->program_stdout) ||
	    open_output(x->err, &o->program_stderr))
		return EXIT_RECORD;
	if (x->exact)
		return moca_exact_run(o, &x->counts);
	return way->run(o);
}

struct both {
	struct moca_record_options *o;
	struct extra *x;
};

static int record_member(void *arg, pid_t pid)
{
	struct both *b = arg;

	b->x->pid = (uint64_t)pid;
	return run(b->o, b->x);
}

static int start(struct moca_record_options *o, struct extra *x)
{
	struct both both = { o, x };
	int choice;

	settle(o, x);
	if (x->cgroup.path || x->cgroup.container)
		return cgroup_record(&x->cgroup, o,
				     &(struct cgroup_way){ record_member, &both });
	choice = ranks_choose(&x->ranks, o);
	if (choice < 0)
		return EXIT_USAGE;
	return choice == RANKS_PLAIN ? ranks_exec(o->argv) : run(o, x);
}

int cmd_record(int argc, char **argv)
{
	struct moca_record_options o = {
		.budget = NOT_GIVEN, .credit_ns = NOT_GIVEN_NS, .zap = 1,
		.program_stdout = -1, .program_stderr = -1,
	};
	struct extra x = { .agent.min_size = 4096, .hz = NOT_GIVEN_HZ };
	struct string_list objects = { 0 };
	const struct moca_record_companion companion = record_companion(
		&objects, &o.quiet, &x.pid, &x.hz, &x.no_summary);
	const struct option_spec specs[] = {
		OPT_STRING('o', "output", &o.dir, "DIR", "directory of the trace (default: moca-CMD-DATE)"),
		OPT_DURATION(0, "interval", &o.interval_ns,
			     "shortest interval between two looks at a page "
			     "(default: 5ms at first, 50ms later)"),
		OPT_PERCENT(0, "budget", &o.budget,
			    "slowdown you accept; intervals grow to hold it "
			    "(default: 10%; none: fixed intervals)"),
		OPT_CREDIT(0, "credit", &o.credit_ns,
			   "what it may take beyond the budget, so that short "
			   "runs are seen well (default: 200ms; 0 with --interval)"),
		OPT_STRING(0, "sample", &x.sample, "SHARE", "look again at a "
			   "share of large memory; auto: as it fits (default: auto; 1 with --interval)"),
		OPT_DURATION(0, "heat", &o.heat_ns, "--via kernel: so often, without a fault, look "
			     "which pages were touched and written (1ms and more)"),
		OPT_SIZE(0, "max-size", &o.max_size, "end the recording at this size of the trace"),
		OPT_FLAG(0, "only-children", &o.only_children, "leave the first program alone, trace its children"),
		OPT_LIST(0, "include", &x.include, "NAME", "trace only programs of this name (repeatable)"),
		OPT_LIST(0, "exclude", &x.exclude, "NAME", "do not trace these (repeatable)"),
		OPT_FLAG(0, "stack", &o.stack, "observe writes to main threads' stacks again, too"),
		OPT_FLAG(0, "stacks", &x.stacks, "record the call stack of each access"),
		OPT_SIZE(0, "stack-bytes", &x.stack_bytes,
			 "--stacks: copy so much of each stack; more shows more "
			 "callers and costs more (default: 2k)"),
		OPT_UINT('p', "pid", &x.pid, "PID",
			 "attach to a running process; ^C ends the recording "
			 "and leaves it running"),
		OPT_STRING(0, "cgroup", &x.cgroup.path, "PATH", "attach to all processes of a cgroup, also to those that come later"),
		OPT_STRING(0, "container", &x.cgroup.container, "ID", "the same of the container of this ID; each has a trace DIR/rank-N"),
		OPT_STRING(0, "via", &x.via, "WAY",
			   "kernel: by the module moca; user: from user space; "
			   "native: so, and memory stays where it is (Linux 7.3); "
			   "auto: kernel, or else user (default: auto)"),
		OPT_STRING(0, "on-error", &x.on_error, "WHAT", "when recording fails, the program shall continue or stop (default: continue)"),
		OPT_FLAG(0, "tracepoints", &o.tracepoints,
			 "root: take read or write from the page-fault "
			 "tracepoints, also inside system calls (slower)"),
		OPT_STRING(0, "ranks", &x.ranks.list, "LIST", "below mpirun: trace these ranks alone, as 0,17,100-107, or none"),
		OPT_FLAG(0, "no-ranks", &x.ranks.off, "record into DIR itself, also below mpirun"),
		OPT_FLAG(0, "no-environment", &o.no_environment, "leave the environment, which moca try uses, out of the trace"),
		OPT_FLAG(0, "one-per-node", &x.ranks.one_per_node, "below mpirun: trace the first rank of each node alone"),
		OPT_FLAG('q', "quiet", &o.quiet, "no status, no summary"),
		OPT_FLAG(0, "no-summary", &x.no_summary, "do not look for what could be better at the end"),
		OPT_FLAG('v', "verbose", &moca_verbose, "say what is done"),
		OPT_STRING(0, "program-stdout", &x.out, "FILE", "write the program's standard output to FILE"),
		OPT_STRING(0, "program-stderr", &x.err, "FILE", "write the program's standard error to FILE"),
		OPT_FLAG(0, "no-allocs", &x.no_allocs, "do not record the program's allocations"),
		OPT_STRING(0, "allocs", &x.agent.allocs, "HOW",
			   "auto: where allocations cost more than their half "
			   "of the budget, stacks and places of some are "
			   "taken, the others counted; full: all, whatever it "
			   "costs; 1/N: of one in N (default: auto)"),
		OPT_SIZE(0, "min-size", &x.agent.min_size,
			 "objects on the heap below SIZE are recorded in bulk, "
			 "by site (default: 4k)"),
		OPT_LIST(0, "alloc-fn", &x.agent.alloc_fns, "NAME:ARG",
			 "function NAME allocates; the number, from 0, of the "
			 "argument that is the size (repeatable)"),
		OPT_LIST(0, "free-fn", &x.agent.free_fns, "NAME:ARG",
			 "function NAME frees what they made; the number of "
			 "the argument that is the address (repeatable)"),
		OPT_LIST(0, "object", &objects, "NAME",
			 "keep only the accesses to objects of this name "
			 "(repeatable, with * and ?)"),
		OPT_FLAG(0, "exact", &x.exact,
			 "count every load and store instead, in the whole "
			 "program and what it starts"),
		OPT_SIZE(0, "granularity", &x.counts.granularity,
			 "--exact: count by so many bytes, a power of two from "
			 "64 to 4k (default: 4k, a page)"),
		OPT_DURATION(0, "slice", &x.counts.slice_ns,
			     "--exact: count anew in each slice of time "
			     "(default: one count for each thread's whole life)"),
		OPT_FLAG(0, "pages", &x.pages, "record page accesses, which is the default"),
		OPT_UINT(0, "rate", &x.hz, "HZ",
			 "sample page faults and CPU time so often, 1 to 1000 "
			 "times a second (default: 20)"),
		OPT_FLAG(0, "no-rates", &x.no_rates, "do not sample these"),
		OPT_FLAG(0, "no-zap", &x.no_zap, "record the program's real faults only"),
		OPT_END,
	};
	int first = moca_options_parse(specs, argc, argv, usage, about);

	if (first == -ECANCELED)
		return 0;
	if (first < 0 || check(&o, &x, objects.count, argc - first))
		return EXIT_USAGE;
	o.argv = argv + first;
	o.companion = &companion;
	return start(&o, &x);
}
