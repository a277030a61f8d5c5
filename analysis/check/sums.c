// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines add up to pages: of exact mode, the recorder counted the pages of all
 * rows of a process's image as they came. An exec begins another image, whose
 * pages count again, so there may be more than the rows of the process have;
 * what vfork made has its parent's, whose pages count once for both.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/check/pages.h"
#include "analysis/check/rules.h"

#define PAGES_MAX (1u << 23)	/* 128 MiB, and as much again as it grows */

struct touched {
	struct page *entries;
	size_t cap, count;
	struct page last;
	int left_out;
	int untold;		/* a task's begin is not told */
};

int sums_counts(struct meaning *m, const struct moca_counts *c,
		 const struct moca_task *task)
{
	struct touched *t = m->touched;
	struct page key = { .pid = task->pid }, *e;
	size_t i;

	if (!t)
		t = m->touched = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->untold |= !task->pid;
	for (i = 0; i < c->count && !t->left_out; i++) {
		key.number = (c->rows[i].addr >> PAGE_SHIFT) + 1;
		if (page_same(&key, &t->last))
			continue;
		t->last = key;
		if (page_fit(&t->entries, &t->cap, t->count))
			return -ENOMEM;
		e = page_at(t->entries, t->cap, &key);
		if (e->number)
			continue;
		*e = key;
		t->left_out = ++t->count == PAGES_MAX;
	}
	if (t->left_out)
		meaning_skip(m, RULE_SUMS, "pages of counts were not compared with the recorder's sum: there are more than %u",
			     PAGES_MAX);
	return 0;
}

void sums_end(struct meaning *m)
{
	static const char text[] = "metadata: the recorder counted %" PRIu64
				   " pages, the rows of counts are of %zu";
	struct moca_certificate c;

	if (!m->touched || m->touched->left_out ||
	    moca_trace_truncated(m->t) ||
	    !moca_trace_meta(m->t, "certificate.pages_touched"))
		return;
	if (moca_trace_meta(m->t, "exact.pages_unknown")) {
		meaning_skip(m, RULE_SUMS, "pages of counts were not compared with the recorder's sum: it had no memory to count them all");
		return;
	}
	moca_trace_certificate(m->t, &c);
	/* An exec that was lost makes fewer, a task's begin that was lost more. */
	if (!m->vforks && m->touched->count > c.pages_touched &&
	    !m->touched->untold)
		meaning_wrong_anyway(m, RULE_SUMS, text, c.pages_touched,
				     m->touched->count);
	else if ((!m->vforks && m->touched->count > c.pages_touched) ||
		 (!m->execs && m->touched->count < c.pages_touched))
		meaning_wrong(m, RULE_SUMS, text, c.pages_touched,
			      m->touched->count);
}

void sums_free(struct meaning *m)
{
	if (!m->touched)
		return;
	free(m->touched->entries);
	free(m->touched);
}
