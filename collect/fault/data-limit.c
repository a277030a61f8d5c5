// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/data-limit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "collect/fault/ours.h"
#include "collect/ptrace/maps.h"

/* Private, as the program believes, and neither a stack nor ours. */
static int is_private(const struct mm *mm, const struct vma *v)
{
	int on_memfd = v->ino == mm->memfd_ino &&
		       makedev(v->major, v->minor) == mm->memfd_dev;

	if (!strncmp(v->name, "[stack", 6) || ours_holds(mm, v->start, v->end) ||
	    ours_is(mm->space.pid, v))
		return 0;
	return on_memfd ? v->offset < MEMFD_STUB : !v->shared;
}

static uint64_t limit_of(const struct task *t)
{
	struct rlimit r;

	if (prlimit(t->tid, RLIMIT_DATA, NULL, &r) ||
	    r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return r.rlim_cur;
}

int data_limit_set(const struct task *t)
{
	return limit_of(t) != UINT64_MAX;
}

/* Bytes that v and [start, end) share. */
static uint64_t common(const struct vma *v, uint64_t start, uint64_t end)
{
	uint64_t from = v->start > start ? v->start : start;
	uint64_t to = v->end < end ? v->end : end;

	return from < to ? to - from : 0;
}

int data_limit_exceeded(const struct ctx *x, uint64_t start, uint64_t end,
			uint64_t more)
{
	uint64_t limit = limit_of(x->task), sum = more;
	struct vma_list l;

	if (limit == UINT64_MAX || maps_read(x->task->tid, &l))
		return 0;
	for (size_t i = 0; i < l.count; i++) {
		const struct vma *v = &l.items[i];

		if (v->prot & PROT_WRITE && is_private(x->mm, v))
			sum += v->end - v->start - common(v, start, end);
	}
	maps_free(&l);
	return sum / PAGE_SIZE > limit / PAGE_SIZE;
}

int data_limit_writable(const struct ctx *x, uint64_t start, uint64_t end)
{
	struct vma_list l;
	uint64_t more = 0;

	if (!data_limit_set(x->task) || maps_read(x->task->tid, &l))
		return 0;
	for (size_t i = 0; i < l.count; i++) {
		const struct vma *v = &l.items[i];

		if (!(v->prot & PROT_WRITE) && is_private(x->mm, v))
			more += common(v, start, end);
	}
	maps_free(&l);
	return more && data_limit_exceeded(x, 0, 0, more);
}

int data_limit_grown(const struct ctx *x, uint64_t addr, uint64_t more)
{
	const struct vma *v;
	struct vma_list l;
	int yes;

	if (!data_limit_set(x->task) || maps_read(x->task->tid, &l))
		return 0;
	v = maps_at(&l, addr);
	yes = v && v->prot & PROT_WRITE && is_private(x->mm, v);
	maps_free(&l);
	return yes && data_limit_exceeded(x, 0, 0, more);
}
