// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/nodes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/machine/machine.h"
#include "lib/base/vec.h"

#define RUN 512		/* pages asked for at once */
#define WINDOW 4096u	/* pages of a memfd mapped at once */
#define PAGE 4096ull
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

int nodes_several(void)
{
	static atomic_int known = -1;
	int several = atomic_load(&known);

	/* Threads that ask at once find the same. */
	if (several < 0) {
		several = machine_nodes() != 1;
		atomic_store(&known, several);
	}
	return several;
}

void nodes_of_task(pid_t tid, const uint64_t *pages, size_t n, int *nodes)
{
	void *addrs[RUN];

	for (size_t i = 0; i < n; i++)
		nodes[i] = -1;
	for (size_t i = 0; i < n; i += RUN) {
		size_t k = n - i < RUN ? n - i : RUN;

		for (size_t j = 0; j < k; j++)
			addrs[j] = (void *)(pages[i + j] * PAGE);
		if (syscall(SYS_move_pages, tid, k, addrs, NULL, &nodes[i], 0))
			return;
	}
}

/* Make entries for pages of a window that begins with page first, at base. */
typedef void (*map_pages)(volatile const char *base, uint64_t first,
			  const unsigned char *there, const uint64_t *pages,
			  size_t n);

/* Pages that exist, of a file that cannot shrink: to touch them is safe. */
static void touch_pages(volatile const char *base, uint64_t first,
			const unsigned char *there, const uint64_t *pages,
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (there[pages[i] - first] & 1)
			(void)base[(pages[i] - first) * PAGE];
}

/* As far as there are any: behind the file's end it fails. */
static void populate_pages(volatile const char *base, uint64_t first,
			   const unsigned char *there, const uint64_t *pages,
			   size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((there[pages[i] - first] & 1) &&
		    madvise((char *)base + (pages[i] - first) * PAGE, PAGE,
			    MADV_POPULATE_READ))
			return;
}

/*
 * Pages within one window: from the first to the last fewer than WINDOW. map_in
 * makes entries for those that are there.
 */
static void ask_window(int fd, const uint64_t *pages, size_t n, int *nodes,
		       map_pages map_in)
{
	uint64_t first = pages[0], span = pages[n - 1] - first + 1;
	unsigned char there[WINDOW];
	volatile const char *base;
	void *addrs[RUN];

	base = mmap(NULL, span * PAGE, PROT_READ, MAP_SHARED, fd,
		    (off_t)(first * PAGE));
	if (base == MAP_FAILED)
		return;
	/* To touch a page that does not exist would make one. */
	if (mincore((void *)base, span * PAGE, there))
		goto out;
	map_in(base, first, there, pages, n);
	for (size_t i = 0; i < n; i++)
		addrs[i] = (void *)(base + (pages[i] - first) * PAGE);
	/* One's own pages need no right to be asked for. */
	if (syscall(SYS_move_pages, 0, n, addrs, NULL, nodes, 0))
		for (size_t i = 0; i < n; i++)
			nodes[i] = -1;
out:
	munmap((void *)base, span * PAGE);
}

static void ask(int fd, const uint64_t *pages, size_t n, int *nodes,
		map_pages map_in)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		nodes[i] = -1;
	for (i = 0; i < n; i += k) {
		for (k = 1; i + k < n && k < RUN; k++)
			if (pages[i + k] <= pages[i + k - 1] ||
			    pages[i + k] - pages[i] >= WINDOW)
				break;
		ask_window(fd, &pages[i], k, &nodes[i], map_in);
	}
}

void nodes_of_memfd(int memfd, const uint64_t *pages, size_t n, int *nodes)
{
	ask(memfd, pages, n, nodes, touch_pages);
}

void nodes_of_file(int fd, const uint64_t *pages, size_t n, int *nodes)
{
	ask(fd, pages, n, nodes, populate_pages);
}

/* Runs of pages, while they are gathered. */
struct runs {
	struct placed *list;
	size_t count, room;
};

static void add_page(struct runs *r, uint64_t addr, int node)
{
	struct placed *last = r->count ? &r->list[r->count - 1] : NULL;

	if (node < 0)
		return;
	if (last && last->end == addr && last->node == node) {
		last->end += PAGE;
		return;
	}
	if (!moca_vec_fit(r->list, r->room, r->count + 1))
		r->list[r->count++] = (struct placed){ addr, addr + PAGE, node };
}

/* Of the memfd's region, or where there is none, of the task's own memory. */
static size_t nodes_of(pid_t tid, int memfd, const struct region *region,
		       const struct extent *extents, size_t n,
		       struct placed **out)
{
	uint64_t pages[RUN], addr, shift = region ? region->off - region->start : 0;
	struct runs runs = { 0 };
	int nodes[RUN];
	size_t i, k;

	for (i = 0; i < n; i++)
		for (addr = extents[i].start; addr < extents[i].end;
		     addr += k * PAGE) {
			for (k = 0; k < RUN && addr + k * PAGE < extents[i].end;
			     k++)
				pages[k] = (addr + shift) / PAGE + k;
			if (region)
				nodes_of_memfd(memfd, pages, k, nodes);
			else
				nodes_of_task(tid, pages, k, nodes);
			for (size_t j = 0; j < k; j++)
				add_page(&runs, addr + j * PAGE, nodes[j]);
		}
	*out = runs.list;
	return runs.count;
}

size_t nodes_of_extents(pid_t tid, const struct extent *extents, size_t n,
			struct placed **out)
{
	return nodes_of(tid, -1, NULL, extents, n, out);
}

size_t nodes_of_region(int memfd, const struct region *r,
		       const struct extent *extents, size_t n,
		       struct placed **out)
{
	return nodes_of(0, memfd, r, extents, n, out);
}
