// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/exact/share.h"

#include <string.h>

#include "collect/exact/harvest.h"
#include "lib/base/err.h"

/* Of forks that are followed back. */
#define GENERATIONS 64
#define PERIOD_NS 4000037	/* prime; SHARE_SAMPLE_NS each are 0.3 % */

void share_open(struct harvest *h, pid_t pid)
{
	int err = cpu_clock_open(&h->share.clock, pid, PERIOD_NS);

	if (err)
		moca_debug("no samples of the CPU clock: %s", strerror(-err));
	else
		h->share.sums.kernel = cpu_clock_has_kernel(h->share.clock);
}

void share_close(struct harvest *h)
{
	cpu_clock_close(h->share.clock);
	h->share.clock = NULL;
}

static struct counted_task *task_of(struct harvest *h, uint32_t tid)
{
	uint32_t *last = &h->share.last[tid % SHARE_TASKS];
	struct counted_task *t = *last ? harvest_task(h, *last - 1) : NULL;

	if (t && (uint32_t)t->tid == tid)
		return t;
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (t = h->tasks[i]; t; t = t->next)
			if ((uint32_t)t->tid == tid) {
				*last = t->id + 1;
				return t;
			}
	return NULL;
}

/* The chart that tells of offset at of cache i, or -1: there is none. */
static long chart_of(const struct exact_arena *a, unsigned int number,
		     unsigned int i, uint64_t at)
{
	struct moca_exact_chart c;

	for (int depth = 0; depth < GENERATIONS; depth++) {
		if (number >= MOCA_EXACT_SLOTS ||
		    exact_arena_read(a, number, MOCA_EXACT_CHART, &c, sizeof(c)) ||
		    c.state != MOCA_EXACT_LIVE)
			return -1;
		if (!c.parent || at >= c.parents[i])
			return (long)number;
		number = c.parent - 1;
	}
	return -1;
}

/* MOCA_EXACT_CODE_* of the byte at offset at of cache i; 4: nobody tells. */
static unsigned int code_at(const struct exact_arena *a, unsigned int number,
			    unsigned int i, uint64_t at)
{
	long n = chart_of(a, number, i, at);
	uint8_t byte;

	if (n < 0 ||
	    exact_arena_read(a, (unsigned int)n, MOCA_EXACT_CHART +
			     MOCA_EXACT_CHART_BITS(i) + at / 4, &byte, 1))
		return 4;
	return byte >> at % 4 * 2 & 3;
}

static enum share_of in_cache(const struct exact_arena *a, unsigned int number,
			      unsigned int i, uint64_t at, int kernel)
{
	unsigned int here = code_at(a, number, i, at);
	unsigned int before = at ? code_at(a, number, i, at - 1) : 0;
	int own = here == MOCA_EXACT_CODE_OWN || here == MOCA_EXACT_CODE_STRING;

	if (here > 3 || before > 3)
		return SHARE_UNKNOWN;
	if (kernel)	/* for that instruction: a page fault */
		return own ? SHARE_KERNEL : SHARE_KERNEL_OURS;
	if (here == MOCA_EXACT_CODE_UPDATED)
		return SHARE_UPDATED;
	if (here == MOCA_EXACT_CODE_STRING || before == MOCA_EXACT_CODE_OWN ||
	    before == MOCA_EXACT_CODE_STRING)
		return SHARE_OWN;
	return own ? SHARE_ENTERED : SHARE_COUNTING;
}

/* Of the process that has this chart. */
static enum share_of look_up(const struct exact_arena *a, unsigned int number,
			     const struct clock_sample *s)
{
	struct moca_exact_chart c;

	if (exact_arena_read(a, number, MOCA_EXACT_CHART, &c, sizeof(c)) ||
	    c.state != MOCA_EXACT_LIVE)
		return SHARE_UNKNOWN;
	if (s->ip - c.agent < c.agent_end - c.agent) {
		if (!s->kernel)
			return SHARE_AGENT;
		return s->ip - c.call <= c.call_end - c.call ?
			       SHARE_KERNEL : SHARE_KERNEL_OURS;
	}
	for (unsigned int i = 0; i < c.caches && i < MOCA_EXACT_CHART_CACHES;
	     i++)
		if (s->ip - c.base[i] < MOCA_EXACT_CACHE_SIZE)
			return c.left ? SHARE_UNKNOWN :
					in_cache(a, number, i, s->ip - c.base[i],
						 s->kernel);
	if (c.caches >= MOCA_EXACT_CHART_CACHES)
		return SHARE_UNKNOWN;
	return s->kernel ? SHARE_KERNEL : SHARE_OWN;
}

/* SHARE_KINDS: that will be known. */
static enum share_of classify(struct harvest *h, const struct clock_sample *s)
{
	struct counted_task *t = task_of(h, s->tid);
	struct exact_arena *a;

	if (!t || !t->space)
		return SHARE_KINDS;
	a = t->space->arena;
	if (!a)		/* it runs as it is */
		return s->kernel ? SHARE_KERNEL : SHARE_OWN;
	if (!s->ip)
		return SHARE_UNKNOWN;
	if (t->slot >= 0)
		t->space->chart = a->views[t->slot].head->chart;
	else if (!t->space->chart)
		return SHARE_KINDS;
	/* A program that counts itself has none. */
	if (!t->space->chart || t->space->chart > MOCA_EXACT_SLOTS)
		return SHARE_UNKNOWN;
	return look_up(a, t->space->chart - 1, s);
}

static void fetch(struct share *x)
{
	struct clock_sample s;

	while (cpu_clock_next(x->clock, &s, &x->sums.lost)) {
		if (x->count == SHARE_WAITING)
			x->sums.count[SHARE_UNKNOWN]++;
		else
			x->waiting[x->count++] = s;
	}
}

static void look(struct harvest *h, uint64_t time_ns, int settle)
{
	struct share *x = &h->share;
	unsigned int kept = 0;

	if (x->clock)
		fetch(x);
	for (unsigned int i = 0; i < x->count; i++) {
		struct clock_sample s = x->waiting[i];
		enum share_of of = SHARE_KINDS;

		if (s.time_ns <= time_ns) {
			of = classify(h, &s);
			if (of == SHARE_KINDS && settle)
				of = SHARE_UNKNOWN;
		}
		if (of == SHARE_KINDS)
			x->waiting[kept++] = s;
		else
			x->sums.count[of]++;
	}
	x->count = kept;
}

void share_before(struct harvest *h, uint64_t time_ns)
{
	look(h, time_ns, 0);
}

void share_settle(struct harvest *h, uint64_t time_ns)
{
	look(h, time_ns, 1);
}
