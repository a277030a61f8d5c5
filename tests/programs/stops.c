/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often calls about memory stop: a stop under ptrace is one voluntary
 * switch away. Each case prints the switches of TIMES calls.
 */
#include "case.h"

#include <sys/resource.h>

#define TIMES 500
#define PAGES 4

static char *map[TIMES];

static long switches(void)
{
	struct rusage u;

	CHECK(getrusage(RUSAGE_THREAD, &u) == 0);
	return u.ru_nvcsw;
}

static void map_all(void)
{
	for (int i = 0; i < TIMES; i++) {
		map[i] = mmap(NULL, PAGES * PAGE, RW, ANON, -1, 0);
		CHECK(map[i] != MAP_FAILED);
		map[i][PAGE] = 1;
	}
}

static void mapping(void)
{
	long before = switches();

	map_all();
	printf("%ld\n", switches() - before);
}

static void unmapping(void)
{
	long before;

	map_all();
	before = switches();
	for (int i = 0; i < TIMES; i++)
		CHECK(munmap(map[i], PAGES * PAGE) == 0);
	printf("%ld\n", switches() - before);
}

static void discarding(void)
{
	long before;

	map_all();
	before = switches();
	for (int i = 0; i < TIMES; i++) {
		CHECK(madvise(map[i], PAGES * PAGE, MADV_DONTNEED) == 0);
		CHECK(!map[i][PAGE]);
	}
	printf("%ld\n", switches() - before);
}

/* Of memory that is where it was. */
static void advising(void)
{
	FILE *f = fopen("/proc/self/exe", "re");
	long before;
	char *p;

	CHECK(f);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	CHECK(p != MAP_FAILED);
	before = switches();
	for (int i = 0; i < TIMES; i++)
		CHECK(madvise(p, PAGE, MADV_NORMAL) == 0);
	printf("%ld\n", switches() - before);
}

/* As loaders do for .bss: over what a file is mapped at. */
static void over_file(void)
{
	FILE *f = fopen("/proc/self/exe", "re");
	long before;

	CHECK(f);
	for (int i = 0; i < TIMES; i++) {
		map[i] = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fileno(f), 0);
		CHECK(map[i] != MAP_FAILED);
	}
	before = switches();
	for (int i = 0; i < TIMES; i++) {
		CHECK(mmap(map[i], PAGE, RW, ANON | MAP_FIXED, -1, 0) ==
		      map[i]);
		CHECK(!map[i][8]);
	}
	printf("%ld\n", switches() - before);
}

/* As a loader does for the parts of a library of Moca's. */
static void over_ours(void)
{
	unsigned long start, offset;
	char line[8192], name[4096];
	FILE *f = fopen("/proc/self/maps", "re"), *lib;
	long before;

	CHECK(f);
	do
		CHECK(fgets(line, sizeof(line), f));
	while (!strstr(line, "/libmoca-alloc.so") ||
	       sscanf(line, "%lx-%*x r-xp %lx %*s %*s %4095s", &start, &offset,
		      name) != 3);
	fclose(f);
	lib = fopen(name, "re");
	CHECK(lib);
	before = switches();
	for (int i = 0; i < TIMES; i++)
		CHECK(mmap((void *)start, PAGE, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_FIXED, fileno(lib), offset) ==
		      (void *)start);
	printf("%ld\n", switches() - before);
}

const struct test_case cases[] = {
	{ "map", mapping },
	{ "unmap", unmapping },
	{ "discard", discarding },
	{ "advise", advising },
	{ "over-file", over_file },
	{ "over-ours", over_ours },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
