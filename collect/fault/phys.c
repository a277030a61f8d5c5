// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/phys.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUN 512		/* pages asked for at once */
#define GAP 16		/* unasked pages that are cheaper read than skipped */
#define PFN_MASK ((1ull << 55) - 1)
#define PRESENT (1ull << 63)

struct phys {
	int addresses;
	int one_node;
	int node_queries;
	uint64_t *pages;	/* scratch: sorted page numbers */
	uint64_t *pfns;
	int *nodes;
	size_t room;
};

static int count_nodes(void)
{
	char path[64];
	int n = 0;

	for (int i = 0; i < 1024; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d",
			 i);
		n += !access(path, F_OK);
	}
	return n ? n : 1;
}

struct phys *phys_new(void)
{
	struct phys *p = calloc(1, sizeof(*p));
	volatile char page = 1;
	uint64_t entry = 0;
	int fd;

	if (!p)
		return NULL;
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		/* Without the right, the numbers read as 0. */
		if (pread(fd, &entry, 8, (uintptr_t)&page / 4096 * 8) == 8)
			p->addresses = (entry & PFN_MASK) != 0;
		close(fd);
	}
	p->one_node = count_nodes() == 1;
	p->node_queries = 1;
	return p;
}

void phys_free(struct phys *p)
{
	if (!p)
		return;
	free(p->pages);
	free(p->pfns);
	free(p->nodes);
	free(p);
}

int phys_addresses(const struct phys *p)
{
	return p->addresses;
}

int phys_nodes(const struct phys *p)
{
	return p->one_node || p->node_queries;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int reserve(struct phys *p, size_t n)
{
	if (n <= p->room)
		return 0;
	free(p->pages);
	free(p->pfns);
	free(p->nodes);
	p->pages = malloc(n * 8);
	p->pfns = malloc(n * 8);
	p->nodes = malloc(n * sizeof(int));
	p->room = p->pages && p->pfns && p->nodes ? n : 0;
	return p->room ? 0 : -1;
}

static void read_pfns(struct phys *p, pid_t pid, size_t n)
{
	uint64_t buf[RUN];
	char path[64];
	size_t i = 0;
	int fd;

	memset(p->pfns, 0, n * 8);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (i < n) {
		uint64_t first = p->pages[i];
		size_t j = i + 1;
		ssize_t got;

		while (j < n && p->pages[j] - p->pages[j - 1] <= GAP &&
		       p->pages[j] - first < RUN)
			j++;
		got = pread(fd, buf, (p->pages[j - 1] - first + 1) * 8,
			    first * 8);
		for (; i < j; i++) {
			uint64_t at = p->pages[i] - first;

			if ((ssize_t)(at * 8 + 8) <= got && (buf[at] & PRESENT))
				p->pfns[i] = buf[at] & PFN_MASK;
		}
	}
	close(fd);
}

static void read_nodes(struct phys *p, pid_t pid, size_t n)
{
	void *addrs[RUN];

	for (size_t i = 0; i < n; i++)
		p->nodes[i] = p->one_node ? 0 : MOCA_NODE_UNKNOWN;
	if (p->one_node || !p->node_queries)
		return;
	for (size_t i = 0; i < n; i += RUN) {
		size_t k = n - i < RUN ? n - i : RUN;

		for (size_t j = 0; j < k; j++)
			addrs[j] = (void *)(p->pages[i + j] * 4096);
		if (syscall(SYS_move_pages, pid, k, addrs, NULL, &p->nodes[i],
			    0))
			return;
	}
}

void phys_fill(struct phys *p, pid_t pid, struct moca_access *recs, size_t n)
{
	size_t distinct = 0;

	if (p->one_node && !p->addresses) {
		for (size_t i = 0; i < n; i++)
			recs[i].node = 0;
		return;
	}
	if (reserve(p, n))
		return;
	for (size_t i = 0; i < n; i++)
		p->pages[i] = recs[i].addr >> 12;
	qsort(p->pages, n, 8, compare);
	for (size_t i = 0; i < n; i++)
		if (!i || p->pages[i] != p->pages[distinct - 1])
			p->pages[distinct++] = p->pages[i];
	if (p->addresses)
		read_pfns(p, pid, distinct);
	else
		memset(p->pfns, 0, distinct * 8);
	read_nodes(p, pid, distinct);
	for (size_t i = 0; i < n; i++) {
		uint64_t key = recs[i].addr >> 12;
		uint64_t *at = bsearch(&key, p->pages, distinct, 8, compare);

		recs[i].phys = p->pfns[at - p->pages] << 12;
		recs[i].node = p->nodes[at - p->pages] < 0 ?
				       MOCA_NODE_UNKNOWN :
				       p->nodes[at - p->pages];
	}
}
