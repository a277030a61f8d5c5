// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads that take turns on the same pages: thread A is the first to come to each
 * of them behind a sweep, in each of its rounds, and B comes to all once A has been
 * there. So B never has a fault that a sweep has caused. As many pages of A's own lie
 * beside. It is told by the page tables when pages were let go.
 *
 * turns ROUNDS: prints "shared ADDRESS PAGES", "own ADDRESS PAGES", the number of rounds in
 * which B came to pages that were let go behind A, and a sum.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGES 2048u
#define WORDS (4096 / sizeof(uint64_t))
/* Nothing is waited for longer, ms. */
#define SWEEP_MS 3000
#define AGAIN_MS 200

static uint64_t *shared, *own;
static unsigned long rounds, again;
static pthread_barrier_t barrier;
static int pagemap;

static int is_there(const uint64_t entry)
{
	return (int)(entry >> 63);
}

/* Pages of p that have an entry. */
static unsigned int there(const uint64_t *p)
{
	static uint64_t entries[PAGES];
	unsigned int n = 0;

	if (pread(pagemap, entries, sizeof(entries),
		  (off_t)((uintptr_t)p / 4096 * 8)) != sizeof(entries))
		exit(3);
	for (unsigned int i = 0; i < PAGES; i++)
		n += (unsigned int)is_there(entries[i]);
	return n;
}

/* Until no more than `most` pages of p have one, or ms have passed. */
static int wait_for(const uint64_t *p, unsigned int most, unsigned int ms)
{
	const struct timespec one = { 0, 1000000 };

	while (there(p) > most && ms--)
		nanosleep(&one, NULL);
	return there(p) <= most;
}

static void add(uint64_t *p)
{
	for (unsigned int i = 0; i < PAGES; i++)
		p[i * WORDS]++;
}

/* First those that were let go, then, when all are or some time has passed, the rest. */
static void follow(void)
{
	static uint64_t entries[PAGES];

	if (wait_for(shared, PAGES - 1, AGAIN_MS))
		again++;
	if (pread(pagemap, entries, sizeof(entries),
		  (off_t)((uintptr_t)shared / 4096 * 8)) != sizeof(entries))
		exit(3);
	for (unsigned int i = 0; i < PAGES; i++)
		if (!is_there(entries[i]))
			shared[i * WORDS]++;
	wait_for(shared, PAGES / 2, AGAIN_MS / 4);
	for (unsigned int i = 0; i < PAGES; i++)
		if (is_there(entries[i]))
			shared[i * WORDS]++;
}

static void *run_b(void *arg)
{
	for (unsigned long r = 0; r < rounds; r++) {
		pthread_barrier_wait(&barrier);
		follow();
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

int main(int argc, char **argv)
{
	const size_t bytes = (size_t)PAGES * 4096;
	uint64_t sum = 0;
	pthread_t b;
	char *p;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	p = mmap(NULL, 3 * bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pagemap < 0 || p == MAP_FAILED)
		return 3;
	shared = (uint64_t *)p;
	own = (uint64_t *)(p + 2 * bytes);
	pthread_barrier_init(&barrier, NULL, 2);
	add(shared);
	add(own);
	if (pthread_create(&b, NULL, run_b, NULL))
		return 3;
	for (unsigned long r = 0; r < rounds; r++) {
		wait_for(shared, 0, SWEEP_MS);
		add(shared);
		add(own);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	pthread_join(b, NULL);
	for (unsigned int i = 0; i < PAGES; i++)
		sum += shared[i * WORDS] + own[i * WORDS];
	printf("shared %lx %u\nown %lx %u\nagain %lu\nsum %lu\n",
	       (unsigned long)shared, PAGES, (unsigned long)own, PAGES, again,
	       sum);
	return 0;
}
