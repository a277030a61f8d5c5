// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a task did lies inside its life. Its begin is told when it stops for the
 * first time, after what the kernel did for it; its end when it has ended.
 */
#include <inttypes.h>

#include "analysis/check/rules.h"

static void outside(struct meaning *m, uint32_t id, uint64_t chunk,
		    size_t record, const char *what, uint64_t time_ns,
		    const struct moca_task *task)
{
	int early = time_ns < task->start_ns;
	char file[64];

	meaning_wrong(m, RULE_LIFE, "%s, chunk %" PRIu64 ", record %zu: %s is %" PRIu64 " ns %s the task's %s",
		      meaning_file(id, file, sizeof(file)), chunk, record, what,
		      early ? task->start_ns - time_ns : time_ns - task->end_ns,
		      early ? "before" : "behind", early ? "begin" : "end");
}

static int inside(const struct moca_task *task, uint64_t time_ns)
{
	return time_ns >= task->start_ns &&
	       (!task->end_ns || time_ns <= task->end_ns);
}

void life_chunk(struct meaning *m, const struct moca_chunk *c,
		const struct moca_task *task)
{
	size_t i;

	/* They are in order of time. The first are the kernel's, in clone(2). */
	for (i = 0; i < c->count && c->accesses[i].time_ns < task->start_ns; i++)
		if (c->accesses[i].mode != MOCA_MODE_KERNEL)
			outside(m, c->task, c->number, i, "the access",
				c->accesses[i].time_ns, task);
	for (i = c->count; i && task->end_ns &&
	     c->accesses[i - 1].time_ns > task->end_ns; i--)
		outside(m, c->task, c->number, i - 1, "the access",
			c->accesses[i - 1].time_ns, task);
}

void life_counts(struct meaning *m, const struct moca_counts *c,
		 const struct moca_task *task)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		if (c->rows[i].first_ns && !inside(task, c->rows[i].first_ns))
			outside(m, c->task, c->number, i, "the first touch",
				c->rows[i].first_ns, task);
}
