// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Walking a call stack by frame records: on arm64 compilers keep them in all
 * functions that call others, unless -fomit-frame-pointer is asked for, and the
 * kernel makes one for a signal's handler. Each read lies between the caller's
 * record and the end of its stack. Code without records is left out of a stack.
 */
#include "agent/alloc/cfi.h"
#include "agent/alloc/stack.h"

/* Return addresses may be signed (PAC): the bits above user space's addresses. */
#define ADDRESS_BITS 48

static void depend(struct alloc_walk *w, const uint64_t *at)
{
	if (w->slots == ALLOC_SLOTS) {
		w->cacheable = 0;
		return;
	}
	w->addr[w->slots] = (uint64_t)at;
	w->value[w->slots++] = *at;
}

static uint64_t address(uint64_t ret)
{
	return ret & ((1ull << ADDRESS_BITS) - 1);
}

void alloc_walk(struct alloc_walk *w, const struct alloc_frame *f,
		uint64_t high, uint64_t own_low, uint64_t own_high)
{
	uint64_t low = (uint64_t)(f + 1), at = f->rbp;
	const struct alloc_frame *next;

	w->cacheable = 1;
	w->slots = 0;
	w->uses_rbp = 1;
	w->frames[0] = address(f->ret);
	w->n = 1;
	while (w->n < MOCA_ALLOC_FRAMES) {
		/* A handler on a stack of its own interrupted the thread's. */
		if (at < low || at >= high) {
			if (at < own_low || at >= own_high || own_high == high)
				return;
			low = own_low;
			high = own_high;
		}
		if (at & 7 || high - at < sizeof(*next))
			return;
		next = (const struct alloc_frame *)at;
		depend(w, &next->rbp);
		depend(w, &next->ret);
		if (!next->ret)
			return;
		w->frames[w->n++] = address(next->ret);
		low = at + sizeof(*next);
		at = next->rbp;
	}
}

/* Nothing is kept of code. */
void alloc_cfi_forget(void)
{
}
