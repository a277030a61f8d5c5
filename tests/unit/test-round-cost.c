// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stop costs, by rounds that take known times. No clock. */
#include "collect/ptrace/round-cost.h"
#include "tests/unit/trace-util.h"

static void took(unsigned int times, uint64_t ns, uint64_t cpu_ns,
		 unsigned int calls, int keep)
{
	for (unsigned int i = 0; i < times; i++) {
		round_took(ns, cpu_ns, calls);
		round_keep(keep);
	}
}

static int t_median(void)
{
	uint64_t ns = 1, cpu_ns = 1;

	took(ROUND_WINDOW - 1, 6000 + ROUND_CALL_NS, 3000 + ROUND_CALL_NS, 1, 1);
	CHECK(!round_price(&ns, &cpu_ns));
	CHECK(ns == 1 && cpu_ns == 1);
	/* Another program ran in between. */
	took(1, 20000000, 9000, 1, 1);
	CHECK(round_price(&ns, &cpu_ns));
	CHECK(ns == 6000 && cpu_ns == 3000);
	CHECK(!round_price(&ns, &cpu_ns));
	return 0;
}

/* CPUs became idle: each switch wakes one up. */
static int t_follows(void)
{
	uint64_t ns = 0, cpu_ns = 0;

	took(ROUND_WINDOW, 50000, 20000, 0, 1);
	CHECK(round_price(&ns, &cpu_ns));
	CHECK(ns == 50000 && cpu_ns == 20000);
	/* Where it is not known, it stays. */
	took(ROUND_WINDOW, 40000, 0, 0, 1);
	CHECK(round_price(&ns, &cpu_ns));
	CHECK(ns == 40000 && cpu_ns == 20000);
	/* No more than all of it. */
	took(ROUND_WINDOW, 8000, 0, 0, 1);
	CHECK(round_price(&ns, &cpu_ns));
	CHECK(ns == 8000 && cpu_ns == 8000);
	return 0;
}

/* Calls that fill memory tell nothing of a switch. */
static int t_left_out(void)
{
	uint64_t ns = 0, cpu_ns = 0;

	took(10 * ROUND_WINDOW, 5000000, 5000000, 1, 0);
	CHECK(!round_price(&ns, &cpu_ns));
	/* Nor does a stop without a round count one twice. */
	round_took(7000, 5000, 0);
	for (int i = 0; i < ROUND_WINDOW; i++)
		round_keep(1);
	CHECK(!round_price(&ns, &cpu_ns));
	return 0;
}

static void waited(unsigned int times, double ns)
{
	for (unsigned int i = 0; i < times; i++)
		round_waited(ns);
}

/* Added up it is all that was waited: a mean, which a rare long wait is in. */
static int t_waits(void)
{
	CHECK(round_wait() == 0);
	waited(ROUND_WINDOW - 1, 4000);
	CHECK(round_wait() == 0);
	waited(1, 4000 + ROUND_WINDOW * 10000);
	CHECK(round_wait() == 14000);
	/* It went on before our clock said so. */
	waited(ROUND_WINDOW, -2000);
	CHECK(round_wait() == (3 * 14000 + 1) / 4);
	waited(64 * ROUND_WINDOW, 1e12);
	CHECK(round_wait() <= 10000000);
	waited(64 * ROUND_WINDOW, 8000);
	CHECK(round_wait() >= 7999 && round_wait() <= 8001);
	return 0;
}

int main(void)
{
	run("round cost: the median of a window", t_median);
	run("round cost: that of late", t_follows);
	run("round cost: what is left out", t_left_out);
	run("round cost: what is waited at both ends", t_waits);
	return failures != 0;
}
