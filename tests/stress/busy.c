/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program to be disturbed: two threads, mappings that come and go, forks
 * without exec. It always computes the same and says so at the end; what goes
 * wrong on the way ends it with exit code 1.
 *
 * usage: busy ROUNDS		(about 50 ms each)
 *        busy ROUNDS FILE	so many, and on until there is FILE: says when it
 *				has begun, and how many rounds they were
 *        busy ROUNDS -		so many without a rest: the same result
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define WORDS (PAGE / 8)
#define PAGES 1024		/* of each thread */

static uint64_t bss[PAGES * WORDS];
static uint64_t *area[2];
static pthread_barrier_t barrier;
static volatile int done;	/* written between the barriers of a round */

static void die(const char *what)
{
	fprintf(stderr, "busy: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void rest(void)
{
	struct timespec ts = { 0, 15000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void work(uint64_t *p, uint64_t seed)
{
	for (int sweep = 0; sweep < 8; sweep++)
		for (size_t i = 0; i < PAGES * WORDS; i += 64)
			p[i] = p[i] * 6364136223846793005u + seed + i;
}

static uint64_t sum(const uint64_t *p, size_t pages)
{
	uint64_t h = 0;

	for (size_t i = 0; i < pages * WORDS; i += 64)
		h = h * 31 + p[i];
	return h;
}

static void *thread(void *arg)
{
	for (int r = 0; !done; r++) {
		pthread_barrier_wait(&barrier);
		work(area[1], r);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static uint64_t map_some(int r)
{
	size_t pages = 16 + r % 7;
	uint64_t *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t h;

	if (p == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < pages; i++)
		p[i * WORDS] = r + i;
	p = mremap(p, pages * PAGE, 4 * pages * PAGE, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		die("mremap");
	h = sum(p, 4 * pages);
	if (munmap(p, 4 * pages * PAGE))
		die("munmap");
	return h;
}

/* The child's writes must stay its own. */
static void fork_some(uint64_t expect)
{
	int status, pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		if (sum(bss, PAGES) != expect)
			_exit(1);
		work(bss, 99);
		work(area[1], 98);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("a child");
	if (sum(bss, PAGES) != expect)
		die("memory changed by a child");
}

int main(int argc, char **argv)
{
	const char *file = argc > 2 ? argv[2] : NULL;
	int rounds = argc > 1 ? atoi(argv[1]) : 20, hurry, r;
	uint64_t h = 0;
	pthread_t t;

	hurry = file && !strcmp(file, "-");
	if (hurry)
		file = NULL;
	area[0] = bss;
	area[1] = malloc(PAGES * PAGE);
	if (!area[1])
		die("malloc");
	memset(area[1], 0, PAGES * PAGE);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&t, NULL, thread, NULL))
		die("pthread_create");
	for (r = 0; !done; r++) {
		pthread_barrier_wait(&barrier);
		work(area[0], r);
		for (int i = 0; i < 5; i++)
			h = h * 31 + map_some(r + i);
		pthread_barrier_wait(&barrier);
		if (r % 4 == 3)
			fork_some(sum(bss, PAGES));
		for (int i = 0; i < 2 && !hurry; i++)
			rest();
		if (file && !r) {
			puts("busy has begun");
			fflush(stdout);
		}
		done = r + 1 >= rounds && (!file || !access(file, F_OK));
		pthread_barrier_wait(&barrier);
	}
	pthread_join(t, NULL);
	h = h * 31 + sum(area[0], PAGES);
	h = h * 31 + sum(area[1], PAGES);
	if (file)
		printf("%d rounds: ", r);
	printf("busy %016lx\n", h);
	return 0;
}
