// SPDX-License-Identifier: GPL-2.0-or-later
/* Records in a ring that is made here: in one piece, and not; what cannot be one. */
#include "collect/perf/ring.h"

#include <sys/mman.h>

#include "tests/unit/trace-util.h"

#define PAGES 1u
#define BYTES 4096u

static struct perf_ring ring;
static struct perf_event_mmap_page *page;
static uint8_t *data;

static int begin(uint64_t at)
{
	int fd = memfd_create("test-perf-ring", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, BYTES + 4096));
	CHECK(!perf_ring_map(&ring, fd, PAGES));
	close(fd);
	CHECK(ring.bytes == BYTES);
	page = ring.page;
	data = (uint8_t *)page + 4096;
	page->data_head = page->data_tail = ring.head = ring.tail = at;
	return 0;
}

/* As the kernel writes one: its bytes count on from its number. */
static void put(uint32_t type, uint16_t size)
{
	const struct perf_event_header h = { .type = type, .size = size };

	for (size_t i = 0; i < size; i++)
		data[(page->data_head + i) % BYTES] =
			i < sizeof(h) ? ((const uint8_t *)&h)[i] :
					(uint8_t)(type + i);
	page->data_head += size;
}

/* The next record, whole, by both ways to read it. */
static int is_next(uint32_t type, uint16_t size)
{
	static char buf[BYTES], copy[BYTES];
	struct perf_event_header h;
	const char *p;
	size_t n;

	CHECK(perf_ring_header(&ring, &h));
	CHECK(h.type == type && h.size == size);
	n = perf_ring_length(&h);
	CHECK(n == size - sizeof(h));
	p = perf_ring_at(&ring, buf, n);
	perf_ring_body(&ring, copy, n);
	CHECK(!memcmp(p, copy, n));
	for (size_t i = 0; i < n; i++)
		CHECK((uint8_t)p[i] == (uint8_t)(type + sizeof(h) + i));
	perf_ring_skip(&ring, &h);
	return 0;
}

static int is_empty(void)
{
	struct perf_event_header h;

	return !perf_ring_header(&ring, &h);
}

/* Wherever the ring's end is in a record. */
static int t_wraps(void)
{
	for (uint64_t at = BYTES - 72; at <= BYTES; at += 8) {
		CHECK(!begin(at));
		put(7, 64);
		put(9, 8);
		put(11, 24);
		CHECK(is_empty());	/* not before the look */
		perf_ring_look(&ring);
		put(13, 16);
		CHECK(!is_next(7, 64) && !is_next(9, 8) && !is_next(11, 24));
		CHECK(is_empty());
		CHECK(page->data_tail == at && perf_ring_used(&ring) == 16);
		perf_ring_release(&ring);
		CHECK(page->data_tail == at + 96 && ring.released == at + 96);
		perf_ring_look(&ring);
		CHECK(!is_next(13, 16) && is_empty());
		perf_ring_unmap(&ring);
	}
	return 0;
}

/* It is full, and as long as it is. */
static int t_full(void)
{
	CHECK(!begin(40));
	put(5, BYTES);
	perf_ring_look(&ring);
	CHECK(perf_ring_used(&ring) == BYTES);
	CHECK(!is_next(5, BYTES) && is_empty());
	page->data_head += BYTES;
	CHECK(perf_ring_used(&ring) == BYTES);
	page->data_head += BYTES;
	CHECK(perf_ring_used(&ring) == BYTES);
	perf_ring_unmap(&ring);
	perf_ring_unmap(&ring);
	CHECK(is_empty());
	return 0;
}

/* Shorter than a header, or longer than what is there: the rest is given up. */
static int t_odd(void)
{
	const uint16_t odd[] = { 0, 7, 41, UINT16_MAX };

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		CHECK(!begin(16));
		put(3, 16);
		put(4, 40);
		memcpy(data + 32 + offsetof(struct perf_event_header, size),
		       &odd[i], sizeof(odd[i]));
		perf_ring_look(&ring);
		CHECK(!is_next(3, 16) && is_empty() && ring.tail == 16 + 56);
		put(6, 32);
		perf_ring_look(&ring);
		CHECK(!is_next(6, 32) && is_empty());
		perf_ring_unmap(&ring);
	}
	return 0;
}

int main(void)
{
	run("perf's ring: wraps", t_wraps);
	run("perf's ring: full", t_full);
	run("perf's ring: no record", t_odd);
	return failures != 0;
}
