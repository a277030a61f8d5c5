// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/phys.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/fault/nodes.h"
#include "collect/run/pageset.h"
#include "lib/base/vec.h"

#define RUN 512		/* pages asked for at once */
#define GAP 16		/* unasked pages that are cheaper read than skipped */
/* Runs of pages that went, of one address space, that are kept. */
#define WENT_MAX 65536u
#define PFN_MASK ((1ull << 55) - 1)
#define PRESENT (1ull << 63)

/* Pages that went at one time. */
struct went {
	uint64_t time_ns;
	const struct placed *list;
	size_t count;
};

struct phys {
	const struct text *text;
	struct queue *queue;
	const struct message *taken;
	int addresses;
	uint64_t *pages;	/* scratch: sorted page numbers */
	uint64_t *pfns;
	int *nodes;
	size_t room;
	/* Of one address space: what went and is still to be told, by time. */
	struct went *pending;
	size_t pending_count, pending_room;
};

struct places {
	struct went *items;	/* by time */
	size_t count, room;
	size_t runs;		/* of all items */
};

struct phys *phys_new(const struct text *text, struct queue *queue)
{
	struct phys *p = calloc(1, sizeof(*p));
	volatile char page = 1;
	uint64_t entry = 0;
	int fd;

	if (!p)
		return NULL;
	p->text = text;
	p->queue = queue;
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		/* Without the right, the numbers read as 0. */
		if (pread(fd, &entry, 8, (uintptr_t)&page / 4096 * 8) == 8)
			p->addresses = (entry & PFN_MASK) != 0;
		close(fd);
	}
	return p;
}

void phys_free(struct phys *p)
{
	if (!p)
		return;
	free(p->pages);
	free(p->pfns);
	free(p->nodes);
	free(p->pending);
	free(p);
}

int phys_addresses(const struct phys *p)
{
	return p->addresses;
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

/* --- nodes ---------------------------------------------------------------- */

/* Some of the pages whose nodes are still not known, and where they are. */
struct batch {
	size_t index[RUN];	/* in p->pages */
	uint64_t offsets[RUN];	/* in the memfd, in pages */
	int nodes[RUN];
	size_t count;
};

/* Gather pages of the memfd from *at on; the others are left as they are. */
static void gather(struct phys *p, const struct mm *mm, size_t distinct,
		   size_t *at, struct batch *b)
{
	const struct region *r = NULL;

	for (b->count = 0; *at < distinct && b->count < RUN; ++*at) {
		uint64_t addr = p->pages[*at] * 4096;

		if (p->nodes[*at] >= 0)
			continue;
		if (!r || addr < r->start || addr >= r->end)
			r = moca_regions_find(&mm->regions, addr);
		if (!r || r->kind != REGION_MEMFD)
			continue;
		b->index[b->count] = *at;
		b->offsets[b->count++] = (r->off + (addr - r->start)) / 4096;
	}
}

/* Pages that nobody has mapped now, or of a program that ended. */
static void ask_memfd(struct phys *p, struct mm *mm, size_t distinct)
{
	struct batch b;

	for (size_t at = 0; at < distinct;) {
		/* The supervisor shall not wait for all of them. */
		pthread_mutex_lock(&mm->lock);
		gather(p, mm, distinct, &at, &b);
		if (b.count && mm->memfd >= 0)
			nodes_of_memfd(mm->memfd, b.offsets, b.count, b.nodes);
		pthread_mutex_unlock(&mm->lock);
		for (size_t i = 0; i < b.count; i++)
			p->nodes[b.index[i]] = b.nodes[i];
	}
}

/* Pages of files and stacks stay; where one is gone, it is as it was last. */
static void remember(struct phys *p, struct mm *mm, size_t distinct)
{
	if (!mm->pages)
		return;
	for (size_t i = 0; i < distinct; i++) {
		uint64_t addr = p->pages[i] * 4096;

		if (p->nodes[i] < 0)
			p->nodes[i] = pageset_node(mm->pages, addr);
		else
			pageset_set_node(mm->pages, addr, p->nodes[i]);
	}
}

/* Pages of the mapping at *at that are not known: asked of its file's. */
static void ask_file(struct phys *p, struct mm *mm, size_t distinct,
		     size_t *at)
{
	uint64_t addr = p->pages[*at] * 4096;
	struct text_range range;
	struct batch b;

	if (text_open(p->text, mm->space.id, addr, &range)) {
		++*at;
		return;
	}
	for (b.count = 0; *at < distinct && b.count < RUN; ++*at) {
		addr = p->pages[*at] * 4096;
		if (addr >= range.end)
			break;
		if (p->nodes[*at] >= 0)
			continue;
		b.index[b.count] = *at;
		b.offsets[b.count++] = (range.offset + (addr - range.start)) /
				       4096;
	}
	nodes_of_file(range.fd, b.offsets, b.count, b.nodes);
	close(range.fd);
	for (size_t i = 0; i < b.count; i++)
		p->nodes[b.index[i]] = b.nodes[i];
}

/* What a visit of the queue looks for. */
struct wanted {
	struct phys *p;
	const struct mm *mm;
};

static void add_pending(const struct message *m, void *arg)
{
	const struct wanted *w = arg;
	struct phys *p = w->p;

	if (mm_of(m->space) != w->mm || !m->placed_count)
		return;
	if (moca_vec_fit(p->pending, p->pending_room, p->pending_count + 1))
		return;
	p->pending[p->pending_count++] =
		(struct went){ m->time_ns, m->placed, m->placed_count };
}

static void read_nodes(struct phys *p, struct mm *mm, pid_t tid,
		       size_t distinct)
{
	if (!nodes_several()) {
		memset(p->nodes, 0, distinct * sizeof(*p->nodes));
		return;
	}
	nodes_of_task(tid, p->pages, distinct, p->nodes);
	if (!mm)
		return;
	ask_memfd(p, mm, distinct);
	/*
	 * What went before it could be asked has been told by now, as that is
	 * done under mm->lock; but it waits for its turn.
	 */
	for (const struct message *m = p->taken; m; m = m->next)
		add_pending(m, &(struct wanted){ p, mm });
	queue_visit(p->queue, add_pending, &(struct wanted){ p, mm });
	remember(p, mm, distinct);
	for (size_t at = 0; at < distinct;)
		if (p->nodes[at] < 0)
			ask_file(p, mm, distinct, &at);
		else
			at++;
}

/* Before they went, pages were where the list says. */
static void put_back(struct phys *p, const struct went *w, size_t distinct)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct placed *run = &w->list[i];
		size_t lo = 0, hi = distinct;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (p->pages[mid] * 4096 < run->start)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; lo < distinct && p->pages[lo] * 4096 < run->end; lo++)
			p->nodes[lo] = run->node;
	}
}

