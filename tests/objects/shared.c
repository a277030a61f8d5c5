// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: shared KIND [MS]	and, however busy the machine is, ROUNDS times
 *
 * Two processes use the same PAGES pages for MS milliseconds (300). KIND:
 *	anon	MAP_SHARED | MAP_ANONYMOUS, both write all of it
 *	sysv	a segment, attached by each
 *	memfd	mapped by each, at different addresses and offsets
 *	moved	the same, then moved and grown by mremap
 *	file	a file in the current folder, likewise
 *	deleted	the same, without its path
 *	reader	anon: one writes, the other reads
 *	cow	a private mapping of a file, made by each: both read all of it, and
 *		then each writes the first PAGES / 4
 *	fork	private memory that both inherit, and write
 * Prints KIND, PAGES and the two processes' addresses.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64
#define ROUNDS 50
#define PAGE 4096
#define AHEAD 16	/* pages that only the second process maps */

static void **where;	/* of each process; shared */
static volatile char *early;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void use(volatile char *p, size_t pages, int write)
{
	static volatile char sink;

	for (size_t i = 0; i < pages; i++) {
		if (write)
			p[i * PAGE]++;
		else
			sink = p[i * PAGE];
	}
	(void)sink;
}

static int a_file(const char *kind)
{
	int fd = !strcmp(kind, "memfd") || !strcmp(kind, "moved") ? memfd_create("shared", 0) :
		 open("shared-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	static const char zeroes[PAGE];

	if (fd < 0)
		exit(3);
	for (int i = 0; i < PAGES + AHEAD; i++)
		if (write(fd, zeroes, PAGE) != PAGE)
			exit(3);
	if (!strcmp(kind, "deleted"))
		unlink("shared-file");
	return fd;
}

/* The same PAGES pages, wherever they are. */
static volatile char *get(const char *kind, int fd, int id, int second)
{
	int how = !strcmp(kind, "cow") ? MAP_PRIVATE : MAP_SHARED;
	int moved = !strcmp(kind, "moved");
	char *p;

	if (id >= 0) {
		p = shmat(id, NULL, 0);
		return p == (void *)-1 ? NULL : p;
	}
	if (fd < 0)
		return early;
	/* Room that only it has, so that addresses differ. */
	if (second && how == MAP_SHARED && !moved) {
		mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
		p = mmap(NULL, (PAGES + AHEAD) * PAGE, PROT_READ | PROT_WRITE,
			 how, fd, 0);
		return p == MAP_FAILED ? NULL : p + AHEAD * PAGE;
	}
	p = mmap(NULL, (moved ? PAGES / 2 : PAGES) * PAGE,
		 PROT_READ | PROT_WRITE, how, fd, AHEAD * PAGE);
	/* In its way, so that it has to move. */
	if (moved && p != MAP_FAILED) {
		mmap(p + PAGES / 2 * PAGE, PAGE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		p = mremap(p, PAGES / 2 * PAGE, PAGES * PAGE, MREMAP_MAYMOVE);
	}
	return p == MAP_FAILED ? NULL : p;
}

static int child(const char *kind, int fd, int id, int second, double ms)
{
	volatile char *p = get(kind, fd, id, second);
	double end = now() + ms;
	int cow = !strcmp(kind, "cow");

	if (!p)
		return 2;
	where[second] = (void *)p;
	if (cow)
		use(p, PAGES, 0);
	for (int i = 0; i < ROUNDS || now() < end; i++) {
		if (cow)
			use(p, PAGES / 4, 1);
		else
			use(p, PAGES, !(second && !strcmp(kind, "reader")));
		usleep(1000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "anon";
	double ms = argc > 2 ? atof(argv[2]) : 300;
	int fd = -1, id = -1, bad = 0, status;

	where = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(kind, "sysv"))
		id = shmget(IPC_PRIVATE, PAGES * PAGE, IPC_CREAT | 0600);
	else if (!strcmp(kind, "anon") || !strcmp(kind, "reader"))
		early = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	else if (!strcmp(kind, "fork"))
		early = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		fd = a_file(kind);
	if (!strcmp(kind, "fork"))
		use(early, PAGES, 1);
	for (int i = 0; i < 2; i++)
		if (!fork())
			_exit(child(kind, fd, id, i, ms));
	while (wait(&status) > 0)
		bad |= status;
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	unlink("shared-file");
	printf("%s %d %p %p\n", kind, PAGES, where[0], where[1]);
	return bad != 0;
}
