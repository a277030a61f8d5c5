// SPDX-License-Identifier: GPL-2.0-or-later
/* When to sweep: simulated programs, no clock. */
#include <math.h>

#include "collect/run/control.h"
#include "collect/run/pace.h"
#include "tests/unit/trace-util.h"

#define MS 1000000ull
#define FAULT_NS 2000.0

/* A program that walks over its pages, on one task, over and over. */
struct program {
	double pages;
	double used;		/* of these, what is used again, share */
	double walk_ns;		/* for all pages, without recording */
	double fault_ns;	/* what a fault really takes */
	double plain_ns;	/* how long it runs by itself */
	double start_ns;	/* what recording takes at the begin */
};

struct outcome {
	unsigned int sweeps;
	double slowdown, spent_ns;
	uint64_t first_ns, longest_ns;
};

/* One millisecond of it: pages that fault slow it down. */
static double step(const struct program *g, double *away, double *at)
{
	double room = MS, back = 0;
	double walked = g->pages * g->used;
	double each = g->walk_ns / walked;

	while (room > 0) {
		/* The walk begins anew with the pages that were walked first. */
		double page = each;

		if (*away >= 1 && *at < walked) {
			page += g->fault_ns;
			back++;
			(*away)--;
		}
		room -= page;
		if (++*at >= walked)
			*at = 0;
	}
	return back;
}

static struct outcome simulate(const struct program *g, double budget,
			       double credit, uint64_t first, uint64_t interval)
{
	double now = g->start_ns, work = 0, away = 0, present = g->pages;
	double back, walked = g->pages * g->used, at = 0, paid = 0;
	struct outcome o = { 0 };
	struct control c;
	struct pace p;
	uint64_t before;

	control_init(&c, budget, credit, FAULT_NS, 2, 0);
	control_stall(&c, g->start_ns);
	pace_init(&p, first, interval, now);
	before = now;
	while (work < g->plain_ns) {
		const struct pace_sweep s = { present, 0, 1, paid };

		if (pace_due(&p, &c, now, &s)) {
			pace_swept(&p, now, present);
			away = fmin(away + present, walked);
			present = 0;
			o.sweeps++;
			if (!o.first_ns)
				o.first_ns = now;
			if (now - before > o.longest_ns)
				o.longest_ns = now - before;
			before = now;
		}
		back = step(g, &away, &at);
		pace_back(&p, now, back);
		present += back;
		control_stall(&c, back * FAULT_NS);
		paid += back * FAULT_NS;
		now += MS;
		work += MS - fmin(back * g->fault_ns, MS);
	}
	o.slowdown = now / work;
	o.spent_ns = now - work;
	return o;
}

/* 10 GB/s: what the machines of today do. */
static struct program program(double pages, double plain_ns)
{
	return (struct program){
		.pages = pages, .used = 1, .walk_ns = pages * 400,
		.fault_ns = FAULT_NS, .plain_ns = plain_ns,
	};
}

static int t_holds(void)
{
	for (double pages = 100; pages < 1e6; pages *= 3)
		for (double credit = 0; credit < 300e6; credit += 200e6) {
			struct program g = program(pages, 20e9);
			struct outcome o = simulate(&g, 0.10, credit, 5 * MS,
						    50 * MS);

			CHECK(o.spent_ns <= 0.10 * 20e9 + credit);
			/* It is used, too, where a sweep fits at all. */
			if (pages * FAULT_NS < 0.08 * 20e9)
				CHECK(o.sweeps > 0);
		}
	return 0;
}

/* Few pages: the interval is the one asked for. */
static int t_asked(void)
{
	struct program g = program(100, 10e9);
	struct outcome o = simulate(&g, 0.10, 0, 50 * MS, 50 * MS);

	CHECK(o.sweeps >= 195 && o.sweeps <= 200);
	CHECK(o.first_ns == 50 * MS);
	o = simulate(&g, 0.10, 200e6, 20 * MS, 20 * MS);
	CHECK(o.sweeps >= 490 && o.sweeps <= 510);
	return 0;
}

static int t_none(void)
{
	struct program g = program(100000, 1e9);
	struct outcome o = simulate(&g, HUGE_VAL, 0, 50 * MS, 50 * MS);

	CHECK(o.slowdown > 2);
	CHECK(o.sweeps >= 5);
	return 0;
}

/* Short runs have their intervals, however many pages they use. */
static int t_short(void)
{
	struct program g = program(16384, 1e9);
	struct outcome o;

	g.start_ns = 50e6;
	o = simulate(&g, 0.10, 200e6, 5 * MS, 50 * MS);
	CHECK(o.sweeps >= 20);
	CHECK(o.spent_ns <= 300e6);
	/* Not all of them when it begins. */
	CHECK(o.longest_ns <= 500 * MS);
	g.plain_ns = 0.3e9;
	o = simulate(&g, 0.10, 200e6, 5 * MS, 50 * MS);
	CHECK(o.sweeps >= 10);
	CHECK(o.spent_ns <= 230e6);
	/* Without a credit there is nothing to live on. */
	o = simulate(&g, 0.10, 0, 5 * MS, 50 * MS);
	CHECK(o.sweeps == 0);
	/* Few pages: a twentieth of the time that has passed, up to 50 ms. */
	g = program(500, 0.3e9);
	o = simulate(&g, 0.10, 200e6, 5 * MS, 50 * MS);
	CHECK(o.sweeps >= 36 && o.sweeps <= 50);
	CHECK(o.longest_ns <= 20 * MS);
	g = program(1000, 10e9);
	o = simulate(&g, 0.10, 200e6, 5 * MS, 50 * MS);
	CHECK(o.longest_ns <= 51 * MS);
	CHECK(o.sweeps >= 220 && o.sweeps <= 280);
	return 0;
}

