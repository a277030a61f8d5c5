// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "export/ctf.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/text/text.h"
#include "report/exact.h"

struct export {
	const char *trace;
	const char *out;
	const char *to;
	int events_only;
	int quiet;
	struct moca_trace *t;
	int dirfd;
	int made;		/* out did not exist */
	int read_failed;	/* what went wrong is the trace */
};

static volatile sig_atomic_t stopped;

static int to_ctf(struct export *x);

/* What --to takes. run: 0, or -errno and then it has removed its files. */
static const struct format {
	const char *name;
	const char *help;
	int (*run)(struct export *x);
} formats[] = {
	{ "ctf", "Common Trace Format 1.8, which babeltrace2 and Trace Compass read", to_ctf },
};

static int to_ctf(struct export *x)
{
	struct moca_ctf_options o = { .events_only = x->events_only,
				      .stop = &stopped };
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
	struct moca_ctf_result r;
	int err = moca_ctf_export(x->t, x->dirfd, &o, &r);

	x->read_failed = r.read_failed;
	if (err)
		return err;
	if (r.left_out)
		moca_warn("export: %s event%s of '%s' left out: of a kind that this moca (%s) does not know",
			  text_count(a, r.left_out),
			  r.left_out == 1 ? " was" : "s were", x->trace,
			  MOCA_VERSION);
	if (r.moved)
		moca_warn("export: %s event%s of '%s' out of order or too late: written with the time of the one before",
			  text_count(a, r.moved),
			  r.moved == 1 ? " was" : "s were", x->trace);
	if (!x->quiet)
		moca_say("%s: %s event%s, %s access%s and %s task event%s in %s stream%s, %s",
			 x->out, text_count(a, r.events), PLURAL(r.events),
			 text_count(b, r.accesses),
			 r.accesses == 1 ? "" : "es",
			 text_count(c, r.task_events), PLURAL(r.task_events),
			 text_count(d, r.streams), PLURAL(r.streams),
			 text_size((char[TEXT_MAX]){ 0 }, r.bytes));
	if (!x->quiet && r.discarded)
		moca_say("%s: the recorder lost %s event%s: told as discarded",
			 x->out, text_count(a, r.discarded),
			 PLURAL(r.discarded));
	return 0;
}

static const struct format *find_format(const char *name)
{
	size_t i, n = sizeof(formats) / sizeof(formats[0]);
	char known[256] = "";

	for (i = 0; i < n; i++) {
		size_t len = strlen(known);

		if (name && !strcmp(formats[i].name, name))
			return &formats[i];
		snprintf(known + len, sizeof(known) - len, "%s%s (%s)",
			 len ? ", " : "", formats[i].name, formats[i].help);
	}
	if (name)
		moca_error("export: '--to %s' is no known format: there is %s",
			   name, known);
	else
		moca_error("export: to which format? --to FORMAT, which may be %s",
			   known);
	return NULL;
}

