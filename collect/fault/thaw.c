// SPDX-License-Identifier: GPL-2.0-or-later
/* The way back from frozen memory: freeze.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/fault/base.h"
#include "collect/fault/freeze.h"
#include "collect/fault/mm.h"
#include "collect/fault/pages.h"
#include "collect/fault/punch.h"
#include "collect/ptrace/quiesce.h"
#include "lib/base/err.h"

/* Bytes that are copied in one stop: some 5 ms. */
#define STEP (16ull << 20)
#define BUFFER (1u << 18)
/* What mapping a range anew takes, in bytes that could be copied instead. */
#define RANGE_COST (32u << 10)

struct thaw {
	struct recorder *rec;
	struct mm *mm;
	struct tracee_calls *c;
	uint64_t left;		/* bytes that may be copied still */
	int alone;		/* no child can be there that is not known */
	int mem;		/* /proc/PID/mem; -1: not opened yet */
	char *buf;
};

static int begin(struct thaw *w, struct recorder *rec, struct mm *mm,
		 struct tracee_calls *c, uint64_t limit)
{
	*w = (struct thaw){ rec, mm, c, limit,
			    quiesced_settled(&mm->space, c->task), -1,
			    malloc(BUFFER) };
	return w->buf ? 0 : -ENOMEM;
}

static void end(struct thaw *w)
{
	free(w->buf);
	if (w->mem >= 0)
		close(w->mem);
}

/* Memory of the program that it may not read itself, too. */
static ssize_t read_memory(struct thaw *w, uint64_t addr, size_t len)
{
	pid_t tid = w->c->task->tid;
	ssize_t n = tracee_read(tid, addr, w->buf, len);
	char path[64];

	if (n > 0)
		return n;
	if (w->mem < 0) {
		snprintf(path, sizeof(path), "/proc/%d/mem", tid);
		w->mem = open(path, O_RDWR | O_CLOEXEC);
	}
	n = pread(w->mem, w->buf, len, addr);
	return n > 0 ? n : n ? -errno : -EFAULT;
}

/* What the program sees at [start, end) goes to offset off. */
static int save(struct thaw *w, uint64_t start, uint64_t end, uint64_t off)
{
	while (start < end) {
		size_t want = end - start < BUFFER ? end - start : BUFFER;
		ssize_t n = read_memory(w, start, want);

		if (n < 0)
			return (int)n;
		if (pwrite(w->mm->memfd, w->buf, n, off) != n)
			return -ENOMEM;
		start += n;
		off += n;
	}
	return 0;
}

struct extents {
	struct extent *items;
	size_t count, room;
};

/*
 * The program's own pages in r, as many as may be copied: r ends behind the
 * last of them then. 0 or -errno.
 */
static int find_own(struct thaw *w, struct region *r, struct extents *own)
{
	struct pages p;
	struct extent e;
	int err = pages_open(&p, w->c->task->tid, PAGES_OWN, r->start, r->end);

	while (!err && w->left && (err = pages_next(&p, &e)) > 0) {
		uint64_t len = e.end - e.start;

		if (len >= w->left) {
			e.end = e.start + PAGE_UP(w->left);
			len = w->left;
			if (e.end < r->end)
				r->end = e.end;
		}
		w->left -= len;
		err = extents_add(&own->items, &own->count, &own->room,
				  e.start, e.end);
	}
	pages_close(&p);
	return err;
}

/* The same for what the memfd has, which is to be copied: `left` bytes. */
static void limit_data(struct thaw *w, struct region *r, uint64_t left)
{
	uint64_t pos = r->off, end = r->off + (r->end - r->start);

	while (pos < end) {
		off_t data = lseek(r->base->fd, pos, SEEK_DATA), hole;

		if (data < 0 || (uint64_t)data >= end)
			return;
		hole = lseek(r->base->fd, data, SEEK_HOLE);
		if (hole < 0 || (uint64_t)hole > end)
			hole = end;
		if ((uint64_t)(hole - data) >= left) {
			r->end = r->start + (data - r->off) + PAGE_UP(left);
			w->left = 0;
			return;
		}
		left -= hole - data;
		pos = hole;
	}
	if (left < w->left)
		w->left = left;
}

/* Map [r->start, r->end) shared, whose contents are in the memfd. */
static int map_live(struct thaw *w, const struct region *r, int prot)
{
	struct stub_call calls[3] = { {
		.nr = SYS_mmap,
		.args = { r->start, r->end - r->start, prot,
			  MAP_SHARED | MAP_FIXED, w->mm->remote_fd, r->off },
	} };
	size_t n = 1 + freeze_advice(r, calls + 1);
	int ret = tracee_run(w->c, w->mm->stub, calls, n);

	if (ret)
		return ret;
	return calls[0].ret == (long)r->start ? 0 :
	       calls[0].ret < 0 ? (int)calls[0].ret : -EEXIST;
}

