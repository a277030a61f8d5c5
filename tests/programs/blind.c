// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory whose accesses a recording may not see, for tests/programs/certificate:
 * blind WHAT touches PAGES pages of WHAT and prints how many. "idle" waits to be
 * attached to (it prints its pid first), "shared" writes shared memory until
 * then, both until stdin ends. "behind" touches MANY, while its recorder stands still:
 * no sample comes behind those that are lost.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 40
#define HUGE (2u << 20)
#define MANY (64u << 8)

static void touch(volatile char *p, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		p[i * 4096] = 1;
}

__attribute__((noinline)) static void stack(void)
{
	volatile char deep[PAGES * 4096];

	touch(deep, PAGES);
}

/* A page each of a file, which is opened for reading only. */
static void read_file(const char *path, int flags)
{
	volatile char *p;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < PAGES; i++)
		if (pwrite(fd, "x", 1, (i + 1) * 4096 - 1) != 1)
			exit(1);
	close(fd);
	fd = open(path, O_RDONLY);
	p = mmap(NULL, PAGES * 4096, PROT_READ, flags, fd, 0);
	if (p == MAP_FAILED)
		exit(1);
	for (int i = 0; i < PAGES; i++)
		if (p[i * 4096])
			exit(1);
	unlink(path);
}

static void behind(void)
{
	char *p = mmap(NULL, MANY * 4096ul, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	pid_t tracer = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "TracerPid:", 10))
			tracer = atoi(line + 10);
	if (p == MAP_FAILED || !tracer || kill(tracer, SIGSTOP))
		exit(1);
	touch(p, MANY);
	if (kill(tracer, SIGCONT))
		exit(1);
	_exit(0);
}

static int has_ended(int ms)
{
	struct pollfd p = { 0, POLLIN, 0 };

	return poll(&p, 1, ms) != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int flags = MAP_ANONYMOUS, unmap = argc > 2;
	char *p = NULL;
	size_t len = PAGES * 4096;

	if (!strcmp(what, "stack")) {
		stack();
	} else if (argc > 2 && !strncmp(what, "read-", 5)) {
		read_file(argv[2], strcmp(what, "read-shared") ?
					   MAP_PRIVATE : MAP_SHARED);
	} else if (!strcmp(what, "behind")) {
		behind();
	} else if (!strcmp(what, "idle")) {
		printf("%d\n", getpid());
		fflush(stdout);
		while (!has_ended(-1))
			;
		return 0;
	} else {
		flags |= strcmp(what, "shared") ? MAP_PRIVATE : MAP_SHARED;
		if (!strcmp(what, "huge")) {
			flags |= MAP_HUGETLB;
			len = HUGE;
		}
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p == MAP_FAILED)
			return 77;
		touch(p, PAGES);
	}
	printf("%d\n", PAGES);
	if (!strcmp(what, "shared") && !isatty(0)) {
		printf("%d\n", getpid());
		fflush(stdout);
		while (!has_ended(1))
			touch(p, PAGES);
	}
	if (p && unmap)
		munmap(p, len);
	return 0;
}
