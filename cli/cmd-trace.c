// SPDX-License-Identifier: GPL-2.0-or-later
/* moca trace: events that programs emit through libmocatrace. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "collect/trace/client.h"
#include "collect/trace/daemon.h"
#include "collect/trace/launch.h"
#include "collect/trace/recover.h"
#include "collect/trace/slot.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/ring/layout.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BUFFER_MAX (1ull << 30)	/* as the library accepts */

/* What the options of a new trace fill in. */
struct wanted {
	const char *dir, *filter, *mask;
	int flight, quiet;
	uint64_t block_ns, subbuf, subbufs, keep;
};

#define WANTED_DEFAULT { .filter = "", .subbuf = TRACER_SUBBUF_DEFAULT, \
			 .subbufs = TRACER_SUBBUFS_DEFAULT,             \
			 .keep = TRACER_KEEP_DEFAULT }

#define WANTED_OPTIONS(w)                                                    \
	OPT_STRING('o', "output", &(w).dir, "DIR",                           \
		   "directory of the trace (default: one with the date)"),   \
	OPT_STRING(0, "filter", &(w).filter, "SPEC",                         \
		   "only these events: FACILITY[:EVENT],... with * and ?; "  \
		   "-PATTERN takes out"),                                    \
	OPT_STRING(0, "mask", &(w).mask, "HEX",                              \
		   "only facilities whose bit is set (moca trace status "    \
		   "shows the bits)"),                                       \
	OPT_FLAG(0, "flight", &(w).flight,                                   \
		 "keep the latest events in memory only, until a snapshot "  \
		 "or the end"),                                              \
	OPT_DURATION(0, "block", &(w).block_ns,                              \
		     "wait so long when a buffer is full (default: drop "    \
		     "the event and count it)"),                             \
	OPT_SIZE(0, "subbuf", &(w).subbuf,                                   \
		 "size of a subbuffer, 4K to 16M (default: 256K)"),          \
	OPT_UINT(0, "subbufs", &(w).subbufs, "N",                            \
		 "subbuffers of each thread, 2 to 1024 (default: 4)"),       \
	OPT_SIZE(0, "keep", &(w).keep,                                       \
		 "--flight: memory for buffers of ended threads "            \
		 "(default: 64M)")

static int parse_mask(const char *s, uint32_t *mask)
{
	char *end;

	if (!strncmp(s, "0x", 2))
		s += 2;
	if (!*s || strlen(s) > 8 ||
	    strspn(s, "0123456789abcdefABCDEF") != strlen(s)) {
		moca_error("--mask takes up to 8 hexadecimal digits, not %s; "
			   "bit N stands for the facilities that `moca trace "
			   "status` shows with N", s);
		return -EINVAL;
	}
	*mask = (uint32_t)strtoul(s, &end, 16);
	return 0;
}

static int check_filter(const char *filter)
{
	size_t where;
	int err = moca_filter_check(filter, &where);

	if (err == -E2BIG)
		moca_error("the filter is longer than %u characters",
			   MOCA_FILTER_MAX);
	else if (err)
		moca_error("bad filter '%s' at '%s': it takes patterns "
			   "FACILITY[:EVENT] with * and ?, separated by "
			   "commas; -PATTERN takes out", filter,
			   filter + where);
	return err;
}

static int is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static int check_sizes(const struct wanted *w)
{
	if (!is_power_of_two(w->subbuf) || w->subbuf < MOCA_SUBBUF_MIN ||
	    w->subbuf > MOCA_SUBBUF_MAX) {
		moca_error("--subbuf must be a power of two from 4K to 16M");
		return -EINVAL;
	}
	if (!is_power_of_two(w->subbufs) || w->subbufs < MOCA_SUBBUFS_MIN ||
	    w->subbufs > MOCA_SUBBUFS_MAX) {
		moca_error("--subbufs must be a power of two from 2 to 1024");
		return -EINVAL;
	}
	if (w->subbuf * w->subbufs >= BUFFER_MAX) {
		moca_error("--subbuf times --subbufs must be below 1G: it is "
			   "the memory of each thread");
		return -EINVAL;
	}
	return 0;
}

