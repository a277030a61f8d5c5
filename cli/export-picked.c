// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/export-picked.h"

#include "cli/commands.h"
#include "lib/base/err.h"

static int pick_chunk(void *arg, uint64_t before,
		      const struct moca_chunk **chunk)
{
	return query_pick_chunk(arg, before, chunk);
}

int export_picked_open(struct export_picked *p, const struct export *x,
		       int all_tasks)
{
	int err;

	*p = (struct export_picked){
		.filter = { .range = x->range, .object = x->object },
	};
	if (!x->object)
		return 0;
	if (all_tasks)
		p->filter.range.one_task = 0;
	err = query_pick_open(&p->of, x->t, &p->filter, &p->filter.range);
	if (err)
		return err;
	p->pick = (struct export_pick){ pick_chunk, p->of };
	p->use = &p->pick;
	return 0;
}

void export_picked_close(struct export_picked *p)
{
	query_pick_close(p->of);
}

int export_picked_refuse(const struct export *x)
{
	size_t n = moca_trace_task_count(x->t);

	for (size_t i = 0; x->object && i < n; i++)
		if (moca_trace_task(x->t, i)->counts) {
			moca_error("export: '%s' has counts of exact mode, which tell no object: '--to %s' takes '--object' of accesses alone (--address narrows counts; 'moca objects %s' sums them by object)",
				   x->trace, x->to, x->trace);
			return EXIT_USAGE;
		}
	return 0;
}