/* What else has taken all that there is leaves the sweeps their part. */
static int t_spent(void)
{
	struct program g = program(300, 0.3e9);
	struct outcome o;

	g.start_ns = 500e6;
	o = simulate(&g, 0.10, 200e6, 5 * MS, 50 * MS);
	CHECK(o.sweeps >= 20);
	/* No more than that: much memory is not swept. */
	g = program(262144, 2e9);
	g.start_ns = 800e6;
	o = simulate(&g, 0.10, 200e6, 5 * MS, 50 * MS);
	CHECK(o.sweeps <= 1 && o.spent_ns <= 800e6 + 0.25 * 400e6);
	return 0;
}

/* Memory that is not used again blocks the sweeps for a while only. */
static int t_cold(void)
{
	struct program g = program(200000, 10e9);
	struct outcome o;

	g.used = 0.01;
	g.walk_ns = 2000 * 400;
	o = simulate(&g, 0.10, 200e6, 5 * MS, 50 * MS);
	CHECK(o.sweeps >= 50);
	CHECK(o.spent_ns <= 0.10 * 10e9 + 200e6);
	return 0;
}

static int t_next(void)
{
	struct pace_sweep one = { 1, 0, 1, 1e9 }, many = { 1e6, 0, 1, 0 };
	struct pace_sweep some = { 10000, 0, 1, 0 };
	struct pace_sweep spread = { 10000, 0, 0.1, 0 };
	struct pace_sweep unpaid = { 0, 10000, 1, 0 };
	struct control c;
	struct pace p;

	control_init(&c, 0.10, 0, 1000, 2, 0);
	pace_init(&p, 50 * MS, 50 * MS, 0);
	CHECK(!pace_due(&p, &c, 49 * MS, &one));
	CHECK(pace_next(&p, &c, 10 * MS, &one) == 50 * MS);
	CHECK(pace_due(&p, &c, 50 * MS, &one));
	CHECK(!pace_due(&p, &c, 50 * MS, &many));
	CHECK(pace_next(&p, &c, 50 * MS, &many) > 50 * MS);
	/* Spread over tasks, the same pages are dear to none. */
	CHECK(!pace_due(&p, &c, 50 * MS, &some));
	CHECK(pace_due(&p, &c, 50 * MS, &spread));
	/* What came back since the last account costs as well. */
	CHECK(!pace_due(&p, &c, 50 * MS, &unpaid));
	/* And what is away still; less as time goes by without it. */
	pace_swept(&p, 50 * MS, 40000);
	CHECK(!pace_due(&p, &c, 105 * MS, &one));
	pace_back(&p, 106 * MS, 39000);
	CHECK(pace_due(&p, &c, 106 * MS, &one));
	pace_back(&p, 106 * MS, 1e9);
	CHECK(p.armed == 0);
	/* A first interval is no longer than any. */
	pace_init(&p, 50 * MS, 10 * MS, 0);
	CHECK(pace_earliest(&p) == 10 * MS);
	/* What comes before the program is none of its time. */
	pace_init(&p, 5 * MS, 50 * MS, 0);
	pace_begin(&p, 400 * MS);
	CHECK(pace_earliest(&p) == 405 * MS);
	pace_swept(&p, 405 * MS, 1);
	CHECK(pace_earliest(&p) == 410 * MS);
	/* One that had to wait is followed by some short ones. */
	pace_swept(&p, 700 * MS, 1);
	for (int i = 0; i < 12; i++) {
		CHECK(pace_earliest(&p) == (705 + 5 * i) * MS);
		pace_swept(&p, pace_earliest(&p), 1);
	}
	CHECK(pace_earliest(&p) == 778 * MS);
	/* Clocks of several CPUs: back in time is no time. */
	pace_swept(&p, 100 * MS, 1);
	CHECK(pace_earliest(&p) == 105 * MS);
	/* Half of the credit comes free within a second; bursts have all. */
	control_init(&c, 0.10, 200 * MS, 1000, 2, 0);
	pace_init(&p, 5 * MS, 50 * MS, 0);
	one.pages = 100000;
	CHECK(!pace_due(&p, &c, 100 * MS, &one));
	CHECK(pace_due(&p, &c, 500 * MS, &one));
	p.burst = 1;
	CHECK(pace_due(&p, &c, 100 * MS, &one));
	return 0;
}

int main(void)
{
	run("pace: budget and credit hold", t_holds);
	run("pace: the interval that is asked for", t_asked);
	run("pace: no budget", t_none);
	run("pace: short programs", t_short);
	run("pace: all is spent", t_spent);
	run("pace: memory that stays cold", t_cold);
	run("pace: when to sweep", t_next);
	return failures != 0;
}
