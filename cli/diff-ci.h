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
 * Before anything is read: a file of the last run is removed, so that it is not
 * taken for this one's if this one fails. paths: what is compared. 0, or
 * EXIT_USAGE after a message.
 */
int diff_junit_remove(const char *file, char *const *paths, size_t count);
/*
 * Each condition as a test case of JUnit's XML, which failed if it holds, into
 * file. damaged: parts of a trace were left out, which is an error there. 0, or
 * EXIT_USAGE after a message.
 */
int diff_junit(const char *file, const struct comparison *c,
	       const struct diff_conditions *x, const char *const path[2],
	       int damaged);

#endif
