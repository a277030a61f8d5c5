/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `moca record` ends with: the first finding of its trace. */
#ifndef MOCA_CLI_RECORD_ANSWER_H
#define MOCA_CLI_RECORD_ANSWER_H

#include <stdint.h>

/*
 * Say the first finding of the trace in three lines at most, and how to see the
 * rest. Takes half a second of CPU time at most: else only how to get it. On a busy
 * machine that may be 3 s, or a quarter of run_ns, what the recording took, up to 15 s.
 */
void record_answer(const char *dir, uint64_t run_ns);

#endif
