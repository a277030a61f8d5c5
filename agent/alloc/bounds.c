// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which memory a stack may be read in. A thread's own is known; another one
 * (coroutines, signal stacks) is the mapping that it is in, from /proc, and
 * believed until something near it is unmapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/stack.h"
#include "agent/alloc/thread.h"
#include "lib/base/maps.h"

uint32_t alloc_unmaps;

/* All foreign stacks there ever were lie between these. */
static uint64_t foreign_begin = ~0ull, foreign_end;

static int read_raw(int fd, void *buf, size_t size)
{
	return (int)syscall(SYS_read, fd, buf, size);
}

int alloc_find_mapping(uint64_t addr, uint64_t *begin, uint64_t *end)
{
	int saved_errno = errno, found = 0;
	struct moca_maps_line l;
	char buf[512];
	struct moca_maps m = {
		.fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps",
				   O_RDONLY | O_CLOEXEC),
		.read = read_raw, .buf = buf, .size = sizeof(buf),
	};

	*begin = *end = 0;
	while (m.fd >= 0 && !found && moca_maps_next(&m, &l) > 0) {
		found = l.readable && addr >= l.start && addr < l.end;
		*begin = l.start;
		*end = l.end;
	}
	if (m.fd >= 0)
		syscall(SYS_close, m.fd);
	errno = saved_errno;
	return found;
}

static void widen(uint64_t begin, uint64_t end)
{
	uint64_t old = __atomic_load_n(&foreign_begin, __ATOMIC_RELAXED);

	while (begin < old &&
	       !__atomic_compare_exchange_n(&foreign_begin, &old, begin, 0,
					    __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	old = __atomic_load_n(&foreign_end, __ATOMIC_RELAXED);
	while (end > old &&
	       !__atomic_compare_exchange_n(&foreign_end, &old, end, 0,
					    __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

int alloc_stack_bounds(struct alloc_thread *t, uint64_t sp, uint64_t *high,
		       int *foreign)
{
	uint32_t unmaps = __atomic_load_n(&alloc_unmaps, __ATOMIC_ACQUIRE);

	*foreign = 0;
	*high = t->high;
	if (sp >= t->low && sp < t->high)
		return 1;
	*foreign = 1;
	*high = t->foreign_high;
	if (t->foreign_unmaps == unmaps && sp >= t->foreign_low &&
	    sp < t->foreign_high)
		return 1;
	if (!alloc_find_mapping(sp, &t->foreign_low, &t->foreign_high)) {
		t->foreign_low = t->foreign_high = 0;
		return 0;
	}
	t->foreign_unmaps = unmaps;
	*high = t->foreign_high;
	widen(t->foreign_low, t->foreign_high);
	return 1;
}

int alloc_stack_unmapped(uint64_t addr, uint64_t size)
{
	if (addr >= __atomic_load_n(&foreign_end, __ATOMIC_RELAXED) ||
	    addr + size <= __atomic_load_n(&foreign_begin, __ATOMIC_RELAXED))
		return 0;
	__atomic_fetch_add(&alloc_unmaps, 1, __ATOMIC_RELEASE);
	return 1;
}
