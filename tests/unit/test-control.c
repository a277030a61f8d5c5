// SPDX-License-Identifier: GPL-2.0-or-later
/* The budget: simulated programs, no clock. */
#include <math.h>

#include "collect/fault/control.h"
#include "lib/ring/meter.h"
#include "tests/unit/trace-util.h"

#define MS 1000000ull

/*
 * A program that touches `pages` again after each sweep, on one task, for
 * `plain` ns of its own time. Returns its slowdown.
 */
static double simulate(double budget, double pages, double real_fault_ns,
		       double plain, unsigned int *sweeps)
{
	struct control c;
	double now = 0, work = 0;

	control_init(&c, budget, 50 * MS, 1600, 2, 0);
	*sweeps = 0;
	while (work < plain) {
		if (control_due(&c, now, pages, 1)) {
			control_swept(&c, now);
			control_stall(&c, pages * 1600);
			now += pages * real_fault_ns;
			(*sweeps)++;
		}
		now += MS;
		work += MS;
	}
	return now / work;
}

static int t_holds(void)
{
	unsigned int n;

	for (double pages = 100; pages < 1e6; pages *= 3) {
		double s = simulate(0.10, pages, 1600, 20e9, &n);

		CHECK(s <= 1.10);
		/* It is used, too, where a sweep fits at all. */
		if (pages * 1600 < 0.08 * 20e9)
			CHECK(n > 0);
	}
	/* Few pages: the interval is the one asked for. */
	simulate(0.10, 100, 1600, 10e9, &n);
	CHECK(n >= 195 && n <= 200);
	return 0;
}

static int t_none(void)
{
	unsigned int n;

	CHECK(simulate(HUGE_VAL, 100000, 1600, 1e9, &n) > 2);
	CHECK(n >= 5);
	return 0;
}

static int t_short(void)
{
	unsigned int n;

	/* A program that is over soon is not swept beyond the budget. */
	CHECK(simulate(0.10, 100000, 1600, 200e6, &n) == 1);
	CHECK(n == 0);
	return 0;
}

/* One window of `wall` ms in which nothing is idle unless said. */
static struct control_window window(double wall)
{
	return (struct control_window){ .wall_ns = wall * MS };
}

static int t_estimate(void)
{
	struct control c;
	struct control_window w = window(1000);

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	CHECK(control_slowdown(&c, 0) == 1);
	w.busiest_ns = w.total_ns = 100 * MS;
	control_settle(&c, &w);
	CHECK(fabs(control_slowdown(&c, 1000 * MS) - 1 / 0.9) < 1e-9);
	control_stall(&c, 100 * MS);
	CHECK(fabs(control_slowdown(&c, 1000 * MS) - 1 / 0.8) < 1e-9);
	/* Never nonsense, whatever was measured. */
	w = window(10);
	w.total_ns = 1e15;
	control_settle(&c, &w);
	CHECK(control_slowdown(&c, 1010 * MS) < 1.3);
	/* What a stop took before a window is that window's, and no more. */
	w = window(10);
	control_settle(&c, &w);
	control_settle(&c, &w);
	CHECK(control_slowdown(&c, 1030 * MS) < 1.3);
	w = window(-1);
	w.total_ns = 1e15;
	control_settle(&c, &w);
	CHECK(control_slowdown(&c, 1010 * MS) < 1.3);
	control_stall(&c, 1e15);
	CHECK(control_slowdown(&c, 1000 * MS) < 70);
	return 0;
}

/* Two threads at once: what both wait for at the same time counts once. */
static int t_threads(void)
{
	struct control c;
	struct control_window w = window(1000);

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	w.program_ns = 2000 * MS;
	w.total_ns = 200 * MS;
	w.busiest_ns = 100 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 100 * MS) < 1);
	/* All of it is one thread's, while the other does without. */
	w.busiest_ns = 200 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 300 * MS) < 1);
	/* Processes that take turns: no task waits for all of it. */
	w.program_ns = 900 * MS;
	w.busiest_ns = 1 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 500 * MS) < 1);
	return 0;
}

