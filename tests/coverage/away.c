// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that is gone before anybody looks: away HOW. Each of 20 rounds writes
 * to 500 new pages and gets rid of them at once.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 500ul
#define ROUNDS 20

static char *fresh(void)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void touch(char *p)
{
	for (size_t i = 0; i < PAGES; i++)
		p[i * PAGE]++;
}

static int unmap(void)
{
	char *p = fresh();

	if (!p)
		return 1;
	touch(p);
	return munmap(p, PAGES * PAGE);
}

static int discard(void)
{
	static char *p;

	if (!p)
		p = fresh();
	if (!p)
		return 1;
	touch(p);
	return madvise(p, PAGES * PAGE, MADV_DONTNEED) || p[PAGE];
}

static int move(void)
{
	char *p = fresh(), *to;

	if (!p)
		return 1;
	touch(p);
	to = mremap(p, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE);
	return to == MAP_FAILED || to[PAGE] != 1 ||
	       munmap(to, 2 * PAGES * PAGE);
}

static int replace(void)
{
	char *p = fresh();

	if (!p)
		return 1;
	touch(p);
	return mmap(p, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_FIXED, -1, 0) != p || munmap(p, PAGES * PAGE);
}

static int leave(void)
{
	int status;
	pid_t pid = fork();
	char *p;

	if (!pid) {
		p = fresh();
		if (p)
			touch(p);
		_exit(!p);
	}
	return waitpid(pid, &status, 0) != pid || status;
}

static const struct {
	const char *name;
	int (*round)(void);
} ways[] = {
	{ "unmap", unmap }, { "discard", discard }, { "move", move },
	{ "replace", replace }, { "exit", leave },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (argc < 2 || strcmp(argv[1], ways[i].name))
			continue;
		for (int r = 0; r < ROUNDS; r++)
			if (ways[i].round())
				return 1;
		puts(argv[1]);
		return 0;
	}
	return 2;
}
