// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of commands, and what they all share: start and end. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/baseline.h"
#include "analysis/job/job.h"
#include "cli/commands.h"
#include "cli/report-serve.h"
#include "lib/base/err.h"
#include "lib/cmdline/nearest.h"
#include "lib/code/embedded.h"
#include "lib/format/chunk.h"
#include "report/html/page.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int cmd_help(int argc, char **argv);

static const struct command commands[] = {
	{ "record", cmd_record, "run a program and trace its page accesses" },
	{ "rate", cmd_rate, "sample page faults and CPU use over time" },
	{ "top", cmd_top, "watch live which data structures a program uses, and who" },
	{ "trace", cmd_trace, "record the events that programs emit" },
	{ "cc", cmd_cc, "compile a C program that counts its own accesses" },
	{ "c++", cmd_cc, "the same for C++" },
	{ "fc", cmd_cc, "the same for Fortran" },
	{ "info", cmd_info, "summarise a trace" },
	{ "objects", cmd_objects, "say which data structures were accessed" },
	{ "summary", cmd_summary, "say what could be better, and what to try" },
	{ "try", cmd_try, "run it again with what is advised, and say what it was worth" },
	{ "place", cmd_place, "run a program with a plan for its memory" },
	{ "diff", cmd_diff, "compare two runs, data structure by data structure" },
	{ "baseline", cmd_baseline, "keep what diff compares of a run, as a small file" },
	{ "reduce", cmd_reduce, "put the ranks of a job together, into a small file" },
	{ "report", cmd_report, "make a page that shows and explains a trace" },
	{ "view", cmd_view, "make that page and open it" },
	{ "dump", cmd_dump, "print every record of a trace" },
	{ "query", cmd_query, "ask a trace in SQL" },
	{ "export", cmd_export, "write a trace in the format of other tools" },
	{ "import", cmd_import, "make a trace of what other tools recorded" },
	{ "work", cmd_work, "use memory in a known way, to try profilers with" },
	{ "check", cmd_check, "verify that a trace is whole" },
	{ "doctor", cmd_doctor, "say what this machine and user can record" },
	{ "help", cmd_help, "show this text, or the help of a command" },
};

static void print_usage(FILE *f)
{
	size_t i;

	fprintf(f, "usage: moca COMMAND [OPTIONS] ...\n\n"
		   "Moca records which memory pages a program touches: when, "
		   "by which thread,\nreading or writing.\n\nCommands:\n");
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(f, "  %-10s%s\n", commands[i].name, commands[i].help);
	fprintf(f, "\nStart with:\n"
		   "  moca record -o DIR -- PROGRAM ARGUMENTS\n"
		   "  moca info DIR\n\n"
		   "'moca COMMAND --help' lists a command's options; "
		   "'man moca' explains more.\n"
		   "The command line of the original MOCA works too: "
		   "moca -c PROGRAM -a ARGUMENTS\n");
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown_command(const char *name)
{
	struct moca_nearest n;
	size_t i;

	moca_nearest_begin(&n, name);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		moca_nearest_look(&n, commands[i].name);
	if (n.best[0])
		moca_error("unknown command '%s': did you mean 'moca %s'?",
			   name, n.best);
	else
		moca_error("unknown command '%s': 'moca help' lists them, and 'moca record -- %s' records a program",
			   name, name);
	return EXIT_USAGE;
}

static int cmd_help(int argc, char **argv)
{
	const struct command *c;
	char *help[3];

	if (argc < 2 || argv[1][0] == '-') {
		print_usage(stdout);
		return 0;
	}
	c = find_command(argv[1]);
	if (!c)
		return unknown_command(argv[1]);
	if (c->run == cmd_help) {
		print_usage(stdout);
		return 0;
	}
	help[0] = argv[1];
	help[1] = (char *)"--help";
	help[2] = NULL;
	return c->run(2, help);
}

/* The first line stays as it is: scripts read it. doc/versions.md has the policy. */
static void print_version(void)
{
	printf("moca %s\n", MOCA_VERSION);
	printf("writes and reads: traces %d, baselines %s, profiles of jobs %s\n",
	       MOCA_FORMAT_VERSION, MOCA_BASELINE_VERSION, MOCA_JOB_VERSION);
	printf("libraries: libmoca.so.0, libmocatrace.so.0\n");
	printf("records: page accesses (--via user, native, kernel), counts (--exact), events\n");
	printf("what programs load: %s\n",
	       moca_embedded_alloc ? "within this file" : "beside it");
	printf("the page of moca report: %s\n",
	       moca_page_available() ? "built in" : "not built in");
	printf("a live page (moca view --live): %s\n", serve_available());
}

/* "-c", "-w40": a flag of the original, which had no commands. */
static int is_classic(const char *arg)
{
	return arg[0] == '-' && arg[1] && strchr("cafldwpbSCFuHnDGLP", arg[1]);
}

static int dispatch(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		print_version();
		return 0;
	}
	if (is_classic(argv[1]))
		return cmd_classic(argc, argv);
	if (argv[1][0] == '-') {
		moca_error("unknown option '%s': 'moca help' lists commands and options",
			   argv[1]);
		return EXIT_USAGE;
	}
	/* Not in the table: it is for shells, not for people. */
	if (!strcmp(argv[1], "completion"))
		return command_completion(commands, ARRAY_SIZE(commands),
					  argc - 1, argv + 1);
	c = find_command(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}

/* A full disk must not pass for success. */
static int flush_stdout(int ret)
{
	int failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout))
		failed = 1;
	/* A closed stdout (>&-) that nothing was written to is no error. */
	if (!failed || errno == EBADF)
		return ret;
	moca_error("cannot write the output: %s",
		   errno ? strerror(errno) : "an earlier write failed");
	return ret ? ret : 1;
}

int main(int argc, char **argv)
{
	const char *name = argc ? strrchr(argv[0], '/') : NULL;

	/* Compilers run the assembler by its name. */
	if (name && !strcmp(name, "/as"))
		return flush_stdout(cmd_as(argc, argv));
	return flush_stdout(dispatch(argc, argv));
}
