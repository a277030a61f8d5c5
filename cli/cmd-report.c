// SPDX-License-Identifier: GPL-2.0-or-later
/* moca report and moca view: one HTML page that shows a trace. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/diff-runs.h"
#include "cli/open.h"
#include "cli/reduce-job.h"
#include "cli/report-job.h"
#include "cli/report-live.h"
#include "lib/base/err.h"
#include "lib/cmdline/unfinished.h"
#include "lib/text/text.h"
#include "report/advice.h"
#include "report/html/report.h"

#define MAX_FILE 10000000u
#define SPARE 600000u		/* for what is not plots */
#define DELAY_NS 2000000000ull	/* between two pages of what runs */
#define DELAY_MIN_NS 100000000ull
#define DELAY_MAX_NS 3600000000000ull

struct wanted {
	const char *command;	/* "report" or "view" */
	const char *out;	/* NULL: in the trace */
	const char *topology;
	int no_source;
	int quiet;
	struct string_list fail_if;
};

/* The first trace of `moca report A B`. */
struct before {
	struct report report;
	struct comparison runs;
	struct diff_conditions conditions;
	struct report_compare compare;
};

/* The plots, and the summary meanwhile. */
static int pack(struct report *r)
{
	struct report_summary summary;
	int err = report_summary_start(&summary, r), failed;

	if (err)
		return err;
	err = report_plots(r);
	failed = report_summary_end(&summary);
	return err ? err : failed;
}

static int add_blobs(struct report *r)
{
#define X(blob) blob,
	static int (*const blobs[])(struct report *) = { REPORT_BLOBS(X) };
#undef X
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(blobs) / sizeof(*blobs); i++)
		err = blobs[i](r);
	return err;
}

static int compute(struct report *r, const char *topology)
{
	int err;

	trace_raise_limit();
	err = report_summary_begin(r, topology);
	if (!err)
		err = report_walk(r);
	return err ? err : pack(r);
}

static int finish(struct report *r)
{
	int err = add_blobs(r);

	if (!err)
		err = report_fit(r, MAX_FILE - SPARE -
					    moca_page_template_size());
	return err ? err : report_index(r);
}

static int cannot_read(const struct wanted *w, const struct report *r, int err)
{
	moca_error("%s: cannot read the trace '%s': %s%s", w->command, r->path,
		   strerror(-err), err != -EMFILE ? "" :
		   " (raise the limit with 'ulimit -n')");
	return err;
}

/* The run before: 0, or -errno after a message. */
static int compute_before(const struct wanted *w, struct report *r)
{
	int err = report_topology(r, w->topology);

	if (err)
		return err;
	trace_raise_limit();
	err = report_summary_begin(r, w->topology);
	if (!err && !r->profile_walk && !r->counts_profile) {
		moca_error("%s: two runs cannot be compared without their findings",
			   w->command);
		return -EINVAL;
	}
	if (!err)
		err = report_walk(r);
	if (!err)
		err = report_profile(r);
	return err ? cannot_read(w, r, err) : 0;
}

/* Set the run before beside r. 0, or -errno after a message. */
static int compare(const struct wanted *w, struct report *r, struct before *b)
{
	const char *const path[] = { b->report.path, r->path };
	struct moca_trace *const trace[] = { b->report.trace, r->trace };
	struct moca_profile *const profile[] = { b->report.profile,
						 r->profile };

	if (diff_runs(w->command, &b->runs, path, trace, profile) ||
	    diff_conditions_judge(&b->conditions, w->command, &b->runs,
				  b->report.path))
		return -EINVAL;
	b->compare = (struct report_compare){
		.before = &b->report, .runs = &b->runs,
		.conditions = b->conditions.texts, .holds = b->conditions.holds,
		.condition_count = b->conditions.count,
	};
	r->compare = &b->compare;
	return 0;
}

static void report_free(struct report *r)
{
	size_t i;

	for (i = 0; i < r->blob_count; i++)
		moca_blob_free(&r->blobs[i]);
	free(r->blobs);
	free(r->rows);
	free(r->plots);
	free(r->topology.json);
	free(r->topology.source);
	free(r->topology.node_of_cpu);
	report_walk_free(r);
}