/* The n-th time that pages of mm went, of those that are known. */
static const struct went *nth_went(const struct phys *p, const struct mm *mm,
				   size_t n)
{
	size_t kept = mm->places ? mm->places->count : 0;

	return n < kept ? &mm->places->items[n] : &p->pending[n - kept];
}

void phys_fill(struct phys *p, struct mm *mm, pid_t tid,
	       struct moca_access *recs, size_t n)
{
	size_t distinct = 0, later;

	if (!nodes_several() && !p->addresses) {
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
		read_pfns(p, tid, distinct);
	else
		memset(p->pfns, 0, distinct * 8);
	p->pending_count = 0;
	read_nodes(p, mm, tid, distinct);
	later = p->pending_count + (mm && mm->places ? mm->places->count : 0);
	/* From the last to the first: what went after an access is put back. */
	for (size_t i = n; i--;) {
		uint64_t key = recs[i].addr >> 12;
		uint64_t *at = bsearch(&key, p->pages, distinct, 8, compare);

		while (later && nth_went(p, mm, later - 1)->time_ns >
					recs[i].time_ns)
			put_back(p, nth_went(p, mm, --later), distinct);
		recs[i].phys = p->pfns[at - p->pages] << 12;
		recs[i].node = p->nodes[at - p->pages] < 0 ?
				       MOCA_NODE_UNKNOWN :
				       p->nodes[at - p->pages];
	}
}

int phys_went(struct mm *mm, uint64_t time_ns, struct placed *list,
	      size_t count)
{
	struct places *s = mm->places;

	if (!s)
		s = mm->places = calloc(1, sizeof(*s));
	if (!s || moca_vec_fit(s->items, s->room, s->count + 1)) {
		free(list);
		return 0;
	}
	s->items[s->count++] = (struct went){ time_ns, list, count };
	s->runs += count;
	return s->runs + s->count >= WENT_MAX;
}

void phys_taken(struct phys *p, const struct message *list)
{
	p->taken = list;
}

void phys_forget(struct mm *mm)
{
	struct places *s = mm->places;

	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free((void *)s->items[i].list);
	free(s->items);
	free(s);
	mm->places = NULL;
}

void phys_forget_all(struct recorder *rec)
{
	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm; mm = mm_next(mm))
		phys_forget(mm);
	pthread_mutex_unlock(&rec->space_lock);
}
