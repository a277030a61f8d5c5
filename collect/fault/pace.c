// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/pace.h"

#include <math.h>
#include <sched.h>

#include "collect/fault/collector.h"
#include "collect/fault/mm.h"
#include "lib/base/proc.h"
#include "lib/base/stripe.h"

/* Of the time, that no CPU is idle. */
#define CROWD 0.5

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

static int is_due(const struct account *a, uint64_t now_ns, double pages)
{
	const struct control *c = &a->control;

	/* What its start took is known once it has begun. */
	if (c->shortest_ns && !a->began)
		return 0;
	return control_due(c, now_ns, pages, a->share) &&
	       (now_ns >= c->last_sweep_ns + c->interval_ns ||
		has_zapper(a->rec));
}

unsigned int pace_most_level(uint64_t pages)
{
	uint64_t stripes = pages / (MOCA_STRIPE_BYTES / PAGE_SIZE);
	unsigned int level = 0;

	while (level < MOCA_STRIPE_RANK_MAX &&
	       stripes >> moca_stripe_core(level + 1) >= PACE_CORE_MIN)
		level++;
	return level;
}

/* The least one of which a sample fits; -1: none does. */
static int sample_level(const struct account *a, uint64_t now_ns,
			const struct sweep_expected *x, double *pages)
{
	unsigned int most = pace_most_level(x->distinct), level;

	for (level = 1; level <= most; level++)
		if (is_due(a, now_ns, x->pages[level])) {
			*pages = x->pages[level];
			return (int)level;
		}
	return -1;
}

int pace_level(const struct account *a, uint64_t now_ns, double *pages)
{
	const struct moca_record_options *opt = a->rec->opt;
	const struct control *c = &a->control;
	struct sweep_expected x;

	sweep_expect(a->rec, &x);
	*pages = x.pages[opt->sample_level];
	if (is_due(a, now_ns, *pages))
		return (int)opt->sample_level;
	if (!opt->sample_auto || isinf(c->budget) ||
	    now_ns < c->last_sweep_ns + control_patience(c))
		return -1;
	return sample_level(a, now_ns, &x, pages);
}

uint64_t pace_next(const struct account *a, uint64_t now_ns, double pages)
{
	const struct control *c = &a->control;
	uint64_t at = control_next(c, now_ns, pages, a->share);

	if (at <= now_ns && !is_due(a, now_ns, pages))
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

void pace_offer(struct mm *mm, uint32_t id, int cpu)
{
	if (mm->first.cpu < 0 || id < mm->first.id) {
		mm->first.id = id;
		mm->first.cpu = cpu;
	}
	if (id > mm->turn && (mm->next.cpu < 0 || id < mm->next.id)) {
		mm->next.id = id;
		mm->next.cpu = cpu;
	}
}

int pace_take(struct mm *mm)
{
	int cpu = mm->next.cpu >= 0 ? mm->next.cpu : mm->first.cpu;

	if (cpu >= 0)
		mm->turn = mm->next.cpu >= 0 ? mm->next.id : mm->first.id;
	mm->next.cpu = mm->first.cpu = -1;
	return mm->threaded ? cpu : -1;
}

int pace_shares_cpu(pid_t tid)
{
	int policy = sched_getscheduler(tid);

	if (policy < 0)
		return 0;
	policy &= ~SCHED_RESET_ON_FORK;
	return policy == SCHED_OTHER || policy == SCHED_BATCH ||
	       policy == SCHED_IDLE;
}

void pace_turn(const struct account *a)
{
	struct recorder *rec = a->rec;

	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm; mm = mm_next(mm)) {
		int cpu = pace_take(mm);

		mm->zap_cpu = a->control.crowd > CROWD ? cpu : -1;
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
