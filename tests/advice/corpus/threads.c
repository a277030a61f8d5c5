// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads CASE [fixed]: programs of two threads, each with one known fault, and
 * the same without it. What moca should find stands in `truth`, by the marks
 * FAULT in this file.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 2
#define MIB (1l << 20)

static int fixed;
static pthread_barrier_t barrier;
static uint64_t result[THREADS][64];

static uint64_t noise(uint64_t i)
{
	i += 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
	i = (i ^ i >> 27) * 0x94d049bb133111ebu;
	return i ^ i >> 31;
}

static void *memory(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p)
		exit(1);
	return p;
}

static void wait_all(void)
{
	pthread_barrier_wait(&barrier);
}

/* --- false sharing -------------------------------------------------------- */

#define TURNS 300000000l

struct arg {
	long id, n;
	volatile double sum;
};
struct padded {
	struct arg a;
	char pad[64];
} __attribute__((aligned(64)));

static struct arg args[THREADS] __attribute__((aligned(64)));
static struct padded padded[THREADS];

static void false_args(long t)
{
	struct arg *a = fixed ? &padded[t].a : &args[t];

	a->n = TURNS;
	for (long i = 0; i < a->n; i++)
		a->sum += 0.5; /* FAULT false-args */
}

static struct {
	volatile long hits, misses;
	char pad[64];
	volatile long apart;
} stats __attribute__((aligned(64)));

static void false_members(long t)
{
	volatile long *mine = !t ? &stats.hits :
			      fixed ? &stats.apart : &stats.misses;

	for (long i = 0; i < 6 * TURNS; i++)
		++*mine; /* FAULT false-members */
}

static volatile long *counters;

static void false_heap(long t)
{
	if (!t)
		counters = aligned_alloc(64, 4096);
	wait_all();
	for (long i = 0; i < 6 * TURNS; i++)
		counters[fixed ? 16 * t : t]++; /* FAULT false-heap */
}

static atomic_long events[THREADS * 8] __attribute__((aligned(64)));

static void false_atomics(long t)
{
	atomic_long *mine = &events[fixed ? 8 * t : t];

	for (long i = 0; i < TURNS / 4; i++)
		atomic_fetch_add_explicit(mine, 1, memory_order_relaxed); /* FAULT false-atomics */
}

/* True sharing: the counter is one; fixed: added up once. */
static atomic_long total;

static void true_counter(long t)
{
	long own = 0;

	for (long i = 0; i < TURNS / 8; i++)
		if (fixed)
			own += (long)(noise((uint64_t)(i + t)) & 1);
		else
			atomic_fetch_add(&total, 1);
	atomic_fetch_add(&total, own);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { long from, to; } range __attribute__((aligned(64)));

static void locked(long t)
{
	for (long i = 0; i < 20000000; i++) {
		pthread_mutex_lock(&lock);
		range.from += t;
		range.to += 1;
		pthread_mutex_unlock(&lock);
	}
}

/* --- where pages are ------------------------------------------------------ */

#define CELLS (4 * MIB)		/* doubles: 32 MiB */

static double field[CELLS];
static double *heap_field;

static void relax(double *u, long t, int rounds)
{
	long from = CELLS / THREADS * t, to = from + CELLS / THREADS;

	for (int r = 0; r < rounds; r++) {
		for (long i = from + 1; i < to - 1; i++)
			u[i] = (u[i - 1] + u[i + 1]) * 0.5;
		wait_all();
	}
}

static void fill(double *u, long t)
{
	long from = fixed ? CELLS / THREADS * t : 0;
	long to = fixed ? from + CELLS / THREADS : t ? 0 : CELLS;

	for (long i = from; i < to; i++)
		u[i] = (double)(i % 7); /* FAULT serial-static serial-heap */
	wait_all();
}

static void serial_static(long t)
{
	fill(field, t);
	relax(field, t, 120);
}

static void serial_heap(long t)
{
	if (!t)
		heap_field = memory(CELLS * sizeof(double));
	wait_all();
	fill(heap_field, t);
	relax(heap_field, t, 120);
}

/* Pages are dealt out to be filled, 64 at a time; fixed: as they are used. */
static double dealt[CELLS];

static void dealt_out(long t)
{
	long block = 64 * 4096 / 8, from = CELLS / THREADS * t;

	for (long b = fixed ? from : block * t;
	     b < (fixed ? from + CELLS / THREADS : CELLS);
	     b += fixed ? block : block * THREADS)
		for (long i = b; i < b + block; i++)
			dealt[i] = (double)(i % 7); /* FAULT dealt-out */
	wait_all();
	relax(dealt, t, 120);
}

static uint32_t *shared_table;

/* All read at random; fixed: what each node's caches hold. */
static void read_table(long t, long bytes)
{
	uint64_t n = (uint64_t)(fixed ? MIB / 2 : bytes) / 4;

	if (!t) {
		shared_table = memory(n * 4); /* FAULT table table-20 */
		for (uint64_t i = 0; i < n; i++)
			shared_table[i] = (uint32_t)noise(i);
	}
	wait_all();
	for (uint64_t i = 0; i < 160000000; i++)
		result[t][0] += shared_table[noise(i * THREADS +
						   (uint64_t)t) % n];
}

static void table(long t)
{
	read_table(t, 64 * MIB);
}

/* More than half of the last-level cache, which each node has: 20 MiB of 32. */
static void table_20(long t)
{
	long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);

	read_table(t, cache > 0 ? cache / 8 * 5 : 20 * MIB);
}

