/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What moca diff and moca report of two runs share: messages, and --fail-if. */
#ifndef MOCA_CLI_DIFF_RUNS_H
#define MOCA_CLI_DIFF_RUNS_H

#include "analysis/comparison.h"
#include "lib/cmdline/options.h"
#include "lib/text/text.h"

/* 0, or EXIT_USAGE after a message; as comparison_make(). */
int diff_runs(const char *command, struct comparison *c,
	      const char *const path[2], struct moca_trace *const trace[2],
	      struct moca_profile *const profile[2]);

struct diff_conditions {
	struct condition *list;
	const char **texts;	/* as written; the string_list's */
	int *holds;
	size_t count;
};

/* 0, or EXIT_USAGE after a message; free it also then. */
int diff_conditions_parse(struct diff_conditions *x, const char *command,
			  const struct string_list *texts);
void diff_conditions_free(struct diff_conditions *x);
/* Which of them hold; likewise. path: of a run, for the message. */
int diff_conditions_judge(struct diff_conditions *x, const char *command,
			  const struct comparison *c, const char *path);
/* Say those that hold on standard error; 1: some do. */
int diff_conditions_tell(const struct diff_conditions *x, const char *command,
			 const struct comparison *c);

/* "50.0 %", "12,345" */
const char *diff_value(char buf[TEXT_MAX], enum condition_metric m, double v);

#endif
