/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring of perf_event_open(2), from which one thread reads the kernel's records:
 * look, then header and skip for each, then release.
 */
#ifndef MOCA_PERF_RING_H
#define MOCA_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring {
	struct perf_event_mmap_page *page;	/* NULL: it is not mapped */
	const char *data;
	size_t bytes;		/* of data: a power of 2 */
	uint64_t head;		/* where the kernel was when last looked at */
	uint64_t tail;		/* where the next record begins */
	uint64_t released;	/* where the kernel may write up to */
};

/* With so many pages of data, a power of 2. 0 or -errno. */
int perf_ring_map(struct perf_ring *r, int fd, size_t pages);
void perf_ring_unmap(struct perf_ring *r);

/* Records behind this are not read until the next look. */
void perf_ring_look(struct perf_ring *r);
/* Bytes that the kernel has written and may not write to again, now. */
uint64_t perf_ring_used(const struct perf_ring *r);
/*
 * 1 and *h: the header of the next record, which is there as a whole. 0: there is
 * none. What cannot be a header ends all that was looked at.
 */
int perf_ring_header(struct perf_ring *r, struct perf_event_header *h);
/* Bytes of that record behind its header. */
static inline size_t perf_ring_length(const struct perf_event_header *h)
{
	return h->size - sizeof(*h);
}
/* n of them, or fewer: a copy, as they may wrap. */
void perf_ring_body(const struct perf_ring *r, void *out, size_t n);
/* All n of them: where they are, or, if they wrap, a copy in buf. */
const char *perf_ring_at(const struct perf_ring *r, char *buf, size_t n);
void perf_ring_skip(struct perf_ring *r, const struct perf_event_header *h);
/* The kernel may write over what was skipped. */
void perf_ring_release(struct perf_ring *r);

#endif
