// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A buffer that is full, a rate of 1,000 Hz, and more processes than there may
 * be: by a module that was loaded so.
 */
#include <signal.h>

#include "tests/vm/rate.h"

static void become(uid_t uid)
{
	if (seteuid(uid))
		give_up("become another");
}

/* Loaded with rate_tasks=4: no more at a time, and the dead make room. */
static void bounded(void)
{
	pid_t pid[10];
	int err[10], i;

	for (i = 0; i < 5; i++) {
		pid[i] = fork();
		while (!pid[i])
			pause();
		/* Who is no profiler leaves the last quarter to profilers. */
		if (i == 3) {
			become(1000);
			err[9] = tell('R', pid[i]);
			become(0);
		}
		err[i] = tell('R', pid[i]);
	}
	check("one of four is root's", err[9] == ENOSPC, "error %d", err[9]);
	check("four at a time", !err[0] && !err[1] && !err[2] && !err[3] &&
	      err[4] == ENOSPC && listed(0) == 4, "the fifth: error %d",
	      err[4]);
	for (i = 0; i < 5; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	sleep_ms(50);
	for (i = 4; i < 10; i++) {
		pid[i] = fork();
		while (!pid[i])
			pause();
		err[i] = tell('R', pid[i]);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		sleep_ms(50);
	}
	/* The numbers of the last four are still known. */
	for (i = 0; i < 10; i++) {
		err[0] = tell('U', pid[i]);
		if (err[0] != (i < 6 ? ENOENT : 0))
			break;
	}
	check("the oldest numbers are forgotten", i == 10, "the %dth: error %d",
	      i, err[0]);
}

int main(void)
{
	struct moca_rate_slot *slots = map_slots();
	const struct moca_rate_info *info = map_info();
	uint32_t n = info->samples, i, free_slots = 0, order = 0;
	uint64_t begin, told, took;
	unsigned long at;

	check("as it was loaded", n < 12000 && n >= 16, "%u samples", n);
	begin = clock_ns(CLOCK_MONOTONIC);
	tell('R', getpid());
	while (info->told < 3 * n + n / 2 &&
	       clock_ns(CLOCK_MONOTONIC) - begin < 60000000000u)
		sleep_ms(5);
	tell('U', getpid());
	took = clock_ns(CLOCK_MONOTONIC) - begin;
	told = info->told;
	check("goes round", told >= 3 * n, "%lu samples", told);
	/* A guest on a busy machine is late; a tick of 250 Hz would be later. */
	check("faster than the clock tick", told * 1000000000u / took >
	      info->hz_ticks + info->hz_ticks / 10 && told * 1000000u / took <=
	      1010, "%lu samples in %lu ms", told, took / 1000000);
	for (i = 0; i < n; i++)
		free_slots += slots[i].jiffies == -1ul;
	check("one slot is free: the end", free_slots == 1, "%u are",
	      free_slots);
	check("it is behind the newest", slots[told % n].jiffies == -1ul &&
	      slots[told % n].cpu == -1ul, "no");
	for (at = told % n + 1, i = 1; i < n - 1; i++, at++)
		order += slots[(at + 1) % n].jiffies < slots[at % n].jiffies;
	check("the oldest is behind the end", !order, "%u out of order", order);
	for (i = n; i < MOCA_RATE_PAGES * 4096 / sizeof(*slots); i++)
		if (slots[i].jiffies != -1ul)
			break;
	check("nothing behind the last slot", i == MOCA_RATE_PAGES * 4096 /
	      sizeof(*slots), "slot %u", i);

	/* A reader takes off what it has; the next samples follow. */
	for (i = 0; i < n; i++)
		slots[i].jiffies = slots[i].minor = slots[i].major =
			slots[i].cpu = -1ul;
	tell('R', getpid());
	sleep_ms(50);
	tell('U', getpid());
	check("goes on where it was", slots[told % n].jiffies != -1ul &&
	      info->told > told, "%lu then %lu", told, (unsigned long)info->told);
	bounded();
	return failures != 0;
}
