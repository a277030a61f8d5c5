// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An access is to memory that its process had mapped at that time, or of which the
 * mapping is told later: a recorder tells the mappings of a program when it has
 * looked at them, and what a call maps when the call returns; until then the
 * kernel, and what recording makes the program execute, may have touched it. A
 * main thread's stack grows below what was told, and so does MAP_GROWSDOWN. A gap
 * event may say that the trace has no mappings of a process until its next exec. An
 * access to unmapped memory fails, and is recorded like others. A program's own is answered by
 * SIGSEGV, which the trace tells as a change. One inside a system call makes the
 * call fail with EFAULT, which the trace does not tell.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/check/pages.h"
#include "analysis/check/rules.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"

/* Mappings looked at for accesses outside of mappings, in all: a hostile trace
 * may have many of both. */
#define STEPS_MAX (100ull << 20)

/* What happened to a process. */
struct moment {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t lender;	/* of borrowed */
};

struct moments {
	struct moment *items;
	size_t cap, count;
};


struct unmapped {
	struct page *entries;	/* of which SIGSEGV was told */
	size_t cap, count;
	struct moments execs;
	struct moments gaps;	/* mappings are not told from there on */
	struct moments borrowed;	/* memory, another process's (vfork) */
	int promised;		/* all else is told, says the recorder */
	uint64_t untold;	/* accesses to no mapping, where it does not */
	uint64_t in_calls;	/* accesses inside system calls to no mapping */
};

