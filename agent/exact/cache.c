// SPDX-License-Identifier: LGPL-2.1-or-later
#include <asm/unistd.h>
#include <linux/mman.h>
#include <moca/types.h>

#include "agent/exact/cache.h"
#include "agent/exact/chart.h"
#include "agent/exact/emit.h"
#include "agent/exact/keep.h"
#include "agent/exact/landing.h"
#include "agent/exact/maps.h"

#define CACHE_SIZE MOCA_EXACT_CACHE_SIZE
#define CACHES 64
#define REACH ((1l << 31) - (1l << 20))
#define LINKS_MAX (1u << 24)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* An address that can be jumped to. */
struct entry {
	uint64_t pc;
	uint64_t host;		/* 0: no more */
	struct landing *landing;	/* for jumps by register; NULL: none yet */
	struct region *region;
};

static struct cache caches[CACHES];
static int cache_count;
static struct entry *entries;
static size_t entry_count, entry_room;
static struct link *links;
static uint32_t link_count;
static struct region *newest;	/* of those that are valid */

/* --- caches ------------------------------------------------------------------- */

static int reaches(uint64_t base, uint64_t low, uint64_t high)
{
	int64_t a = (int64_t)(base + CACHE_SIZE - low);
	int64_t b = (int64_t)(high - base);

	return a < REACH && b < REACH && a > -REACH && b > -REACH;
}

int moca_exact_cache_reaches(const struct cache *k, uint64_t low, uint64_t high)
{
	return reaches((uint64_t)k->base, low, high);
}

static uint8_t *map_at(uint64_t at)
{
	long p;

	if (at < 1 << 20 || at > (1ull << 47) - CACHE_SIZE)
		return NULL;
	p = moca_exact_call(__NR_mmap, (long)at, CACHE_SIZE,
			    PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				    MAP_FIXED_NOREPLACE, -1, 0);
	if (p < 0 && p > -4096)
		return NULL;
	if ((uint64_t)p != at) {
		moca_exact_call(__NR_munmap, p, CACHE_SIZE, 0, 0, 0, 0);
		return NULL;
	}
	return (uint8_t *)p;
}

/* As far from the source as it may be: heaps grow there. */
static uint8_t *map_near(uint64_t low, uint64_t high)
{
	uint64_t page = low & -4096ull;

	for (uint64_t far = 28; far; far--) {
		uint64_t d = far * CACHE_SIZE;
		uint8_t *p;

		if (page > d && reaches(page - d, low, high)) {
			p = map_at(page - d);
			if (p)
				return p;
		}
	}
	for (uint64_t far = 28; far; far--) {
		uint64_t at = page + far * CACHE_SIZE;
		uint8_t *p = reaches(at, low, high) ? map_at(at) : NULL;

		if (p)
			return p;
	}
	return NULL;
}

int moca_exact_cache_has(uint64_t addr)
{
	for (int i = 0; i < cache_count; i++)
		if (addr - (uint64_t)caches[i].base < CACHE_SIZE)
			return 1;
	return 0;
}

/* Code is about to be written to k, a few KB most likely. */
static struct cache *touch_ahead(struct cache *k)
{
	const uint8_t *from = k->touched;

	k->touched = moca_exact_touch_ahead(k->at + 4096, k->touched, k->end);
	if (k->touched != from)
		moca_exact_chart_touch(k, from, k->touched);
	return k;
}

struct cache *moca_exact_cache_near(uint64_t low, uint64_t high, size_t room)
{
	static void (*const exits[LIT_COUNT])(void) = {
		moca_exact_exit_link, moca_exact_exit_jump,
		moca_exact_exit_syscall, moca_exact_exit_native,
		moca_exact_exit_stale, moca_exact_cold_load,
		moca_exact_cold_store, moca_exact_helper,
		moca_exact_enter_loop, moca_exact_leave_loop,
		moca_exact_leave_loop_flags,
	};
	struct cache *k;
	uint8_t *p;

