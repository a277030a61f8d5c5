// SPDX-License-Identifier: GPL-2.0-or-later
/* Data structures of all kinds, in C. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "expect.h"

#define ROWS 64
#define COLUMNS 512

struct particle {
	double position[3];
	int id;
};

double grid[ROWS][COLUMNS] __attribute__((aligned(4096)));
static struct particle particles[1024] __attribute__((aligned(4096)));
static int lookup[4096] __attribute__((aligned(4096))) = { 1, 2, 3 };
__thread int counters[4096] __attribute__((aligned(4096)));

struct mesh {
	double *values;
};

/* The wanted variable is on the line of the call. */
EXPECT_NOINLINE static double *fill_field(void)
{
	double *field = malloc(200 * EXPECT_PAGE);

	/* 201 pages; the first one was touched by the allocator before. */
	expect_touch(field, 200 * EXPECT_PAGE);
	return field;
}

EXPECT_NOINLINE static void fill_mesh(struct mesh *m)
{
	m->values = aligned_alloc(4096, 50 * EXPECT_PAGE);
	expect_touch(m->values, 50 * EXPECT_PAGE);
}

/* Made and freed again and again, at one address: one name, many objects. */
EXPECT_NOINLINE static void reuse(void)
{
	static struct expect_set one, two;

	for (int i = 0; i < 3; i++) {
		char *first = aligned_alloc(4096, 64 * EXPECT_PAGE);
		expect_touch(first, 64 * EXPECT_PAGE);
		expect_add(&one, first, 64 * EXPECT_PAGE);
		free(first);
		expect_settle();
		char *second = aligned_alloc(4096, 64 * EXPECT_PAGE);
		expect_touch(second, 32 * EXPECT_PAGE);
		expect_add(&two, second, 32 * EXPECT_PAGE);
		free(second);
		expect_settle();
	}
	expect("first", "heap", one.count, 1, "private");
	expect("second", "heap", two.count, 1, "private");
}

EXPECT_NOINLINE static void *grow(void)
{
	char *chain = NULL;
	size_t size = 1000;

	for (; size < 64 * EXPECT_PAGE; size *= 2) {
		chain = realloc(chain, size);
		expect_touch(chain, size);
	}
	return chain;
}

EXPECT_NOINLINE static void *map(void)
{
	char *mapped = mmap(NULL, 20 * EXPECT_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect_touch(mapped, 20 * EXPECT_PAGE);
	return mapped;
}

EXPECT_NOINLINE static void *make_buffer(size_t pages)
{
	return aligned_alloc(4096, pages * EXPECT_PAGE);
}

static pthread_barrier_t barrier;
static double *shared;

static void *work(void *arg)
{
	volatile char local[30 * EXPECT_PAGE];
	long n = (long)arg;
	char name[16];

	snprintf(name, sizeof(name), "worker%ld", n);
	prctl(PR_SET_NAME, name);
	expect_touch((void *)local, sizeof(local));
	/* Who makes a thread zeroes its TLS, so it touches it first. */
	expect_settle();
	expect_touch(counters, sizeof(counters));
	pthread_barrier_wait(&barrier);
	/* One after the other, so that each is seen. */
	for (long turn = 0; turn < 2; turn++) {
		if (turn == n)
			expect_touch(shared, 40 * EXPECT_PAGE);
		expect_settle();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	struct mesh mesh;
	pthread_t t[2];
	void *buffer;

	fill_field();
	expect("field", "heap", 200, 1, "private");
	fill_mesh(&mesh);
	expect("m->values", "heap", 50, 1, "private");
	reuse();
	grow();
	map();
	expect("mapped", "heap", 20, 1, "private");
	buffer = make_buffer(10);
	expect_touch(buffer, 10 * EXPECT_PAGE);
	expect("buffer", "heap", 10, 1, "private");

	expect_touch(grid, sizeof(grid));
	expect("grid", "static", sizeof(grid) / EXPECT_PAGE, 1, "private");
	expect_touch(particles, sizeof(particles));
	expect("particles", "static", sizeof(particles) / EXPECT_PAGE, 1,
	       "private");
	expect_touch(lookup, sizeof(lookup));
	expect("lookup", "static", sizeof(lookup) / EXPECT_PAGE, 1, "private");

	if (posix_memalign((void **)&shared, 4096, 40 * EXPECT_PAGE))
		return 1;
	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	expect("counters", "tls", 8, 3, "shared write");
	expect("shared", "heap", 40, 2, "shared write");
	return 0;
}
