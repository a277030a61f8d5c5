// SPDX-License-Identifier: GPL-2.0-or-later
/* What sampling 1,000 processes at 20 Hz costs, by the module's own clock. */
#define _GNU_SOURCE
#include <signal.h>

#include "tests/vm/rate.h"

#define TASKS 1000
#define SECONDS 5
#define LIMIT_PERMILLE 5.0	/* of one CPU */

static uint64_t cost_ns(void)
{
	FILE *f = fopen("/sys/module/moca/parameters/rate_cost_ns", "re");
	uint64_t v = 0;

	if (!f || fscanf(f, "%lu", &v) != 1)
		give_up("read rate_cost_ns");
	fclose(f);
	return v;
}

static double measure(const struct moca_rate_info *info)
{
	uint64_t cost = cost_ns(), begin = clock_ns(CLOCK_MONOTONIC);
	uint64_t told = info->told;
	double permille;

	sleep_ms(SECONDS * 1000);
	cost = cost_ns() - cost;
	begin = clock_ns(CLOCK_MONOTONIC) - begin;
	permille = 1000.0 * (double)cost / (double)begin;
	fprintf(stderr, "%lu samples in %lu ms, %lu us each: %.3f %% of a CPU\n",
		info->told - told, begin / 1000000,
		cost / 1000 / (info->told - told + 1), permille / 10);
	return permille;
}

static pid_t pids[TASKS];

static void start(int busy)
{
	int errors = 0;

	for (int i = 0; i < TASKS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			give_up("fork");
		while (!pids[i]) {
			/* Some run in each sample. */
			if (i < busy)
				sleep_ms(10);
			else
				pause();
		}
		errors += tell('R', pids[i]) != 0;
	}
	check("1,000 are registered", !errors && listed(0) == TASKS,
	      "%d errors, %d listed", errors, listed(0));
}

static void stop(void)
{
	int errors = 0;

	for (int i = 0; i < TASKS; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < TASKS; i++)
		waitpid(pids[i], NULL, 0);
	sleep_ms(200);
	for (int i = 0; i < TASKS; i++)
		errors += tell('U', pids[i]) != 0;
	check("and taken back after their end", !errors && !listed(0),
	      "%d errors, %d listed", errors, listed(0));
}

int main(void)
{
	const struct moca_rate_info *info = map_info();
	double got;

	start(0);
	got = measure(info);
	check("1,000 at rest", got < LIMIT_PERMILLE, "%.2f per mille of a CPU",
	      got);
	stop();
	start(50);
	got = measure(info);
	check("1,000 of which 50 run", got < LIMIT_PERMILLE,
	      "%.2f per mille of a CPU", got);
	stop();
	return failures != 0;
}
