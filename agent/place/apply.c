// SPDX-License-Identifier: LGPL-2.1-or-later
/* The policies of pages: huge ones, nodes, and which are there from the start. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/place/place.h"

#define PAGE 4096ul
#define HUGE (2ul << 20)


/* As in linux/mempolicy.h, which not every system has. */
#define MPOL_PREFERRED 1
#define MPOL_BIND 2
#define MPOL_INTERLEAVE 3
#define MPOL_LOCAL 4

/*
 * A policy of some pages of the heap splits the kernel's mapping in three. A
 * process may have 65530; one that has none left gets no memory.
 */
#define LOOK_EACH 2048		/* changes until mappings are counted again */
#define MAPPINGS_MAX 20000
static uint32_t changes, is_crowded;

static uint64_t count_mappings(void)
{
	char buf[4096];
	uint64_t lines = 0;
	ssize_t n, i;
	/* The C library's functions would be points of cancellation. */
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps",
			      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return UINT64_MAX;
	while ((n = syscall(SYS_read, fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++)
			lines += buf[i] == '\n';
	syscall(SYS_close, fd);
	return n < 0 ? UINT64_MAX : lines;
}

/* No more changes of this process' mappings. */
static int crowded(void)
{
	uint32_t n;

	if (__atomic_load_n(&is_crowded, __ATOMIC_RELAXED))
		return 1;
	n = __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	if (n % LOOK_EACH || count_mappings() <= MAPPINGS_MAX)
		return 0;
	if (!__atomic_exchange_n(&is_crowded, 1, __ATOMIC_RELAXED))
		place_count(&place_plan->crowded);
	return 1;
}

static void done(struct moca_place_policy *p, struct moca_place_sum *sum,
		 long ret, uint64_t bytes)
{
	if (!ret) {
		place_add(&sum->count, 1);
		place_add(&sum->bytes, bytes);
		return;
	}
	place_add(&p->refused, 1);
	__atomic_store_n(&p->error, (uint32_t)errno, __ATOMIC_RELAXED);
}

static long bind_memory(const struct moca_place_policy *p, uint64_t begin,
			uint64_t bytes)
{
	static const int modes[] = {
		[MOCA_PLACE_MEMORY_LOCAL] = MPOL_LOCAL,
		[MOCA_PLACE_MEMORY_PREFERRED] = MPOL_PREFERRED,
		[MOCA_PLACE_MEMORY_BIND] = MPOL_BIND,
		[MOCA_PLACE_MEMORY_INTERLEAVE] = MPOL_INTERLEAVE,
	};
	int local = p->memory == MOCA_PLACE_MEMORY_LOCAL;

	return syscall(SYS_mbind, begin, bytes, modes[p->memory],
		       local ? NULL : p->nodes, local ? 0 : p->max_node + 1, 0);
}

/* A whole huge page lies in it. */
static int has_huge(uint64_t begin, uint64_t end)
{
	uint64_t first = (begin + HUGE - 1) & ~(HUGE - 1);

	return first + HUGE <= end;
}

static void apply_pages(struct moca_place_policy *p, uint64_t begin,
			uint64_t end)
{
	uint64_t bytes = end - begin;

	/* Nodes first, then the size of pages: prefault makes them. */
	if (p->memory)
		done(p, &p->memory_done, bind_memory(p, begin, bytes), bytes);
	if (p->huge && has_huge(begin, end))
		done(p, &p->huge_done,
		     madvise((void *)begin, bytes, MADV_HUGEPAGE), bytes);
	else if (p->huge)
		place_add(&p->small, 1);
	if (p->prefault)
		done(p, &p->prefault_done,
		     madvise((void *)begin, bytes, MADV_POPULATE_WRITE), bytes);
}

void place_apply(struct moca_place_policy *p, void *addr, size_t size)
{
	uint64_t begin = ((uint64_t)addr + PAGE - 1) & ~(PAGE - 1);
	uint64_t end = ((uint64_t)addr + size) & ~(PAGE - 1);
	int saved_errno = errno;

	place_add(&p->matched.count, 1);
	place_add(&p->matched.bytes, size);
	if (!p->huge && !p->memory && !p->prefault)
		return;
	/* What shares a page with others stays as it is. */
	if (begin >= end)
		place_add(&p->small, 1);
	else if (!crowded())
		apply_pages(p, begin, end);
	errno = saved_errno;
}