static int check_modes(const struct wanted *w)
{
	if (w->flight && w->block_ns) {
		moca_error("--flight and --block exclude each other: a flight "
			   "recorder is never full");
		return -EINVAL;
	}
	if (w->block_ns && (w->block_ns < 1000000 ||
			    w->block_ns > 3600000000000ull)) {
		moca_error("--block must be from 1ms to 1h");
		return -EINVAL;
	}
	return 0;
}

static int to_options(const struct wanted *w, struct tracer_options *o)
{
	*o = (struct tracer_options){
		.name = "", .dir = w->dir, .filter = w->filter,
		.mask = UINT32_MAX,
		.mode = w->flight   ? MOCA_RING_OVERWRITE :
			w->block_ns ? MOCA_RING_BLOCK : MOCA_RING_DISCARD,
		.timeout_ms = (uint32_t)(w->block_ns / 1000000),
		.subbuf_size = (uint32_t)w->subbuf,
		.subbufs = (uint32_t)w->subbufs,
		.keep_bytes = w->keep, .quiet = w->quiet,
	};
	if (check_filter(w->filter) || check_sizes(w) || check_modes(w) ||
	    (w->mask && parse_mask(w->mask, &o->mask)))
		return -EINVAL;
	return 0;
}

/* --- moca trace -- CMD -------------------------------------------------- */

static const char run_usage[] =
	"moca trace [options] -- CMD [ARG...]\n"
	"       moca trace start NAME [options]\n"
	"       moca trace stop|switch|destroy NAME\n"
	"       moca trace filter NAME [SPEC] [--mask HEX]\n"
	"       moca trace snapshot NAME [-o DIR]\n"
	"       moca trace status [NAME] [--json]\n"
	"       moca trace recover DIR";
static const char run_about[] =
	"Record the events that programs emit through libmocatrace: of CMD and\n"
	"all it starts, or, with start, of every program of yours that runs\n"
	"meanwhile. `moca dump DIR` prints them. 'moca trace VERB --help' tells\n"
	"more.";

static int run(int argc, char **argv)
{
	struct wanted w = WANTED_DEFAULT;
	struct tracer_options o;
	const struct option_spec specs[] = {
		WANTED_OPTIONS(w),
		OPT_FLAG('q', "quiet", &w.quiet, "no summary"),
		OPT_FLAG('v', "verbose", &moca_verbose, "say what is done"),
		OPT_END,
	};
	int first = moca_options_parse(specs, argc, argv, run_usage, run_about);

	if (first == -ECANCELED)
		return 0;
	if (first < 0)
		return EXIT_USAGE;
	if (first == argc) {
		moca_error("what shall be traced? Give a command (moca trace "
			   "-- CMD ARGS), or start a trace that programs join "
			   "(moca trace start NAME)");
		return EXIT_USAGE;
	}
	if (to_options(&w, &o))
		return EXIT_USAGE;
	o.argv = argv + first;
	o.is_private = 1;
	return tracer_launch(&o);
}

/* --- verbs -------------------------------------------------------------- */

/* Parse options and one operand, the trace's name. 1: go on; else *code. */
static int parse(const struct option_spec *specs, int argc, char **argv,
		 const char *usage, const char *about, int most, int *first,
		 int *code)
{
	*first = moca_options_parse_mixed(specs, argc, argv, usage, about);
	*code = *first == -ECANCELED ? 0 : EXIT_USAGE;
	if (*first < 0)
		return 0;
	if (*first == argc) {
		moca_error("moca trace %s: which trace? `moca trace status` "
			   "lists them", argv[0]);
		return 0;
	}
	if (argc - *first > most) {
		moca_error("moca trace %s: '%s' is too much", argv[0],
			   argv[*first + most]);
		return 0;
	}
	return 1;
}

/* Have a collector do something; the exit code. */
static int command(const char *name, const char *const *args, size_t count)
{
	char *text;
	int err = tracer_client_ask(name, args, count, &text);

	if (!text && !strcmp(args[0], "destroy") && tracer_client_bury(name))
		return 0;
	if (!text)
		tracer_client_explain(name, args[0], err);
	else if (err)
		moca_error("cannot %s trace %s: %s", args[0], name, text);
	else
		moca_say("%s", text);
	free(text);
	return err ? 1 : 0;
}

