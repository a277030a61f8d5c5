// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ul

int perf_ring_map(struct perf_ring *r, int fd, size_t pages)
{
	void *p = mmap(NULL, (pages + 1) * PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*r = (struct perf_ring){ .page = p, .data = (char *)p + PAGE,
				 .bytes = pages * PAGE };
	return 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, PAGE + r->bytes);
	r->page = NULL;
}

static uint64_t load_head(const struct perf_ring *r)
{
	/* Pairs with the kernel's release of data_head, behind the records it wrote. */
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

void perf_ring_look(struct perf_ring *r)
{
	r->head = load_head(r);
}

uint64_t perf_ring_used(const struct perf_ring *r)
{
	uint64_t used = load_head(r) - r->tail;

	return used < r->bytes ? used : r->bytes;
}

/* The n bytes at pos, which may wrap. */
static void copy(const struct perf_ring *r, uint64_t pos, void *out, size_t n)
{
	size_t at = pos & (r->bytes - 1), first = r->bytes - at;

	if (first > n)
		first = n;
	memcpy(out, r->data + at, first);
	memcpy((char *)out + first, r->data, n - first);
}

int perf_ring_header(struct perf_ring *r, struct perf_event_header *h)
{
	if (r->tail >= r->head)
		return 0;
	copy(r, r->tail, h, sizeof(*h));
	if (h->size >= sizeof(*h) && h->size <= r->head - r->tail)
		return 1;
	r->tail = r->head;
	return 0;
}

void perf_ring_body(const struct perf_ring *r, void *out, size_t n)
{
	copy(r, r->tail + sizeof(struct perf_event_header), out, n);
}

const char *perf_ring_at(const struct perf_ring *r, char *buf, size_t n)
{
	uint64_t pos = r->tail + sizeof(struct perf_event_header);
	size_t at = pos & (r->bytes - 1);

	if (n <= r->bytes - at)
		return r->data + at;
	copy(r, pos, buf, n);
	return buf;
}

void perf_ring_skip(struct perf_ring *r, const struct perf_event_header *h)
{
	r->tail += h->size;
}

void perf_ring_release(struct perf_ring *r)
{
	/* Pairs with the kernel's load before it overwrites. */
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
	r->released = r->tail;
}
