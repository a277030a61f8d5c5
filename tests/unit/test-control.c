// SPDX-License-Identifier: GPL-2.0-or-later
/* The budget: simulated programs, no clock. */
#include <math.h>

#include "collect/run/control.h"
#include "collect/run/cost.h"
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
			control_swept(&c, now, pages, 1);
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

/*
 * Tasks that run a tenth of the time and wait for a CPU else: what they work for
 * us takes ten times as long. What they wait for us, stopped, does not.
 */
static int t_busy_machine(void)
{
	struct control c;
	struct control_window w = window(1000);

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	w.program_ns = 100 * MS;
	w.total_ns = w.busiest_ns = 20 * MS;
	w.priced_ns = w.busiest_priced_ns = 20 * MS;
	w.stretch = 10;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 200 * MS) < 1);
	/* The next sweep does as well: 9,000 pages of 1 us are 90 ms here. */
	CHECK(!control_due(&c, 3200 * MS, 9000, 1));
	CHECK(control_due(&c, 4500 * MS, 9000, 1));
	c.stretch = 1;
	CHECK(control_due(&c, 3200 * MS, 9000, 1));
	/* Two such, at once. */
	w.program_ns = 200 * MS;
	w.total_ns = w.priced_ns = 40 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 400 * MS) < 1);
	/* Eight of its own tasks on the two CPUs: nothing waits for others. */
	w.program_ns = 2000 * MS;
	w.total_ns = w.priced_ns = 80 * MS;
	w.busiest_ns = w.busiest_priced_ns = 10 * MS;
	w.stretch = 4;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 440 * MS) < 1);
	w.stretch = 1;
	w.total_ns = 50 * MS;
	w.busiest_ns = 0;
	w.program_ns = 0;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 490 * MS) < 1);
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
	/* Two processes that are mostly stopped: at the same time. */
	w.program_ns = 500 * MS;
	w.stopped_ns = w.total_ns = 1500 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 1250 * MS) < 1);
	/* One, which stands still or runs. */
	w.stopped_ns = w.total_ns = 400 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 1650 * MS) < 1);
	return 0;
}

/* Shared pages may take less than private ones: that pays for other costs. */
static int t_saves(void)
{
	struct control c, none;
	struct control_window w = window(1000);
	struct estimate e;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_stall(&c, 80 * MS);
	w.program_ns = 2000 * MS;
	w.total_ns = -100.0 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 30 * MS) < 1);
	/* One of its tasks waited all the same. */
	w.busiest_ns = 20 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 50 * MS) < 1);
	/* It may be quicker than without, but may not sweep more for that. */
	w.busiest_ns = 0;
	w.total_ns = -400.0 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns + 150 * MS) < 1);
	e = control_wall(&c, 3000 * MS);
	CHECK(fabs(e.middle - 3000.0 / 3150) < 1e-6);
	CHECK(e.low < e.middle && e.middle < e.high && e.high < 1);
	CHECK(!control_exceeded(&c, &e));
	none = c;
	none.spent_ns = 0;
	for (double pages = 1; pages < 1e7; pages *= 2)
		CHECK(control_due(&c, 3000 * MS, pages, 1) ==
		      control_due(&none, 3000 * MS, pages, 1));
	/* No price makes it more than twice as quick. */
	w.total_ns = -1e15;
	control_settle(&c, &w);
	e = control_wall(&c, 1000 * MS);
	CHECK(e.low >= 0.45 && e.low <= e.middle);
	return 0;
}

