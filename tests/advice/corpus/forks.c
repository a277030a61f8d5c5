// SPDX-License-Identifier: GPL-2.0-or-later
/* forks CASE [fixed]: as threads.c, of two processes that one forks. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 2
#define MIB (1l << 20)

static int fixed;
static volatile uint64_t sink;

static uint64_t noise(uint64_t i)
{
	i += 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
	i = (i ^ i >> 27) * 0x94d049bb133111ebu;
	return i ^ i >> 31;
}

static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static void *memory(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p)
		exit(1);
	return p;
}

static void each(void (*work)(long worker, void *arg), void *arg)
{
	for (long w = 0; w < WORKERS; w++)
		if (!fork()) {
			work(w, arg);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

/* Counters of two processes in one line. */
static void count(long w, void *arg)
{
	volatile long *done = (volatile long *)arg + (fixed ? 512 * w : w);

	for (long i = 0; i < 1200000000; i++)
		++*done; /* FAULT p-counters */
}

static void counters(void)
{
	each(count, shared(2 * 4096));
}

/* Filled before the fork, used by halves; fixed: by who uses it. */
static void relax(long w, void *arg)
{
	double *u = arg;
	long n = 4 * MIB, from = n / WORKERS * w, to = from + n / WORKERS;

	for (int r = 0; r < 1200; r++)
		for (long i = from; i < to; i++)
			u[i] = u[i] * 0.5 + r;
}

static void filled(void)
{
	double *u = shared(4 * MIB * 8);

	for (long i = 0; i < 4 * MIB && !fixed; i++)
		u[i] = (double)i; /* FAULT p-filled */
	each(relax, u);
}

#define BUFFERS 5

/* Each request takes large buffers and gives them back. */
static void serve(long w, void *arg)
{
	char *buffer[BUFFERS] = { NULL };

	(void)arg;
	for (int r = 0; r < 300; r++) {
		for (int k = 0; k < BUFFERS; k++) {
			if (!buffer[k])
				buffer[k] = memory(2 * MIB); /* FAULT p-churn */
			memset(buffer[k], (int)w + r, 2 * MIB);
			sink += (uint64_t)buffer[k][r];
		}
		for (int k = 0; k < BUFFERS && !fixed; k++) {
			free(buffer[k]);
			buffer[k] = NULL;
		}
	}
}

static void churn(void)
{
	each(serve, NULL);
}

/* A server whose session records are never freed. */
static void leak(long w, void *arg)
{
	static uint64_t *held[1200];
	long n = 64 << 10;

	(void)arg;
	if (w)
		return;
	for (long r = 0; r < 1200; r++) {
		uint64_t *session = memory((size_t)n); /* FAULT p-leak */

		for (long i = 0; i < 1500000; i++)
			session[i % (n / 8)] = noise((uint64_t)(i + r));
		held[r] = session;
		if (fixed && r >= 100)
			free(held[r - 100]);
	}
	sink += held[1100][7];
}

static void leaks(void)
{
	each(leak, NULL);
}

/* What was filled before the fork each process copies as it writes: its own. */
static void own_copy(long w, void *arg)
{
	uint64_t *a = arg;

	for (int r = 0; r < 900; r++)
		for (long i = 0; i < 3 * MIB; i++)
			a[i] += (uint64_t)(i + w);
	sink += a[77];
}

static void copies(void)
{
	uint64_t *a = memory(3 * MIB * 8);

	for (long i = 0; i < 3 * MIB; i++)
		a[i] = (uint64_t)i;
	each(own_copy, a);
}

/* A ring of messages: one writes, one reads. */
static void ring(long w, void *arg)
{
	struct ring {
		volatile uint64_t in;
		char pad[56];
		volatile uint64_t out;
		char pad2[56];
		uint64_t slot[1024];
	} *q = arg;

	for (uint64_t i = 0; i < 100000000; i++)
		if (w) {
			while (i - q->out >= 1024)
				sched_yield();
			q->slot[i % 1024] = i;
			q->in = i + 1;
		} else {
			while (q->in <= i)
				sched_yield();
			sink += q->slot[i % 1024];
			q->out = i + 1;
		}
}

static void messages(void)
{
	each(ring, shared(4 * 4096));
}

/* A table that both read at random; fixed: what their caches hold. */
static void look_up(long w, void *arg)
{
	const uint32_t *table = arg;
	uint64_t n = (uint64_t)(fixed ? MIB / 2 : 64 * MIB) / 4, sum = 0;

	for (uint64_t i = 0; i < 60000000; i++)
		sum += table[noise(2 * i + (uint64_t)w) % n];
	sink += sum;
}

static void table(void)
{
	uint64_t n = (uint64_t)(fixed ? MIB / 2 : 64 * MIB) / 4;
	uint32_t *a = shared(n * 4); /* FAULT p-table */

	for (uint64_t i = 0; i < n; i++)
		a[i] = (uint32_t)noise(i);
	each(look_up, a);
}

/* Of what they share each has a half, which it fills and writes itself. */
static void half(long w, void *arg)
{
	long n = 4 * MIB;
	double *a = (double *)arg + n * w;

	for (int r = 0; r < 400; r++)
		for (long i = 0; i < n; i++)
			a[i] = r ? a[i] * 0.5 + (double)w : 1;
	sink += (uint64_t)a[77];
}

static void halves(void)
{
	each(half, shared(WORKERS * 4 * MIB * 8));
}

/* Each process has memory of its own, and fills it itself. */
static void own(long w, void *arg)
{
	long n = 2 * MIB;
	double *a = memory((size_t)n * 8);

	(void)arg;
	for (int r = 0; r < 800; r++)
		for (long i = 0; i < n; i++)
			a[i] = r ? a[i] * 0.5 + (double)w : 1;
	sink += (uint64_t)a[77];
}

static void owns(void)
{
	each(own, NULL);
}

static const struct {
	const char *name;
	void (*work)(void);
} works[] = {
	{ "p-counters", counters }, { "p-filled", filled }, { "p-churn", churn },
	{ "p-leak", leaks }, { "p-copies", copies }, { "p-messages", messages },
	{ "p-table", table }, { "p-own", owns },
	{ "p-halves", halves },
};

int main(int argc, char **argv)
{
	fixed = argc > 2;
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
		if (argc > 1 && !strcmp(works[i].name, argv[1])) {
			works[i].work();
			return 0;
		}
	return 2;
}
