// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * quiet WHAT: programs that use memory as they should, for tests/advice/run:
 * nothing is to be found about them.
 *
 *	stencil	 two grids, filled by the threads that work on them
 *	private	 each thread with memory of its own, all over which it goes
 *	table	 a table of 2 MiB that is made once and read by all
 *	single	 one thread, a large array
 *	queue	 buffers handed from one thread to another, and back
 *	in-turn	 threads that map, use and unmap memory at one address in turn
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 2
#define ROWS 512l
#define COLUMNS 1024l
#define OWN (8l << 20)
#define TABLE (2l << 20)
#define SLOTS 64
#define SLOT (128l << 10)
#define TURNS 4u		/* few: else it is churn, which is found */
#define PLACE ((void *)0x100000000000)

static pthread_barrier_t barrier;
static double *grid[2];
static unsigned char *table;
static uint64_t sum[THREADS][64];
static void (*work)(long thread);

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

static void stencil(long thread)
{
	long first = ROWS * thread / THREADS;
	long end = ROWS * (thread + 1) / THREADS;

	for (long i = first; i < end; i++)
		for (long j = 0; j < COLUMNS; j++)
			grid[0][i * COLUMNS + j] = grid[1][i * COLUMNS + j] =
				(double)(i * j % 10);
	for (int s = 0; s < 1500; s++) {
		double *to = grid[s & 1], *from = grid[!(s & 1)];

		pthread_barrier_wait(&barrier);
		for (long i = first ? first : 1;
		     i < (end < ROWS ? end : ROWS - 1); i++)
			for (long j = 0; j < COLUMNS; j++) {
				double *at = from + i * COLUMNS + j;

				to[i * COLUMNS + j] =
					(at[0] + at[-COLUMNS] + at[COLUMNS]) /
					3;
			}
	}
	sum[thread][0] = (uint64_t)grid[0][first * COLUMNS];
}

static void private_memory(long thread)
{
	unsigned char *own = memory(OWN);

	memset(own, (int)thread, OWN);
	for (uint64_t i = 0; i < 75000000; i++)
		sum[thread][0] += own[noise(i) % OWN]++;
	free(own);
}

static void read_table(long thread)
{
	for (uint64_t i = 0; i < 300000000; i++)
		sum[thread][0] += table[noise(i * THREADS + thread) % TABLE];
}

static void single(long thread)
{
	uint32_t *own;

	if (thread)
		return;
	own = memory(OWN);
	for (int s = 0; s < 600; s++)
		for (size_t i = 0; i < OWN / sizeof(*own); i++)
			own[i] = s ? own[i] * 3 + 1 : (uint32_t)i;
	sum[0][0] = own[77];
	free(own);
}

static unsigned char *slots[SLOTS];
static unsigned filled, emptied;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void queue(long thread)
{
	unsigned *mine = thread ? &emptied : &filled;

	for (unsigned n = 0; n < 120000; n++) {
		unsigned char *s = slots[n % SLOTS];

		pthread_mutex_lock(&lock);
		while (thread ? filled == n : n - emptied == SLOTS)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		for (long i = 0; i < SLOT; i += 8)
			if (thread)
				sum[1][0] += s[i];
			else
				s[i] = (unsigned char)(n + i);
		pthread_mutex_lock(&lock);
		++*mine;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
}

/* The turns are of threads 0, 1, 1, 0: equal parts, or that is found. */
static void in_turn(long thread)
{
	unsigned char *area;

	for (unsigned n = 0; n < TURNS; n++) {
		pthread_barrier_wait(&barrier);
		if ((n % 4 == 1 || n % 4 == 2) != thread)
			continue;
		area = mmap(PLACE, OWN, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area != PLACE)
			exit(1);
		for (int pass = 0; pass < 2000; pass++)
			for (long i = 0; i < OWN; i += 64)
				sum[thread][0] += ++area[i];
		munmap(area, OWN);
	}
}

static void *run(void *arg)
{
	work((long)arg);
	return NULL;
}

static void prepare(void)
{
	grid[0] = memory(ROWS * COLUMNS * sizeof(double));
	grid[1] = memory(ROWS * COLUMNS * sizeof(double));
	table = memory(TABLE);
	slots[0] = memory(SLOTS * SLOT);
	for (int i = 1; i < SLOTS; i++)
		slots[i] = slots[0] + i * SLOT;
	if (work == read_table)
		for (long i = 0; i < TABLE; i++)
			table[i] = (unsigned char)noise(i);
	pthread_barrier_init(&barrier, NULL, THREADS);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*work)(long thread);
	} works[] = {
		{ "stencil", stencil }, { "private", private_memory },
		{ "table", read_table }, { "single", single },
		{ "queue", queue }, { "in-turn", in_turn },
	};
	pthread_t threads[THREADS];
	size_t i;

	for (i = 0; i < sizeof(works) / sizeof(*works); i++)
		if (argc > 1 && !strcmp(argv[1], works[i].name))
			work = works[i].work;
	if (!work)
		return 2;
	prepare();
	for (long t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], NULL, run, (void *)t))
			return 1;
	for (long t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	printf("%s %lu\n", argv[1], (unsigned long)(sum[0][0] + sum[1][0]));
	return 0;
}
