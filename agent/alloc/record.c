// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is told of an object: each large one, of small ones what is new. */
#include "agent/alloc/emit.h"
#include "agent/alloc/stack.h"
#include "agent/alloc/thin.h"
#include "agent/alloc/thread.h"
#include "agent/alloc/watch.h"
#include "include/abi/alloc-events.h"

/*
 * Whose small object each granule was last told to be: what readers know. One
 * word each: stack (24 bits), generation of the registry and turn of the level
 * (8), era of the page (8), and the address above the index (24 of the 43 bits of a granule).
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
			 (uint64_t)((t->generation + alloc_thin.turn) & 0xff)
				 << 32;
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

/* The level has changed since `turn`: what was told meanwhile is void. */
static inline int is_turned(uint32_t turn)
{
	return unlikely(__atomic_load_n(&alloc_thin.turn, __ATOMIC_RELAXED) !=
			turn);
}

/* One by one. */
static void tell(struct alloc_thread *t, const void *p, size_t size,
		 unsigned kind, const struct alloc_frame *f, uint32_t turn)
{
	unsigned index;
	uint32_t stack = t ? alloc_stack_id(t, f, &index) : 0;

	begin_era(p, size);
	alloc_emit_alloc(p, size, stack, kind);
	if (t)
		t->w.meter.events++;
	if (kind == MOCA_ALLOC_MMAP)
		return;
	/* Nobody would tell the end of what realloc has made so small. */
	if (is_turned(turn) || (size < alloc_thin.min && !alloc_track(p)))
		alloc_emit_free(p, MOCA_FREE_FREE);
}

static void in_bulk(struct alloc_thread *t, const void *p, size_t size,
		    const struct alloc_frame *f, uint32_t turn)
{
	unsigned index;
	uint32_t stack = alloc_stack_id(t, f, &index);
	struct alloc_count *c = stack ? &t->counts[index] : &t->w.skipped;

	c->bytes += size;
	if (unlikely(!(++c->count & 0xfff)) && stack)
		alloc_count_flush(t, index);
	note_small(t, p, size, stack);
	if (is_turned(turn))
		alloc_emit_small(p, size, 0);
}

static inline __attribute__((always_inline)) void
made_by(struct alloc_thread *t, const void *p, size_t size, unsigned kind,
	const struct alloc_frame *f, int told)
{
	/* Pairs with set_level: what is told below is of that level. */
	uint32_t turn = __atomic_load_n(&alloc_thin.turn, __ATOMIC_ACQUIRE);
	struct alloc_count *c;

	if (unlikely(told || size >= alloc_thin.min || !t)) {
		tell(t, p, size, kind, f, turn);
		return;
	}
	if (!alloc_thin.level) {
		in_bulk(t, p, size, f, turn);
		return;
	}
	c = &t->w.sized[alloc_class(size)];
	c->count++;
	c->bytes += size;
	if (likely(t->until_sample > 1))
		t->until_sample--;
	else
		alloc_sample(t, p, size, kind, f);
	alloc_quick_begin(t, turn);
}

static __attribute__((noinline)) void
made_timed(struct alloc_thread *t, const void *p, size_t size, unsigned kind,
	   const struct alloc_frame *f, int told)
{
	struct alloc_timing begin;

	alloc_time(&begin);
	made_by(t, p, size, kind, f, told);
	t->quick = t->quick_given = 0;
	alloc_timed(t, &t->timer_made, &begin);
}

static inline __attribute__((always_inline)) void
made(const void *p, size_t size, unsigned kind, const struct alloc_frame *f,
     int told)
{
	struct alloc_thread *t = alloc_thread_get((uint64_t)(f + 1));

	if (t)
		alloc_quick_end(t);
	if (t && alloc_is_timed(&t->timer_made))
		made_timed(t, p, size, kind, f, told);
	else
		made_by(t, p, size, kind, f, told);
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

/* What is smaller has no mapping of its own. */
#define MAPPED 65536u

static inline __attribute__((always_inline)) int
gone_by(struct alloc_thread *t, const void *p, unsigned kind)
{
	size_t usable = 0;
	int told = 1;

	if (likely(alloc_real.usable != NULL)) {
		usable = alloc_real.usable((void *)p);
		if (t)
			t->w.freed.bytes += usable;
		if (likely(usable < alloc_thin.min)) {
			if (!alloc_thin.tracks || !alloc_untrack(p))
				return 0;
			/* What realloc makes of it is sampled anew. */
			kind = MOCA_FREE_FREE;
			told = 0;
		} else if (usable >= MAPPED) {
			told += alloc_stack_unmapped((uint64_t)p, usable);
		}
	}
	alloc_emit_free(p, kind);
	if (t)
		t->w.meter.events++;
	return told;
}

static __attribute__((noinline)) int gone_timed(struct alloc_thread *t,
						const void *p, unsigned kind)
{
	struct alloc_timing begin;
	int told;

	alloc_time(&begin);
	told = gone_by(t, p, kind);
	alloc_timed(t, &t->timer_gone, &begin);
	return told;
}

int alloc_gone(const void *p, unsigned kind)
{
	struct alloc_thread *t = alloc_self;

	if (!p)
		return 0;
	if (unlikely(!t))
		t = alloc_thread_get((uint64_t)__builtin_frame_address(0));
	if (unlikely(!t))
		return gone_by(t, p, kind);
	t->w.freed.count++;
	return alloc_is_timed(&t->timer_gone) ? gone_timed(t, p, kind) :
				   gone_by(t, p, kind);
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
