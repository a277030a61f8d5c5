// SPDX-License-Identifier: LGPL-2.1-or-later
/* What happens at a call of a detoured function. */
#include "agent/alloc/detour.h"

#include <cpuid.h>
#include <stddef.h>

#include "agent/alloc/emit.h"
#include "include/abi/alloc-events.h"

_Static_assert(offsetof(struct moca_hook, original) == 0, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, ends) == 0, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, original) == 32, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, wanted) == 40, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, flags) == 48, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, args) == 56, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, result) == 104, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, hook) == 128, "thunk.S");
_Static_assert(offsetof(struct moca_detour_call, frame) == 136, "thunk.S");

uint64_t moca_detour_xsave_len = 512;
uint32_t moca_detour_xsave_mask;

/* x87, SSE, AVX and AVX-512: not what programs must ask for (AMX) or see. */
#define VECTORS 0xe7u

void moca_detour_prepare(void)
{
	unsigned int a, b, c, d, high, mask;
	uint64_t len = 512 + 64;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(mask), "=d"(high) : "c"(0));
	mask &= VECTORS;
	for (unsigned int i = 2; i < 8; i++) {
		if (!(mask & 1u << i))
			continue;
		__cpuid_count(0xd, i, a, b, c, d);
		if (len < b + a)
			len = b + a;
	}
	moca_detour_xsave_len = (len + 63) & ~63ull;
	moca_detour_xsave_mask = mask;
}

/*
 * What a custom allocator ends is said at once, also by a realloc: what it gets
 * from malloc meanwhile would be taken for what became of the object.
 */
void moca_detour_ends(struct moca_detour_call *call)
{
	const struct moca_role *r = &call->hook->role;
	const void *object = (const void *)call->object;

	if (r->kind == MOCA_ROLE_EXIT) {
		moca_detour_exit();
	} else if (r->kind != MOCA_ALLOC_CUSTOM) {
		call->told = alloc_gone(object, r->size >= 0 && call->size ?
						MOCA_FREE_REALLOC :
						MOCA_FREE_FREE);
	} else if (alloc_enter(&call->frame)) {
		alloc_emit_free(object, MOCA_FREE_FREE);
		alloc_leave();
	}
}

static void custom_after(struct moca_detour_call *call)
{
	moca_detour_leave(call);
	if (!call->result || !alloc_enter(&call->frame))
		return;
	alloc_made((const void *)call->result, call->size,
		   call->hook->role.kind, &call->frame);
	alloc_leave();
}

static void family_after(struct moca_detour_call *call)
{
	const struct moca_role *r = &call->hook->role;
	const void *old = (const void *)call->object;
	const void *p = (const void *)call->result;
	size_t size = call->size;
	unsigned kind = r->kind;

	if (r->out >= 0)
		p = call->result ? NULL : *(const void *const *)old;
	if (r->old >= 0 && !p && size && call->told && alloc_real.usable) {
		p = old;	/* it failed: the old one is still there */
		size = alloc_real.usable((void *)p);
		kind = MOCA_ALLOC_KEPT;
	}
	if (p && call->told)
		alloc_made_told(p, size, kind, &call->frame);
	else if (p)
		alloc_made(p, size, kind, &call->frame);
	alloc_leave();
}

void moca_detour_after(struct moca_detour_call *call)
{
	if (call->hook->role.kind == MOCA_ALLOC_CUSTOM)
		custom_after(call);
	else
		family_after(call);
}
