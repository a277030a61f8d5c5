// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is told of an object: each large one, of small ones what is new. */
#include "agent/alloc/emit.h"
#include "agent/alloc/events.h"
#include "agent/alloc/internal.h"
#include "agent/alloc/stack.h"
#include "agent/alloc/thread.h"

/*
 * What small object each address was last told to be. The words of an entry
 * belong together if their mix is a key: torn ones are not, and are told anew.
 */
#define SHADOW (1u << 19)

static struct {
	uint64_t key;		/* mixed with what */
	uint64_t what;		/* size, stack << 32 */
} shadow[SHADOW];

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

static inline uint64_t mix(uint64_t what)
{
	return what * 0x9e3779b97f4a7c15ull;
}

/*
 * Addresses have 47 bits, of which the lowest 4 are the same as the index; 9
 * bits of the registry's generation tell new traces what the old ones know.
 */
static inline uint64_t key_of(const void *p, uint32_t generation)
{
	uint8_t era = __atomic_load_n(&eras[page_of(p) & (ERAS - 1)],
				      __ATOMIC_RELAXED);

	return (uint64_t)p ^ (uint64_t)era << 56 ^
	       (uint64_t)(generation & 0x1ff) << 47;
}

static inline void note_small(struct alloc_thread *t, const void *p,
			      size_t size, uint32_t stack)
{
	uint64_t what = size | (uint64_t)stack << 32;
	uint64_t key = key_of(p, t->generation) ^ mix(what);
	unsigned i = (uint64_t)p >> 4 & (SHADOW - 1);

	if (likely(__atomic_load_n(&shadow[i].what, __ATOMIC_RELAXED) ==
			   what &&
		   __atomic_load_n(&shadow[i].key, __ATOMIC_RELAXED) == key))
		return;
	if (!alloc_emit_small(p, size, stack))
		return;
	__atomic_store_n(&shadow[i].what, what, __ATOMIC_RELAXED);
	__atomic_store_n(&shadow[i].key, key, __ATOMIC_RELAXED);
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
