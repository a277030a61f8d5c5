// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/keep.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/fault/mapcall-ctx.h"
#include "collect/fault/nodes.h"
#include "collect/fault/pages.h"
#include "collect/fault/punch.h"
#include "collect/ptrace/quiesce.h"
#include "collect/run/oom.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"

/* A shorter range is punched: a list of many would cost more than it saves. */
#define KEEP_LEAST (64ul << 10)
/* All that is kept, and the longest range. */
#define KEEP_MOST    (128ul << 20)
#define KEEP_LONGEST (64ul << 20)
#define KEEP_NS	     1000000000ull
#define RANGES_MOST  64
#define TAKEN_MOST   4096
#define WINDOW_BYTES (64ull << 20)

/*
 * Where the memfd's page at offset off is in our memory. A window stays mapped:
 * to map it for each take would cost a fault per page.
 */
static char *window(struct mm *mm, uint64_t off)
{
	uint64_t base = off & ~(WINDOW_BYTES - 1);
	struct keep *k = &mm->keep;
	unsigned int i;

	for (i = 0; i < KEEP_WINDOWS; i++)
		if (k->windows[i].at && k->windows[i].off == base)
			return k->windows[i].at + (off - base);
	i = k->next_window++ % KEEP_WINDOWS;
	if (k->windows[i].at)
		munmap(k->windows[i].at, WINDOW_BYTES);
	k->windows[i].off = base;
	k->windows[i].at =
		mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_NORESERVE, mm->memfd, (off_t)base);
	if (k->windows[i].at == MAP_FAILED) {
		k->windows[i].at = NULL;
		return NULL;
	}
	return k->windows[i].at + (off - base);
}

/* The next run of existing pages in [*pos, end), within one window. 1 or 0. */
static int next_run(struct mm *mm, uint64_t *pos, uint64_t end,
		    struct extent *run)
{
	off_t data = *pos < end ? lseek(mm->memfd, (off_t)*pos, SEEK_DATA) : -1;
	off_t hole;

	if (data < 0 || (uint64_t)data >= end)
		return 0;
	hole = lseek(mm->memfd, data, SEEK_HOLE);
	run->start = (uint64_t)data;
	run->end = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
	if (run->end > (run->start | (WINDOW_BYTES - 1)) + 1)
		run->end = (run->start | (WINDOW_BYTES - 1)) + 1;
	*pos = run->end;
	return 1;
}

