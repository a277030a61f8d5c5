// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is told of an object: each large one, of small ones what is new. */
#include "agent/alloc/emit.h"
#include "agent/alloc/events.h"
#include "agent/alloc/internal.h"
#include "agent/alloc/stack.h"
#include "agent/alloc/thread.h"

/*
 * Whose small object each granule was last told to be: what readers know. One
 * word each: stack (24 bits), generation of the registry (8), era of the page
 * (8), and the address above the index (24 of the 43 bits of a granule).
 */
#define GRANULE_SHIFT 4
#define SHADOW_SHIFT 20
#define SHADOW (1u << SHADOW_SHIFT)
#define SHADOWED 16384u		/* larger ones are told each time */

static uint64_t shadow[SHADOW];

/*
 * For readers a large object takes the place of the small ones that were told
 * for its memory. So each page has an era, in which they were told.
 */
#define ERAS (1u << 16)
static uint8_t eras[ERAS];

static inline uint64_t page_of(const void *p)
{
	return (uint64_t)p / ALLOC_PAGE;
}

static void begin_era(const void *p, size_t size)
{
	uint64_t page = page_of(p), last;

	last = page_of((const char *)p + (size ? size - 1 : 0));
	if (last - page >= ERAS)
		last = page + ERAS - 1;
	for (; page <= last; page++) {
		uint8_t *e = &eras[page & (ERAS - 1)];

		__atomic_store_n(e, __atomic_load_n(e, __ATOMIC_RELAXED) + 1,
				 __ATOMIC_RELAXED);
	}
}

static inline uint64_t word_of(uint64_t granule, uint64_t whose)
{
	uint64_t page = granule >> (12 - GRANULE_SHIFT);
	uint8_t era = __atomic_load_n(&eras[page & (ERAS - 1)],
				      __ATOMIC_RELAXED);

	return whose | (uint64_t)era << 24 |
	       (granule >> SHADOW_SHIFT & 0xffffff);
}

/* The arenas of threads are 64 MiB apart: they must not meet here. */
static inline uint64_t *shadow_of(uint64_t granule)
{
	uint64_t turn = (granule >> SHADOW_SHIFT) * 0x9e3779b97f4a7c15ull;

	return &shadow[(granule + (turn >> (64 - SHADOW_SHIFT))) &
		       (SHADOW - 1)];
}

static inline void note_small(struct alloc_thread *t, const void *p,
			      size_t size, uint32_t stack)
{
	uint64_t whose = (uint64_t)stack << 40 |
			 (uint64_t)(t->generation & 0xff) << 32;
	uint64_t first = (uint64_t)p >> GRANULE_SHIFT, g;
	uint64_t last = ((uint64_t)p + (size ? size - 1 : 0)) >> GRANULE_SHIFT;

	if (unlikely(size > SHADOWED)) {
		alloc_emit_small(p, size, stack);
		return;
	}
	for (g = first; g <= last; g++)
		if (__atomic_load_n(shadow_of(g), __ATOMIC_RELAXED) !=
		    word_of(g, whose))
			break;
	if (likely(g > last) || !alloc_emit_small(p, size, stack))
		return;
	for (; g <= last; g++)
		__atomic_store_n(shadow_of(g), word_of(g, whose),
				 __ATOMIC_RELAXED);
}

static void made(const void *p, size_t size, unsigned kind,
		 const struct alloc_frame *f, int told)
{
	struct alloc_thread *t = alloc_thread_get((uint64_t)(f + 1));
	struct alloc_count *c;
	unsigned index;
	uint32_t stack;

	stack = t ? alloc_stack_id(t, f, &index) : 0;
	if (told || size >= alloc_config.min || unlikely(!t)) {
		begin_era(p, size);
		alloc_emit_alloc(p, size, stack, kind);
		return;
	}
	c = stack ? &t->counts[index] : &t->skipped;
	c->bytes += size;
	if (unlikely(!(++c->count & 0xfff)) && stack)
		alloc_count_flush(t, index);
	note_small(t, p, size, stack);
}

void alloc_made(const void *p, size_t size, unsigned kind,
		const struct alloc_frame *f)
{
	made(p, size, kind, f, 0);
}

void alloc_made_told(const void *p, size_t size, unsigned kind,
		     const struct alloc_frame *f)
{
	made(p, size, kind, f, 1);
}

int alloc_gone(const void *p, unsigned kind)
{
	size_t usable;
	int told = 1;

	if (!p)
		return 0;
	if (likely(alloc_real.usable != NULL)) {
		usable = alloc_real.usable((void *)p);
		if (usable < alloc_config.min)
			return 0;
		/* What is smaller has no mapping of its own. */
		if (usable >= 65536)
			told += alloc_stack_unmapped((uint64_t)p, usable);
	}
	if (unlikely(!alloc_self))
		alloc_thread_get((uint64_t)__builtin_frame_address(0));
	alloc_emit_free(p, kind);
	return told;
}

void alloc_freed_slow(void)
{
	__atomic_fetch_add(&alloc_unmaps, 1, __ATOMIC_RELEASE);
}

void alloc_mapped(const void *p, size_t size, const struct alloc_frame *f)
{
	made(p, size, MOCA_ALLOC_MMAP, f, 1);
}

void alloc_unmapped(const void *p, size_t size)
{
	alloc_stack_unmapped((uint64_t)p, size);
	alloc_emit_unmap(p, size);
}