	for (int i = 0; i < cache_count; i++) {
		k = &caches[i];
		if (reaches((uint64_t)k->base, low, high) &&
		    (size_t)(k->end - k->at) > room)
			return touch_ahead(k);
	}
	if (cache_count == CACHES)
		return NULL;
	moca_exact_limits_more(CACHE_SIZE);
	p = map_near(low, high);
	if (!p) {
		moca_exact_limits_more(-(int64_t)CACHE_SIZE);
		return NULL;
	}
	k = &caches[cache_count];
	k->number = cache_count++;
	moca_exact_own_add((uint64_t)p, (uint64_t)p + CACHE_SIZE);
	k->base = k->touched = p;
	k->end = p + CACHE_SIZE;
	for (int i = 0; i < LIT_COUNT; i++)
		((uint64_t *)p)[i] = (uint64_t)exits[i];
	k->at = p + 64 * ((LIT_COUNT * 8 + 63) / 64);
	moca_exact_chart_cache(k);
	k->room = 4096;
	k->regions = moca_exact_map((size_t)k->room * sizeof(*k->regions));
	moca_exact_event(current(), MOCA_CHANGE_MMAP, (uint64_t)p, CACHE_SIZE, 0,
			 0, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MOCA_EXACT_CACHE);
	return touch_ahead(k);
}

uint64_t *moca_exact_literal(struct cache *k, uint64_t value)
{
	if (k->end - k->at < 65536)
		return NULL;
	k->end -= 8;
	*(uint64_t *)k->end = value;
	return (uint64_t *)k->end;
}

void moca_exact_cache_fork(void)
{
	moca_exact_chart_fork(caches, cache_count);
}

/* --- what is where ---------------------------------------------------------- */

static size_t hash(uint64_t pc)
{
	return (size_t)(pc * 0x9e3779b97f4a7c15ull >> 20);
}

/* By the low bits of pc: no bit where none was ever put. Small, as entries are not. */
static uint64_t entered[(1 << 16) / 64];

static struct entry *entry_of(uint64_t pc)
{
	size_t i;

	if (!(entered[pc % (1 << 16) / 64] >> pc % 64 & 1))
		return NULL;
	for (i = hash(pc); entries[i & (entry_room - 1)].pc; i++)
		if (entries[i & (entry_room - 1)].pc == pc)
			return &entries[i & (entry_room - 1)];
	return NULL;
}

static struct entry *entry_put(uint64_t pc)
{
	struct entry *e = entry_of(pc);
	size_t i;

	if (e)
		return e;
	if (entry_count * 2 >= entry_room) {
		struct entry *old = entries;
		size_t n = entry_room;

		entry_room = n ? 2 * n : 1 << 14;
		entries = moca_exact_map(entry_room * sizeof(*entries));
		moca_exact_touch(entries, entry_room * sizeof(*entries));
		entry_count = 0;
		for (i = 0; i < n; i++)
			if (old[i].host)
				*entry_put(old[i].pc) = old[i];
		if (n)
			moca_exact_unmap(old, n * sizeof(*old));
	}
	for (i = hash(pc); entries[i & (entry_room - 1)].pc; i++)
		;
	e = &entries[i & (entry_room - 1)];
	e->pc = pc;
	entered[pc % (1 << 16) / 64] |= 1ull << pc % 64;
	entry_count++;
	return e;
}

uint64_t moca_exact_cache_find(uint64_t pc, struct region **r)
{
	struct entry *e = entry_of(pc);

	if (!e || !e->host)
		return 0;
	if (r)
		*r = e->region;
	return e->host;
}

/* Stretches of addresses that something was translated from, once. */
#define SOURCE_SHIFT 14
#define SOURCE_BITS (1u << 16)
static uint64_t sources[SOURCE_BITS / 64];

static void add_source(uint64_t low, uint64_t high)
{
	for (uint64_t at = low >> SOURCE_SHIFT; at <= (high - 1) >> SOURCE_SHIFT;
	     at++)
		sources[at % SOURCE_BITS / 64] |= 1ull << at % 64;
}

/* May something there have been? */
static int is_source(uint64_t start, uint64_t end)
{
	uint64_t at = start >> SOURCE_SHIFT, last = (end - 1) >> SOURCE_SHIFT;

	if (start >= end || last - at >= SOURCE_BITS)
		return start < end;
	for (; at <= last; at++)
		if (sources[at % SOURCE_BITS / 64] >> at % 64 & 1)
			return 1;
	return 0;
}