/* The end of the recording is a stall: no window has it as well. */
static int t_ends(void)
{
	struct control c;
	struct control_window w = window(100);

	control_init(&c, 0.10, 50 * MS, 1000, 1, 0);
	w.program_ns = 20 * MS;
	w.total_ns = 35 * MS;
	w.beside_ns = 50 * MS;
	control_cut(&w, 40 * MS, 25 * MS);
	control_settle(&c, &w);
	/* Of what runs beside, two fifths; none of what was given back. */
	CHECK(fabs(c.spent_ns - 30 * MS) < 1);
	control_stall(&c, 60 * MS);
	CHECK(fabs(c.spent_ns - 90 * MS) < 1);
	/* It had ended before the window began. */
	w = window(50);
	w.total_ns = w.beside_ns = 25 * MS;
	control_cut(&w, 0, 25 * MS);
	control_settle(&c, &w);
	control_cut(&w, -1e15, -1e15);
	control_settle(&c, &w);
	CHECK(fabs(c.spent_ns - 90 * MS) < 1);
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

static void cpu(struct control *c, double program_ns, double priced_ns,
		double unsure_ns, double beside_ns)
{
	control_cpu(c, &(struct control_cpu){
		.program_ns = program_ns, .priced_ns = priced_ns,
		.unsure_ns = unsure_ns, .beside_ns = beside_ns,
	});
}

static int t_cpu(void)
{
	struct control c;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	CHECK(c.cpu.all_ns == 0);
	/* The program 1,000 ms, Moca's processes 100, as much in the program. */
	cpu(&c, 1100 * MS, 100 * MS, 0, 100 * MS);
	CHECK(fabs(c.cpu.middle - 1.2) < 1e-9);
	CHECK(c.cpu.low > 1 && c.cpu.low < 1.2 && c.cpu.high > 1.2);
	/* Only prices may be wrong. */
	CHECK(c.cpu.high - c.cpu.low < 0.03);
	cpu(&c, 1000 * MS, 0, 0, 200 * MS);
	CHECK(c.cpu.high - c.cpu.low < 1e-9);
	/* What may be ours as well: a range, of which no end is wrong. */
	cpu(&c, 1100 * MS, 100 * MS, 200 * MS, 100 * MS);
	CHECK(c.cpu.low > 1.18 && c.cpu.low < 1.2);
	CHECK(c.cpu.high > 1.5 && c.cpu.high < 1.55);
	CHECK(fabs(c.cpu.middle - 1200.0 / 900) < 1e-9);
	/* The more is ours, the less is known. */
	cpu(&c, 1200 * MS, 1100 * MS, 0, 0);
	CHECK(c.cpu.high > 3 * c.cpu.low);
	/* Children ended unseen: prices say more than the program ran. */
	cpu(&c, 900 * MS, 5000 * MS, 0, 100 * MS);
	CHECK(c.cpu.told && c.cpu.middle == c.cpu.low);
	CHECK(c.cpu.low > 2.95 && c.cpu.low < 3.05);
	CHECK(c.cpu.high > ESTIMATE_FAR);
	/* No clock of it. */
	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	cpu(&c, 0, 10 * MS, 0, 10 * MS);
	CHECK(c.cpu.all_ns == 0 && !c.cpu.told);
	return 0;
}

/* What may have been lost besides makes the range wider, upwards alone. */
static int t_cold(void)
{
	struct control_window w = window(1000);
	struct control c, sure;
	struct estimate e, s;

	w.busiest_ns = w.total_ns = 100 * MS;
	control_init(&sure, 0.10, 50 * MS, 1000, 2, 0);
	control_settle(&sure, &w);
	s = control_wall(&sure, 1000 * MS);
	w.cold_ns = 200 * MS;
	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_settle(&c, &w);
	e = control_wall(&c, 1000 * MS);
	CHECK(e.low == s.low && e.sure_ns == s.sure_ns);
	CHECK(e.added_ns == s.added_ns && c.spent_ns == sure.spent_ns);
	CHECK(fabs(e.middle - 1000.0 / 800) < 1e-9);
	CHECK(fabs(e.high - 1000.0 / 690) < 1e-9);
	/* Of two threads at once each lost half of it. */
	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	w.program_ns = 2000 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.cold_ns - 100 * MS) < 1);
	/* No more than half of the work that caches are cold for. */
	w.cold_ns = 5000 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.cold_ns - (100 + 450) * MS) < 1);
	/* What tasks may have waited for a CPU may be nearly all of it. */
	w.cold_ns = 0;
	w.late_ns = 200 * MS;
	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_settle(&c, &w);
	CHECK(fabs(c.cold_ns - 100 * MS) < 1 && c.spent_ns == sure.spent_ns);
	w.cold_ns = w.late_ns = 5000 * MS;
	control_settle(&c, &w);
	CHECK(fabs(c.cold_ns - (100 + 855) * MS) < 1);
	w.late_ns = NAN;
	control_settle(&c, &w);
	CHECK(fabs(c.cold_ns - (100 + 855 + 450) * MS) < 1);
	/* The same of CPU time. */
	control_cpu(&c, &(struct control_cpu){
		.program_ns = 1100 * MS, .priced_ns = 100 * MS,
		.cold_ns = 50 * MS, .beside_ns = 100 * MS });
	CHECK(fabs(c.cpu.low - 1200.0 / 1010) < 1e-9);
	CHECK(fabs(c.cpu.middle - 1200.0 / 975) < 1e-9);
	CHECK(fabs(c.cpu.high - 1200.0 / 940) < 1e-9);
	control_cpu(&c, &(struct control_cpu){
		.program_ns = 1100 * MS, .priced_ns = 100 * MS,
		.cold_ns = 5000 * MS, .beside_ns = 100 * MS });
	CHECK(fabs(c.cpu.high - 1200.0 / 490) < 1e-9);
	return 0;
}

