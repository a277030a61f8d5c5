// SPDX-License-Identifier: LGPL-2.1-or-later
/* Call stacks by number, and what small objects were made by each. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/alloc/emit.h"
#include "agent/alloc/stack.h"

#define TABLE (1u << 17)
#define STACKS (TABLE / 4 * 3)	/* so that a free place is found soon */
#define PAUSES 50		/* of 2 ms, at exit, for room */
#define TRIES 64		/* cached uses until a stack is told once more */
#define PAGE_ALIGNED __attribute__((aligned(ALLOC_PAGE)))

/*
 * By hash of the frames: 64 bits of it stand for them. id and generation are
 * set when the stack has been told in that generation of the registry.
 */
static struct {
	uint64_t hash;		/* 0: free */
	uint64_t told;		/* generation << 32 | id */
} table[TABLE];

/* Ids from 1 on; whole pages, so that nothing else is wiped. */
_Static_assert(STACKS < 1u << 24, "numbers have 24 bits in record.c");
#define SUMS ((STACKS / ALLOC_PAGE + 1) * ALLOC_PAGE)

static uint32_t last_id;
uint64_t alloc_stacks_full;

/* By id; untold is added to by any thread. Wiped by fork. */
static struct {
	struct alloc_count untold;
	uint64_t told;		/* objects */
} sums[SUMS] PAGE_ALIGNED;

void alloc_count_init(void)
{
	syscall(SYS_madvise, sums, sizeof(sums), MADV_WIPEONFORK);
}

