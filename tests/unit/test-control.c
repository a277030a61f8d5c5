// SPDX-License-Identifier: GPL-2.0-or-later
/* The budget: simulated programs, no clock. */
#include <math.h>

#include "collect/fault/control.h"
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
			control_faults(&c, pages, 0);
			control_settle(&c, UINT64_MAX);
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

static int t_estimate(void)
{
	struct control c;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	CHECK(control_slowdown(&c, 0) == 1);
	control_faults(&c, 100000, 0);		/* 0.1 s */
	control_settle(&c, 1000 * MS);
	CHECK(fabs(control_slowdown(&c, 1000 * MS) - 1 / 0.9) < 1e-9);
	control_cpu(&c, 100e6);			/* on 2 CPUs: 0.05 s */
	control_stall(&c, 50e6);
	control_settle(&c, 1000 * MS);
	CHECK(fabs(control_slowdown(&c, 1000 * MS) - 1 / 0.8) < 1e-9);
	/* Never nonsense, whatever was measured. */
	control_stall(&c, 1e12);
	control_settle(&c, 10 * MS);
	CHECK(control_slowdown(&c, 1010 * MS) < 1.3);
	control_stall(&c, 1e12);
	control_settle(&c, 1000000 * MS);
	CHECK(control_slowdown(&c, 1000 * MS) < 7);
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
	run("control: when to sweep", t_next);
	return failures != 0;
}