int moca_exact_cache_add(struct cache *k, struct region *r,
			 const struct work *w)
{
	if (k->count == k->room) {
		struct region **more = moca_exact_map(
			2ul * (size_t)k->room * sizeof(*more));

		memcpy(more, k->regions, (size_t)k->room * sizeof(*more));
		k->regions = more;
		k->room *= 2;
	}
	k->regions[k->count++] = r;
	add_source(r->low, r->high);
	r->older = newest;
	if (newest)
		newest->newer = r;
	newest = r;
	for (int i = 0; i < w->count; i++) {
		const struct insn *x = &w->insns[i];
		struct entry *e;

		/* What may change is compared where it is entered, at its begin. */
		if (!x->leader || (w->writable && i))
			continue;
		e = entry_put(x->pc);
		/* The one that was first stays, but for where it was asked. */
		if (e->host && x->pc != w->entry)
			continue;
		e->host = (uint64_t)r->code + x->host;
		e->region = r;
		e->landing = NULL;
	}
	return 0;
}

/* --- links -------------------------------------------------------------------- */

static void attach(struct link *l, uint64_t host, struct region *r)
{
	l->next = r->in;
	r->in = l;
	__atomic_store_n(l->slot, host, __ATOMIC_RELEASE);
}

uint64_t *moca_exact_link_to(struct cache *k, uint8_t **at, uint64_t target)
{
	struct region *r = NULL;
	uint64_t host;
	struct link *l;

	if (!links)
		links = moca_exact_map(LINKS_MAX * sizeof(*links));
	if (link_count == LINKS_MAX)
		return NULL;
	l = &links[link_count];
	l->target = target;
	l->unlinked = *at;
	l->slot = moca_exact_literal(k, (uint64_t)*at);
	if (!l->slot)
		return NULL;
	emit_store_imm(at, GS(C_ARG), (int32_t)link_count++);
	emit_jump_literal(at, (uint64_t *)k->base + LIT_LINK);
	host = moca_exact_cache_find(target, &r);
	if (host)
		attach(l, host, r);
	return l->slot;
}

/* 0, or -1: there is no code. */
static int find_region(struct work *w, uint64_t pc)
{
	if (moca_exact_region_find(w, pc))
		return -1;
	w->precise = moca_exact.faults &&
		     (moca_exact.setup.debug & DEBUG_PRECISE ||
		      moca_exact_keep_faulty(w));
	w->kept = moca_exact.faults && !w->precise;
	return 0;
}

/*
 * One of so many translations is timed, for all: reading the clock twice takes a
 * tenth of one.
 */
#define TIMED 4

static uint64_t translate_at(struct context *c, uint64_t pc)
{
	static struct work *w;
	static unsigned int turn;
	struct region *r;
	uint64_t host = moca_exact_cache_find(pc, NULL), began = 0;
	int timed;

	if (host)
		return host;
	timed = !(turn++ % TIMED);
	/* What it waits for a CPU is none of its cost. */
	if (timed)
		began = moca_exact_cpu_ns();
	if (!w)
		w = moca_exact_map(sizeof(*w));
	moca_exact_save_vectors(c);
	r = find_region(w, pc) ? NULL : moca_exact_translate(w);
	moca_exact_restore_vectors(c);
	if (timed)
		moca_exact_took(began, TIMED);
	if (!r)
		return 0;
	moca_exact.shared->regions++;
	moca_exact.shared->instructions += (uint64_t)w->count;
	moca_exact.shared->code_bytes += r->size;
	for (int i = 0; i < w->count; i++)
		moca_exact.shared->blocks += w->insns[i].leader;
	return moca_exact_cache_find(pc, NULL);
}

uint64_t moca_exact_find(struct context *c, uint64_t pc)
{
	uint64_t host;

	moca_exact_lock();
	host = translate_at(c, pc);
	moca_exact_unlock();
	return host;
}