static int by_moment(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int add_moment(struct moments *all, uint32_t pid, uint64_t time_ns)
{
	if (moca_vec_fit(all->items, all->cap, all->count + 1))
		return -ENOMEM;
	all->items[all->count++] = (struct moment){ time_ns, pid, 0 };
	return 0;
}

/* How many of them are of lower processes, or of this one and until time_ns. */
static size_t count_until(const struct moments *all, uint32_t pid,
			  uint64_t time_ns)
{
	const struct moment key = { time_ns, pid, 0 };
	size_t low = 0, high = all->count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (by_moment(&all->items[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The process's last one until time_ns; 0: there is none. */
static uint64_t last_until(const struct moments *all, uint32_t pid,
			   uint64_t time_ns)
{
	size_t n = count_until(all, pid, time_ns);

	return n && all->items[n - 1].pid == pid ? all->items[n - 1].time_ns : 0;
}

uint64_t mapping_last_exec(const struct meaning *m, uint32_t pid,
			   uint64_t time_ns)
{
	return last_until(&m->unmapped->execs, pid, time_ns);
}

/* Processes that borrow from one that borrows: a hostile trace has circles. */
#define LENDERS_MAX 16

/* Whose memory the process has at that time: its own, or another's, until it runs
 * another program. */
static uint32_t lender_of(const struct unmapped *u, uint32_t pid,
			  uint64_t time_ns)
{
	const struct moments *b = &u->borrowed;
	size_t n;

	for (int depth = 0; depth < LENDERS_MAX; depth++) {
		n = count_until(b, pid, time_ns);
		if (!n || b->items[n - 1].pid != pid ||
		    last_until(&u->execs, pid, time_ns) >=
			    b->items[n - 1].time_ns)
			break;
		pid = b->items[n - 1].lender;
	}
	return pid;
}

/* The process's first one after time_ns; UINT64_MAX: there is none. */
static uint64_t first_behind(const struct moments *all, uint32_t pid,
			     uint64_t time_ns)
{
	size_t n = count_until(all, pid, time_ns);

	return n < all->count && all->items[n].pid == pid ?
		       all->items[n].time_ns : UINT64_MAX;
}

static int add_failed(struct meaning *m, uint32_t pid, uint64_t addr)
{
	struct page key = { (addr >> PAGE_SHIFT) + 1, pid }, *e;
	struct unmapped *f = m->unmapped;

	if (page_fit(&f->entries, &f->cap, f->count))
		return -ENOMEM;
	e = page_at(f->entries, f->cap, &key);
	f->count += !e->number;
	*e = key;
	return 0;
}

static int note_change(struct meaning *m, const struct moca_change *e,
		       const struct moca_task *of)
{
	struct unmapped *u = m->unmapped;
	const struct moca_task *parent;
	int err;

	if (!of)
		return 0;
	if (e->type == MOCA_CHANGE_TASK_START && e->flags & MOCA_TASK_VFORK) {
		parent = meaning_task(m, e->parent);
		err = parent ? add_moment(&u->borrowed, of->pid, e->time_ns) : 0;
		if (parent && !err)
			u->borrowed.items[u->borrowed.count - 1].lender = parent->pid;
		return err;
	}
	if (e->type == MOCA_CHANGE_SEGV)
		return add_failed(m, of->pid, e->addr);
	if (e->type == MOCA_CHANGE_EXEC)
		return add_moment(&u->execs, of->pid, e->time_ns);
	if (e->type == MOCA_CHANGE_GAP && e->flags & MOCA_GAP_MAPPINGS)
		return add_moment(&u->gaps, of->pid, e->time_ns);
	return 0;
}

static void sort_moments(struct moments *all)
{
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), by_moment);
}

int mapping_new(struct meaning *m)
{
	const struct moca_change *e;
	struct moca_cursor *cursor;
	struct unmapped *u;
	uint32_t task;
	int ret;

	u = m->unmapped = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->promised = moca_trace_meta(m->t, META_MAPPINGS_TOLD) != NULL;
	ret = moca_cursor_open(&cursor, m->t, NULL);
	if (ret)
		return ret;
	while ((ret = moca_cursor_change(cursor, &e, &task)) > 0) {
		ret = note_change(m, e, meaning_task(m, task));
		if (ret)
			break;
	}
	moca_cursor_close(cursor);
	sort_moments(&u->execs);
	sort_moments(&u->borrowed);
	/* What one says of its memory holds for all that have it. */
	for (size_t i = 0; i < u->gaps.count; i++)
		u->gaps.items[i].pid = lender_of(u, u->gaps.items[i].pid,
						 u->gaps.items[i].time_ns);
	sort_moments(&u->gaps);
	return ret;
}

void mapping_free(struct meaning *m)
{
	struct unmapped *u = m->unmapped;

	if (!u)
		return;
	free(u->entries);
	free(u->execs.items);
	free(u->gaps.items);
	free(u->borrowed.items);
	free(u);
}

/* It may have failed, or the mapping was not told. */
static int is_excused(struct meaning *m, uint32_t pid,
		      const struct moca_access *a)
{
	struct page key = { (a->addr >> PAGE_SHIFT) + 1, pid };
	struct unmapped *f = m->unmapped;

	if (a->mode == MOCA_MODE_KERNEL) {
		f->in_calls++;
		return 1;
	}
	if (f->count && page_at(f->entries, f->cap, &key)->number)
		return 1;
	f->untold += !f->promised;
	return !f->promised;
}

void mapping_end(struct meaning *m)
{
	const struct unmapped *u = m->unmapped;

	if (u->untold)
		meaning_skip(m, RULE_MAPPING, "%" PRIu64 " access%s to no mapping: their recorder does not promise to tell all mappings",
			     u->untold, u->untold == 1 ? " is" : "es are");
	else if (u->in_calls)
		meaning_skip(m, RULE_MAPPING, "%" PRIu64 " access%s inside system calls %s to no mapping: such a call fails with EFAULT, which is not recorded",
			     u->in_calls, u->in_calls == 1 ? "" : "es",
			     u->in_calls == 1 ? "is" : "are");
}

/* The first mapping of a process that begins after that time. */
static size_t first_after(const struct moca_mapping *maps, size_t count,
			  uint32_t pid, uint64_t time_ns)
{
	size_t low = 0, high = count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (maps[mid].pid < pid || (maps[mid].pid == pid &&
					    maps[mid].begin_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int within_budget(struct meaning *m)
{
	if (m->steps++ < STEPS_MAX)
		return 1;
	meaning_skip(m, RULE_MAPPING, "not all accesses outside of mappings were compared with stacks that grow and mappings that come: there are too many");
	return 0;
}

/* Has the program that process pid runs at time_ns a mapping that is told before limit? */
static int mapped_before(struct meaning *m, uint32_t pid, uint64_t time_ns,
			 uint64_t limit)
{
	uint64_t begin = last_until(&m->unmapped->execs, pid, time_ns);
	const struct moca_mapping *maps;
	size_t i, count;

	if (moca_trace_mappings(m->t, &maps, &count))
		return 0;
	i = first_after(maps, count, pid, begin ? begin - 1 : 0);
	return i < count && maps[i].pid == pid && maps[i].begin_ns < limit;
}

/* A program that is left alone has records and no mappings. */
static int has_mappings(struct meaning *m, uint32_t pid,
			const struct moca_access *a)
{
	return mapped_before(m, pid, a->time_ns,
			     first_behind(&m->unmapped->execs, pid, a->time_ns));
}

/*
 * A gap says so, of the program that runs at that time. Like the mappings in
 * whose place it is, it may come behind the program's first records.
 */
static int mappings_untold(struct meaning *m, uint32_t pid,
			   const struct moca_access *a)
{
	const struct moments *execs = &m->unmapped->execs;
	const struct moments *gaps = &m->unmapped->gaps;
	uint64_t gap;

	pid = lender_of(m->unmapped, pid, a->time_ns);
	gap = last_until(gaps, pid, a->time_ns);
	if (gap && gap >= last_until(execs, pid, a->time_ns))
		return 1;
	gap = first_behind(gaps, pid, a->time_ns);
	return gap < first_behind(execs, pid, a->time_ns) &&
	       !mapped_before(m, pid, a->time_ns, gap);
}

/* Below the process's stack, and above all else that it has there. */
static int is_grown_stack(struct meaning *m, uint32_t pid,
			  const struct moca_access *a)
{
	const struct moca_mapping *maps, *above = NULL, *map;
	size_t i, count;

	if (moca_trace_mappings(m->t, &maps, &count))
		return 0;
	for (i = first_after(maps, count, pid, 0); i < count; i++) {
		map = &maps[i];
		if (map->pid != pid || map->begin_ns > a->time_ns)
			break;
		if (!within_budget(m))
			return 1;
		if ((!map->end_ns || map->end_ns > a->time_ns) &&
		    map->addr > a->addr && (!above || map->addr < above->addr))
			above = map;
	}
	return above && above->flags & (MOCA_MAP_STACK | MOCA_MAP_GROWS);
}

static int is_told_later(struct meaning *m, uint32_t pid,
			 const struct moca_access *a)
{
	const struct moca_mapping *maps;
	size_t i, count;

	if (moca_trace_mappings(m->t, &maps, &count))
		return 0;
	for (i = first_after(maps, count, pid, a->time_ns);
	     i < count && maps[i].pid == pid; i++) {
		if (a->addr - maps[i].addr < maps[i].len)
			return 1;
		if (!within_budget(m))
			return 1;
	}
	return 0;
}

/* The kernel's half has no mappings of the process: [vsyscall]. */
static int is_kernels(uint64_t addr)
{
	return addr > INT64_MAX;
}

static int holds(const struct moca_mapping *map, const struct moca_access *a)
{
	return map && a->addr - map->addr < map->len &&
	       a->time_ns >= map->begin_ns &&
	       (!map->end_ns || a->time_ns < map->end_ns);
}

void mapping_chunk(struct meaning *m, const struct moca_chunk *c,
		   const struct moca_task *task)
{
	const struct moca_mapping *map = NULL;
	const struct moca_access *a;
	char file[64];
	size_t i;

	for (i = 0; i < c->count; i++) {
		a = &c->accesses[i];
		if (holds(map, a) || is_kernels(a->addr))
			continue;
		map = moca_trace_find_mapping(m->t, task->pid, a->addr,
					      a->time_ns);
		if (map || !has_mappings(m, task->pid, a) ||
		    mappings_untold(m, task->pid, a) ||
		    is_told_later(m, task->pid, a) ||
		    is_grown_stack(m, task->pid, a) ||
		    is_excused(m, task->pid, a))
			continue;
		meaning_wrong(m, RULE_MAPPING, "%s, chunk %" PRIu64 ", record %zu: the access to %#" PRIx64 " is to no mapping of process %" PRIu32,
			      meaning_file(c->task, file, sizeof(file)),
			      c->number, i, a->addr, task->pid);
	}
}
