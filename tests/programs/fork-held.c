/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork-held MIB: fills so much memory and forks. Both read it all, the parent
 * writes a page in 20 of it; then it says so and waits for the end of stdin.
 */
#include "case.h"

#include <sys/wait.h>

static uint64_t sum(const char *p, size_t pages)
{
	uint64_t s = 0;

	for (size_t i = 0; i < pages; i++)
		s += *(const volatile uint64_t *)(p + i * PAGE + 8 * (i % 512));
	return s;
}

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) * MIB / PAGE : 0;
	int done[2], end[2], pid;
	uint64_t before;
	char *p, c;

	p = map_pages(pages);
	fill(p, pages, 1);
	before = sum(p, pages);
	CHECK(!pipe(done) && !pipe(end));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(end[1]);
		CHECK(sum(p, pages) == before && write(done[1], "x", 1) == 1);
		CHECK(read(end[0], &c, 1) == 0);
		CHECK(sum(p, pages) == before);
		_exit(0);
	}
	CHECK(read(done[0], &c, 1) == 1);
	CHECK(sum(p, pages) == before);
	for (size_t i = 0; i < pages; i += 20)
		p[i * PAGE] = 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	close(end[1]);
	wait_ok(pid);
	return 0;
}