/* All count all over one; fixed: each in its own. */
static uint32_t *histogram[THREADS];

static void scatter(long t)
{
	uint64_t n = 24 * MIB / 4;

	if (!t || fixed) {
		histogram[t] = memory(n * 4); /* FAULT scatter */
		memset(histogram[t], 0, n * 4);
	}
	wait_all();
	for (uint64_t i = 0; i < 60000000; i++)
		histogram[fixed ? t : 0][noise(i * THREADS + (uint64_t)t) %
					 n]++;
}

#define SLOTS (4 * MIB)		/* of 8 bytes: 32 MiB, an eighth of it used */

/* Keys of all threads go to one table; fixed: each has the half of its keys. */
static _Atomic uint64_t *slots;

static void hash(long t)
{
	uint64_t half = SLOTS / THREADS;

	if (!t)
		slots = memory(SLOTS * 8); /* FAULT hash */
	wait_all();
	memset((void *)(slots + half * (uint64_t)t), 0, half * 8);
	wait_all();
	for (uint64_t i = 0; i < 40000000; i++) {
		uint64_t key = noise(i % (SLOTS / 8) * THREADS + (uint64_t)t) | 1;
		uint64_t at = key % (fixed ? half : SLOTS), free_ = 0;

		if (fixed)
			at += half * (uint64_t)t;
		if (!atomic_compare_exchange_strong(&slots[at], &free_, key))
			atomic_fetch_add(&slots[at], 2);
	}
	result[t][0] += slots[77];
}

/* --- how much memory ------------------------------------------------------ */

/* Used to fill the other, then kept; fixed: freed. */
static void abandon(long t)
{
	long n = 48 * MIB / 8;
	double *input, *work;

	if (t)
		return;
	input = memory((size_t)n * 8); /* FAULT abandon */
	work = memory((size_t)n / 4 * 8);
	for (long i = 0; i < n; i++)
		input[i] = (double)(i % 5);
	for (long i = 0; i < n; i++)
		work[i / 4] = input[i];
	result[0][0] = (uint64_t)input[5];
	if (fixed)
		free(input);
	for (int r = 0; r < 500; r++)
		for (long i = 1; i < n / 4; i++)
			work[i] += work[i - 1] * 0.25;
	result[0][1] = (uint64_t)work[7];
	if (!fixed)
		free(input);
}

#define ENTRIES 1600

