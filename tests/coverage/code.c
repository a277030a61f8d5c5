// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose loads and stores are made by code at one address: another function
 * is there for each area. Prints "area ADDRESS PAGES load" (or store) for each, in
 * the order in which they were touched.
 *
 * usage: code over|unmapped|made FIRST		what replaces the first function:
 *		a file mapped over its own; memory, where its file was; itself,
 *		rewritten. FIRST: load or store.
 *	  code steady FAULTS	code in memory, until it had so many faults of its
 *		own: it needs an interval for each of its pages
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 250ul
#define STEADY 64ul

struct code {
	const char *name;
	unsigned char bytes[4];
};

static const struct code codes[] = {
	{ "load", { 0x8a, 0x07, 0xc3 } },	/* mov (%rdi), %al; ret */
	{ "store", { 0x88, 0x07, 0xc3 } },	/* mov %al, (%rdi); ret */
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static char *map(size_t len, int prot)
{
	char *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void touch(const char *code, const char *name, unsigned long pages)
{
	void (*function)(char *) = (void (*)(char *))code;
	char *area = map(pages * PAGE, PROT_READ | PROT_WRITE);

	printf("area %lx %lu %s\n", (unsigned long)area, pages, name);
	for (unsigned long i = 0; i < pages; i++)
		function(area + i * PAGE);
}

/* A file of a page with the code, mapped at `at`, or anywhere. */
static char *map_file(const struct code *c, char *at)
{
	char page[PAGE] = { 0 }, path[64];
	char *p;
	int fd;

	memcpy(page, c->bytes, sizeof(c->bytes));
	snprintf(path, sizeof(path), "code-%s", c->name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
	if (fd < 0 || write(fd, page, PAGE) != PAGE)
		die(path);
	/* The kernel's clock of files is up to a tick behind. */
	usleep(20000);
	p = mmap(at, PAGE, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	if (p == MAP_FAILED)
		die("mmap of a file");
	close(fd);
	return p;
}

static char *replace(const char *how, const struct code *c, char *p)
{
	if (!strcmp(how, "over"))
		return map_file(c, p);
	if (!strcmp(how, "unmapped")) {
		munmap(p, PAGE);
		if (mmap(p, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
			die("mmap at the address");
	}
	memcpy(p, c->bytes, sizeof(c->bytes));
	if (!strcmp(how, "unmapped") &&
	    mprotect(p, PAGE, PROT_READ | PROT_EXEC))
		die("mprotect");
	return p;
}

static long faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_minflt;
}

static void steady(long wanted)
{
	char *code = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	char *area = map(2 * STEADY * PAGE, PROT_READ | PROT_WRITE);
	void (*load)(char *) = (void (*)(char *))code;
	void (*store)(char *) = (void (*)(char *))(code + 64);
	long before = faults();

	memcpy(code, codes[0].bytes, sizeof(codes[0].bytes));
	memcpy(code + 64, codes[1].bytes, sizeof(codes[1].bytes));
	printf("area %lx %lu load\n", (unsigned long)area, STEADY);
	printf("area %lx %lu store\n", (unsigned long)(area + STEADY * PAGE),
	       STEADY);
	while (faults() - before < wanted)
		for (unsigned long i = 0; i < STEADY; i++) {
			load(area + i * PAGE);
			store(area + (STEADY + i) * PAGE);
		}
}

int main(int argc, char **argv)
{
	const struct code *first;
	char *p;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "steady")) {
		steady(atol(argv[2]));
		return 0;
	}
	first = &codes[!strcmp(argv[2], "store")];
	if (!strcmp(argv[1], "made")) {
		p = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
		memcpy(p, first->bytes, sizeof(first->bytes));
	} else {
		p = map_file(first, NULL);
	}
	touch(p, first->name, PAGES);
	first = &codes[first == codes];
	p = replace(argv[1], first, p);
	touch(p, first->name, PAGES);
	return 0;
}
