/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two runs, for what shows the results of continuous integration. */
#ifndef MOCA_CLI_DIFF_CI_H
#define MOCA_CLI_DIFF_CI_H

#include "cli/diff-runs.h"

/*
 * The conditions, the whole runs and the structures that differ most, as
 * Markdown with tables, on standard output. path: of both runs.
 */
void diff_markdown(const struct comparison *c, const struct diff_conditions *x,
		   const char *const path[2]);
/*
 * Each condition as a test case of JUnit's XML, which failed if it holds, into
 * file. 0, or EXIT_USAGE after a message.
 */
int diff_junit(const char *file, const struct comparison *c,
	       const struct diff_conditions *x, const char *const path[2]);

#endif