/* The page under a temporary name first: readers see all of it or nothing. */
static int write_page(const struct report *r, const char *command,
		      const char *out)
{
	const char *title = moca_trace_meta(r->trace, META_COMMAND);
	char *temporary = NULL;
	mode_t mask = umask(0);
	FILE *f = NULL;
	int fd, err;

	umask(mask);
	fd = unfinished_beside(out, &temporary);
	if (fd >= 0 && fchmod(fd, 0666 & ~mask))
		moca_warn("%s: cannot set the mode of '%s': %s", command, out,
			  strerror(errno));
	if (fd >= 0)
		f = fdopen(fd, "w");
	if (!f) {
		err = fd < 0 ? fd : -errno;
		moca_error("%s: cannot write '%s': %s", command, out,
			   strerror(-err));
		if (fd >= 0)
			close(fd);
		unfinished_remove();
		free(temporary);
		return err;
	}
	err = moca_page_write(f, title ? title : "a program", r->blobs,
			      r->blob_count);
	if (fclose(f) && !err)
		err = -errno;
	if (!err)
		err = unfinished_replace(temporary, out);
	if (err) {
		moca_error("%s: cannot write '%s': %s", command, out,
			   strerror(-err));
		unfinished_remove();
	}
	free(temporary);
	return err;
}

/* 0; 1: the trace is damaged, there is a page; -errno after a message. */
static int make_page(const struct wanted *w, struct report *r,
		     struct before *b, const char *out)
{
	struct stat st;
	char buf[TEXT_MAX];
	int err = b ? compute_before(w, &b->report) : 0;

	if (!err)
		err = report_topology(r, w->topology);
	if (err)
		return err;
	err = compute(r, w->topology);
	if (err)
		return cannot_read(w, r, err);
	err = b ? compare(w, r, b) : 0;
	if (err)
		return err;
	err = finish(r);
	if (err)
		return cannot_read(w, r, err);
	err = write_page(r, w->command, out);
	if (err)
		return err;
	if (!w->quiet && !stat(out, &st))
		moca_say("%s: %s, %zu data structures, %zu of them plotted",
			 out, text_size(buf, (uint64_t)st.st_size),
			 r->row_count, r->plot_count);
	advice_tried_warn(w->command, r->path);
	err = trace_warn_damage(w->command, r->trace, r->path);
	if (!b)
		return err;
	err |= trace_warn_damage(w->command, b->report.trace,
				 b->report.path);
	return diff_conditions_tell(&b->conditions, w->command, &b->runs) | err;
}

/* Where the page goes: as said, or into the trace. NULL: no memory. */
static char *choose_out(const struct wanted *w, const char *path, int two)
{
	char *out = NULL;

	if (w->out)
		return strdup(w->out);
	if (asprintf(&out, "%s/%s.html", path, two ? "compare" : "report") < 0)
		return NULL;
	return out;
}

/* A trace of somebody else's, which we may not write to. */
static int is_read_only(const char *path)
{
	return access(path, W_OK) && (errno == EACCES || errno == EROFS);
}

static char *temporary_out(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = NULL, *out = NULL;

	if (asprintf(&dir, "%s/moca-report-XXXXXX", tmp && *tmp ? tmp :
								  "/tmp") < 0)
		return NULL;
	if (!mkdtemp(dir) || asprintf(&out, "%s/report.html", dir) < 0)
		out = NULL;
	free(dir);
	return out;
}