/* Only a trace that is stopped may be started once more. */
static int resume(const char *name)
{
	const char *args[] = { "start" };

	return command(name, args, 1);
}

static int is_running(const char *name)
{
	const char *args[] = { "status", "json" };
	char *text;
	int err = tracer_client_ask(name, args, 2, &text);

	free(text);
	return !err;
}

static int verb_start(int argc, char **argv)
{
	struct wanted w = WANTED_DEFAULT;
	struct tracer_options o;
	const struct option_spec specs[] = {
		WANTED_OPTIONS(w),
		OPT_FLAG('q', "quiet", &w.quiet, "say nothing but errors"),
		OPT_END,
	};
	const char *name;
	int first, code;
	char *dir;

	if (!parse(specs, argc, argv, "moca trace start NAME [options]",
		   "Start a trace called NAME: from now on all programs of "
		   "yours that are linked\nwith libmocatrace write their "
		   "events into it, those that run already too, until\n`moca "
		   "trace destroy NAME`. A trace that was stopped goes on.", 1,
		   &first, &code))
		return code;
	name = argv[first];
	if (!tracer_name_is_valid(name)) {
		moca_error("'%s' cannot be the name of a trace: it takes up to "
			   "%u letters, digits and _.-, neither . nor - first",
			   name, MOCA_SESSION_NAME_MAX);
		return EXIT_USAGE;
	}
	if (to_options(&w, &o))
		return EXIT_USAGE;
	if (is_running(name)) {
		/* Its own stay as they are: do not seem to obey. */
		if (first > 1 + w.quiet) {
			moca_error("there is a trace %s already, whose options "
				   "cannot be changed (but for its filter: "
				   "moca trace filter %s); go on with it "
				   "without options, choose another name, or "
				   "end it with: moca trace destroy %s", name,
				   name, name);
			return EXIT_USAGE;
		}
		return resume(name);
	}
	o.name = name;
	if (tracer_daemon_start(&o, &dir))
		return 1;
	if (!w.quiet)
		moca_say("%s: recording into %s; end it with: moca trace "
			 "destroy %s", name, dir ? dir : "", name);
	free(dir);
	return 0;
}

/* stop, switch, destroy: a name and nothing more. */
static int simple(int argc, char **argv, const char *usage, const char *about)
{
	const struct option_spec specs[] = { OPT_END };
	const char *args[] = { argv[0] };
	int first, code;

	if (!parse(specs, argc, argv, usage, about, 1, &first, &code))
		return code;
	return command(argv[first], args, 1);
}

static int verb_stop(int argc, char **argv)
{
	return simple(argc, argv, "moca trace stop NAME",
		      "Programs emit nothing into the trace until `moca trace "
		      "start NAME`. What they\nemitted so far is on disk when "
		      "this returns (not of a flight recorder).");
}

static int verb_switch(int argc, char **argv)
{
	return simple(argc, argv, "moca trace switch NAME",
		      "Write to disk now what programs have emitted so far. It "
		      "gets there within a\nsecond by itself.");
}

static int verb_destroy(int argc, char **argv)
{
	return simple(argc, argv, "moca trace destroy NAME",
		      "End the trace. All of it is on disk when this returns.");
}

static int verb_filter(int argc, char **argv)
{
	const char *mask = NULL, *args[3] = { "filter" };
	const struct option_spec specs[] = {
		OPT_STRING(0, "mask", &mask, "HEX",
			   "only facilities whose bit is set (moca trace "
			   "status shows the bits)"),
		OPT_END,
	};
	char spec[MOCA_FILTER_MAX + 16], bits[32];
	int first, code;
	size_t n = 1;
	uint32_t v;

	if (!parse(specs, argc, argv,
		   "moca trace filter NAME [SPEC] [--mask HEX]",
		   "Change which events programs emit into the trace; running "
		   "ones too, within 10 ms.\nSPEC is FACILITY[:EVENT],... with "
		   "* and ?; -PATTERN takes out; '' lets all pass.", 2, &first,
		   &code))
		return code;
	if (argc - first < 2 && !mask) {
		moca_error("moca trace filter: give a filter or --mask HEX; '' "
			   "lets all pass");
		return EXIT_USAGE;
	}
	if (mask && parse_mask(mask, &v))
		return EXIT_USAGE;
	if (argc - first == 2) {
		if (check_filter(argv[first + 1]))
			return EXIT_USAGE;
		snprintf(spec, sizeof(spec), "filter=%s", argv[first + 1]);
		args[n++] = spec;
	}
	if (mask) {
		snprintf(bits, sizeof(bits), "mask=%x", v);
		args[n++] = bits;
	}
	return command(argv[first], args, n);
}

