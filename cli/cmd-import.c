// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "import/import.h"
#include "lib/base/err.h"
#include "lib/cmdline/choice.h"
#include "lib/cmdline/options.h"
#include "lib/cmdline/unfinished.h"
#include "lib/format/meta.h"
#include "lib/text/text.h"

static const struct format {
	const char *name, *help;	/* as struct choice */
	int typed;		/* it takes --type */
	int (*run)(struct import *x);
} formats[] = {
	{ "perf", "perf script's text, or perf.data: page faults, perf mem",
	  1, import_perf },
	{ "classic", "a directory with the original Moca's Moca-task files",
	  0, import_classic },
	{ "framesoc", "a directory with the original Moca's CSV files",
	  0, import_framesoc },
	{ "tabarnac", "TABARNAC's PROG.full.page.csv, with the two beside it",
	  0, import_tabarnac },
};

static const struct format *find_format(const char *name)
{
	static const struct choice_option from = { "import", "--from",
						   "of which format" };
	int i = choice_find(&from, formats, sizeof(formats) / sizeof(formats[0]),
			    sizeof(formats[0]), name);

	return i < 0 ? NULL : &formats[i];
}

static int parse_type(const struct format *f, const char *type)
{
	if (!type)
		return MOCA_ACCESS_UNKNOWN;
	if (!f->typed) {
		moca_error("import: '--from %s' does not take '--type': its files say what was read and written",
			   f->name);
		return -EINVAL;
	}
	if (!strcmp(type, "read"))
		return MOCA_ACCESS_READ;
	if (!strcmp(type, "write"))
		return MOCA_ACCESS_WRITE;
	moca_error("import: option '--type' takes read or write, not '%s'", type);
	return -EINVAL;
}

static void explain(const struct import *x, const char *out, int err, int left)
{
	const struct import_error *e = &x->error;
	const char *then = left ? "what was begun could not be removed" :
				  "nothing was written";

	if (err != -EBADMSG || !*e->text)
		moca_error("import: cannot make '%s' of '%s': %s (%s)", out,
			   x->path, strerror(-err), then);
	else if (e->line)
		moca_error("import: '%s', line %" PRIu64 ": %s (%s)", e->file,
			   e->line, e->text, then);
	else
		moca_error("import: '%s': %s (%s)", e->file, e->text, then);
}

static int read_it(struct import *x, const struct format *f)
{
	int err;

	x->meta = moca_meta_new();
	err = x->meta ? import_trace_begin(&x->trace, x->dirfd) : -ENOMEM;
	/* Until the end it is no trace. */
	if (!err)
		err = f->run(x);
	if (!err)
		err = import_trace_end(&x->trace, x->dirfd, x->meta, x->from,
				       x->reason);
	return err;
}

static void say(const struct import *x, const char *out)
{
	const struct import_trace *t = &x->trace;
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];

	if (t->records)
		moca_say("%s: %s record%s of %zu task%s, imported from %s%s%s", out,
			 text_count(a, t->records), PLURAL(t->records),
			 t->count, PLURAL(t->count), x->from,
			 x->left_out ? "; left out: " : "",
			 x->left_out ? text_count(b, x->left_out) : "");
	else
		moca_say("%s: %s load%s and %s store%s of %zu task%s, imported from %s",
			 out, text_count(a, t->loads), PLURAL(t->loads),
			 text_count(c, t->stores), PLURAL(t->stores), t->count,
			 PLURAL(t->count), x->from);
}

static int import(struct import *x, const struct format *f, const char *out,
		  int quiet)
{
	int err = unfinished_folder_whole(out, 0700);

	if (err) {
		moca_error("import: cannot make the directory '%s': %s (give one that does not exist, in a directory that does)",
			   out, strerror(-err));
		return EXIT_USAGE;
	}
	x->dirfd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = x->dirfd < 0 ? -errno : read_it(x, f);
	if (err) {
		explain(x, out, err, unfinished_remove());
	} else {
		unfinished_keep();
		if (!quiet)
			say(x, out);
	}
	import_trace_free(&x->trace);
	moca_meta_free(x->meta);
	if (x->dirfd >= 0)
		close(x->dirfd);
	return err != 0;
}

static const char about[] =
	"Make a trace of what other tools recorded; all commands that read traces work on it. What the source does not tell, the trace names; how complete it is cannot be certified.\n"
	"perf: page faults (perf record -e page-faults -c 1 -d) and samples of loads and stores (perf mem record). FILE is perf.data, which perf must be there for, or what 'perf script -G --ns --show-task-events --show-mmap-events -F comm,pid,tid,cpu,time,period,event,addr,ip' printed; of perf mem '-F comm,pid,tid,cpu,time,event,addr,data_src,weight,ip'.\n"
	"classic: FILE is the directory with Moca-task0, Moca-task1 and so on.\n"
	"framesoc: FILE is the directory with the CSV files that importers of the original's traces read, as 'moca export --to framesoc' writes them.\n"
	"tabarnac: FILE is PROG.full.page.csv; PROG.structs.csv and PROG.stackmap.csv are read from beside it.\n"
	"Exit code: 0; 1 when FILE is not as its format has it, or DIR cannot be written: nothing is left then; 2 for a wrong command line.";

int cmd_import(int argc, char **argv)
{
	struct import x = { .dirfd = -1 };
	const char *from = NULL, *out = NULL, *type = NULL;
	const struct format *format;
	int quiet = 0;
	const struct option_spec specs[] = {
		OPT_STRING(0, "from", &from, "FORMAT", "the format: perf, classic, framesoc, tabarnac"),
		OPT_STRING('o', "output", &out, "DIR", "the trace to make, which must not exist"),
		OPT_STRING(0, "type", &type, "TYPE", "perf: what accesses are of which perf does not tell it: read, write (without it, unknown)"),
		OPT_FLAG('q', "quiet", &quiet, "do not say what was written"),
		OPT_END
	};
	int first;

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca import --from FORMAT FILE -o DIR", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (first + 1 != argc) {
		moca_error(first < argc ?
			   "import: more than one file is given: each becomes a trace of its own" :
			   "import: which file? moca import --from FORMAT FILE -o DIR");
		return EXIT_USAGE;
	}
	x.path = argv[first];
	format = find_format(from);
	if (!format)
		return EXIT_USAGE;
	x.type = parse_type(format, type);
	if (x.type < 0)
		return EXIT_USAGE;
	if (!out || !*out) {
		moca_error("import: where to? -o DIR names the directory to make");
		return EXIT_USAGE;
	}
	unfinished_signals("import");
	return import(&x, format, out, quiet);
}