/* 0 when something opened it. */
static int open_page(const char *out)
{
	int status = 0;
	pid_t pid;

	/* Ignored, no child would be there to be waited for. */
	signal(SIGCHLD, SIG_DFL);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		signal(SIGXFSZ, SIG_DFL);
		execlp("xdg-open", "xdg-open", out, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -ENOENT : 0;
}

/* Write the page of r, and of the run before, and open it. As make_page(). */
static int show(const struct wanted *w, struct report *r, struct before *b,
		int view)
{
	char *out;
	int ret;

	if (view && !w->out && is_read_only(r->path))
		out = temporary_out();
	else
		out = choose_out(w, r->path, b != NULL);
	ret = out ? make_page(w, r, b, out) : -ENOMEM;
	if (!out)
		moca_error("%s: no place for the page: %s", w->command,
			   strerror(errno));
	if (view && ret >= 0 && open_page(out))
		printf("%s\n", out);
	free(out);
	return ret == -EINVAL ? EXIT_USAGE : ret != 0;
}

/* DIR, or A B: 0, or EXIT_USAGE after a message. */
static int open_traces(const struct wanted *w, int argc, char **argv, int first,
		       struct report *r, struct before *b)
{
	int two = argc - first == 2;

	r->path = two ? argv[first + 1] : trace_operand(argc, argv, first);
	if (!r->path)
		return EXIT_USAGE;
	if (w->fail_if.count && !two) {
		moca_error("%s: --fail-if needs two traces: moca %s A B",
			   w->command, w->command);
		return EXIT_USAGE;
	}
	if (two) {
		b->report.path = argv[first];
		if (diff_conditions_parse(&b->conditions, w->command,
					  &w->fail_if))
			return EXIT_USAGE;
		b->report.trace = trace_open(w->command, b->report.path);
		if (!b->report.trace)
			return EXIT_USAGE;
	}
	r->trace = trace_open(w->command, r->path);
	return r->trace ? 0 : EXIT_USAGE;
}

static int no_page(const struct wanted *w)
{
	moca_error("%s: this moca was built without the page: install nodejs and npm and build it again ('make' says what is missing)",
		   w->command);
	return 1;
}

static int run(const struct wanted *w, int argc, char **argv, int first,
	       int view)
{
	struct report r = { .no_source = w->no_source };
	struct before b = { 0 };
	char *out = NULL;
	int ret, is_job = 0;

	for (int i = first; i < argc; i++)
		is_job |= reduce_is_job(argv[i]);
	if (is_job) {
		unfinished_signals(w->command);
		ret = report_job(w->command, argv + first, argc - first, w->out,
				 w->topology, w->quiet, &out);
		if (view && out && open_page(out))
			printf("%s\n", out);
		free(out);
		return ret;
	}
	if (!moca_page_available())
		return no_page(w);
	unfinished_signals(w->command);
	ret = open_traces(w, argc, argv, first, &r, &b);
	if (!ret)
		ret = show(w, &r, b.report.trace ? &b : NULL, view);
	comparison_free(&b.runs);
	diff_conditions_free(&b.conditions);
	report_free(&b.report);
	moca_trace_close(b.report.trace);
	report_free(&r);
	moca_trace_close(r.trace);
	return ret;
}

static const char about_report[] =
	"Make one HTML page that shows a trace: which data structures were accessed, when, where, by which threads, with explanations. It needs no network and no other file; a browser shows it.\n"
	"The page is DIR/report.html unless -o says otherwise.\n"
	"Of a job (mpirun moca record -o DIR) or its profile, it is a page of all ranks side by side, those that differ most first.\n"
	"Of two traces, A before and B after a change: B's page, which opens with both side by side: findings that are gone and new, what grew and shrank, each data structure over time. It is B/compare.html unless -o says otherwise. The conditions of --fail-if are those of 'moca diff'.\n"
	"Exit code: 0; 1 when a condition of --fail-if holds, parts of the trace are damaged and were left out, or the page cannot be written; 2 for a wrong command line or when DIR is no trace.";

int cmd_report(int argc, char **argv)
{
	struct wanted w = { .command = "report" };
	const struct option_spec specs[] = {
		OPT_STRING('o', "output", &w.out, "FILE", "write the page there"),
		OPT_STRING(0, "topology", &w.topology, "MACHINE", "the machine to draw: NODESxCPUS, such as 4x16, or a file in hwloc's XML; else the one it was recorded on, if the trace tells it"),
		OPT_FLAG(0, "no-source", &w.no_source, "no lines of source files in the page; else those around what accesses the structures are, where the files are readable"),
		OPT_LIST(0, "fail-if", &w.fail_if, "CONDITION", "of two traces: exit with code 1 if it holds, and show it in the page; may be repeated"),
		OPT_FLAG('q', "quiet", &w.quiet, "do not say what was written"),
		OPT_END
	};
	int ret, first = moca_options_parse_mixed(specs, argc, argv,
				"moca report [OPTIONS] DIR | A B",
				about_report);

	if (first < 0)
		ret = first == -ECANCELED ? 0 : EXIT_USAGE;
	else
		ret = run(&w, argc, argv, first, 0);
	free(w.fail_if.items);
	return ret;
}

static const char about_view[] =
	"Make the page of 'moca report' and open it in the browser (xdg-open); where there is none, print its path.\n"
	"The page is DIR/report.html, of two runs B/compare.html, or in a temporary directory when DIR may not be written to.\n"
	"With --live or -p, record a program and show the page while it runs: at an address of this machine alone, which is printed and opened. ^C ends that; a process that was attached to goes on. The trace and its report stay.";

static int check_live(const struct live_options *o, int operands)
{
	if (!o->pid == !operands) {
		moca_error(o->pid ? "view: a process (-p) or a command, not both" :
			   "view: what shall be shown live? Give a command: moca view --live -- CMD, or -p PID");
		return -EINVAL;
	}
	if (o->pid > INT32_MAX) {
		moca_error("view: '-p %llu' is no number of a process",
			   (unsigned long long)o->pid);
		return -EINVAL;
	}
	if (o->delay_ns < DELAY_MIN_NS || o->delay_ns > DELAY_MAX_NS) {
		moca_error("view: '--delay' takes 100ms to 1h");
		return -EINVAL;
	}
	return 0;
}

/* What is of recordings alone, without --live or -p. */
static int check_not_live(const struct live_options *o)
{
	const char *name = o->stacks	  ? "--stacks" :
			   o->trace	  ? "--trace" :
			   o->interval_ns ? "--interval" :
			   o->sample	  ? "--sample" :
			   o->budget	  ? "--budget" : NULL;

	if (name)
		moca_error("view: %s is for --live or -p", name);
	return name ? -EINVAL : 0;
}

int cmd_view(int argc, char **argv)
{
	struct wanted w = { .command = "view" };
	struct live_options o = { .delay_ns = DELAY_NS, .max_size = 1ull << 30 };
	int is_live = 0;
	const struct option_spec specs[] = {
		OPT_STRING('o', "output", &w.out, "FILE", "write the page there"),
		OPT_STRING(0, "topology", &w.topology, "MACHINE", "the machine to draw, as of moca report"),
		OPT_FLAG(0, "no-source", &w.no_source, "no lines of source files in the page"),
		OPT_FLAG(0, "live", &is_live, "record the command behind -- and show its page while it runs"),
		OPT_UINT('p', "pid", &o.pid, "PID", "the same of a running process, which is left as it was"),
		OPT_DURATION('d', "delay", &o.delay_ns, "live: between two pages (default: 2s; more where a page takes more than a tenth of that)"),
		OPT_STRING(0, "trace", &o.trace, "DIR", "live: keep the trace there, in a new or empty directory (default: moca-CMD-DATE)"),
		OPT_FLAG(0, "stacks", &o.stacks, "live: as of moca record"),
		OPT_DURATION(0, "interval", &o.interval_ns, "live: as of moca record"),
		OPT_STRING(0, "sample", &o.sample, "SHARE", "live: as of moca record (default: auto; 1 with --interval)"),
		OPT_STRING(0, "budget", &o.budget, "PERCENT", "live: as of moca record"),
		OPT_SIZE(0, "max-size", &o.max_size, "live: end at this size of the trace (default: 1G)"),
		OPT_END
	};
	int first = moca_options_parse_mixed(specs, argc, argv,
					     "moca view [OPTIONS] DIR | A B | --live -- CMD [ARGS] | -p PID",
					     about_view);

	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	w.quiet = 1;
	if (!is_live && !o.pid)
		return check_not_live(&o) ? EXIT_USAGE :
					    run(&w, argc, argv, first, 1);
	if (check_live(&o, argc - first))
		return EXIT_USAGE;
	if (!moca_page_available())
		return no_page(&w);
	o.out = w.out;
	o.topology = w.topology;
	o.no_source = w.no_source;
	return report_live(&o, argc - first, argv + first);
}