/* What runs beside the program costs it time only while no CPU is idle. */
static int t_beside(void)
{
	struct control c;
	struct control_window w = window(1000);

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	w.program_ns = 1000 * MS;
	w.beside_ns = 100 * MS;
	control_idle(&c, 1000 * MS, 100 * MS, 900 * MS);
	control_settle(&c, &w);
	CHECK(c.spent_ns < 1);
	w.program_ns = 1900 * MS;
	control_idle(&c, 1000 * MS, 100 * MS, 0);
	control_settle(&c, &w);
	CHECK(c.spent_ns > 40 * MS && c.spent_ns < 60 * MS);
	return 0;
}

static int t_cpu(void)
{
	struct control c;
	struct control_range r;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	CHECK(control_cpu_ratio(&c) == 0);
	CHECK(control_cpu_range(&c).middle == 0);
	control_cpu(&c, 1200 * MS, 200 * MS);
	CHECK(fabs(control_cpu_ratio(&c) - 1.2) < 1e-9);
	r = control_cpu_range(&c);
	CHECK(r.low > 1 && r.low < r.middle && r.middle < r.high);
	CHECK(r.high - r.low < 0.05);
	/* The more is ours, the less is known. */
	control_cpu(&c, 1200 * MS, 1100 * MS);
	r = control_cpu_range(&c);
	CHECK(r.high > 3 * r.low);
	return 0;
}

/* Costs that are not the sweeps' leave less for them. */
static int t_others(void)
{
	struct control c;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	CHECK(control_due(&c, 1000 * MS, 50000, 1));
	control_stall(&c, 50 * MS);
	CHECK(!control_due(&c, 1000 * MS, 50000, 1));
	CHECK(control_due(&c, 3000 * MS, 50000, 1));
	CHECK(control_slowdown(&c, 1000 * MS) < control_limit(&c));
	control_stall(&c, 100 * MS);
	CHECK(control_slowdown(&c, 1000 * MS) > control_limit(&c));
	return 0;
}

static int t_thin(void)
{
	struct control c;
	unsigned int thin = 0;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	/* 5 % of the time is theirs. */
	CHECK(control_thin(&c, 0, 40 * MS, 1000 * MS) == 0);
	CHECK(control_thin(&c, 3, 40 * MS, 1000 * MS) == 3);
	CHECK(control_thin(&c, 3, 60 * MS, 1000 * MS) == 4);
	CHECK(control_thin(&c, 3, 5 * MS, 1000 * MS) == 2);
	CHECK(control_thin(&c, 0, 0, 1000 * MS) == 0);
	CHECK(control_thin(&c, 3, 0, 0) == 3);
	for (int i = 0; i < 100; i++)
		thin = control_thin(&c, thin, 900 * MS, 1000 * MS);
	CHECK(thin == MOCA_THIN_MAX);
	control_init(&c, HUGE_VAL, 50 * MS, 1000, 2, 0);
	CHECK(control_thin(&c, 3, 900 * MS, 1000 * MS) == 0);
	return 0;
}

static int t_next(void)
{
	struct control c;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	CHECK(!control_due(&c, 49 * MS, 1, 1));
	CHECK(control_next(&c, 10 * MS, 1, 1) == 50 * MS);
	CHECK(control_due(&c, 50 * MS, 1, 1));
	CHECK(!control_due(&c, 50 * MS, 1e6, 1));
	/* Spread over tasks, the same pages are dear to none. */
	CHECK(!control_due(&c, 50 * MS, 10000, 1));
	CHECK(control_due(&c, 50 * MS, 10000, 0.1));
	return 0;
}

int main(void)
{
	run("control: the budget holds", t_holds);
	run("control: no budget", t_none);
	run("control: short programs", t_short);
	run("control: estimate", t_estimate);
	run("control: threads", t_threads);
	run("control: beside the program", t_beside);
	run("control: CPU time", t_cpu);
	run("control: other costs", t_others);
	run("control: sparse allocations", t_thin);
	run("control: when to sweep", t_next);
	return failures != 0;
}