/* The part of frozen memory in r is mapped as the live one from now on. */
static void thawed(struct thaw *w, const struct region *r,
		   const struct region *live)
{
	struct mm *mm = w->mm;

	/* Settled by freeze_look. */
	mm_drop(w->rec, mm, NULL, r->start, r->end, MM_GONE);
	if (moca_regions_add(&mm->regions, live))
		moca_warn("out of memory for the table of mappings");
	if (mm_is_moved(mm, live))
		mm->moved++;
	mm_register(mm, live->start, live->end);
	mm_prefill(w->rec, mm, live->start, live->end);
}

/* Thaw the beginning of r, of one protection; the rest when w->left is 0. */
static int thaw_part(struct thaw *w, struct region r, int prot)
{
	struct base *b = r.base;
	int alone = w->alone && b->users == 1;
	int in_place = alone && b == w->mm->base, err;
	uint64_t left = w->left;
	struct extents own = { 0 };
	struct region live;

	err = find_own(w, &r, &own);
	if (!err && !in_place)
		limit_data(w, &r, left);
	live = r;
	live.kind = REGION_MEMFD;
	live.base = NULL;
	if (!in_place) {
		live.off = mm_offset(w->mm, r.start, r.end - r.start);
		if (!err)
			err = mm_copy_pages(b->fd, w->mm->memfd, r.off,
					    live.off, r.end - r.start);
	}
	for (size_t i = 0; i < own.count && !err; i++)
		if (own.items[i].start < r.end)
			err = save(w, own.items[i].start,
				   own.items[i].end < r.end ?
					   own.items[i].end : r.end,
				   live.off + (own.items[i].start - r.start));
	free(own.items);
	if (!err) {
		freeze_look(w->mm, w->c->task->tid, r.start, r.end);
		err = map_live(w, &live, prot);
	}
	if (err && !in_place)
		memfd_punch(w->mm->memfd, live.off, r.end - r.start);
	if (err)
		return err;
	if (alone && !in_place)
		memfd_punch(b->fd, r.off, r.end - r.start);
	thawed(w, &r, &live);	/* may be the end of b */
	w->left -= w->left < RANGE_COST ? w->left : RANGE_COST;
	return 0;
}

/* The frozen part of [*pos, end) that comes next, and its protection. */
static int next_part(const struct mm *mm, const struct vma_list *l,
		     uint64_t *pos, uint64_t end, struct region *r, int *prot)
{
	const struct vma *v;

	while (moca_regions_next(&mm->regions, pos, end, r)) {
		if (r->kind != REGION_FROZEN)
			continue;
		v = maps_at(l, r->start);
		if (!v)
			continue;
		if (v->end < r->end)
			r->end = *pos = v->end;
		*prot = v->prot;
		return 1;
	}
	return 0;
}

/* Whether mm may have for itself what others use as well. */
static int may_copy(struct recorder *rec, const struct mm *mm)
{
	uint64_t sum = mm->freeze.bytes;

	if (sum > THAW_COPY_MAX)
		return 0;
	pthread_mutex_lock(&rec->space_lock);
	for (const struct mm *m = mm_first(rec); m; m = mm_next(m))
		if (m != mm && !m->dead)
			sum += m->freeze.copied;
	pthread_mutex_unlock(&rec->space_lock);
	return sum <= THAW_COPY_ALL;
}

int freeze_can_thaw(struct recorder *rec, const struct mm *mm)
{
	for (size_t i = 0; i < mm->base_count; i++)
		if (mm->bases[i]->users == 1)
			return 1;
	return mm->base_count && may_copy(rec, mm);
}

struct span {
	uint64_t off, end;
};

