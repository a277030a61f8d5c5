// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What sampling 1,000 processes at 20 Hz costs, by the module's own clock. Where
 * the guest counts instructions (icount), that is a nanosecond for each.
 */
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

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Per mille of a CPU: what a sample costs, by so many as there should be in a
 * second; a guest that is late takes fewer. The median of some seconds.
 */
static double measure(const struct moca_rate_info *info)
{
	double each[SECONDS];
	uint64_t cost, told;

	for (int i = 0; i < SECONDS; i++) {
		cost = cost_ns();
		told = info->told;
		sleep_ms(1000);
		cost = cost_ns() - cost;
		told = info->told - told;
		each[i] = (double)cost / (double)(told ? told : 1) *
			  info->hz / 1e6;
	}
	qsort(each, SECONDS, sizeof(*each), compare);
	fprintf(stderr, "%.1f us a sample, %.3f %% of a CPU (%.3f to %.3f)\n",
		each[SECONDS / 2] * 1000 / info->hz, each[SECONDS / 2] / 10,
		each[0] / 10, each[SECONDS - 1] / 10);
	return each[SECONDS / 2];
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