uint64_t moca_exact_follow_link(struct context *c, uint64_t number,
				uint64_t *pc)
{
	struct link *l;
	struct region *r = NULL;
	uint64_t host;

	if (number >= link_count)
		moca_exact_die("a link that there is not", number);
	l = &links[number];
	*pc = l->target;
	moca_exact_lock();
	host = translate_at(c, l->target);
	if (host && *l->slot == (uint64_t)l->unlinked) {
		host = moca_exact_cache_find(l->target, &r);
		attach(l, host, r);
	}
	moca_exact_unlock();
	return host;
}

uint64_t moca_exact_follow_jump(struct context *c, uint64_t pc)
{
	struct entry *e;
	uint64_t host;

	moca_exact_lock();
	host = translate_at(c, pc);
	if (host) {
		e = entry_of(pc);
		if (!e->landing)
			e->landing = moca_exact_landing(pc, e->host);
		if (e->landing)
			moca_exact_landing_show(e->landing);
	}
	moca_exact_unlock();
	return host;
}

/* --- the other way round ------------------------------------------------------- */

static struct region *region_at(const struct cache *k, uint64_t host)
{
	int low = 0, high = k->count;

	while (low < high) {
		int mid = (low + high) / 2;

		if ((uint64_t)k->regions[mid]->code <= host)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	return host - (uint64_t)k->regions[low - 1]->code <
			       k->regions[low - 1]->size ?
		       k->regions[low - 1] : NULL;
}

int moca_exact_locate(uint64_t host, struct place *p)
{
	for (int i = 0; i < cache_count; i++) {
		const struct cache *k = &caches[i];
		struct region *r;
		uint32_t low = 0, high, at;
		const struct mark *m;

		if (host - (uint64_t)k->base >= CACHE_SIZE)
			continue;
		r = region_at(k, host);
		if (!r)
			return 0;
		at = (uint32_t)(host - (uint64_t)r->code);
		high = r->count;
		while (low < high) {
			uint32_t mid = (low + high) / 2;

			if (r->marks[mid].host <= at)
				low = mid + 1;
			else
				high = mid;
		}
		if (!low)
			return 0;
		m = &r->marks[low - 1];
		p->pc = moca_exact_mark_pc(r, low - 1);
		p->start = m->host == at;
		p->own = m->host + m->own == at;
		p->spilled = m->transfer && at > m->host + m->own;
		p->balanced = !p->start && (p->own || p->spilled) ?
				      m->quiet : m->balanced;
		p->loop = m->loop;
		p->region = r;
		p->mark = low - 1;
		p->precise = r->precise;
		p->away = r->precise ? 0 : m->host == at ? r->kept[low - 1].start :
						       r->kept[low - 1].own;
		return p->start || p->own;
	}
	return -1;
}

/* --- when the source changes --------------------------------------------------- */

void moca_exact_forget(struct region *r)
{
	struct link *l, *next;

	r->dead = 1;
	if (r->newer)
		r->newer->older = r->older;
	else
		newest = r->older;
	if (r->older)
		r->older->newer = r->newer;
	for (l = r->in; l; l = next) {
		next = l->next;
		__atomic_store_n(l->slot, (uint64_t)l->unlinked,
				 __ATOMIC_RELEASE);
	}
	r->in = NULL;
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry *e = entry_of(moca_exact_mark_pc(r, i));

		if (!e || e->region != r)
			continue;
		e->host = 0;
		moca_exact_landing_hide(e->landing);
		e->landing = NULL;
	}
	moca_exact.shared->invalidated++;
}

static void forget_range(uint64_t start, uint64_t end)
{
	struct region *r, *older;

	for (r = newest; r; r = older) {
		older = r->older;
		if (r->low < end && r->high > start)
			moca_exact_forget(r);
	}
}

void moca_exact_invalidate(uint64_t start, uint64_t end)
{
	moca_exact_lock();
	if (is_source(start, end))
		forget_range(start, end);
	moca_exact_code_gone(start, end);
	moca_exact_flags_forget();
	moca_exact_unlock();
}

/* Its source is not what it was: the region that was entered at pc. */
void moca_exact_stale(uint64_t pc)
{
	struct region *r = NULL;

	moca_exact_lock();
	if (moca_exact_cache_find(pc, &r))
		moca_exact_forget(r);
	moca_exact_unlock();
}

void moca_exact_forget_all(void)
{
	moca_exact_lock();
	forget_range(0, -1ull);
	moca_exact_unlock();
}