static int by_offset(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

/* What was unmapped while a child may still have had it. */
static void punch_unused(struct mm *mm)
{
	struct span *s = calloc(mm->regions.count + 1, sizeof(*s));
	uint64_t pos = 0;
	size_t n = 0;

	for (size_t i = 0; s && i < mm->regions.count; i++) {
		const struct region *r = &mm->regions.items[i];

		if (r->kind == REGION_MEMFD)
			s[n++] = (struct span){ r->off,
						r->off + (r->end - r->start) };
	}
	if (n)
		qsort(s, n, sizeof(*s), by_offset);
	for (size_t i = 0; s && i <= n; i++) {
		uint64_t to = i < n ? s[i].off : MEMFD_STUB;

		if (to > pos)
			memfd_punch(mm->memfd, pos, to - pos);
		if (i < n && s[i].end > pos)
			pos = s[i].end;
	}
	free(s);
}

static int thaw_between(struct recorder *rec, struct mm *mm,
			struct tracee_calls *c, uint64_t start, uint64_t stop,
			uint64_t limit, int shared)
{
	struct vma_list l;
	struct region r;
	struct thaw w;
	int prot, err = maps_read(c->task->tid, &l);

	if (err)
		return err;
	err = begin(&w, rec, mm, c, limit);
	while (!err && w.left && next_part(mm, &l, &start, stop, &r, &prot)) {
		if (shared || (w.alone && r.base->users == 1))
			err = thaw_part(&w, r, prot);
	}
	end(&w);
	maps_free(&l);
	base_tidy(mm);
	if (w.alone && mm->base && !mm->base->users)
		punch_unused(mm);
	return err;
}

/* 0, -EBUSY as long as the pages must stay the ones that are mapped, -errno. */
static int may_replace(pid_t tid)
{
	struct vma_list l;
	int err = maps_read(tid, &l);

	if (err)
		return err;
	err = freeze_holds_pages(tid, &l) ? -EBUSY : 0;
	maps_free(&l);
	return err;
}

int freeze_thaw(struct recorder *rec, struct mm *mm, struct tracee_calls *c)
{
	struct freeze_state *f = &mm->freeze;
	uint64_t before = moca_now_ns(), now;
	int copy = may_copy(rec, mm), err = may_replace(c->task->tid);

	if (copy && !err)
		f->copied = f->bytes;
	if (!err)
		err = thaw_between(rec, mm, c, 0, USER_END, STEP, copy);

	/* What the kernel holds, it mostly holds for long. */
	if (err == -EBUSY && f->wait_ns < FREEZE_WAIT_MAX_NS)
		f->wait_ns *= 2;
	now = moca_now_ns();
	/* Others still use the rest, or it is more than one stop's work. */
	atomic_store(&f->next_ns, !mm->base_count ? 0 :
		     err || !freeze_can_thaw(rec, mm) ? now + f->wait_ns :
						   now + 10 * (now - before));
	if (!mm->base_count) {
		freeze_told(rec, mm, c->task);
		f->thawed_ns = now;
	}
	return err;
}

int freeze_thaw_range(struct recorder *rec, struct mm *mm,
		      struct tracee_calls *c, uint64_t start, uint64_t stop)
{
	return mm->base_count ? thaw_between(rec, mm, c, start, stop,
					     UINT64_MAX, 1) : 0;
}

/* --- emptying ------------------------------------------------------------------ */

static int write_zeroes(struct thaw *w, uint64_t start, uint64_t end)
{
	memset(w->buf, 0, BUFFER);
	while (start < end) {
		size_t want = end - start < BUFFER ? end - start : BUFFER;
		ssize_t n;

		if (w->mem < 0) {
			char path[64];

			snprintf(path, sizeof(path), "/proc/%d/mem",
				 w->c->task->tid);
			w->mem = open(path, O_RDWR | O_CLOEXEC);
		}
		n = pwrite(w->mem, w->buf, want, start);
		if (n <= 0)
			return -ENOMEM;
		start += n;
	}
	return 0;
}

static int empty_part(struct thaw *w, struct region r, int prot)
{
	struct region live = r;
	int err;

	live.kind = REGION_MEMFD;
	live.base = NULL;
	live.off = mm_offset(w->mm, r.start, r.end - r.start);
	freeze_look(w->mm, w->c->task->tid, r.start, r.end);
	err = map_live(w, &live, prot);
	/* Too many mappings: nothing changed. */
	if (err == -ENOMEM)
		return write_zeroes(w, r.start, r.end);
	if (!err)
		thawed(w, &r, &live);
	return err;
}

int freeze_empty(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		 uint64_t start, uint64_t stop)
{
	struct vma_list l;
	struct region r;
	struct thaw w;
	int prot, err;

	if (!mm->base_count)
		return 0;
	err = maps_read(c->task->tid, &l);
	if (err)
		return err;
	err = begin(&w, rec, mm, c, UINT64_MAX);
	while (!err && next_part(mm, &l, &start, stop, &r, &prot))
		err = empty_part(&w, r, prot);
	end(&w);
	maps_free(&l);
	base_tidy(mm);
	return err;
}