/* Differences of counters that went back, and what is no number. */
static int t_hostile(void)
{
	const double odd[] = { 0, -1, -1e15, 1e15, 1.8446744e19, 1e300,
			       HUGE_VAL, -HUGE_VAL, NAN };
	const size_t n = sizeof(odd) / sizeof(*odd);
	struct control c;

	CHECK(estimate_since(3, 5) == 0 && estimate_since(5, 3) == 2);
	CHECK(estimate_since(0, UINT64_MAX) == 0);
	for (size_t i = 0; i < n * n * n; i++) {
		double x = odd[i % n], y = odd[i / n % n], z = odd[i / n / n];
		struct control_window w = {
			.wall_ns = 50 * MS, .busiest_ns = x, .total_ns = y,
			.program_ns = z, .beside_ns = x, .cold_ns = z,
		};
		struct estimate e = estimate_of(x, y, z, y);

		CHECK(e.low >= 0.45 && e.low <= e.middle && e.middle <= e.high);
		CHECK(e.high <= ESTIMATE_UNKNOWN && e.all_ns >= 0);
		CHECK(e.added_ns >= -e.all_ns && e.added_ns <= e.all_ns);
		CHECK(e.own_ns >= 0 && e.sure_ns <= e.added_ns);
		control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
		control_idle(&c, x, y, z);
		CHECK(c.crowd >= 0 && c.crowd <= 1);
		control_settle(&c, &w);
		CHECK(fabs(c.spent_ns) <= w.wall_ns);
		control_stall(&c, x);
		CHECK(c.spent_ns >= -w.wall_ns);
		CHECK(control_slowdown(&c, 50 * MS) >= 0.45);
		cpu(&c, x, y, x, z);
		CHECK(c.cpu.middle == 0 || c.cpu.middle >= 0.45);
	}
	return 0;
}

static int vague(double all, double measured, double priced, double unsure,
		 const char *wall, const char *cpu)
{
	struct estimate e = estimate_of(all * MS, measured * MS, priced * MS,
				       unsure * MS);
	char buf[96];

	estimate_wall(&e, buf, sizeof(buf));
	if (strcmp(buf, wall)) {
		printf("'%s' is not '%s'\n", buf, wall);
		return 0;
	}
	estimate_cpu(&e, buf, sizeof(buf));
	if (strcmp(buf, cpu))
		printf("'%s' is not '%s'\n", buf, cpu);
	return !strcmp(buf, cpu);
}

static int says(double all, double measured, double priced, const char *wall,
		const char *cpu)
{
	return vague(all, measured, priced, 0, wall, cpu);
}

