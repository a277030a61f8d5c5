// SPDX-License-Identifier: GPL-2.0-or-later
/* From the clock of the buffers to ns: exact, monotone, whatever comes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/ring/clock-ns.h"
#include "lib/ring/clock.h"

static int failed;

static void result(const char *name, int good, const char *why)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %s\n", name, why);
	failed |= !good;
}

/* A clock of 2.1 GHz whose rate NTP changes by 500 ppm at 10 s. */
static uint64_t truth(uint64_t clock)
{
	uint64_t bend = 21000000000ull;
	double ns = clock < bend ? clock / 2.1 :
				   1e10 + (clock - bend) / 2.1 * 1.0005;

	return 5000000000000ull + (uint64_t)ns;
}

static void make(struct tracer_clock *c, uint64_t seconds)
{
	uint64_t clock;

	tracer_clock_init(c, MOCA_CLOCK_TSC);
	c->knots[0] = c->tip = (struct tracer_knot){ 0, truth(0) };
	for (clock = 1; clock < seconds * 2100000000; clock += 210000000)
		tracer_clock_add(c, (struct tracer_knot){ clock,
							  truth(clock) });
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void test_exact(void)
{
	uint64_t clock, ns, before = 0, worst = 0;
	struct tracer_clock c;
	int back = 0;

	make(&c, 20);
	for (clock = 0; clock < 41000000000ull; clock += 9999991) {
		ns = tracer_clock_ns(&c, clock);
		back |= ns < before;
		before = ns;
		/* The rate changes between two knots: that is not known. */
		if (distance(clock, 21000000000ull) > 420000000 &&
		    distance(ns, truth(clock)) > worst)
			worst = distance(ns, truth(clock));
	}
	result("monotone", !back, "time went back");
	result("exact", worst < 1000, "more than 1 us off");
	tracer_clock_free(&c);
}

/* Chunks of lines: monotone, and as good as the points. */
static void test_straight(void)
{
	uint64_t first, last = 0, at, end = 40000000000ull, worst = 0, pieces;
	struct tracer_clock c;
	double a, b, ns;

	make(&c, 20);
	for (first = 1000, pieces = 0; first < end; first = last, pieces++) {
		last = tracer_clock_straight(&c, first, end);
		if (last <= first)
			break;
		a = tracer_clock_ns(&c, first);
		b = tracer_clock_ns(&c, last);
		for (at = first; at < last; at += (last - first) / 97 + 1) {
			ns = a + (b - a) * (at - first) / (last - first);
			if (distance(ns, tracer_clock_ns(&c, at)) > worst)
				worst = distance(ns, tracer_clock_ns(&c, at));
		}
	}
	result("straight ends", first >= end, "it does not go on");
	result("straight", worst < 1000, "more than 1 us off");
	result("straight is long", pieces < 12, "cut for nothing");
	result("straight, short", tracer_clock_straight(&c, 5, 6) == 6,
	       "cut for nothing");
	tracer_clock_free(&c);
}

/* Hours later: old points are fewer, and still right. */
static void test_long(void)
{
	struct tracer_clock c;
	uint64_t i, clock, worst = 0, ns, before = 0;
	int back = 0;

	tracer_clock_init(&c, MOCA_CLOCK_TSC);
	c.knots[0] = c.tip = (struct tracer_knot){ 0, 7 };
	for (i = 1; i < 100000; i++)
		tracer_clock_add(&c, (struct tracer_knot){ i * 420000000,
							   i * 200000000 + 7 });
	for (clock = 0; clock < 100000 * 420000000ull; clock += 99999999937) {
		ns = tracer_clock_ns(&c, clock);
		back |= ns < before;
		before = ns;
		if (distance(ns, clock / 2.1 + 7) > worst)
			worst = distance(ns, clock / 2.1 + 7);
	}
	result("long: bounded", c.count <= TRACER_KNOTS_MAX, "it grew");
	result("long: exact", !back && worst < 1000, "more than 1 us off");
	tracer_clock_free(&c);
}

static void test_odd(void)
{
	uint64_t odd[] = { 0, 1, 1ull << 36, INT64_MAX, UINT64_MAX };
	struct tracer_clock c;
	int bad = 0;
	size_t i;

	tracer_clock_init(&c, MOCA_CLOCK_TSC);
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		bad |= tracer_clock_ns(&c, odd[i]) > INT64_MAX;
	tracer_clock_free(&c);
	make(&c, 3);
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		bad |= tracer_clock_ns(&c, odd[i]) > INT64_MAX;
		bad |= i && tracer_clock_straight(&c, odd[i - 1], odd[i]) <=
				    odd[i - 1];
	}
	/* Neither clock may stand still or go back. */
	i = c.count;
	tracer_clock_add(&c, (struct tracer_knot){ c.tip.clock + 1000,
						   c.tip.ns });
	tracer_clock_add(&c, (struct tracer_knot){ c.tip.clock,
						   c.tip.ns + 1000000000 });
	bad |= c.count != i;
	tracer_clock_free(&c);
	result("odd readings", !bad, "out of bounds");
}

/* This machine's own clock, measured as the drain does it. */
static void test_real(void)
{
	struct timespec nap = { 0, 3000000 };
	uint64_t clock[300], low[300], high[300], ns, off = 0;
	struct tracer_clock c;
	int i;

	tracer_clock_init(&c, tracer_clock_choose());
	for (i = 0; i < 300; i++) {
		low[i] = moca_now_ns();
		clock[i] = moca_clock_read(c.kind);
		high[i] = moca_now_ns();
		if (i % 70 == 69)
			tracer_clock_tick(&c);
		nanosleep(&nap, NULL);
	}
	tracer_clock_cover(&c, clock[299]);
	for (i = 0; i < 300; i++) {
		ns = tracer_clock_ns(&c, clock[i]);
		if (ns < low[i] && low[i] - ns > off)
			off = low[i] - ns;
		if (ns > high[i] && ns - high[i] > off)
			off = ns - high[i];
	}
	printf("# %s, at most %" PRIu64 " ns off\n",
	       c.kind == MOCA_CLOCK_TSC ? "tsc" : "monotonic", off);
	result("real clock", off <= 1000, "more than 1 us off");
	tracer_clock_free(&c);
}

static void test_choice(void)
{
	const char *flags = "flags : fpu constant_tsc rdtscp nonstop_tsc x\n";

	result("choice",
	       tracer_clock_judge(flags, "tsc\n") == MOCA_CLOCK_TSC &&
		       tracer_clock_judge(flags, "kvm-clock\n") ==
			       MOCA_CLOCK_TSC &&
		       tracer_clock_judge(flags, "hpet\n") ==
			       MOCA_CLOCK_MONOTONIC &&
		       tracer_clock_judge(flags, "tsc-early\n") ==
			       MOCA_CLOCK_MONOTONIC &&
		       tracer_clock_judge("flags : constant_tsc\n", "tsc\n") ==
			       MOCA_CLOCK_MONOTONIC &&
		       tracer_clock_judge("", "") == MOCA_CLOCK_MONOTONIC,
	       "wrong clock");
}

int main(void)
{
	test_choice();
	test_exact();
	test_straight();
	test_long();
	test_odd();
	test_real();
	return failed;
}
