// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "cli/open.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/cmdline/choice.h"
#include "lib/cmdline/options.h"
#include "lib/cmdline/unfinished.h"
#include "lib/text/text.h"

/* What a format takes of the options that narrow an export. */
enum {
	NARROWS = 1,		/* --from, --until, --task, --address */
	OBJECTS = 2,		/* --object */
	TABLES = 4,		/* --table, --no-objects, --partition */
	EVENTS_ONLY = 8,
	ONE_FILE = 16,		/* OUT is a file, or - for stdout */
	VALUE = 32,		/* --value */
	WINDOWS = 64,		/* --window */
};

/*
 * What --to takes. refuse: before OUT is made, 0, or after a message an exit code;
 * may be NULL. run: 0, or -errno, and what it made is removed.
 */
static const struct format {
	const char *name, *help;	/* as struct choice */
	int takes;
	int (*refuse)(const struct export *x);
	int (*run)(struct export *x);
} formats[] = {
	{ "ctf", "Common Trace Format 1.8, which babeltrace2 and Trace Compass read",
	  NARROWS | OBJECTS | EVENTS_ONLY, export_ctf_refuse, export_ctf },
	{ "csv", "a CSV file of each table of moca query",
	  NARROWS | OBJECTS | TABLES, NULL, export_tables },
	{ "jsonl", "the same as JSON, an object a line",
	  NARROWS | OBJECTS | TABLES, NULL, export_tables },
	{ "folded", "call stacks with a sum each, as flame graph tools read them",
	  NARROWS | OBJECTS | VALUE | ONE_FILE, export_stacks_refuse,
	  export_stacks },
	{ "speedscope", "call stacks for speedscope",
	  NARROWS | OBJECTS | ONE_FILE, export_stacks_refuse, export_stacks },
	{ "pprof", "call stacks for pprof",
	  NARROWS | OBJECTS | ONE_FILE, export_stacks_refuse, export_stacks },
	{ "callgrind", "costs by file, function and line for KCachegrind and callgrind_annotate",
	  NARROWS | OBJECTS | ONE_FILE, export_callgrind_refuse, export_callgrind },
	{ "dhat", "allocations by place for DHAT's viewer",
	  OBJECTS | ONE_FILE, NULL, export_dhat },
	{ "framesoc", "the CSV files that importers of the original's traces read since 2016",
	  NARROWS | OBJECTS, export_picked_refuse, export_framesoc },
	{ "paje", "a trace of Paje: counters by thread, object and window",
	  NARROWS | OBJECTS | ONE_FILE | WINDOWS, NULL, export_paje },
	{ "perfetto", "a trace of Perfetto: counters by thread, object and window",
	  NARROWS | OBJECTS | ONE_FILE | WINDOWS, NULL, export_perfetto },
	{ "tabarnac", "TABARNAC's CSV files: pages by thread, structures, stacks",
	  NARROWS | OBJECTS, export_picked_refuse, export_tabarnac },
	{ "parquet", "the same as Apache Parquet, which DuckDB, pandas and Spark read",
	  NARROWS | OBJECTS | TABLES, NULL, export_tables },
};

