// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that uses each of its pages once in a round, in one order: of its
 * areas each step takes the next page, so that in any stretch of time each area
 * has a share of what is touched that is its size. Then it moves, discards, forks,
 * and says whether its memory has what was written.
 *
 * Prints "area NAME ADDRESS PAGES", when the rounds were over, then "right" or what was wrong.
 *
 * usage: sampled MILLISECONDS		(of CPU time, for the rounds)
 *	  sampled reaper		below itself there can be no zapper, from its
 *		begin on; touches its memory for three seconds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define STEPS 128ul
#define MB(n) ((unsigned long)(n) << 20)

/* Of one page of small there are as many of the others as their sizes say. */
static struct area {
	const char *name;
	unsigned long pages;	/* a multiple of STEPS */
	int writes;
	char *at;
} areas[] = {
	{ "read", MB(64) / PAGE, 0, NULL },
	{ "written", MB(48) / PAGE, 1, NULL },
	{ "third", MB(16) / PAGE, 1, NULL },
	{ "moved", MB(32) / PAGE, 0, NULL },	/* here by mremap */
	{ "filled", MB(24) / PAGE, 0, NULL },	/* shared, by the kernel */
	{ "small", STEPS, 0, NULL },
};

#define AREAS (sizeof(areas) / sizeof(*areas))

static unsigned long used_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (unsigned long)ts.tv_sec * 1000 + (unsigned long)ts.tv_nsec / 1000000;
}

static void die(const char *what)
{
	puts(what);
	exit(1);
}

/* Alone: behind each there is room that nobody touches. */
static char *map(unsigned long bytes)
{
	char *p = mmap(NULL, bytes + MB(8), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap failed");
	return (char *)(((unsigned long)p + MB(4)) & ~(MB(2) - 1));
}

static char *move(char *from, unsigned long bytes)
{
	char *to = map(bytes);

	if (mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		die("mremap failed");
	return to;
}

static char *fill(unsigned long bytes)
{
	char *p = map(bytes);

	if (mmap(p, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS |
		 MAP_FIXED | MAP_POPULATE, -1, 0) != p)
		die("mmap of shared memory failed");
	return p;
}

static void round_of(unsigned char value)
{
	for (unsigned long step = 0; step < STEPS; step++)
		for (size_t a = 0; a < AREAS; a++) {
			unsigned long n = areas[a].pages / STEPS;
			volatile char *p = areas[a].at + step * n * PAGE;

			for (unsigned long i = 0; i < n; i++, p += PAGE)
				if (areas[a].writes)
					p[8] = (char)value;
				else
					(void)p[8];
		}
}

static void expect(const char *p, unsigned long pages, char value,
		   const char *what)
{
	for (unsigned long i = 0; i < pages; i++)
		if (p[i * PAGE + 8] != value)
			die(what);
}

static void life(unsigned char value)
{
	struct area *a = &areas[1];
	unsigned long part = a->pages / 4;
	char *to = move(a->at, part * PAGE);
	int status;
	pid_t child;

	/* A quarter is moved, and back. */
	expect(to, part, (char)value, "moved");
	if (mremap(to, part * PAGE, part * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   a->at) != a->at)
		die("mremap back failed");
	expect(a->at, part, (char)value, "moved back");
	/* Another is discarded. */
	if (madvise(a->at + part * PAGE, part * PAGE, MADV_DONTNEED))
		die("madvise failed");
	expect(a->at + part * PAGE, part, 0, "discarded");
	fflush(stdout);
	child = fork();
	if (!child) {
		expect(a->at, part, (char)value, "the child's");
		memset(a->at, 99, part * PAGE);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		die("the child went wrong");
	expect(a->at, part, (char)value, "the parent's, behind the child");
}

/* It adopts orphans, and does little, so that it takes as long at any load. */
static int reap(void)
{
	char *p;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		die("prctl failed");
	p = map(MB(8));
	for (int i = 0; i < 30; i++) {
		for (unsigned long at = 0; at < MB(8); at += PAGE)
			p[at]++;
		usleep(100000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, end;
	unsigned char value = 1;
	struct timespec over;

	if (argc > 1 && !strcmp(argv[1], "reaper"))
		return reap();
	for (size_t a = 0; a < AREAS; a++) {
		if (!strcmp(areas[a].name, "filled")) {
			areas[a].at = fill(areas[a].pages * PAGE);
		} else {
			areas[a].at = map(areas[a].pages * PAGE);
			memset(areas[a].at, 1, areas[a].pages * PAGE);
		}
		if (!strcmp(areas[a].name, "moved"))
			areas[a].at = move(areas[a].at, areas[a].pages * PAGE);
		printf("area %s %lx %lu\n", areas[a].name,
		       (unsigned long)areas[a].at, areas[a].pages);
	}
	for (end = used_ms() + ms; used_ms() < end;)
		round_of(++value);
	clock_gettime(CLOCK_MONOTONIC, &over);
	printf("over %lu\n", (unsigned long)over.tv_sec * 1000000000 +
				     (unsigned long)over.tv_nsec);
	for (int i = 0; i < 3; i++) {
		round_of(++value);
		life(value);
	}
	puts("right");
	return 0;
}
