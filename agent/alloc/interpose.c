// SPDX-License-Identifier: LGPL-2.1-or-later
/* malloc and its family, in the place of the program's. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "agent/alloc/early.h"
#include "agent/alloc/thin.h"
#include "agent/alloc/watch.h"
#include "include/abi/alloc-events.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early(size, 16);
	if (!alloc_enter(f))
		return alloc_real.malloc(size);
	p = alloc_real.malloc(size);
	if (likely(p != NULL) && !alloc_made_quick(size))
		alloc_made(p, size, MOCA_ALLOC_MALLOC, f);
	alloc_leave();
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early(n * size, 16);	/* is zero */
	if (!alloc_enter(f))
		return alloc_real.calloc(n, size);
	p = alloc_real.calloc(n, size);
	if (likely(p != NULL) && !alloc_made_quick(n * size))
		alloc_made(p, n * size, MOCA_ALLOC_CALLOC, f);
	alloc_leave();
	return p;
}

void alloc_free(void *p, const struct alloc_frame *f)
{
	int told;

	if (unlikely(alloc_is_early(p)))
		return;
	if (!p || !alloc_enter(f)) {
		alloc_real.free(p);
		return;
	}
	if (likely(alloc_gone_quick(p))) {
		alloc_real.free(p);
		alloc_leave();
		return;
	}
	told = alloc_gone(p, MOCA_FREE_FREE);
	alloc_real.free(p);
	alloc_freed(told);
	alloc_leave();
}

EXPORT void free(void *p)
{
	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return;
	alloc_free(p, ALLOC_FRAME());
}

/* What was there before the allocator could be reached moves away. */
static void *move_early(void *old, size_t size)
{
	size_t had = alloc_early_size(old);
	void *p = malloc(size);

	if (p)
		memcpy(p, old, had < size ? had : size);
	return p;
}

/* Of realloc and reallocarray: n * size does not overflow. */
static void *resize(void *old, size_t n, size_t size, int is_array,
		    const struct alloc_frame *f)
{
	size_t had = old && alloc_real.usable ? alloc_real.usable(old) : 0;
	size_t bytes = n * size;
	int told = 0;
	void *p;

	/* Most allocators free an object that is to have no bytes. */
	if (old)
		told = alloc_gone(old, bytes ? MOCA_FREE_REALLOC :
					       MOCA_FREE_FREE);
	p = is_array ? alloc_real.reallocarray(old, n, size) :
		       alloc_real.realloc(old, bytes);
	alloc_freed(told);
	if (p && told && bytes)
		alloc_made_told(p, bytes, MOCA_ALLOC_REALLOC, f);
	else if (p)
		alloc_made(p, bytes, MOCA_ALLOC_REALLOC, f);
	else if (told && bytes)		/* it failed: all is as it was */
		alloc_made_told(old, had, MOCA_ALLOC_KEPT, f);
	return p;
}

EXPORT void *realloc(void *old, size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early_resize(old, size);
	if (unlikely(old && alloc_is_early(old)))
		return move_early(old, size);
	if (!alloc_enter(f))
		return alloc_real.realloc(old, size);
	p = resize(old, 1, size, 0, f);
	alloc_leave();
	return p;
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early_resize(old, bytes);
	if (unlikely(old && alloc_is_early(old)))
		return move_early(old, bytes);
	if (!alloc_enter(f))
		return alloc_real.reallocarray(old, n, size);
	p = resize(old, n, size, 1, f);
	alloc_leave();
	return p;
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	int ret;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready()) {
		*out = alloc_early(size, align);
		return *out ? 0 : ENOMEM;
	}
	if (!alloc_enter(f))
		return alloc_real.posix_memalign(out, align, size);
	ret = alloc_real.posix_memalign(out, align, size);
	if (!ret && *out && !alloc_made_quick(size))
		alloc_made(*out, size, MOCA_ALLOC_ALIGNED, f);
	alloc_leave();
	return ret;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early(size, align);
	if (!alloc_enter(f))
		return alloc_real.aligned_alloc(align, size);
	p = alloc_real.aligned_alloc(align, size);
	if (likely(p != NULL) && !alloc_made_quick(size))
		alloc_made(p, size, MOCA_ALLOC_ALIGNED, f);
	alloc_leave();
	return p;
}

EXPORT void *memalign(size_t align, size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early(size, align);
	if (!alloc_enter(f))
		return alloc_real.memalign(align, size);
	p = alloc_real.memalign(align, size);
	if (likely(p != NULL) && !alloc_made_quick(size))
		alloc_made(p, size, MOCA_ALLOC_ALIGNED, f);
	alloc_leave();
	return p;
}

EXPORT void *valloc(size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early(size, 4096);
	if (!alloc_enter(f))
		return alloc_real.valloc(size);
	p = alloc_real.valloc(size);
	if (likely(p != NULL) && !alloc_made_quick(size))
		alloc_made(p, size, MOCA_ALLOC_ALIGNED, f);
	alloc_leave();
	return p;
}

EXPORT void *pvalloc(size_t size)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return alloc_early((size + 4095) & ~4095ul, 4096);
	if (!alloc_enter(f))
		return alloc_real.pvalloc(size);
	p = alloc_real.pvalloc(size);
	if (likely(p != NULL) && !alloc_made_quick(size))
		alloc_made(p, size, MOCA_ALLOC_ALIGNED, f);
	alloc_leave();
	return p;
}

/* Of old programs; glibc has it no longer for new ones. */
EXPORT void cfree(void *p);
EXPORT void cfree(void *p)
{
	free(p);
}