/* What each request leaves behind; fixed: the last 100 of them. */
static void grows(long t)
{
	static uint64_t *entries[ENTRIES];
	long n = 64 << 10;

	if (t)
		return;
	for (long r = 0; r < ENTRIES; r++) {
		uint64_t *e = memory((size_t)n); /* FAULT grows */

		for (long i = 0; i < 1500000; i++)
			e[i % (n / 8)] = noise((uint64_t)(i + r));
		result[0][0] += e[r];
		entries[r] = e;
		if (fixed && r >= 100)
			free(entries[r - 100]);
	}
}

/*
 * A table that grows as well. It is looked up all the time, so that it is no leak.
 * Its 25 MiB are too small for the finding huge-pages.
 */
static void index_grows(long t)
{
	static uint64_t *entries[ENTRIES];
	long n = 16 << 10;

	if (t)
		return;
	for (long r = 0; r < ENTRIES; r++) {
		entries[r] = memory((size_t)n);
		for (long i = 0; i < n / 8; i++)
			entries[r][i] = noise((uint64_t)(i + r));
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t x = noise(i * (uint64_t)r);

			result[0][0] += entries[x % (uint64_t)(r + 1)]
					       [x / ENTRIES % (uint64_t)(n / 8)];
		}
	}
}

#define ARRAYS 4

/* In the first thread: others' heaps keep what is freed. */
static void churn(long t)
{
	double *work[ARRAYS] = { NULL };
	long n = 3 * MIB / 8;

	(void)t;
	for (int r = 0; r < 300; r++) {
		for (int k = 0; k < ARRAYS; k++) {
			if (!work[k])
				work[k] = memory((size_t)n * 8); /* FAULT churn */
			for (long i = 0; i < n; i++)
				work[k][i] = (double)(i + r);
			result[0][0] += (uint64_t)work[k][r];
		}
		for (int k = 0; k < ARRAYS && !fixed; k++) {
			free(work[k]);
			work[k] = NULL;
		}
	}
}

#define HOT (4 * MIB / 8)
#define COLD (128 * MIB / 8)

/*
 * Of 2,000 steps one goes to the cold part; fixed: all go anywhere in what is
 * small.
 */
static void rings(long t)
{
	uint64_t n = HOT + (fixed ? 0 : COLD), *a;

	if (t)
		return;
	a = memory(n * 8); /* FAULT rings */
	for (uint64_t i = 0; i < n; i++)
		a[i] = noise(i);
	for (uint64_t i = 0; i < 500000000; i++)
		result[0][0] += a[i % 2000 || fixed ? noise(i) % HOT :
				  HOT + noise(i) % (uint64_t)COLD];
}

/* A random walk; fixed: page after page. */
static void jumps(long t)
{
	uint64_t n = 160 * MIB / 8;
	uint64_t *nodes;

	if (t)
		return;
	nodes = memory(n * 8); /* FAULT jumps */
	for (uint64_t i = 0; i < n; i++)
		nodes[i] = i;
	for (uint64_t i = 0; i < 160000000; i++)
		nodes[fixed ? i % n : noise(i) % n]++;
	result[0][0] = nodes[99];
}

/* --- who works ------------------------------------------------------------ */

static double *parts;

/* Seven eighths of it are one thread's; fixed: half. */
static void unequal(long t)
{
	long n = 16 * MIB / 8, cut = fixed ? n / 2 : n / 8 * 7;
	long from = t ? cut : 0, to = t ? n : cut;

	if (!t)
		parts = memory((size_t)n * 8); /* FAULT unequal */
	wait_all();
	for (int r = 0; r < 800; r++) {
		for (long i = from; i < to; i++)
			parts[i] = parts[i] * 0.5 + (double)r;
		wait_all();
	}
}

/* --- what only looks like it ----------------------------------------------- */

/* Blocks that malloc keeps. */
static void small_blocks(long t)
{
	for (long r = 0; r < 6000000; r++) {
		uint64_t *b = memory(32 << 10);

		for (long i = 0; i < 4096; i += 8)
			b[i] = (uint64_t)(r + t);
		result[t][0] += b[8];
		free(b);
	}
}

