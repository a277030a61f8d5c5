// SPDX-License-Identifier: GPL-2.0-or-later
/* Asking on which node pages are: of tasks, of a memfd, in runs. */
#include <sys/mman.h>

#include "collect/fault/nodes.h"
#include "collect/run/pageset.h"
#include "tests/unit/trace-util.h"

#define PAGE 4096ull
#define PAGES 3000

static int t_memfd(void)
{
	/* Far apart, next to each other, and one that does not exist. */
	static const uint64_t where[] = { 0, 1, 2, 5, 4000, 4001, 9000,
					  1ull << 35 };
	uint64_t pages[8];
	int fd = memfd_create("test", MFD_CLOEXEC), nodes[8];
	size_t i;

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)1 << 50));
	for (i = 0; i < 8; i++) {
		pages[i] = where[i];
		if (i != 3)
			CHECK(pwrite(fd, "x", 1, (off_t)(where[i] * PAGE)) == 1);
	}
	nodes_of_memfd(fd, pages, 8, nodes);
	for (i = 0; i < 8; i++)
		CHECK(i == 3 ? nodes[i] < 0 : nodes[i] >= 0);
	/* To ask has not made it. */
	CHECK(lseek(fd, 3 * PAGE, SEEK_DATA) == 4000 * (off_t)PAGE);
	close(fd);
	return 0;
}

/* A file that got shorter: no signal, and no node behind its end. */
static int t_file(void)
{
	static const uint64_t pages[] = { 0, 1, 2, 9 };
	char path[] = "/tmp/moca-test-nodes-XXXXXX";
	int fd = mkstemp(path), nodes[4];

	CHECK(fd >= 0 && pwrite(fd, "x", 1, 2 * PAGE) == 1);
	unlink(path);
	nodes_of_file(fd, pages, 4, nodes);
	CHECK(nodes[3] < 0);
	CHECK(!ftruncate(fd, 0));
	nodes_of_file(fd, pages, 4, nodes);
	CHECK(nodes[0] < 0 && nodes[2] < 0);
	close(fd);
	return 0;
}

static int t_region(void)
{
	struct region r = { 0x100000, 0x100000 + PAGES * PAGE, 7 * PAGE,
			    REGION_MEMFD, 0, NULL };
	struct extent ext[2] = { { r.start, r.start + 1000 * PAGE },
				 { r.start + 2000 * PAGE, r.end } };
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct placed *runs;
	uint64_t pages = 0;
	size_t i, n;

	CHECK(fd >= 0 && !ftruncate(fd, 4 * PAGES * (off_t)PAGE));
	for (i = 0; i < PAGES; i++)
		if (i < 1000 || i >= 2000)
			CHECK(pwrite(fd, "x", 1, (off_t)((7 + i) * PAGE)) == 1);
	n = nodes_of_region(fd, &r, ext, 2, &runs);
	CHECK(n >= 2);
	for (i = 0; i < n; i++) {
		CHECK(runs[i].node >= 0 && runs[i].start < runs[i].end);
		CHECK(!i || runs[i].start >= runs[i - 1].end);
		pages += (runs[i].end - runs[i].start) / PAGE;
	}
	CHECK(pages == 2000 && runs[0].start == r.start &&
	      runs[n - 1].end == r.end);
	free(runs);
	CHECK(!nodes_of_region(fd, &r, NULL, 0, &runs) && !runs);
	close(fd);
	return 0;
}

static int t_task(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t pages[2] = { (uintptr_t)p / PAGE, (uintptr_t)p / PAGE + 1 };
	int nodes[2];

	CHECK(p != MAP_FAILED);
	*p = 1;
	nodes_of_task(getpid(), pages, 2, nodes);
	CHECK(nodes[0] >= 0 && nodes[1] < 0);
	/* Nobody's number. */
	nodes_of_task(0x7ffffff0, pages, 2, nodes);
	CHECK(nodes[0] < 0 && nodes[1] < 0);
	munmap(p, 2 * PAGE);
	return 0;
}

/* The node that was asked last; kept until the pages are freed. */
static int t_remembered(void)
{
	struct pageset *s = pageset_new();
	uint64_t addr = 5ull << BLOCK_SHIFT;

	CHECK(s && pageset_node(s, addr) == -1);
	pageset_set_node(s, addr, 3);	/* a page that was never seen */
	CHECK(pageset_node(s, addr) == -1);
	pageset_see(s, addr);
	pageset_set_node(s, addr, 3);
	pageset_set_node(s, addr + PAGE, 0);
	CHECK(pageset_node(s, addr) == 3 && pageset_node(s, addr + PAGE) == 0 &&
	      pageset_node(s, addr + 2 * PAGE) == -1);
	pageset_clear(s, addr, addr + PAGE);
	CHECK(pageset_node(s, addr) == -1 && pageset_node(s, addr + PAGE) == 0);
	pageset_clear(s, addr, addr + (1ull << BLOCK_SHIFT));
	CHECK(pageset_node(s, addr + PAGE) == -1);
	pageset_free(s);
	return 0;
}

int main(void)
{
	run("memfd", t_memfd);
	run("file", t_file);
	run("region", t_region);
	run("task", t_task);
	run("remembered", t_remembered);
	return failures != 0;
}
