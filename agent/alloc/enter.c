// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which call is the outermost one. It says so in thread-local memory, and that
 * stays behind when an exception or a longjmp leaves it. So what is there is
 * believed only as long as that frame can still be active: it is further up the
 * same stack, or a signal handler runs on a stack of its own; and its return
 * address is where it was. A coroutine's stack that was left so, with the frame
 * in it, may be gone by now.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/call.h"
#include "agent/alloc/thread.h"
#include "agent/alloc/watch.h"

__thread struct alloc_inside alloc_inside;

static int on_own_stack(const struct alloc_thread *t, const void *p)
{
	return t && (uint64_t)p >= t->low && (uint64_t)p < t->high;
}

/* There is no way to change the signal mask that is called -1. */
static int is_readable(const void *p)
{
	return alloc_call(SYS_rt_sigprocmask, -1, (long)p, 0, 8, 0, 0) ==
	       -EINVAL;
}

/* Does a handler run on the signal stack, which p is not on? */
static int in_handler_beside(const void *p)
{
	stack_t s = { 0 };

	return !alloc_call(SYS_sigaltstack, 0, (long)&s, 0, 0, 0, 0) &&
	       s.ss_flags & SS_ONSTACK &&
	       (uint64_t)p - (uint64_t)s.ss_sp >= s.ss_size;
}

static int is_same_page(const void *a, const void *b)
{
	return !(((uint64_t)a ^ (uint64_t)b) & ~(uint64_t)(ALLOC_PAGE - 1));
}

int alloc_is_within(const struct alloc_inside *in, const struct alloc_frame *f)
{
	const struct alloc_frame *outer = in->frame;
	const struct alloc_thread *t = alloc_self;
	int own = on_own_stack(t, outer), same = own == on_own_stack(t, f);

	/* No call that is still active is below one that it has not made. */
	if (own && same && f >= outer)
		return 0;
	if ((!same || f >= outer) && !in_handler_beside(outer))
		return 0;
	return (own || is_same_page(f, &outer->ret) ||
		is_readable(&outer->ret)) &&
	       outer->ret == in->ret;
}

int alloc_is_nested(const struct alloc_frame *f)
{
	return alloc_is_within(&alloc_inside, f);
}
