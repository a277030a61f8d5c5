// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/pace.h"

#include <math.h>
#include <string.h>

#include "collect/run/control.h"

/* Intervals in any stretch of a run that is as long as all before it: about
 * 14. In one of 0.3 s: 40. */
#define PARTS 20
/* Of the credit, what is held back at first, and for how long. */
#define HELD 0.5
#define HELD_NS 1000000000ull
/* Of budget and credit, what is for sweeps whatever else was spent. */
#define OWN 0.25
/* Intervals of a burst. */
#define BURST 12
/* A sweep this much behind its time had to wait. */
#define LATE_NS 15000000ull
/* How often to ask again while waiting for the budget. */
#define RETRY_NS 10000000ull
/*
 * Pages that do not come back are expected less and less: by a factor e in
 * this part of the run so far, and no quicker than that.
 */
#define FORGET_PART 4
#define FORGET_NS 50000000ull

void pace_init(struct pace *p, uint64_t first_ns, uint64_t interval_ns,
	       uint64_t now_ns)
{
	memset(p, 0, sizeof(*p));
	p->first_ns = first_ns < interval_ns ? first_ns : interval_ns;
	p->interval_ns = interval_ns;
	pace_begin(p, now_ns);
}

static uint64_t since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static uint64_t length_at(const struct pace *p, uint64_t now_ns)
{
	uint64_t ns = since(now_ns, p->start_ns) / PARTS;

	return ns < p->first_ns ? p->first_ns :
	       ns > p->interval_ns ? p->interval_ns : ns;
}

void pace_begin(struct pace *p, uint64_t now_ns)
{
	p->start_ns = p->last_ns = p->armed_ns = now_ns;
	p->length_ns = length_at(p, now_ns);
}

uint64_t pace_earliest(const struct pace *p)
{
	return p->last_ns + (p->burst ? p->first_ns : p->length_ns);
}

/* Of the credit, what is not to be used yet. */
static double held(const struct pace *p, const struct control *c,
		   uint64_t now_ns)
{
	double passed = (double)since(now_ns, p->start_ns) / HELD_NS;

	return p->burst || passed > 1 ? 0 : HELD * (1 - passed) * c->credit_ns;
}

/* Of the pages that are away, those still expected by now. */
static double expected(const struct pace *p, uint64_t now_ns)
{
	double forget = fmax(since(now_ns, p->start_ns) / FORGET_PART,
			     FORGET_NS);

	return p->armed * exp(-(double)since(now_ns, p->armed_ns) / forget);
}

int pace_due(const struct pace *p, const struct control *c, uint64_t now_ns,
	     const struct pace_sweep *s)
{
	double faults = s->pages + s->unpaid + expected(p, now_ns);
	double ns = faults * s->share * c->fault_ns;
	double kept = held(p, c, now_ns);

	if (now_ns < pace_earliest(p))
		return 0;
	return control_affords(c, now_ns, ns + kept) ||
	       s->paid_ns + ns + OWN * kept <=
		       OWN * control_allowance(c, now_ns);
}

uint64_t pace_next(const struct pace *p, const struct control *c,
		   uint64_t now_ns, const struct pace_sweep *s)
{
	uint64_t at = pace_earliest(p);

	if (at > now_ns)
		return at;
	return pace_due(p, c, now_ns, s) ? now_ns : now_ns + RETRY_NS;
}

static void add(struct pace *p, uint64_t now_ns, double pages)
{
	p->armed = fmax(expected(p, now_ns) + pages, 0);
	p->armed_ns = now_ns;
}

void pace_swept(struct pace *p, uint64_t now_ns, double pages)
{
	add(p, now_ns, pages);
	if (p->burst)
		p->burst--;
	else if (now_ns > p->last_ns + p->length_ns + LATE_NS)
		p->burst = BURST;
	p->last_ns = now_ns;
	p->length_ns = length_at(p, now_ns);
}

void pace_back(struct pace *p, uint64_t now_ns, double pages)
{
	add(p, now_ns, -pages);
}