/* Bytes of pages that the memfd has. */
static uint64_t memfd_bytes(const struct mm *mm)
{
	struct stat st;

	return fstat(mm->memfd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

/* Bytes that are kept of all processes. */
static atomic_ulong kept_of_all;

static int may_keep(const struct recorder *rec, const struct mm *mm)
{
	static int limited = -1;

	if (limited < 0)
		limited = oom_is_limited();
	/* Without userfaultfd, fault-around maps kept pages that nobody touched. */
	return !limited && mm->sealed && mm->uffd >= 0 &&
	       mm->state == MM_MOVED && !rec->attach && !mm->dead &&
	       !mm->busy && !mm->populates && !mm->locked && !mm->base &&
	       !mm->base_count && !nodes_several();
}

static void count_kept(struct mm *mm, uint64_t bytes)
{
	atomic_fetch_add(&kept_of_all, bytes - mm->keep.bytes);
	mm->keep.bytes = bytes;
}

static int punch_kept(struct mm *mm)
{
	struct keep *k = &mm->keep;
	int err = 0, ret;

	for (size_t i = 0; i < k->count; i++) {
		ret = memfd_punch(mm->memfd, k->kept[i].start,
				  k->kept[i].end - k->kept[i].start);
		err = err ? err : ret;
	}
	k->count = 0;
	count_kept(mm, 0);
	return err;
}

int keep_range(struct recorder *rec, struct mm *mm, uint64_t off, uint64_t len)
{
	struct keep *k = &mm->keep;
	uint64_t used;

	if (len < KEEP_LEAST || len > KEEP_LONGEST || !may_keep(rec, mm))
		return 0;
	if (k->bytes + len > KEEP_MOST || k->count == RANGES_MOST)
		punch_kept(mm);
	if (atomic_load(&kept_of_all) + len > KEEP_MOST)
		return 0;
	used = memfd_bytes(mm);
	if (used > k->bytes && used - k->bytes > k->peak)
		k->peak = used - k->bytes;
	if (extents_add(&k->kept, &k->count, &k->room, off, off + len))
		return 0;
	count_kept(mm, k->bytes + len);
	if (k->count == 1)
		k->since_ns = moca_now_ns();
	return 1;
}

/* Tell the collector what is true of runs of pages in [start, end). 0 or -ENOMEM. */
static int tell(struct recorder *rec, struct mm *mm, const struct extent *list,
		size_t count, uint64_t start, uint64_t end,
		enum page_filled filled)
{
	struct message *m;

	if (!count)
		return 0;
	m = message_of_extents(rec->queue, MSG_PREFILL, &mm->space, start, end,
			       list, count, NULL);
	if (!m)
		return -ENOMEM;
	m->filled = filled;
	queue_push(rec->queue, m);
	return 0;
}

/* Zero what exists of part; tell the pages, which r has at its addresses. */
static int empty(struct recorder *rec, struct mm *mm, const struct region *r,
		 const struct extent *part)
{
	uint64_t shift = r->start - r->off, pos = part->start;
	uint64_t start = part->start + shift, end = part->end + shift;
	struct extent *list = NULL, run;
	struct keep *k = &mm->keep;
	size_t count = 0, room = 0;
	int err = 0;

	while (!err && next_run(mm, &pos, part->end, &run)) {
		char *p = window(mm, run.start);

		if (!p)
			err = -ENOMEM;
		else
			err = extents_add(&list, &count, &room,
					  run.start + shift, run.end + shift);
		if (!err)
			memset(p, 0, run.end - run.start);
	}
	if (!err)
		err = tell(rec, mm, list, count, start, end, FILLED_KEPT);
	if (!err && count)
		err = extents_add(&k->taken, &k->taken_count, &k->taken_room,
				  start, end);
	free(list);
	return err;
}

int keep_take(struct recorder *rec, struct mm *mm, const struct region *r)
{
	uint64_t end = r->off + (r->end - r->start), covered = 0, used;
	struct keep *k = &mm->keep;
	struct extent part;
	int more, err = 0, ret;

	if (!k->count || r->kind != REGION_MEMFD)
		return 0;
	used = memfd_bytes(mm);
	while (!err && (more = extents_cut(&k->kept, &k->count, &k->room, r->off,
					   end, &part))) {
		if (more < 0) {
			err = more;
			break;
		}
		count_kept(mm, k->bytes - (part.end - part.start));
		covered += part.end - part.start;
		err = empty(rec, mm, r, &part);
	}
	/* A page that is not told as kept would be told as touched. */
	if (err) {
		ret = punch_kept(mm);
		err = memfd_punch(mm->memfd, r->off, end - r->off);
		return err ? err : ret;
	}
	/* The program has no more memory than it had at most by itself. */
	if (k->count && used + (r->end - r->start) - covered > k->peak)
		err = punch_kept(mm);
	return err;
}

int keep_clear(struct mm *mm, uint64_t start, uint64_t end)
{
	const uint64_t mask = plane_offset(1, 0) - 1;
	struct keep *k = &mm->keep;
	int err = 0, ret;

	for (size_t i = k->count; i-- > 0;) {
		struct extent e = k->kept[i];

		if ((e.start & mask) >= end ||
		    (e.start & mask) + (e.end - e.start) <= start)
			continue;
		ret = memfd_punch(mm->memfd, e.start, e.end - e.start);
		err = err ? err : ret;
		count_kept(mm, k->bytes - (e.end - e.start));
		k->kept[i] = k->kept[--k->count];
	}
	return err;
}

/* The pages of [start, end) that the page tables of tid have: *list, to be freed. */
static int find_touched(pid_t tid, uint64_t start, uint64_t end,
			struct extent **list, size_t *count)
{
	struct extent found;
	size_t room = 0;
	struct pages p;
	int err = pages_open(&p, tid, PAGES_THERE, start, end);

	*list = NULL;
	*count = 0;
	if (err)
		return err;
	while (!err && pages_next(&p, &found) == 1)
		err = extents_add(list, count, &room, found.start, found.end);
	pages_close(&p);
	return err;
}

void keep_look(struct recorder *rec, struct mm *mm, pid_t tid, uint64_t start,
	       uint64_t end)
{
	struct keep *k = &mm->keep;
	struct extent part, *list;
	size_t count;
	int more;

	while ((more = extents_cut(&k->taken, &k->taken_count, &k->taken_room,
				   start, end, &part)) > 0) {
		int err = find_touched(tid, part.start, part.end, &list, &count);

		if (tell(rec, mm, list, count, part.start, part.end,
			 FILLED_TOUCHED) || err)
			moca_debug("what process %d touched of kept pages is "
				   "known by its records alone", mm->space.pid);
		free(list);
	}
	if (more < 0)
		k->taken_count = 0;
}

static int is_zero(const char *p, uint64_t len)
{
	return !*p && !memcmp(p, p + 1, len - 1);
}

/* Punch the pages of run, at addr, that hold zeros and have no entry. */
static int hide_run(struct mm *mm, pid_t tid, const struct extent *run,
		    uint64_t addr)
{
	const char *at = window(mm, run->start);
	uint64_t pos = addr, end = addr + (run->end - run->start);
	struct extent found = { end, end };
	struct pages p;
	int err = at ? pages_open(&p, tid, PAGES_THERE, addr, end) : -ENOMEM;

	if (err)
		return err;
	while (pos < end && !err) {
		if (pages_next(&p, &found) != 1)
			found.start = found.end = end;
		for (; pos < found.start && !err; pos += PAGE_SIZE)
			if (is_zero(at + (pos - addr), PAGE_SIZE))
				err = memfd_punch(mm->memfd,
						  run->start + (pos - addr),
						  PAGE_SIZE);
		pos = found.end;
	}
	pages_close(&p);
	return err;
}

static int hide_taken(struct mm *mm, pid_t tid)
{
	struct keep *k = &mm->keep;
	struct extent run;
	int err = 0;

	for (size_t i = 0; i < k->taken_count && !err; i++) {
		uint64_t pos = k->taken[i].start;
		struct region r;

		while (!err && moca_regions_next(&mm->regions, &pos,
						 k->taken[i].end, &r)) {
			uint64_t off = r.off, end = r.off + (r.end - r.start);

			if (r.kind != REGION_MEMFD)
				continue;
			while (!err && next_run(mm, &off, end, &run))
				err = hide_run(mm, tid, &run,
					       r.start + (run.start - r.off));
		}
	}
	k->taken_count = 0;
	return err;
}

void keep_swept(struct recorder *rec, struct mm *mm)
{
	struct keep *k = &mm->keep;
	struct extent *old = k->taken, *list;
	size_t n = k->taken_count, count;
	int err = 0;

	k->taken = NULL;
	k->taken_count = k->taken_room = 0;
	for (size_t i = 0; i < n && !err; i++) {
		uint64_t pos = old[i].start;

		/* What cannot be looked at stays as it is. */
		if (find_touched(mm->space.pid, pos, old[i].end, &list, &count) ||
		    tell(rec, mm, list, count, pos, old[i].end, FILLED_TOUCHED))
			count = 0;
		for (size_t j = 0; j <= count && !err; j++) {
			uint64_t end = j < count ? list[j].start : old[i].end;

			if (pos < end)
				err = extents_add(&k->taken, &k->taken_count,
						  &k->taken_room, pos, end);
			pos = j < count ? list[j].end : end;
		}
		free(list);
	}
	if (err || k->taken_count > TAKEN_MOST)
		k->taken_count = 0;
	free(old);
}

int keep_forget(struct recorder *rec, struct mm *mm, pid_t tid)
{
	keep_look(rec, mm, tid, 0, USER_END);
	return mm->keep.count ? punch_kept(mm) : 0;
}

int keep_mincore(struct ctx *x)
{
	int err;

	/* A page that another thread writes to must not be punched. */
	quiesce(&x->mm->space, x->task);
	err = hide_taken(x->mm, x->task->tid);
	quiesce_end(&x->mm->space, x->task);
	if (err)
		moca_debug("process %d may see kept pages that it has not "
			   "touched: %s",
			   x->mm->space.pid, strerror(-err));
	return run_own(x);
}

int keep_goes_along(long nr)
{
	switch (nr) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_brk:
	case SYS_mprotect:
	case SYS_madvise:
	case SYS_close:
	case SYS_fcntl:
	case SYS_prctl:
	case SYS_mincore:
		return 1;
	default:
		return 0;
	}
}

int keep_concerns(const struct ctx *x)
{
	return x->mm->keep.taken_count != 0;
}

void keep_expire(struct recorder *rec)
{
	uint64_t now = moca_now_ns();

	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm; mm = mm_next(mm)) {
		/* Who holds it may wait for the other lock. */
		if (pthread_mutex_trylock(&mm->lock))
			continue;
		if (mm->keep.count &&
		    (now > mm->keep.since_ns + KEEP_NS ||
		     memfd_bytes(mm) > mm->keep.peak) &&
		    punch_kept(mm))
			moca_debug("cannot give back memory of process %d",
				   mm->space.pid);
		pthread_mutex_unlock(&mm->lock);
	}
	pthread_mutex_unlock(&rec->space_lock);
}

void keep_free(struct mm *mm)
{
	struct keep *k = &mm->keep;

	count_kept(mm, 0);
	for (unsigned int i = 0; i < KEEP_WINDOWS; i++)
		if (k->windows[i].at)
			munmap(k->windows[i].at, WINDOW_BYTES);
	free(k->kept);
	free(k->taken);
	memset(k, 0, sizeof(*k));
}
