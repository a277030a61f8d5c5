/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `moca record` ends with: the first finding of its trace. */
#ifndef MOCA_CLI_RECORD_ANSWER_H
#define MOCA_CLI_RECORD_ANSWER_H

/*
 * Say the first finding of the trace in three lines at most, and how to see the
 * rest. Takes half a second of CPU time at most: else only how to get it.
 */
void record_answer(const char *dir);

#endif