/* The collector has another working directory. NULL: said. */
static char *absolute(const char *path)
{
	char cwd[PATH_MAX], *out;

	if (path[0] == '/')
		return strdup(path);
	if (!getcwd(cwd, sizeof(cwd)) ||
	    asprintf(&out, "%s/%s", cwd, path) < 0) {
		moca_error("cannot tell the working directory: %s; give an "
			   "absolute path", strerror(errno));
		return NULL;
	}
	return out;
}

static int verb_snapshot(int argc, char **argv)
{
	const char *dir = NULL, *args[2] = { "snapshot" };
	const struct option_spec specs[] = {
		OPT_STRING('o', "output", &dir, "DIR",
			   "directory of the snapshot (default: snapshot-N in "
			   "the trace's)"),
		OPT_END,
	};
	int first, code;
	char *path = NULL;

	if (!parse(specs, argc, argv, "moca trace snapshot NAME [-o DIR]",
		   "Copy what is in a flight recorder (moca trace start "
		   "--flight) into a trace of its\nown. Programs go on "
		   "meanwhile.", 1, &first, &code))
		return code;
	if (dir) {
		path = absolute(dir);
		if (!path)
			return 1;
		args[1] = path;
	}
	code = command(argv[first], args, path ? 2 : 1);
	free(path);
	return code;
}

static int verb_status(int argc, char **argv)
{
	const char *args[] = { "status", "json" };
	int json = 0, first, err;
	const struct option_spec specs[] = {
		OPT_FLAG(0, "json", &json, "for programs"),
		OPT_END,
	};
	char *text;

	first = moca_options_parse_mixed(
		specs, argc, argv, "moca trace status [NAME] [--json]",
		"Show a trace of yours, or all: events, threads, losses, "
		"buffers, filter, and which "
			       "facilities have emitted "
		"something.");
	if (first == -ECANCELED)
		return 0;
	if (first < 0)
		return EXIT_USAGE;
	if (argc - first > 1) {
		moca_error("moca trace status: '%s' is too much",
			   argv[first + 1]);
		return EXIT_USAGE;
	}
	if (first == argc)
		return tracer_client_status_all(json) ? 1 : 0;
	err = tracer_client_ask(argv[first], args, json ? 2 : 1, &text);
	if (!text)
		tracer_client_explain(argv[first], "look at", err);
	else
		printf("%s%s", text, json ? "\n" : "");
	free(text);
	return err ? 1 : 0;
}

static int verb_recover(int argc, char **argv)
{
	const struct option_spec specs[] = { OPT_END };
	int first = moca_options_parse_mixed(
		specs, argc, argv, "moca trace recover DIR",
		"Complete a trace whose collector was killed: what programs "
		"wrote into their buffers\nis still in shared memory, until "
		"the machine is started anew.");

	if (first == -ECANCELED)
		return 0;
	if (first < 0)
		return EXIT_USAGE;
	if (argc - first != 1) {
		moca_error("moca trace recover: give the directory of one "
			   "trace; `moca trace status` lists dead ones");
		return EXIT_USAGE;
	}
	return tracer_recover(argv[first]) ? 1 : 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "start", verb_start },       { "stop", verb_stop },
	{ "filter", verb_filter },     { "switch", verb_switch },
	{ "snapshot", verb_snapshot }, { "status", verb_status },
	{ "destroy", verb_destroy },   { "recover", verb_recover },
};

int cmd_trace(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		fprintf(stderr, "usage: %s\n\n%s\n\nFor example:\n"
			"  moca trace -o DIR -- ./program\n"
			"  moca dump DIR\n\n"
			"'moca trace --help' lists the options.\n",
			run_usage, run_about);
		return EXIT_USAGE;
	}
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, argv[1]))
			return verbs[i].run(argc - 1, argv + 1);
	return run(argc, argv);
}
