// SPDX-License-Identifier: LGPL-2.1-or-later
/* The one place where the events are defined. */
#include <string.h>

#include "agent/alloc/emit.h"
#include "agent/alloc/watch.h"
#include "agent/trace/doorbell.h"
#include "include/abi/alloc-events.h"
#include "lib/ring/meter.h"

/*
 * Each thread looks this one up before any other, in each generation of the
 * registry: so a trace that does not want it gets none of ours.
 */
const uint32_t *alloc_off = &moca_trace_event_moca_alloc_thread.off;

struct moca_meter *alloc_meter_page(void)
{
	struct moca_doorbell *d =
		moca_trace_doorbell(&moca_trace_event_moca_alloc_thread);

	return d ? (struct moca_meter *)((char *)d + MOCA_METER_OFFSET) : NULL;
}

void alloc_emit_prepare(void)
{
	static struct moca_trace_event *const events[] = {
		&moca_trace_event_moca_alloc_thread,
		&moca_trace_event_moca_alloc_tls,
		&moca_trace_event_moca_alloc_stack,
		&moca_trace_event_moca_alloc_alloc,
		&moca_trace_event_moca_alloc_free,
		&moca_trace_event_moca_alloc_unmap,
		&moca_trace_event_moca_alloc_small,
		&moca_trace_event_moca_alloc_tally,
		&moca_trace_event_moca_alloc_skipped,
		&moca_trace_event_moca_alloc_thinned,
		&moca_trace_event_moca_alloc_sample,
		&moca_trace_event_moca_alloc_sized,
		&moca_trace_event_moca_alloc_freed,
		&moca_trace_event_moca_alloc_detour,
	};

	moca_trace_prepare(events, sizeof(events) / sizeof(*events));
}

/* As MOCA_EVENT stores it, but says whether there was room. */
int alloc_emit_stack(uint32_t id, const uint64_t *frames, uint32_t n)
{
	struct moca_trace_record r;
	char *p = moca_trace_reserve(&moca_trace_event_moca_alloc_stack,
				     8 + 8 * n, &r);
	int told = p != NULL;

	while (p) {
		p = moca_trace_put(p, &id, 4);
		p = moca_trace_put(p, &n, 4);
		moca_trace_put(p, frames, 8 * (size_t)n);
		p = moca_trace_commit(&r);
	}
	return told;
}

int alloc_emit_small(const void *addr, uint32_t size, uint32_t stack)
{
	struct moca_trace_record r;
	char *p = moca_trace_reserve(&moca_trace_event_moca_alloc_small, 16,
				     &r);
	int told = p != NULL;

	while (p) {
		p = moca_trace_put(p, &addr, 8);
		p = moca_trace_put(p, &size, 4);
		moca_trace_put(p, &stack, 4);
		p = moca_trace_commit(&r);
	}
	return told;
}

int alloc_emit_tally(uint32_t stack, uint64_t count, uint64_t bytes)
{
	struct moca_trace_record r;
	char *p = moca_trace_reserve(&moca_trace_event_moca_alloc_tally, 20,
				     &r);
	int told = p != NULL;

	while (p) {
		p = moca_trace_put(p, &stack, 4);
		p = moca_trace_put(p, &count, 8);
		moca_trace_put(p, &bytes, 8);
		p = moca_trace_commit(&r);
	}
	return told;
}

/* Events of two numbers. */
static int put_sums(struct moca_trace_event *event, uint64_t count,
		    uint64_t bytes)
{
	struct moca_trace_record r;
	char *p = moca_trace_reserve(event, 16, &r);
	int told = p != NULL;

	while (p) {
		p = moca_trace_put(p, &count, 8);
		moca_trace_put(p, &bytes, 8);
		p = moca_trace_commit(&r);
	}
	return told;
}

int alloc_emit_skipped(uint64_t count, uint64_t bytes)
{
	return put_sums(&moca_trace_event_moca_alloc_skipped, count, bytes);
}

int alloc_emit_sample(const void *addr, uint64_t size, uint32_t stack,
		      uint8_t level, uint8_t kind)
{
	struct moca_trace_record r;
	char *p = moca_trace_reserve(&moca_trace_event_moca_alloc_sample, 22,
				     &r);
	int told = p != NULL;

	while (p) {
		p = moca_trace_put(p, &addr, 8);
		p = moca_trace_put(p, &size, 8);
		p = moca_trace_put(p, &stack, 4);
		p = moca_trace_put(p, &level, 1);
		moca_trace_put(p, &kind, 1);
		p = moca_trace_commit(&r);
	}
	return told;
}

int alloc_emit_sized(uint8_t class, uint64_t count, uint64_t bytes)
{
	struct moca_trace_record r;
	char *p = moca_trace_reserve(&moca_trace_event_moca_alloc_sized, 17,
				     &r);
	int told = p != NULL;

	while (p) {
		p = moca_trace_put(p, &class, 1);
		p = moca_trace_put(p, &count, 8);
		moca_trace_put(p, &bytes, 8);
		p = moca_trace_commit(&r);
	}
	return told;
}

int alloc_emit_freed(uint64_t count, uint64_t bytes)
{
	return put_sums(&moca_trace_event_moca_alloc_freed, count, bytes);
}

void alloc_emit_thinned(uint8_t level, uint64_t min)
{
	moca_trace_moca_alloc_thinned(level, min);
}

void alloc_emit_alloc(const void *p, uint64_t size, uint32_t stack,
		      uint8_t kind)
{
	moca_trace_moca_alloc_alloc((uint64_t)p, size, stack, kind);
}

void alloc_emit_free(const void *p, uint8_t kind)
{
	moca_trace_moca_alloc_free((uint64_t)p, kind);
}

void alloc_emit_unmap(const void *p, uint64_t size)
{
	moca_trace_moca_alloc_unmap((uint64_t)p, size);
}

void alloc_emit_thread(uint64_t pointer, uint64_t low, uint64_t high)
{
	moca_trace_moca_alloc_thread(pointer, low, high);
}

void alloc_emit_tls(uint64_t addr, uint64_t size, uint64_t base)
{
	moca_trace_moca_alloc_tls(addr, size, base);
}

void alloc_emit_detour(const char *name, uint64_t addr, const char *error)
{
	moca_trace_moca_alloc_detour(name, addr, error);
}
