/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of moca: one function and one file each. */
#ifndef MOCA_CLI_COMMANDS_H
#define MOCA_CLI_COMMANDS_H

#include <stddef.h>

/* argv[0] is the command's name. The return value is the exit code. */
int cmd_record(int argc, char **argv);
int cmd_rate(int argc, char **argv);
int cmd_work(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_objects(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_try(int argc, char **argv);
int cmd_place(int argc, char **argv);
int cmd_baseline(int argc, char **argv);
int cmd_reduce(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
/* Each of cc, c++, fc. */
int cmd_cc(int argc, char **argv);
/* What compilers run as their assembler below these. */
int cmd_as(int argc, char **argv);
/* The command line of the original: moca -c CMD -a ARGS; argv[0] is "moca". */
int cmd_classic(int argc, char **argv);

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

/* moca completion SHELL: what a shell needs to complete these commands. */
int command_completion(const struct command *list, size_t n, int argc,
		       char **argv);

/* Exit codes. record's own failures use 125, as env(1) and timeout(1) do. */
#define EXIT_USAGE 2
#define EXIT_RECORD 125

#endif
