// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that is given back and taken again at once. The recorder keeps its
 * pages for that (collect/fault/keep.h); the program must not see them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/programs/case.h"

/* Longer than what the recorder keeps at least, shorter than what it does at
 * most. */
#define PAGES 300ul

static int is_zero(const void *p, size_t pages)
{
	const uint64_t *w = p;

	for (size_t i = 0; i < pages * PAGE / 8; i++)
		if (w[i])
			return 0;
	return 1;
}

static void unmap(void *p, size_t pages)
{
	CHECK(!munmap(p, pages * PAGE));
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

/* Mappings of many sizes, whose parts are read, written, or left alone. */
static void sizes(void)
{
	unsigned int seed = 1;

	for (int round = 0; round < 150; round++) {
		size_t pages = 1 + next_random(&seed) % (2 * PAGES);
		size_t from = next_random(&seed) % pages;
		char *p = map_pages(pages);

		CHECK(is_zero(p + from * PAGE, pages - from));
		fill(p, next_random(&seed) % (pages + 1), round);
		unmap(p, pages);
	}
	printf("done\n");
}

/* A part of a mapping goes, and comes back smaller, larger and elsewhere. */
static void parts(void)
{
	char *p = map_pages(4 * PAGES), *q;

	for (int round = 0; round < 50; round++) {
		size_t at = PAGES / 2 + round, n = PAGES + (size_t)round * 3;

		fill(p, 4 * PAGES, round);
		unmap(p + at * PAGE, n);
		q = mmap(p + (at + 5) * PAGE, (n - 10) * PAGE, RW,
			 ANON | MAP_FIXED, -1, 0);
		CHECK(q == p + (at + 5) * PAGE && is_zero(q, n - 10));
		q = mmap(p + at * PAGE, n * PAGE, RW, ANON | MAP_FIXED, -1, 0);
		CHECK(q == p + at * PAGE && is_zero(q, n));
	}
	unmap(p, 4 * PAGES);
	printf("done\n");
}

static void over(void)
{
	char *p = map_pages(PAGES), *q;

	for (int round = 0; round < 50; round++) {
		fill(p, PAGES, round);
		q = mmap(p, PAGES * PAGE, RW, ANON | MAP_FIXED, -1, 0);
		CHECK(q == p && is_zero(p, PAGES));
	}
	printf("done\n");
}

static void heap(void)
{
	char *old = sbrk(0);

	for (int round = 0; round < 100; round++) {
		size_t pages = PAGES / 2 + (size_t)(round * 37) % PAGES;
		char *p = sbrk((intptr_t)(pages * PAGE));

		CHECK(p == old && is_zero(p, pages - 1));
		fill(p, pages - 1, round);
		CHECK(sbrk(-(intptr_t)(pages * PAGE)) != (void *)-1);
	}
	printf("done\n");
}

/* mremap makes a mapping longer, over what was given back behind it. */
static void grows(void)
{
	char *p = map_pages(2 * PAGES), *q;

	for (int round = 0; round < 20; round++) {
		fill(p, 2 * PAGES, round);
		unmap(p + PAGES * PAGE, PAGES);
		q = mremap(p, PAGES * PAGE, 2 * PAGES * PAGE, 0);
		CHECK(q == p && is_zero(p + PAGES * PAGE, PAGES));
	}
	unmap(p, 2 * PAGES);
	printf("done\n");
}

/* What is kept at a fork is nobody's: neither side sees it. */
static void forked(void)
{
	for (int round = 0; round < 10; round++) {
		char *p = map_pages(PAGES);
		int status;
		pid_t child;

		fill(p, PAGES, round);
		unmap(p, PAGES);
		if (round % 2) {
			char *q = map_pages(PAGES);

			CHECK(is_zero(q, PAGES / 2));
			fill(q, PAGES / 3, round);
		}
		child = fork();
		CHECK(child >= 0);
		p = map_pages(PAGES);
		CHECK(is_zero(p, PAGES));
		fill(p, PAGES, round);
		unmap(p, PAGES);
		p = map_pages(PAGES);
		CHECK(is_zero(p, PAGES));
		if (!child)
			_exit(0);
		CHECK(waitpid(child, &status, 0) == child && !status);
	}
	printf("done\n");
}

/* Advice empties pages that were kept once. */
static void advised(void)
{
	for (int round = 0; round < 50; round++) {
		char *p = map_pages(PAGES);

		fill(p, PAGES / 2, round);
		CHECK(!madvise(p, PAGES * PAGE, MADV_DONTNEED));
		CHECK(is_zero(p, PAGES));
		fill(p, PAGES, round);
		unmap(p, PAGES);
	}
	printf("done\n");
}

/* A page that nobody touched since it was mapped is not in memory. */
static void present(void)
{
	static unsigned char vec[PAGES];
	unsigned long there = 0;
	char *p = map_pages(PAGES);

	fill(p, PAGES, 1);
	unmap(p, PAGES);
	p = map_pages(PAGES);
	fill(p, PAGES / 3, 2);
	CHECK(!mincore(p, PAGES * PAGE, vec));
	for (size_t i = 0; i < PAGES; i++)
		there += vec[i] & 1;
	printf("%lu of %lu\n", there, PAGES);
}

/* What a pipe was given stays what it was, whatever becomes of the memory. */
static void piped(void)
{
	char *p = map_pages(PAGES), buf[PAGE];
	int fds[2];

	memset(p, 'a', PAGES * PAGE);
	CHECK(!pipe(fds));
	for (size_t i = 0; i < 10; i++) {
		struct iovec v = { p + i * PAGE, PAGE };

		CHECK(vmsplice(fds[1], &v, 1, 0) == (ssize_t)PAGE);
	}
	unmap(p, PAGES);
	p = map_pages(PAGES);
	memset(p, 'b', PAGES * PAGE);
	for (int i = 0; i < 10; i++) {
		CHECK(read(fds[0], buf, PAGE) == (ssize_t)PAGE);
		CHECK(buf[0] == 'a' && buf[PAGE - 1] == 'a');
	}
	printf("done\n");
}

static void *take_turns(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	for (int round = 0; round < 40; round++) {
		size_t pages = 20 + next_random(&seed) % 80;
		char *p = map_pages(pages);

		CHECK(is_zero(p, pages));
		fill(p, pages, seed);
		unmap(p, pages);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];

	for (uintptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, take_turns,
				      (void *)(i + 1)));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
	printf("done\n");
}

static const struct test_case cases[] = {
	{ "sizes", sizes },
	{ "parts", parts },
	{ "over", over },
	{ "heap", heap },
	{ "grows", grows },
	{ "forked", forked },
	{ "advised", advised },
	{ "present", present },
	{ "piped", piped },
	{ "threads", threads },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