static const struct format *find_format(const char *name)
{
	static const struct choice_option to = { "export", "--to",
						 "to which format" };
	int i = choice_find(&to, formats, sizeof(formats) / sizeof(formats[0]),
			    sizeof(formats[0]), name);

	return i < 0 ? NULL : &formats[i];
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

static int open_directory(struct export *x)
{
	int ret = unfinished_folder(x->out, 0700, 0);

	if (ret && ret != -EEXIST) {
		moca_error("export: cannot make the directory '%s': %s%s",
			   x->out, strerror(-ret),
			   ret == -ENOENT ?
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

/* A file of one's own; nothing is overwritten. */
static int open_file(struct export *x)
{
	if (!strcmp(x->out, "-")) {
		x->fd = STDOUT_FILENO;
		x->quiet = 1;
		return 0;
	}
	x->fd = unfinished_file(AT_FDCWD, x->out, 0600);
	if (x->fd >= 0)
		return 0;
	if (x->fd == -EEXIST)
		moca_error("export: '%s' exists, and nothing is overwritten: remove it or give another name",
			   x->out);
	else
		moca_error("export: cannot make '%s': %s (give a file in a directory that exists and may be written to)",
			   x->out, strerror(-x->fd));
	return -1;
}

int export_create(struct export *x, const char *name)
{
	return unfinished_file(x->dirfd, name, 0600);
}

static void explain_failure(const struct export *x, int err, int left)
{
	if (x->read_failed)
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

static int export(struct export *x, const struct format *format)
{
	int err, left;

	/* Before anything is made, which would stay. */
	unfinished_signals("export");
	if ((x->partition && export_partition(x)) ||
	    (format->takes & ONE_FILE || !strcmp(x->out, "-") ?
		     open_file(x) : open_directory(x))) {
		unfinished_remove();
		free(x->partition_path);
		return 1;
	}
	err = format->run(x);
	if (x->fd >= 0 && x->fd != STDOUT_FILENO && close(x->fd) && !err)
		err = -errno;
	/* Who reads the other end has gone: it wants no more. */
	if (err == -EPIPE && x->fd == STDOUT_FILENO)
		err = 0;
	if (err) {
		left = unfinished_remove();
		if (!x->refused)
			explain_failure(x, err, left);
	} else {
		unfinished_keep();
	}
	if (x->dirfd >= 0)
		close(x->dirfd);
	free(x->partition_path);
	return x->refused ? EXIT_USAGE : err ? 1 :
				    trace_warn_damage("export", x->t, x->trace);
}

/* The options that narrow an export, before the trace is known. */
#define NOT_GIVEN UINT64_MAX
struct narrow {
	uint64_t from, until, task, window;	/* or NOT_GIVEN */
	const char *addresses;
};

/* 0 or -EINVAL after a message. */
static int check_options(struct export *x, const struct format *f,
			 const struct narrow *n)
{
	const struct {
		int given;
		int needs;
		const char *name;
	} options[] = {
		{ n->from != NOT_GIVEN, NARROWS, "--from" },
		{ n->until != NOT_GIVEN, NARROWS, "--until" },
		{ n->task != NOT_GIVEN, NARROWS, "--task" },
		{ n->addresses != NULL, NARROWS, "--address" },
		{ n->window != NOT_GIVEN, WINDOWS, "--window" },
		{ x->object != NULL, OBJECTS, "--object" },
		{ x->tables.count != 0, TABLES, "--table" },
		{ x->no_objects, TABLES, "--no-objects" },
		{ x->partition, TABLES, "--partition" },
		{ x->events_only, EVENTS_ONLY, "--events-only" },
		{ x->value != NULL, VALUE, "--value" },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].given && !(f->takes & options[i].needs)) {
			moca_error("export: '--to %s' does not take '%s' (man moca-export says which options each format takes)",
				   f->name, options[i].name);
			return -EINVAL;
		}
	if (n->addresses && trace_addresses(n->addresses, &x->range)) {
		moca_error("export: option '--address' needs a range such as 7f0000000000-7f0000400000, not '%s'",
			   n->addresses);
		return -EINVAL;
	}
	if (n->until != NOT_GIVEN &&
	    n->until <= (n->from == NOT_GIVEN ? 0 : n->from)) {
		moca_error("export: '--until' must be later than '--from', which is 0 if it is not given");
		return -EINVAL;
	}
	if (!n->window) {
		moca_error("export: '--window' must be longer than 0");
		return -EINVAL;
	}
	if (x->no_objects && x->object) {
		moca_error("export: '--object' needs the objects that '--no-objects' leaves out: give one of the two");
		return -EINVAL;
	}
	if (x->events_only && (x->object || n->addresses)) {
		moca_error("export: '--events-only' leaves out the accesses, which alone '%s' narrows: give one of the two",
			   x->object ? "--object" : "--address");
		return -EINVAL;
	}
	if (x->partition && x->out && !strcmp(x->out, "-")) {
		moca_error("export: '--partition' makes directories: give one instead of '-o -'");
		return -EINVAL;
	}
	if (!x->out || !*x->out) {
		moca_error("export: where to? -o OUT names the %s to write",
			   f->takes & ONE_FILE ? "file" : "directory");
		return -EINVAL;
	}
	if (!strcmp(x->out, "-") && !(f->takes & ONE_FILE) &&
	    (!(f->takes & TABLES) || x->tables.count != 1)) {
		moca_error("export: '-o -' writes one file, and '--to %s' writes several: give a directory%s",
			   f->name, f->takes & TABLES ?
			   ", or one '--table NAME'" : "");
		return -EINVAL;
	}
	return 0;
}

static void narrow(struct export *x, const struct narrow *n)
{
	x->range.size = sizeof(x->range);
	if (n->from != NOT_GIVEN)
		x->range.begin_ns = trace_after(x->t, n->from);
	if (n->until != NOT_GIVEN)
		x->range.end_ns = trace_after(x->t, n->until);
	if (n->window != NOT_GIVEN)
		x->window_ns = n->window;
	if (n->task != NOT_GIVEN) {
		x->range.task = (uint32_t)n->task;
		x->range.one_task = 1;
	}
}

static int has_task(const struct export *x, uint64_t task)
{
	if (task == NOT_GIVEN || (task < UINT32_MAX &&
	    trace_task_index(x->t, (uint32_t)task) != SIZE_MAX))
		return 1;
	moca_error("export: '%s' has no task %llu ('moca info %s' lists them)",
		   x->trace, (unsigned long long)task, x->trace);
	return 0;
}

static const char about[] =
	"Write a trace in the format of other tools; man moca-export says what of a trace each format has.\n"
	"ctf: Common Trace Format 1.8, which babeltrace2 and Trace Compass read. Each thread is a stream; in it are, by time, what the program emitted (facility:name), page accesses (moca:access) and what happened to the thread and to its mappings (moca:task_start, moca:mmap ...). What the recorder lost is told as discarded events.\n"
	"csv, jsonl: each table of 'moca query DIR .tables', a file each: CSV with a heading, or a JSON object a line.\n"
	"folded, speedscope, pprof: call stacks (moca record --stacks) with their accesses, reads, writes and first touches, and those of allocations with their bytes, a file for viewers of profiles.\n"
	"callgrind: accesses by file, function and line, with their callers where call stacks were recorded; of exact mode loads and stores by the line that allocates what they went to.\n"
	"dhat: bytes and blocks by the place that allocates, with their lives, for dh_view.html of Valgrind.\n"
	"parquet: the same tables as Apache Parquet, packed by zstd.\n"
	"perfetto: what each thread did with each data structure, as counters of windows of time; phases, what the program emitted, bytes alive, rates; call stacks of accesses.\n"
	"paje: the same counters and phases for tools of Paje: pj_dump, ViTE.\n"
	"tabarnac: reads and writes of each page by each thread, who touched it first, structures, stacks, as TABARNAC's R scripts read them.\n"
	"framesoc: what each thread did with each page in each interval, who touched a page, structures, stacks, as CSV files of the original Moca.\n"
	"Exit code: 0; 1 when parts of the trace are damaged and were left out, or OUT cannot be written; 2 for a wrong command line or when DIR is no trace.";

int cmd_export(int argc, char **argv)
{
	struct export x = { .dirfd = -1, .fd = -1 };
	struct narrow n = { .from = NOT_GIVEN, .until = NOT_GIVEN,
			    .task = NOT_GIVEN, .window = NOT_GIVEN };
	const struct option_spec specs[] = {
		OPT_STRING(0, "to", &x.to, "FORMAT", "the format: ctf, csv, jsonl, framesoc, parquet, perfetto, folded, speedscope, pprof, callgrind, dhat, paje, tabarnac"),
		OPT_STRING('o', "output", &x.out, "OUT", "what to write, which must not exist: a directory (that may be empty) or a file, as the format says; -: stdout"),
		OPT_DURATION(0, "from", &n.from, "only from this time after the start on"),
		OPT_DURATION(0, "until", &n.until, "only before this time after the start"),
		OPT_UINT(0, "task", &n.task, "N", "only this task, by its number in the trace"),
		OPT_STRING(0, "address", &n.addresses, "A-B", "only addresses from A to before B, in hexadecimal"),
		OPT_STRING(0, "object", &x.object, "GLOB", "only objects whose names match"),
		OPT_DURATION(0, "window", &n.window, "perfetto, paje: sums of so long a time; without it, as short as leaves a file of moderate size"),
		OPT_LIST(0, "table", &x.tables, "NAME", "only this table; may be repeated"),
		OPT_FLAG(0, "no-objects", &x.no_objects, "accesses without the columns of objects: quicker"),
		OPT_FLAG(0, "partition", &x.partition, "write into OUT/job=JOB/rank=RANK, which must not exist; OUT may hold other ranks"),
		OPT_FLAG(0, "events-only", &x.events_only, "only the events that the program emitted: no accesses, no task events"),
		OPT_STRING(0, "value", &x.value, "VALUE", "what folded stacks sum: accesses, reads, writes, first-touches, records; of allocations allocated-bytes, peak-bytes, end-bytes, allocations"),
		OPT_FLAG('q', "quiet", &x.quiet, "do not say what was written"),
		OPT_END
	};
	const struct format *format;
	int first, ret = EXIT_USAGE;

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca export DIR --to FORMAT -o OUT", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	x.trace = trace_operand(argc, argv, first);
	format = x.trace ? find_format(x.to) : NULL;
	if (format && !check_options(&x, format, &n))
		x.t = trace_open("export", x.trace);
	if (x.t && has_task(&x, n.task)) {
		narrow(&x, &n);
		ret = x.partition ? export_partition_refuse(&x) : 0;
		if (!ret && format->refuse)
			ret = format->refuse(&x);
		if (!ret)
			ret = export(&x, format);
	}
	if (x.t)
		moca_trace_close(x.t);
	free(x.tables.items);
	return ret;
}