/* 1, 0 or -errno. */
static int is_empty(int fd)
{
	int at = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	int empty = 1;
	DIR *dir;

	if (at < 0)
		return -errno;
	dir = fdopendir(at);
	if (!dir) {
		close(at);
		return -ENOMEM;
	}
	while (empty && (e = readdir(dir)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	closedir(dir);
	return empty;
}

static int open_out(struct export *x)
{
	int ret;

	if (!mkdir(x->out, 0700)) {
		x->made = 1;
	} else if (errno != EEXIST) {
		moca_error("export: cannot make the directory '%s': %s%s",
			   x->out, strerror(errno),
			   errno == ENOENT ?
				   " (the directory that it is to be in must exist)" :
				   "");
		return -1;
	}
	x->dirfd = open(x->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = x->dirfd < 0 ? -errno : is_empty(x->dirfd);
	if (ret > 0)
		return 0;
	if (!ret)
		moca_error("export: '%s' is not empty, and nothing is overwritten: remove it or give another directory",
			   x->out);
	else
		moca_error("export: cannot write into '%s': %s (give a directory that does not exist yet, or an empty one)",
			   x->out, strerror(-ret));
	if (x->dirfd >= 0)
		close(x->dirfd);
	return -1;
}

static void explain_failure(const struct export *x, int err)
{
	/* An empty directory that was there before stays. */
	int left = is_empty(x->dirfd) <= 0 || (x->made && rmdir(x->out));

	if (stopped)
		moca_say("export: interrupted: %s",
			 left ? "what was begun could not be removed" :
				"what was begun is removed");
	else if (x->read_failed)
		moca_error("export: cannot read the trace '%s': %s (of '%s', %s)",
			   x->trace, strerror(-err), x->out,
			   left ? "what was begun could not be removed" :
				  "what was begun is removed");
	else
		moca_error("export: cannot write '%s': %s (%s%s)", x->out,
			   strerror(-err),
			   err == -ENOSPC || err == -EDQUOT ?
				   "give a directory where there is more room; " :
				   "",
			   left ? "what was begun could not be removed" :
				  "what was begun is removed");
}

static void stop(int sig)
{
	stopped = sig;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void take_signals(void)
{
	struct sigaction sa = { .sa_handler = stop }, old;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	/* So that a limit on files (ulimit -f) is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
}

static int warn_of_damage(const struct export *x)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
	struct moca_damage d;

	moca_trace_damage(x->t, &d);
	if (!trace_damaged(&d))
		return 0;
	moca_warn("export: parts of '%s' are damaged and were left out: %s file%s, %s chunk%s, %s at the end of files ('moca check %s' says more)",
		  x->trace, text_count(a, d.files), PLURAL(d.files),
		  text_count(b, d.chunks), PLURAL(d.chunks),
		  text_size(c, d.tail_bytes), x->trace);
	return 1;
}

static int export(struct export *x, const struct format *format)
{
	int err;

	if (open_out(x))
		return 1;
	take_signals();
	err = format->run(x);
	if (err)
		explain_failure(x, err);
	close(x->dirfd);
	if (err && stopped) {
		signal(stopped, SIG_DFL);
		fflush(NULL);
		raise(stopped);
	}
	return err ? 1 : warn_of_damage(x);
}

/* Counts are sums, of no moment: no event is right for them. 0 or an exit code. */
static int refuse_counts(const struct export *x)
{
	size_t i, n = moca_trace_task_count(x->t);
	uint64_t counts = 0, accesses = 0;

	for (i = 0; i < n; i++) {
		counts += moca_trace_task(x->t, i)->counts;
		accesses += moca_trace_task(x->t, i)->accesses;
	}
	if (!counts || x->events_only)
		return 0;
	if (accesses) {
		moca_warn("export: '%s' has counts of exact mode, too: they are sums over a time, which no event of this format can be, and are left out ('moca dump --counts --csv %s' prints them)",
			  x->trace, x->trace);
		return 0;
	}
	moca_error("export: '%s' has counts of exact mode and no accesses: they are sums over a time, which no event of this format can be. 'moca dump --counts --csv %s' prints them; --events-only exports what the program emitted",
		   x->trace, x->trace);
	return EXIT_USAGE;
}

static const char about[] =
	"Write a trace in the format of other tools.\n"
	"ctf: Common Trace Format 1.8, which babeltrace2 and Trace Compass read. Each thread is a stream; in it are, by time, what the program emitted (facility:name), page accesses (moca:access) and what happened to the thread and to its mappings (moca:task_start, moca:mmap ...). What the recorder lost is told as discarded events.\n"
	"Exit code: 0; 1 when parts of the trace are damaged and were left out, or OUT cannot be written; 2 for a wrong command line or when DIR is no trace.";

int cmd_export(int argc, char **argv)
{
	struct export x = { 0 };
	const struct option_spec specs[] = {
		OPT_STRING(0, "to", &x.to, "FORMAT", "the format: ctf"),
		OPT_STRING('o', "output", &x.out, "OUT", "the directory to write, which must not exist or be empty"),
		OPT_FLAG(0, "events-only", &x.events_only, "only the events that the program emitted: no accesses, no task events"),
		OPT_FLAG('q', "quiet", &x.quiet, "do not say what was written"),
		OPT_END
	};
	const struct format *format;
	int first, ret;

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca export DIR --to FORMAT -o OUT", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	x.trace = trace_operand(argc, argv, first);
	if (!x.trace)
		return EXIT_USAGE;
	format = find_format(x.to);
	if (!format)
		return EXIT_USAGE;
	if (!x.out || !*x.out) {
		moca_error("export: where to? -o OUT names the directory to write");
		return EXIT_USAGE;
	}
	x.t = trace_open("export", x.trace);
	if (!x.t)
		return EXIT_USAGE;
	ret = refuse_counts(&x);
	if (!ret)
		ret = export(&x, format);
	moca_trace_close(x.t);
	return ret;
}
