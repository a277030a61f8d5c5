// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an event costs: usage: emit one|four|string|empty THREADS COUNT [hold]
 *
 * THREADS threads, each on a CPU of its own, emit COUNT events each, through
 * the tracer that this was compiled for. Prints ns per event of the slowest
 * thread, and events/s of all together: from the first thread's begin to the
 * last one's end. "empty" is the loop alone.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef USE_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/trace/lttng-events.h"
#define ONE(a) lttng_ust_tracepoint(bench, one, a)
#define FOUR(a, b, c, d) lttng_ust_tracepoint(bench, four, a, b, c, d)
#define STRING(s) lttng_ust_tracepoint(bench, string, s)
#else
#include <moca/trace.h>
MOCA_EVENT(bench, one, (u64, a));
MOCA_EVENT(bench, four, (u64, a), (u64, b), (u64, c), (u64, d));
MOCA_EVENT(bench, string, (string, s));
#define ONE(a) moca_trace_bench_one(a)
#define FOUR(a, b, c, d) moca_trace_bench_four(a, b, c, d)
#define STRING(s) moca_trace_bench_string(s)
#endif

#define THREADS_MAX 64

static char kind;
static int hold;
static uint64_t count;
static pthread_barrier_t ready, held;
static const char text[] = "thirty-one characters of string";

struct worker {
	pthread_t thread;
	int cpu;
	uint64_t begin, end;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void emit(uint64_t n)
{
	uint64_t i;

	switch (kind) {
	case 'o':
		for (i = 0; i < n; i++)
			ONE(i);
		break;
	case 'f':
		for (i = 0; i < n; i++)
			FOUR(i, i + 1, i + 2, i + 3);
		break;
	case 's':
		for (i = 0; i < n; i++)
			STRING(text);
		break;
	case 'e':
		for (i = 0; i < n; i++)
			__asm__ volatile("" ::"r"(i));
		break;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	emit(10);		/* what the first event costs is not asked */
	pthread_barrier_wait(&ready);
	w->begin = now();
	emit(count);
	w->end = now();
	if (hold) {
		pthread_barrier_wait(&held);
		pthread_barrier_wait(&held);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker w[THREADS_MAX] = { 0 };
	uint64_t begin = UINT64_MAX, end = 0, slowest = 0;
	int i, threads;

	threads = argc == 4 || argc == 5 ? atoi(argv[2]) : 0;
	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: emit one|four|string|empty THREADS COUNT [hold]\n");
		return 2;
	}
	kind = argv[1][0];
	count = strtoull(argv[3], NULL, 0);
	hold = argc == 5;
	pthread_barrier_init(&ready, NULL, threads);
	pthread_barrier_init(&held, NULL, threads + 1);
	for (i = 0; i < threads; i++) {
		w[i].cpu = i;
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			return 1;
	}
	if (hold) {
		pthread_barrier_wait(&held);
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
		pthread_barrier_wait(&held);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(w[i].thread, NULL);
		if (w[i].begin < begin)
			begin = w[i].begin;
		if (w[i].end > end)
			end = w[i].end;
		if (w[i].end - w[i].begin > slowest)
			slowest = w[i].end - w[i].begin;
	}
	printf("%.3f %.0f\n", (double)slowest / count,
	       threads * count * 1e9 / (double)(end - begin));
	return 0;
}
