// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The begin and the end of a detoured call, for which nobody has kept the
 * vectors: this is compiled to use none, and calls nothing else but enter.c,
 * which is as well.
 */
#include "agent/alloc/detour.h"
#include "include/abi/alloc-events.h"

/*
 * The outermost custom allocator of a thread. What it gets from malloc is an
 * object as well, so this is not alloc_inside.
 */
static __thread struct alloc_inside custom_inside
	__attribute__((tls_model("initial-exec")));

static void read_arguments(struct moca_detour_call *call)
{
	const struct moca_role *r = &call->hook->role;

	call->original = call->hook->original;
	call->wanted = 0;
	call->ends = 0;
	call->told = 0;
	call->object = 0;
	call->size = r->size < 0 ? 0 : call->args[r->size];
	if (r->count >= 0 && __builtin_mul_overflow(call->size,
						    call->args[r->count],
						    &call->size))
		call->size = 0;		/* it will fail */
	if (r->old >= 0 || r->out >= 0)
		call->object = call->args[r->old >= 0 ? r->old : r->out];
}

static int enter_custom(struct moca_detour_call *call)
{
	if (__atomic_load_n(alloc_off, __ATOMIC_RELAXED) ==
		    __atomic_load_n(moca_trace_generation, __ATOMIC_RELAXED) ||
	    (custom_inside.frame &&
	     alloc_is_within(&custom_inside, &call->frame)))
		return 0;
	custom_inside.frame = &call->frame;
	custom_inside.ret = call->frame.ret;
	return 1;
}

void moca_detour_before(struct moca_detour_call *call)
{
	const struct moca_role *r = &call->hook->role;

	read_arguments(call);
	if (r->kind == MOCA_ROLE_EXIT) {
		call->ends = 1;
		return;
	}
	if (r->kind == MOCA_ALLOC_CUSTOM ? !enter_custom(call) :
					   !alloc_enter(&call->frame))
		return;
	call->wanted = r->size < 0 ? MOCA_DETOUR_LEAVE : MOCA_DETOUR_RECORD;
	call->ends = r->old >= 0 && call->object;
}

void moca_detour_leave(struct moca_detour_call *call)
{
	if (call->hook->role.kind == MOCA_ALLOC_CUSTOM)
		custom_inside.frame = NULL;
	else
		alloc_leave();
}
