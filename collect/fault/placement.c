// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/placement.h"

#include <linux/mempolicy.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22	/* 5.14; before, there is no such help */
#endif
#define BATCH 512

_Static_assert(BATCH <= STUB_CALLS_MAX, "a list has room for a batch");

/* Calls that are gathered for one run of the stub. */
struct batch {
	struct mm *mm;
	struct tracee_calls *c;
	unsigned int n;
	int err;
};

static void flush(struct batch *b)
{
	int done = b->n && !b->err ? tracee_list(b->c, b->n) : 0;

	if (done < 0)
		b->err = done;
	b->n = 0;
}

static void populate(struct batch *b, uint64_t start, uint64_t end)
{
	struct stub_call *last = b->n ? &b->mm->stub->calls[b->n - 1] : NULL;

	if (last && last->args[0] + last->args[1] == start) {
		last->args[1] += end - start;
		return;
	}
	if (b->n == STUB_CALLS_MAX)
		flush(b);
	b->mm->stub->calls[b->n++] = (struct stub_call){
		.nr = SYS_madvise,
		.args = { start, end - start, MADV_POPULATE_READ },
	};
}

/* What exists of a region: holes stay holes. */
static void show_region(struct batch *b, const struct region *r)
{
	uint64_t pos = r->off, end = r->off + (r->end - r->start);

	while (pos < end) {
		off_t data = lseek(b->mm->memfd, (off_t)pos, SEEK_DATA), hole;

		if (data < 0 || (uint64_t)data >= end)
			return;
		hole = lseek(b->mm->memfd, data, SEEK_HOLE);
		if (hole < 0 || (uint64_t)hole > end)
			hole = (off_t)end;
		populate(b, r->start + ((uint64_t)data - r->off),
			 r->start + ((uint64_t)hole - r->off));
		pos = (uint64_t)hole;
	}
}

static void show(struct batch *b, uint64_t start, uint64_t end)
{
	struct region r;

	while (moca_regions_next(&b->mm->regions, &start, end, &r))
		if (r.kind == REGION_MEMFD)
			show_region(b, &r);
}

int placement_show(struct mm *mm, struct tracee_calls *c, uint64_t start,
		   uint64_t end)
{
	struct batch b = { mm, c, 0, 0 };

	show(&b, start, end);
	flush(&b);
	return b.err;
}

/* Memory that is not ours to ask: what its file, or shared memory, has of it. */
struct others {
	uint64_t pages[BATCH];
	unsigned int n;
};

static void note_other(struct others *o, const struct mm *mm, uint64_t page)
{
	const struct region *r = moca_regions_find(&mm->regions, page);

	if (r && (r->kind == REGION_SHARED || r->kind == REGION_FILE))
		o->pages[o->n++] = page;
}

/* The answer of mincore for call i: in one of its arguments, which it has not. */
static uint64_t answer_at(unsigned int i)
{
	return STUB_DATA + STUB_CALLS + i * sizeof(struct stub_call) +
	       offsetof(struct stub_call, args[5]);
}

/* A page that does not exist stays so: to populate it would make it. */
static void show_others(struct batch *b, const struct others *o)
{
	uint64_t there[BATCH];
	unsigned int n = 0;
	int done;

	flush(b);
	for (unsigned int i = 0; i < o->n; i++)
		b->mm->stub->calls[i] = (struct stub_call){
			.nr = SYS_mincore,
			.args = { o->pages[i], PAGE_SIZE, answer_at(i) },
		};
	done = o->n && !b->err ? tracee_list(b->c, o->n) : 0;
	if (done < 0)
		b->err = done;
	for (int i = 0; i < done; i++)
		if (!b->mm->stub->calls[i].ret &&
		    b->mm->stub->calls[i].args[5] & 1)
			there[n++] = o->pages[i];
	for (unsigned int i = 0; i < n; i++)
		populate(b, there[i], there[i] + PAGE_SIZE);
	flush(b);
}

int placement_show_pages(struct mm *mm, struct tracee_calls *c, uint64_t list,
			 uint64_t n)
{
	struct batch b = { mm, c, 0, 0 };
	uint64_t addrs[BATCH];
	struct others others;

	for (uint64_t i = 0; i < n && !b.err; i += BATCH) {
		uint64_t want = n - i < BATCH ? n - i : BATCH;
		ssize_t got = tracee_read(c->task->tid, list + i * 8, addrs,
					  want * 8);

		others.n = 0;
		for (ssize_t k = 0; k < got / 8; k++) {
			uint64_t page = addrs[k] & PAGE_MASK;

			if (page >= USER_END)
				continue;
			show(&b, page, page + PAGE_SIZE);
			note_other(&others, mm, page);
		}
		if (others.n)
			show_others(&b, &others);
		if (got != (ssize_t)want * 8)
			break;	/* the kernel will say EFAULT */
	}
	flush(&b);
	return b.err;
}

int placement_forget(struct mm *mm, struct tracee_calls *c, uint64_t start,
		     uint64_t end)
{
	struct region r;
	int err = 0;

	if (start & ~PAGE_MASK || end < start)
		return 0;	/* the call will be refused */
	while (mm->policies && !err &&
	       moca_regions_next(&mm->regions, &start, end, &r))
		if (r.kind == REGION_MEMFD)
			tracee_call(c, &err, SYS_mbind, r.start,
				    r.end - r.start, MPOL_DEFAULT, 0, 0, 0);
	return err;
}