/* A log that begins anew at its end. */
static void log_ring(long t)
{
	static uint64_t *log[512];

	if (t)
		return;
	for (long r = 0; r < 3000; r++) {
		uint64_t **e = &log[r % 512];

		if (!*e)
			*e = memory(64 << 10);
		for (long i = 0; i < 1000000; i++)
			(*e)[i % 8192] = noise((uint64_t)(i + r));
		result[0][0] += (*e)[7];
	}
}

/* Each page comes again, all the time: all of it is warm. */
static void stream(long t)
{
	long n = 128 * MIB / 8;
	uint64_t *a;

	if (t)
		return;
	a = memory((size_t)n * 8);
	for (int r = 0; r < 200; r++)
		for (long i = 0; i < n; i++)
			a[i] = (uint64_t)(i + r);
	result[0][0] = a[99];
}

/* One tells the others, who look at it all the time: there is but one value. */
static struct { volatile long now; } state __attribute__((aligned(64)));

static void readers(long t)
{
	for (long i = 0; i < 1600000000; i++)
		if (!t && !(i % 64))
			state.now = i;
		else if (t)
			result[1][0] += (uint64_t)state.now;
}

/* Blocks go from who fills them to who reads them. */
static void handed(long t)
{
	static uint64_t *block[2];
	long n = 8 * MIB / 8;

	if (!t)
		block[0] = memory((size_t)n * 8);
	else
		block[1] = memory((size_t)n * 8);
	wait_all();
	for (int r = 0; r < 2000; r++) {
		uint64_t *b = block[(r + t) % 2];

		for (long i = 0; i < n; i++)
			if (t)
				result[1][0] += b[i];
			else
				b[i] = (uint64_t)(i + r);
		wait_all();
	}
}

/* Each has memory of its own, but one of them has little to do. */
static void helper(long t)
{
	long n = 3 * MIB / 2, rounds = t && !fixed ? 60 : 1200;
	double *own = memory((size_t)n * 8); /* FAULT helper */

	for (int r = 0; r < rounds; r++)
		for (long i = 0; i < n; i++)
			own[i] = r ? own[i] * 0.5 + 1 : 0;
	result[t][0] = (uint64_t)own[7];
}

/* As helper, but the other one goes on without memory: neither rests. */
static void computes(long t)
{
	static atomic_int done;
	long n = 3 * MIB / 2;
	double *own = memory((size_t)n * 8);

	for (int r = 0; r < (t ? 2 : 1200); r++)
		for (long i = 0; i < n; i++)
			own[i] = r ? own[i] * 0.5 + 1 : 0;
	result[t][0] = (uint64_t)own[7];
	if (!t)
		done = 1;
	for (uint64_t i = 1, x = 0; t && (i % (1 << 22) || !done); i++)
		result[1][1] = x = noise(x + i);
}

/* One part is seven times as large, and gone over once where the other is seven times. */
static void even_work(long t)
{
	long n = 16 * MIB / 8, cut = n / 8 * 7;
	long from = t ? cut : 0, to = t ? n : cut;

	if (!t)
		parts = memory((size_t)n * 8);
	wait_all();
	for (int r = 0; r < 700; r++) {
		for (int k = 0; k < (t ? 7 : 1); k++)
			for (long i = from; i < to; i++)
				parts[i] = parts[i] * 0.5 + (double)r;
		wait_all();
	}
}

/* Each thread counts in a table of its own; they are added up at the end. */
static void own_tables(long t)
{
	static uint32_t *own[THREADS];
	uint64_t n = 6 * MIB / 4;

	own[t] = memory(n * 4);
	memset(own[t], 0, n * 4);
	for (uint64_t i = 0; i < 100000000; i++)
		own[t][noise(i * THREADS + (uint64_t)t) % n]++;
	wait_all();
	for (uint64_t i = n / THREADS * (uint64_t)t;
	     i < n / THREADS * (uint64_t)(t + 1); i++)
		result[t][0] += own[0][i] + own[1][i];
}

