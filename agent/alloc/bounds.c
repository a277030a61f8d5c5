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

uint32_t alloc_unmaps;

/* All foreign stacks there ever were lie between these. */
static uint64_t foreign_begin = ~0ull, foreign_end;

struct parser {
	uint64_t begin, end;
	enum { BEGIN, END, READABLE, REST } at;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 1: the line's mapping holds sp and is readable. */
static int parse(struct parser *p, char c, uint64_t sp)
{
	int found = 0;

	switch (p->at) {
	case BEGIN:
		if (digit(c) >= 0)
			p->begin = p->begin << 4 | digit(c);
		else
			p->at = END;
		break;
	case END:
		if (digit(c) >= 0)
			p->end = p->end << 4 | digit(c);
		else
			p->at = READABLE;
		break;
	case READABLE:
		found = c == 'r' && sp >= p->begin && sp < p->end;
		p->at = REST;
		break;
	case REST:
		if (c == '\n')
			*p = (struct parser){ .at = BEGIN };
	}
	return found;
}

int alloc_find_mapping(uint64_t addr, uint64_t *begin, uint64_t *end)
{
	int saved_errno = errno, found = 0;
	struct parser p = { .at = BEGIN };
	char buf[512];
	long fd, n, i;

	fd = syscall(SYS_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !found) {
		n = syscall(SYS_read, fd, buf, sizeof(buf));
		if (n <= 0)
			break;
		for (i = 0; i < n && !found; i++)
			found = parse(&p, buf[i], addr);
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved_errno;
	*begin = p.begin;
	*end = p.end;
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
