// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/pace.h"

#include <math.h>

#include "collect/fault/mm.h"
#include "lib/base/proc.h"

uint64_t pace_at(const struct account *a)
{
	return a->control.last_sweep_ns + control_target(&a->control);
}

/* Without one, nothing is let go: the interval need not end early. */
static int has_zapper(struct recorder *rec)
{
	int found = 0;

	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm && !found; mm = mm_next(mm))
		found = mm->zapper != 0;
	pthread_mutex_unlock(&rec->space_lock);
	return found;
}

int pace_due(const struct account *a, uint64_t now_ns, double pages)
{
	const struct control *c = &a->control;

	/* What its start took is known once it has begun. */
	if (c->shortest_ns && !a->began)
		return 0;
	return control_due(c, now_ns, pages, a->share) &&
	       (now_ns >= c->last_sweep_ns + c->interval_ns ||
		has_zapper(a->rec));
}

uint64_t pace_next(const struct account *a, uint64_t now_ns, double pages)
{
	const struct control *c = &a->control;
	uint64_t at = control_next(c, now_ns, pages, a->share);

	if (at <= now_ns && !pace_due(a, now_ns, pages))
		at = now_ns + c->shortest_ns;
	return at;
}

void pace_learn(struct recorder *rec)
{
	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm; mm = mm_next(mm)) {
		double r;

		if (mm->zapped < 64)
			continue;
		/* Some were let go by a sweep before: no page comes twice. */
		r = fmin((double)mm->repeated / mm->zapped, 1) +
		    fmin((double)mm->again / mm->zapped, 1);
		/* Rising at once, falling slowly: a budget is a promise. */
		mm->refault = r > mm->refault ? r : (mm->refault + r) / 2;
		mm->zapped = mm->repeated = mm->again = 0;
	}
	pthread_mutex_unlock(&rec->space_lock);
}

uint64_t pace_zappers_cpu_ns(struct recorder *rec)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm; mm = mm_next(mm))
		if (mm->zapper)
			sum += moca_process_cpu_ns(mm->zapper);
	pthread_mutex_unlock(&rec->space_lock);
	return sum;
}