/* Never a cap as a fact; of short runs no ratio, but what recording took. */
static int t_told(void)
{
	CHECK(says(1000, 0, 0, "estimated slowdown 1.00x", "CPU time 1.00x"));
	CHECK(says(950, 20, -70, "estimated slowdown 0.95x", "CPU time 0.95x"));
	CHECK(says(1100, 0, 100, "estimated slowdown 1.10x", "CPU time 1.10x"));
	CHECK(says(1000, 0, 700, "estimated slowdown 2.7x to 4.3x",
		   "CPU time 2.7x to 4.3x"));
	CHECK(says(1000, 0, 985, "estimated slowdown at least 8.8x",
		   "CPU time at least 8.8x"));
	CHECK(vague(1000, 200, 0, 800, "recording took at least 0.20 s of 1.00 s",
		    "CPU time: at least 0.20 s of 1.00 s for recording"));
	CHECK(vague(1000, 0, -50, 1000, "recording took at least 0.00 s of 1.00 s",
		    "CPU time: at least 0.00 s of 1.00 s for recording"));
	CHECK(vague(1000, 600, 0, 400, "estimated slowdown at least 2.5x",
		    "CPU time at least 2.5x"));
	CHECK(vague(1000, 200, 0, 400, "estimated slowdown 1.2x to 2.5x",
		    "CPU time 1.2x to 2.5x"));
	CHECK(says(14, 2, 9,
		   "recording took 11.0 ms of a run of 14.0 ms (too short for a ratio)",
		   "11.0 ms of CPU time for recording"));
	CHECK(says(10, 0, 4000,
		   "recording took 10.0 ms of a run of 10.0 ms (too short for a ratio)",
		   "10.0 ms of CPU time for recording"));
	CHECK(says(0, 0, 0,
		   "recording took 0.0 ms of a run of 0.0 ms (too short for a ratio)",
		   "0.0 ms of CPU time for recording"));
	return 0;
}

/* Costs that are not the sweeps' leave less for them. */
static int t_others(void)
{
	struct control c;
	struct estimate e;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	CHECK(control_due(&c, 1000 * MS, 50000, 1));
	control_stall(&c, 50 * MS);
	CHECK(!control_due(&c, 1000 * MS, 50000, 1));
	CHECK(control_due(&c, 3000 * MS, 50000, 1));
	e = control_wall(&c, 1000 * MS);
	CHECK(!control_exceeded(&c, &e));
	control_stall(&c, 100 * MS);
	e = control_wall(&c, 1000 * MS);
	CHECK(control_exceeded(&c, &e));
	/* Of a short run as well. */
	e = control_wall(&c, 200 * MS);
	CHECK(control_exceeded(&c, &e));
	return 0;
}