static uint64_t hash_frames(const struct alloc_walk *w)
{
	uint64_t h = w->n * 0x9e3779b97f4a7c15ull;
	unsigned i;

	for (i = 0; i < w->n; i++) {
		h = (h ^ w->frames[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 29;
	}
	return h ? h : 1;
}

/* The place of this hash, claimed if need be; NULL: the table is full. */
static __typeof__(&table[0]) find_place(uint64_t hash)
{
	uint32_t i = hash >> 32 & (TABLE - 1), n;
	uint64_t is;

	for (n = 0; n < TABLE; n++, i = (i + 1) & (TABLE - 1)) {
		is = __atomic_load_n(&table[i].hash, __ATOMIC_RELAXED);
		if (!is && __atomic_load_n(&last_id, __ATOMIC_RELAXED) >=
				   STACKS)
			return NULL;
		if (!is && __atomic_compare_exchange_n(&table[i].hash, &is,
						       hash, 0,
						       __ATOMIC_RELAXED,
						       __ATOMIC_RELAXED))
			is = hash;
		if (is == hash)
			return &table[i];
	}
	return NULL;
}

/*
 * A stack's number, told in this generation. Two threads may both tell a new
 * one, by two numbers: one of them is used from then on.
 */
static uint32_t intern(const struct alloc_walk *w, uint32_t generation)
{
	__typeof__(&table[0]) e = find_place(hash_frames(w));
	uint64_t told, now;
	uint32_t id;

	if (!e) {
		__atomic_fetch_add(&alloc_stacks_full, 1, __ATOMIC_RELAXED);
		return 0;
	}
	/* Pairs with the exchange: the event is in a trace before the id. */
	told = __atomic_load_n(&e->told, __ATOMIC_ACQUIRE);
	id = told;
	if (id && told >> 32 == generation)
		return id;
	if (!id) {
		if (__atomic_load_n(&last_id, __ATOMIC_RELAXED) >= STACKS)
			return 0;
		id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
		if (id > STACKS)
			return 0;
	}
	if (!alloc_emit_stack(id, w->frames, w->n)) {
		/* The number is kept for the next try. */
		now = (uint64_t)(generation - 1) << 32 | id;
		__atomic_compare_exchange_n(&e->told, &told, now, 0,
					    __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
		return 0;
	}
	now = (uint64_t)generation << 32 | id;
	if (__atomic_compare_exchange_n(&e->told, &told, now, 0,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return id;
	return told;
}

/* 1: told, or nothing to tell. */
static int tell_sum(uint32_t id)
{
	uint64_t count, bytes;

	count = __atomic_exchange_n(&sums[id].untold.count, 0,
				    __ATOMIC_RELAXED);
	bytes = __atomic_exchange_n(&sums[id].untold.bytes, 0,
				    __ATOMIC_RELAXED);
	if (!count)
		return 1;
	if (alloc_emit_tally(id, count, bytes)) {
		__atomic_fetch_add(&sums[id].told, count, __ATOMIC_RELAXED);
		return 1;
	}
	__atomic_fetch_add(&sums[id].untold.count, count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums[id].untold.bytes, bytes, __ATOMIC_RELAXED);
	return 0;
}

void alloc_count_flush(struct alloc_thread *t, unsigned index)
{
	struct alloc_count *c = &t->counts[index];
	uint32_t id = t->cache[index].id;
	uint64_t count = c->count, bytes = c->bytes;

	if (!count)
		return;
	c->count = c->bytes = 0;
	if (!id) {
		t->w.skipped.count += count;
		t->w.skipped.bytes += bytes;
		return;
	}
	__atomic_fetch_add(&sums[id].untold.bytes, bytes, __ATOMIC_RELAXED);
	count += __atomic_fetch_add(&sums[id].untold.count, count,
				    __ATOMIC_RELAXED);
	/* At least every time that it has doubled. */
	if (count >= 4096 && count >= __atomic_load_n(&sums[id].told,
						      __ATOMIC_RELAXED))
		tell_sum(id);
}

void alloc_count_flush_all(struct alloc_thread *t)
{
	unsigned i;

	for (i = 0; i < ALLOC_CACHE; i++)
		alloc_count_flush(t, i);
}

void alloc_count_tell_all(void)
{
	const struct timespec pause = { 0, 2000000 };
	uint32_t i, n = __atomic_load_n(&last_id, __ATOMIC_RELAXED);
	unsigned pauses = 0;

	/* Many at once may fill the buffer; the collector empties it. */
	for (i = 1; i <= n && i <= STACKS; i++)
		while (!tell_sum(i) && ++pauses <= PAUSES)
			syscall(SYS_nanosleep, &pause, NULL);
}

/*
 * No word is read behind one that differs: the walk read them in this order, and
 * would read the next one too, so it is there. A coroutine's stack may end
 * sooner than the one that was in its place before.
 */
static int is_same(const struct alloc_cached *e)
{
	unsigned i;

	for (i = 0; i < e->slots; i++)
		if (*(const uint64_t *)(e->cfa + e->off[i]) != e->value[i])
			return 0;
	return 1;
}

/* A handler may leave it in the middle, by longjmp: nothing is there then. */
static void remember(struct alloc_cached *e, const struct alloc_frame *f,
		     const struct alloc_walk *w, int foreign, uint32_t id)
{
	uint64_t cfa = (uint64_t)(f + 1);
	unsigned i;

	e->ip = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	e->id = id;
	if (!w->cacheable)
		return;
	for (i = 0; i < w->slots; i++) {
		if (w->addr[i] - cfa > UINT32_MAX)
			return;
		e->off[i] = w->addr[i] - cfa;
		e->value[i] = w->value[i];
	}
	e->slots = w->slots;
	e->uses_rbp = w->uses_rbp;
	e->foreign = foreign;
	e->tries = 0;
	e->cfa = cfa;
	e->rbp = f->rbp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	e->ip = f->ret;
}

static __attribute__((noinline)) uint32_t
walk(struct alloc_thread *t, const struct alloc_frame *f, unsigned index)
{
	struct alloc_cached *e = &t->cache[index];
	struct alloc_walk w;
	uint64_t high = 0;
	int foreign = 0;
	uint32_t id;

	t->w.meter.walks++;
	if (!alloc_stack_bounds(t, (uint64_t)(f + 1), &high, &foreign))
		high = 0;
	alloc_walk(&w, f, high, t->low, t->high);
	id = intern(&w, t->generation);
	if (e->id != id)
		alloc_count_flush(t, index);
	remember(e, f, &w, foreign, id);
	return id;
}

/* The first of the ALLOC_WAYS places where it may be. */
static inline unsigned place_of(uint64_t ip, uint64_t cfa)
{
	uint64_t h = ip * 0x9e3779b97f4a7c15ull ^ cfa * 0xc2b2ae3d27d4eb4full;

	return h >> 40 & (ALLOC_CACHE - ALLOC_WAYS);
}

static inline int is_cached(const struct alloc_thread *t,
			    const struct alloc_cached *e,
			    const struct alloc_frame *f)
{
	uint64_t cfa = (uint64_t)(f + 1);

	return e->ip == f->ret && e->cfa == cfa &&
	       (e->rbp == f->rbp || !e->uses_rbp) &&
	       (!e->foreign ||
		(t->foreign_unmaps == __atomic_load_n(&alloc_unmaps,
						      __ATOMIC_ACQUIRE) &&
		 cfa >= t->foreign_low && cfa < t->foreign_high)) &&
	       is_same(e);
}

/* Where a stack that is at none of them is to be kept. */
static unsigned victim(struct alloc_thread *t, unsigned first)
{
	unsigned i;

	for (i = first; i < first + ALLOC_WAYS; i++)
		if (!t->cache[i].ip)
			return i;
	/* In turn, one more than there is room for would put out each. */
	t->victim = t->victim * 1103515245 + 12345;
	return first + (t->victim >> 16) % ALLOC_WAYS;
}

uint32_t alloc_stack_id(struct alloc_thread *t, const struct alloc_frame *f,
			unsigned *index)
{
	unsigned first = place_of(f->ret, (uint64_t)(f + 1)), i;
	struct alloc_cached *e;

	for (i = first; i < first + ALLOC_WAYS; i++) {
		e = &t->cache[i];
		if (!is_cached(t, e, f))
			continue;
		*index = i;
		if (likely(e->id != 0) || ++e->tries < TRIES)
			return e->id;
		return walk(t, f, i);
	}
	*index = victim(t, first);
	return walk(t, f, *index);
}