/* Two arrays change places in each step; each thread has its half of both. */
static void two_arrays(long t)
{
	static double *u[2];
	long n = 2 * MIB, from = n / THREADS * t, to = from + n / THREADS;

	if (!t) {
		u[0] = memory((size_t)n * 8);
		u[1] = memory((size_t)n * 8);
	}
	wait_all();
	memset(u[0] + from, 0, (size_t)(to - from) * 8);
	memset(u[1] + from, 0, (size_t)(to - from) * 8);
	wait_all();
	for (int r = 0; r < 800; r++) {
		double *in = u[r % 2], *out = u[1 - r % 2];

		for (long i = from + 1; i < to - 1; i++)
			out[i] = (in[i - 1] + in[i + 1]) * 0.5 + 1;
		wait_all();
	}
	result[t][0] = (uint64_t)u[0][from + 1];
}

/* Blocks of one large array, which is begun anew in each round. */
static void arena(long t)
{
	size_t n = 24 * MIB, used;
	char *base;

	if (t)
		return;
	base = memory(n);
	for (int r = 0; r < 1200; r++)
		for (used = 0; used + MIB <= n; used += MIB) {
			double *block = (double *)(base + used);

			for (long i = 0; i < MIB / 8; i++)
				block[i] = (double)(i + r);
			result[0][0] += (uint64_t)block[r];
		}
}

/* What was read at the begin is needed again at the end. */
static void comes_back(long t)
{
	long n = 48 * MIB / 8, rounds = 500;
	double *input, *work;

	if (t)
		return;
	input = memory((size_t)n * 8);
	work = memory((size_t)n / 4 * 8);
	for (long i = 0; i < n; i++)
		input[i] = (double)(i % 5);
	for (long i = 0; i < n; i++)
		work[i / 4] = input[i];
	for (int r = 0; r < rounds; r++) {
		for (long i = 1; i < n / 4; i++)
			work[i] += work[i - 1] * 0.25;
		if (r % (rounds / 4) == rounds / 4 - 1)
			for (long i = 0; i < n; i++)
				work[i / 4] -= input[i];
	}
	result[0][0] = (uint64_t)work[7];
}

static void *run(void *arg);

static const struct {
	const char *name;
	void (*work)(long thread);
} works[] = {
	{ "false-args", false_args }, { "false-members", false_members },
	{ "false-heap", false_heap }, { "false-atomics", false_atomics },
	{ "true-counter", true_counter }, { "locked", locked },
	{ "serial-static", serial_static }, { "serial-heap", serial_heap },
	{ "table", table }, { "scatter", scatter }, { "abandon", abandon },
	{ "grows", grows }, { "index-grows", index_grows }, { "churn", churn }, { "rings", rings },
	{ "jumps", jumps }, { "unequal", unequal }, { "table-20", table_20 },
	{ "small-blocks", small_blocks }, { "log-ring", log_ring },
	{ "stream", stream }, { "readers", readers }, { "handed", handed },
	{ "helper", helper }, { "dealt-out", dealt_out }, { "hash", hash },
	{ "own-tables", own_tables }, { "two-arrays", two_arrays },
	{ "arena", arena }, { "comes-back", comes_back },
	{ "computes", computes }, { "even-work", even_work },
};
static size_t chosen;

static void *run(void *arg)
{
	works[chosen].work((long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	fixed = argc > 2;
	while (chosen < sizeof(works) / sizeof(*works) &&
	       (argc < 2 || strcmp(works[chosen].name, argv[1])))
		chosen++;
	if (chosen == sizeof(works) / sizeof(*works))
		return 2;
	if (works[chosen].work == churn) {
		churn(0);
		printf("%lu\n", (unsigned long)result[0][0]);
		return 0;
	}
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (long t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], NULL, run, (void *)t))
			return 1;
	for (long t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	printf("%lu\n", (unsigned long)(result[0][0] + result[1][0]));
	return 0;
}
