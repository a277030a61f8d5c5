// SPDX-License-Identifier: LGPL-2.1-or-later
/* mmap and its like, called by the program itself. */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/thread.h"
#include "agent/alloc/watch.h"
#include "include/abi/alloc-events.h"

#define EXPORT __attribute__((visibility("default")))

#define ADDRESSES (1ul << 56)	/* of programs, with five levels of tables */

static int enter(const struct alloc_frame *f)
{
	return !alloc_is_own_code(f->ret) && alloc_enter(f);
}

/* Else the kernel refuses. */
static int is_range(const void *addr, size_t len)
{
	return len && !((uintptr_t)addr & (ALLOC_PAGE - 1)) &&
	       len <= ADDRESSES && (uintptr_t)addr <= ADDRESSES - len;
}

/* Whole pages go. */
static void tell_unmapped(const void *addr, size_t len)
{
	if (is_range(addr, len))
		alloc_unmapped(addr, (len + ALLOC_PAGE - 1) &
					     ~(size_t)(ALLOC_PAGE - 1));
}

static inline __attribute__((always_inline)) void *
map(void *addr, size_t len, int prot, int flags, int fd,
		 off_t offset, const struct alloc_frame *f)
{
	void *p;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd,
				       offset);
	if (!enter(f))
		return alloc_real.mmap(addr, len, prot, flags, fd, offset);
	/* What is there goes; another thread's stack is not in it. */
	if (flags & MAP_FIXED)
		tell_unmapped(addr, len);
	p = alloc_real.mmap(addr, len, prot, flags, fd, offset);
	if (p != MAP_FAILED)
		alloc_mapped(p, len, f);
	alloc_leave();
	return p;
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset)
{
	return map(addr, len, prot, flags, fd, offset, ALLOC_FRAME());
}

EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd,
		    off64_t offset)
{
	return map(addr, len, prot, flags, fd, offset, ALLOC_FRAME());
}

EXPORT int munmap(void *addr, size_t len)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	int ret;

	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return syscall(SYS_munmap, addr, len);
	if (!enter(f)) {
		alloc_stack_unmapped((uint64_t)addr, len);
		ret = alloc_real.munmap(addr, len);
		alloc_stack_unmapped((uint64_t)addr, len);
		return ret;
	}
	tell_unmapped(addr, len);
	ret = alloc_real.munmap(addr, len);
	alloc_stack_unmapped((uint64_t)addr, len);
	alloc_leave();
	return ret;
}

static inline __attribute__((always_inline)) void *
remap(void *old, size_t old_len, size_t len, int flags,
		   void *to, const struct alloc_frame *f)
{
	void *p;

	if (!enter(f)) {
		alloc_stack_unmapped((uint64_t)old, old_len);
		p = alloc_real.mremap(old, old_len, len, flags, to);
		alloc_stack_unmapped((uint64_t)old, old_len);
		return p;
	}
	/* With no old length a shared mapping is doubled. */
	if (old_len)
		tell_unmapped(old, old_len);
	if (flags & MREMAP_FIXED)
		tell_unmapped(to, len);
	p = alloc_real.mremap(old, old_len, len, flags, to);
	alloc_stack_unmapped((uint64_t)old, old_len);
	if (p != MAP_FAILED)
		alloc_mapped(p, len, f);
	if (is_range(old, old_len) &&
	    (p == MAP_FAILED || flags & MREMAP_DONTUNMAP))
		alloc_mapped(old, old_len, f);
	alloc_leave();
	return p;
}

EXPORT void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	const struct alloc_frame *f = ALLOC_FRAME();
	void *to = NULL;
	va_list args;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(args, flags);
		to = va_arg(args, void *);
		va_end(args);
	}
	if (unlikely(alloc_state != ALLOC_READY) && !alloc_get_ready())
		return (void *)syscall(SYS_mremap, old, old_len, len, flags,
				       to);
	return remap(old, old_len, len, flags, to, f);
}
