/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a trace make sense? Each record by itself may be whole, and yet
 * contradict what others say: an access behind its task's end, to memory that
 * was not mapped, two objects alive at one address. doc/format.md says what a
 * writer promises; each rule is a file of this folder.
 *
 * Whoever reads the trace hands over all its chunks and counts, each by
 * task and within a task by time, as cursors tell them; memory is bounded,
 * whatever the trace holds.
 */
#ifndef MOCA_ANALYSIS_CHECK_MEANING_H
#define MOCA_ANALYSIS_CHECK_MEANING_H

#include <moca/reader.h>

struct meaning;

/*
 * tell: one record that contradicts others, as text without a newline that names the file and
 * the record; called for the first few of each rule, and once at the end with
 * how many more there were. 0 or -errno.
 */
int meaning_new(struct meaning **out, struct moca_trace *t,
		void (*tell)(void *arg, const char *text), void *arg);
void meaning_free(struct meaning *m);

void meaning_chunk(struct meaning *m, const struct moca_chunk *c);
void meaning_counts(struct meaning *m, const struct moca_counts *c);
/* What is compared in the end, and by time: reads the trace's changes and
 * events. 0 or -errno. */
int meaning_end(struct meaning *m);

/*
 * Why a rule was not applied to all of the trace, n-th from 0: as text, or
 * NULL. Valid until meaning_free().
 */
const char *meaning_left_out(const struct meaning *m, unsigned n);

#endif
