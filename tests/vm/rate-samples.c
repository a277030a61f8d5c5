// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples have what was done, all of it and once. */
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/vm/rate.h"

#define PAGES 5000u
#define THREADS 8
#define DEATHS 30

static struct moca_rate_slot *slots;
static const struct moca_rate_info *info;

struct sums {
	uint64_t told, minor, major, cpu_ns, cpu_jiffies;
};

static struct sums now(void)
{
	struct sums s = { .told = info->told, .minor = info->minor,
			  .major = info->major, .cpu_ns = info->cpu_ns };

	return s;
}

/* What the slots have since then. */
static struct sums since(const struct sums *then)
{
	struct sums s = { 0 };
	uint64_t i;

	for (i = then->told; i < info->told; i++) {
		const struct moca_rate_slot *at = &slots[i % info->samples];

		s.told++;
		s.minor += at->minor;
		s.major += at->major;
		s.cpu_jiffies += at->cpu;
	}
	s.cpu_ns = info->cpu_ns - then->cpu_ns;
	return s;
}

static void touch(size_t pages)
{
	volatile char *p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		give_up("mmap");
	for (size_t i = 0; i < pages; i++)
		p[i * 4096] = 1;
	munmap((void *)p, pages * 4096);
}

static uint64_t faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_minflt + u.ru_majflt);
}

/* Twice beforehand: what the functions themselves fault on is past then. */
static void known_faults(void)
{
	struct sums then = now(), got;
	uint64_t own;

	tell('R', getpid());
	faults();
	since(&then);
	tell('U', getpid());
	then = now();
	tell('R', getpid());
	own = faults();
	touch(PAGES);
	own = faults() - own;
	tell('U', getpid());
	got = since(&then);
	check("faults of 5,000 pages", got.minor == PAGES && own == PAGES,
	      "%lu in %lu samples, getrusage says %lu", got.minor, got.told,
	      own);
	check("sums and slots agree", info->minor - then.minor == got.minor,
	      "%lu and %lu", (unsigned long)(info->minor - then.minor),
	      (unsigned long)got.minor);
}

static void *thread_main(void *arg)
{
	touch(PAGES / THREADS);
	sleep_ms(20);
	touch(PAGES / THREADS);
	return arg;
}

/* Threads that end between samples, and all of the process once. */
static void known_threads(void)
{
	struct sums then, got;
	uint64_t own;
	pthread_t t[THREADS];

	for (int round = 0; round < 2; round++) {
		then = now();
		tell('R', getpid());
		own = faults();
		for (int i = 0; i < THREADS; i++)
			pthread_create(&t[i], NULL, thread_main, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		own = faults() - own;
		tell('U', getpid());
		got = since(&then);
	}
	check("faults of threads", got.minor >= own && got.minor <= own + 3 &&
	      own >= 2 * (PAGES / THREADS) * THREADS,
	      "%lu, getrusage says %lu", got.minor, own);
}

/* A process that dies by itself: what it did last counts. */
static int known_death(void)
{
	struct sums then = now(), got;
	uint64_t own = 0, begin;
	int p[2];
	pid_t pid;

	if (pipe(p))
		give_up("pipe");
	pid = fork();
	if (!pid) {
		tell('R', getpid());
		touch(PAGES);
		own = faults();
		if (write(p[1], &own, sizeof(own)) != sizeof(own))
			_exit(1);
		_exit(0);
	}
	if (read(p[0], &own, sizeof(own)) != sizeof(own))
		give_up("read");
	waitpid(pid, NULL, 0);
	close(p[0]);
	close(p[1]);
	/* On a busy machine the round that finds it dead may be late. */
	begin = clock_ns(CLOCK_MONOTONIC);
	while (info->registered &&
	       clock_ns(CLOCK_MONOTONIC) - begin < 20000000000u)
		sleep_ms(10);
	got = since(&then);
	tell('U', pid);
	if (got.minor >= PAGES && got.minor <= own + 100)
		return 1;
	fprintf(stderr, "%lu of %lu; %u registered after %lu ms\n", got.minor,
		own, info->registered,
		(clock_ns(CLOCK_MONOTONIC) - begin) / 1000000);
	return 0;
}

/* At many moments between two samples. */
static void known_deaths(void)
{
	int good = 0;

	for (int i = 0; i < DEATHS; i++) {
		good += known_death();
		sleep_ms(i % 7);
	}
	check("faults of those that died", good == DEATHS,
	      "%d of %d times right", good, DEATHS);
}

/*
 * What the kernel has counted of a task is as old as its last tick, or its last
 * rest: it rests before it is registered, and before it ends to be. On a busy
 * host what it uses around these may be much, so there are two sums of its own.
 */
static void known_cpu(void)
{
	const long hz = (long)info->hz_ticks;
	struct sums then, got;
	uint64_t begin, inner, outer, told;

	then = now();
	outer = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	sleep_ms(1);
	tell('R', getpid());
	begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	do
		inner = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
	while (inner < 1500000000u);
	sleep_ms(1);
	tell('U', getpid());
	outer = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - outer;
	got = since(&then);
	told = got.cpu_jiffies * 1000000000u / (uint64_t)hz;
	/* What it runs for is charged by clock ticks: one may be missing. */
	check("CPU use", told + 3 * 1000000000u / (uint64_t)hz > inner &&
	      told < outer + 1000000000u / (uint64_t)hz * 2,
	      "%lu ms told, %lu to %lu ms used", told / 1000000,
	      inner / 1000000, outer / 1000000);
	check("CPU use to the ns", got.cpu_ns + 1000000 > inner &&
	      got.cpu_ns < outer + 1000000, "%lu, not %lu to %lu", got.cpu_ns,
	      inner, outer);
}

/* Below a jiffy in each sample: it must not get lost. */
static void small_cpu(void)
{
	struct sums then, got;
	uint64_t begin, part, used = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	then = now();
	tell('R', getpid());
	used = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < 60; i++) {
		begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		do
			part = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
		while (part < 1000000);
		sleep_ms(25);
	}
	tell('U', getpid());
	used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
	got = since(&then);
	part = got.cpu_jiffies * 1000000000u / info->hz_ticks;
	check("CPU use below a jiffy", part + 16000000 > used &&
	      part < used + 16000000 && part > 40000000,
	      "%lu us told, %lu us used", part / 1000, used / 1000);
}

/* Two that are registered are summed. */
static void two(void)
{
	struct sums then = now(), got;
	pid_t pid[2];

	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			tell('R', getpid());
			touch(PAGES);
			sleep_ms(100);
			touch(PAGES);
			tell('U', getpid());
			_exit(0);
		}
	}
	waitpid(pid[0], NULL, 0);
	waitpid(pid[1], NULL, 0);
	got = since(&then);
	check("two at once", got.minor >= 4 * PAGES &&
	      got.minor < 4 * PAGES + 200, "%lu", got.minor);
}

int main(void)
{
	/*
	 * madvise would come too late: new memory next to a stack is one
	 * mapping with it, and a fault there gives a huge page to both.
	 */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	slots = map_slots();
	info = map_info();
	check("free slots are -1", slots[0].jiffies == -1ul &&
	      slots[11999].cpu == -1ul &&
	      ((unsigned long *)slots)[MOCA_RATE_PAGES * 512 - 1] == -1ul,
	      "%lx", slots[0].jiffies);
	check("notes", info->version == MOCA_RATE_VERSION &&
	      info->samples == 12000, "version %u, %u samples", info->version,
	      info->samples);
	known_faults();
	known_threads();
	known_deaths();
	two();
	known_cpu();
	small_cpu();
	return failures != 0;
}
