// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which call is the outermost one. It says so in thread-local memory, and that
 * stays behind when an exception or a longjmp leaves it. So what is there is
 * believed only as long as that frame can still be active: it is further up the
 * stack, and its return address is where it was.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/internal.h"
#include "agent/alloc/thread.h"

__thread struct alloc_inside alloc_inside;

static int on_own_stack(const struct alloc_thread *t, const void *p)
{
	return t && (uint64_t)p >= t->low && (uint64_t)p < t->high;
}

static int is_mapped(const struct alloc_frame *f)
{
	uint64_t page = (uint64_t)f & ~(uint64_t)(ALLOC_PAGE - 1);
	unsigned char in[2];
	long ret;

	/* mincore fails if any of it is not mapped. errno is the program's. */
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_mincore), "D"(page),
			   "S"((uint64_t)(f + 1) - page), "d"(in)
			 : "rcx", "r11", "memory");
	return !ret;
}

int alloc_is_within(const struct alloc_inside *in, const struct alloc_frame *f)
{
	const struct alloc_frame *outer = in->frame;
	const struct alloc_thread *t = alloc_self;
	int own = on_own_stack(t, outer);

	/* No call that is still active is below one that it has not made. */
	if (own == on_own_stack(t, f)) {
		if (f >= outer)
			return 0;
		return outer->ret == in->ret;
	}
	/* A handler on a stack of its own; or what a coroutine has left. */
	return (own || is_mapped(outer)) && outer->ret == in->ret;
}

int alloc_is_nested(const struct alloc_frame *f)
{
	return alloc_is_within(&alloc_inside, f);
}
