// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When samples are taken. In a guest whose clock counts instructions: nobody
 * else takes time there.
 */
#include "tests/vm/rate.h"

static struct moca_rate_slot *slots;
static const struct moca_rate_info *info;

static void set_hz(unsigned int hz)
{
	FILE *f = fopen("/sys/module/moca/parameters/rate_hz", "we");

	if (!f || fprintf(f, "%u\n", hz) < 0 || fclose(f))
		give_up("set rate_hz");
}

/* For three seconds; distances in jiffies are the period's, up to one. */
static void at_rate(unsigned int hz)
{
	const unsigned int ticks = info->hz_ticks;
	uint64_t begin = info->told, n, i, off = 0;
	unsigned long first, last, wanted;
	char name[40];

	set_hz(hz);
	tell('R', getpid());
	sleep_ms(3000);
	n = info->told - begin;
	tell('U', getpid());
	snprintf(name, sizeof(name), "%u Hz", hz);
	check(name, n >= 3 * hz - 1 && n <= 3 * hz + 1,
	      "%lu samples in 3 s", n);
	for (i = begin + 1; i < begin + n; i++) {
		unsigned long d = slots[i % info->samples].jiffies -
				  slots[(i - 1) % info->samples].jiffies;

		off += d < ticks / hz || d > ticks / hz + 1;
	}
	snprintf(name, sizeof(name), "%u Hz: distances", hz);
	check(name, !off, "%lu of %lu are wrong", off, n - 1);
	/* All periods together: a drift would add up. */
	first = slots[begin % info->samples].jiffies;
	last = slots[(begin + n - 1) % info->samples].jiffies;
	wanted = (n - 1) * ticks / hz;
	snprintf(name, sizeof(name), "%u Hz: no drift", hz);
	check(name, last - first + 1 >= wanted && last - first <= wanted + 1,
	      "%lu jiffies, not %lu", last - first, wanted);
}

int main(void)
{
	uint64_t told;

	slots = map_slots();
	info = map_info();
	check("20 Hz at first", info->hz == 20, "%u", info->hz);
	at_rate(20);
	at_rate(1);
	at_rate(30);
	at_rate(250);
	at_rate(1000);
	told = info->told;
	sleep_ms(1000);
	check("no samples of nobody", info->told == told, "%lu came",
	      (unsigned long)(info->told - told));
	return failures != 0;
}