/* What is sure fits, what is likely does not. */
static int t_likely(void)
{
	struct control c;
	struct estimate e;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	e = estimate_of(1000 * MS, 80 * MS, 0, 10 * MS);
	CHECK(!control_exceeded(&c, &e) && !control_likely_exceeded(&c, &e));
	e = estimate_of(1000 * MS, 80 * MS, 0, 300 * MS);
	CHECK(!control_exceeded(&c, &e) && control_likely_exceeded(&c, &e));
	/* Where nothing bounds it, only what is sure tells. */
	e = estimate_of(1000 * MS, 80 * MS, 0, 1000 * MS);
	CHECK(!control_exceeded(&c, &e) && !control_likely_exceeded(&c, &e));
	e = estimate_of(1000 * MS, 200 * MS, 0, 0);
	CHECK(control_exceeded(&c, &e) && control_likely_exceeded(&c, &e));
	e = estimate_of(0, 0, 0, 0);
	CHECK(!control_likely_exceeded(&c, &e));
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

/*
 * A program that runs `plain` ns and uses `pages` all the time: how many sweeps,
 * the longest interval behind the first, and what was spent, ns.
 */
struct paced {
	unsigned int sweeps;
	double first, longest, spent;
};

static struct paced pace(double pages, double plain, double start_cost)
{
	double now = start_cost, work = 0, back = 0, out = 0, last = 0;
	double unsettled = 0;
	struct paced p = { 0 };
	struct control c;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_grow(&c, 200 * MS, 5 * MS);
	control_stall(&c, start_cost);
	control_swept(&c, start_cost, 0, 1);
	for (unsigned int i = 0; work < plain; i++) {
		/* In 1 ms of work it comes to 4,000 pages. */
		double n = fmin(out, 4000);

		out -= n;
		back += n;
		unsettled += n;
		now += MS + n * 1000;
		work += MS;
		if (!(i % 20)) {
			control_stall(&c, unsettled * 1000);
			control_returned(&c, now, unsettled, 1);
			unsettled = 0;
		}
		if (!control_due(&c, now, back, 1))
			continue;
		control_swept(&c, now, back, 1);
		if (!p.sweeps++)
			p.first = now;
		else
			p.longest = fmax(p.longest, now - last);
		last = now;
		out = pages;
		back = 0;
	}
	p.longest = fmax(p.longest, now - last);
	p.spent = now - work;
	return p;
}

static int t_paced(void)
{
	struct control c;
	struct paced p;

	/* Little memory: 5 ms at first, a twenty-fifth of the time later. */
	p = pace(100, 300 * MS, 20 * MS);
	CHECK(p.sweeps >= 30 && p.longest < 20 * MS);
	p = pace(1000, 1000 * MS, 20 * MS);
	CHECK(p.sweeps >= 40 && p.longest < 60 * MS);
	p = pace(100, 10000 * MS, 20 * MS);
	CHECK(p.sweeps > 200 && p.sweeps < 280 && p.longest < 60 * MS);
	/* More: as much as budget and credit allow, in even intervals. */
	for (double pages = 4000; pages < 200000; pages *= 2)
		for (double s = 0.3; s < 20; s *= 2) {
			double may = 0.1 * s * 1e9 + 200 * MS, sweep = pages * 1000;

			p = pace(pages, s * 1e9, 20 * MS);
			CHECK(p.spent <= may + 1);
			if (s < 1 || sweep > may / 4)
				continue;
			/* Half of it is used at least. */
			CHECK(p.sweeps * sweep > may / 2 ||
			      p.longest < 60 * MS);
			CHECK(p.longest < 60 * MS || p.longest <
			      1.5 * (s - 0.3) * 1e9 / (double)p.sweeps +
			      2 * sweep / 0.085);
		}
	/* The credit is not for the first 50 ms. */
	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_grow(&c, 200 * MS, 5 * MS);
	CHECK(!control_due(&c, 4 * MS, 1, 1) && control_due(&c, 5 * MS, 1, 1));
	CHECK(!control_due(&c, 50 * MS, 40000, 1));
	CHECK(control_due(&c, 500 * MS, 100000, 1));
	CHECK(control_target(&c) == 5 * MS);
	/* What was let go is spent, until it is known not to come back. */
	control_swept(&c, 500 * MS, 100000, 1);
	CHECK(control_target(&c) == 20 * MS);
	CHECK(!control_due(&c, 600 * MS, 130000, 1));
	control_returned(&c, 600 * MS, 0, 1);
	control_returned(&c, 900 * MS, 0, 1);
	CHECK(control_due(&c, 900 * MS, 100000, 1));
	/* An interval that was given is one; so it is without a credit. */
	control_grow(&c, 200 * MS, 0);
	CHECK(control_target(&c) == 50 * MS);
	/* What it is held to, beyond the budget. */
	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_stall(&c, 250 * MS);
	CHECK(control_exceeded(&c, &(struct estimate[]){
		control_wall(&c, 1000 * MS) }[0]));
	control_grow(&c, 200 * MS, 5 * MS);
	CHECK(!control_exceeded(&c, &(struct estimate[]){
		control_wall(&c, 1000 * MS) }[0]));
	control_stall(&c, 100 * MS);
	CHECK(control_exceeded(&c, &(struct estimate[]){
		control_wall(&c, 1000 * MS) }[0]));
	return 0;
}

/* Where other costs have taken all, sweeps have a half of the credit still. */
static int t_reserve(void)
{
	struct control c;
	double taken = 0;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_grow(&c, 200 * MS, 5 * MS);
	control_stall(&c, 150 * MS);
	/* They have not: 185 ms may be taken until then, and 272 in all. */
	CHECK(control_room(&c, 1000 * MS, 1) > 100000 &&
	      control_room(&c, 1000 * MS, 1) < 115000);
	control_stall(&c, 115 * MS);
	CHECK(control_due(&c, 1000 * MS, 94000, 1));
	CHECK(!control_due(&c, 1000 * MS, 95000, 1));
	control_stall(&c, 250 * MS);
	CHECK(control_due(&c, 1000 * MS, 10000, 1));
	/* And a fifth of the 266 ms that were not allowed. */
	CHECK(control_due(&c, 1000 * MS, 147000, 1));
	CHECK(!control_due(&c, 1000 * MS, 148000, 1));
	for (uint64_t t = 1000 * MS; t < 20000 * MS; t += 100 * MS) {
		double n = control_room(&c, t, 1) / 2;

		control_stall(&c, 50 * MS);
		if (n < 1 || !control_due(&c, t, n, 1))
			continue;
		control_swept(&c, t, n, 1);
		control_stall(&c, n * 1000);
		control_returned(&c, t + 50 * MS, n, 1);
		taken += n * 1000;
	}
	/* Of 20 s, half goes to stops: 1.1 s would be allowed. */
	CHECK(taken > 1000 * MS && taken < 101 * MS + 0.2 * 9000 * MS);
	/* As without a credit: nothing. */
	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_stall(&c, 500 * MS);
	CHECK(!control_due(&c, 1000 * MS, 1, 1));
	return 0;
}

static int t_samples(void)
{
	struct control c;

	control_init(&c, 0.10, 50 * MS, 1000, 2, 0);
	control_grow(&c, 200 * MS, 5 * MS);
	CHECK(control_patience(&c) == 5 * MS);
	control_swept(&c, 1000 * MS, 0, 1);
	/* An eighth of the time is waited for a full sweep. */
	CHECK(control_patience(&c) > 100 * MS);
	CHECK(control_patience(&c) < 150 * MS);
	/* As many pages as fit. */
	CHECK(control_due(&c, 1100 * MS, 0.99 * control_room(&c, 1100 * MS, 1),
			  1));
	CHECK(!control_due(&c, 1100 * MS,
			   1.01 * control_room(&c, 1100 * MS, 1), 1));
	CHECK(control_room(&c, 1100 * MS, 0.5) >
	      1.9 * control_room(&c, 1100 * MS, 1));
	return 0;
}

/* The last line's words for what took most. */
static int t_phrase(void)
{
	static struct costs c;
	char text[96];

	cost_add(&c, COST_THREAD, 12480, 1000);
	cost_add(&c, COST_BUSY, 38967, 2000);
	CHECK(cost_culprit(&c, 0) == COST_BUSY);
	cost_phrase(&c, COST_BUSY, text, sizeof(text));
	CHECK(!strcmp(text, "waits for a CPU, which others used, at 38,967 faults"));
	cost_phrase(&c, COST_THREAD, text, sizeof(text));
	CHECK(!strcmp(text, "12,480 stops for new threads"));
	return 0;
}

int main(void)
{
	run("control: what sweeps have in any case", t_reserve);
	run("control: samples", t_samples);
	run("control: intervals that grow", t_paced);
	run("control: the budget holds", t_holds);
	run("control: no budget", t_none);
	run("control: short programs", t_short);
	run("control: estimate", t_estimate);
	run("control: threads", t_threads);
	run("a busy machine", t_busy_machine);
	run("control: what private pages take more", t_saves);
	run("control: the end of a program", t_ends);
	run("control: beside the program", t_beside);
	run("control: CPU time", t_cpu);
	run("control: what may come on top", t_cold);
	run("control: hostile inputs", t_hostile);
	run("control: what is told", t_told);
	run("control: other costs", t_others);
	run("control: likely over the budget", t_likely);
	run("control: sparse allocations", t_thin);
	run("control: when to sweep", t_next);
	run("cost: what took most", t_phrase);
	return failures != 0;
}
