// SPDX-License-Identifier: GPL-2.0-only
#include "heat.h"

#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "arch.h"
#include "fault.h"
#include "flush.h"
#include "opened.h"
#include "ring.h"
#include "session.h"
#include "space.h"

/*
 * Tables (2 MB each) of which it is remembered what was accessed since the last
 * sweep. What is beyond keeps its bits, and is told by the sweep.
 */
#define TABLE_BITS 14
#define TABLES (1u << TABLE_BITS)
#define TABLES_MOST (TABLES / 4 * 3)

/* Looks take so much of the budget, at most. */
#define BUDGET_PART 2

static_assert(!MOCA_ARCH_HAS_HEAT || PTRS_PER_PTE == 64 * MOCA_HEAT_WORDS);

struct table {
	u64 order;		/* of its space; 0: free. Written last */
	unsigned long start;
	u64 touched[MOCA_HEAT_WORDS];
};

struct moca_heat {
	u64 period_ns;
	u64 since_ns;		/* when the last look began that held nothing */
	u64 due_ns;
	u64 took_ns;		/* not asked for yet */
	u64 held, lost;		/* tables, of the look under way */
	u64 looked, touched;	/* pages, likewise */
	u64 now_ns;		/* its begin */
	struct {
		u64 looks, pages, touched, held, lost, ns;
	} sums;
	u32 used;
	bool last;		/* the look under way: none follows */
	struct table tables[TABLES];
};

/*
 * A look flushes TLBs under a page table's lock (keep_dirt() in entry.c), and waits for
 * other CPUs. It needs ftrace, as a kprobe's handler may spin on that lock with
 * interrupts off, and never answer. It needs the flush of a range, which interrupts the
 * CPUs that use the address space, and no others.
 */
u32 moca_heat_features(void)
{
	const u32 needed = MOCA_HAS_FTRACE | MOCA_HAS_RANGE_FLUSH;
	u32 have = moca_fault_features() | moca_flush_features();

	return MOCA_ARCH_HAS_HEAT && (have & needed) == needed ? MOCA_HAS_HEAT :
								 0;
}

u64 moca_heat_bytes(void)
{
	return sizeof(struct moca_heat);
}

struct moca_heat *moca_heat_create(u64 period_ns)
{
	struct moca_heat *h = kvzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);

	if (h)
		h->period_ns = period_ns;
	return h;
}

void moca_heat_destroy(struct moca_heat *h)
{
	kvfree(h);
}

/* ---- what was accessed since the last sweep ---- */

static struct table *slot_of(const struct moca_heat *h,
			     const struct moca_space *sp, unsigned long start)
{
	u32 i = hash_64(start ^ sp->order, TABLE_BITS);

	/* There is always a free one. */
	for (;; i = (i + 1) & (TABLES - 1)) {
		const struct table *t = &h->tables[i];
		/* Pairs with the release in remember(): the rest is there. */
		u64 order = smp_load_acquire(&t->order);

		if (!order || (order == sp->order && t->start == start))
			return (struct table *)t;
	}
}

static bool remember(struct moca_heat *h, const struct moca_space *sp,
		     unsigned long start, const struct moca_heat_bits *b)
{
	struct table *t = slot_of(h, sp, start);

	if (!t->order && h->used == TABLES_MOST)
		return false;
	if (!t->order) {
		h->used++;
		t->start = start;
		memset(t->touched, 0, sizeof(t->touched));
		/* Pairs with the acquire in slot_of(). */
		smp_store_release(&t->order, sp->order);
	}
	for (int i = 0; i < MOCA_HEAT_WORDS; i++)
		t->touched[i] |= b->touched[i];
	return true;
}

const u64 *moca_heat_was(const struct moca_walk *w, unsigned long table)
{
	const struct table *t;

	if (!w->was || !READ_ONCE(w->was->used))
		return NULL;
	t = slot_of(w->was, w->sp, table);
	return t->order ? t->touched : NULL;
}

/* Who looks a table up meanwhile finds it, or finds that it was swept. */
static void forget_all(struct moca_heat *h)
{
	if (!h->used)
		return;
	for (u32 i = 0; i < TABLES; i++)
		WRITE_ONCE(h->tables[i].order, 0);
	WRITE_ONCE(h->used, 0);
}

/* ---- telling ---- */

static bool put(struct moca_session *s, u32 pid, unsigned long start,
		const struct moca_heat_bits *b)
{
	struct moca_rec_heat *rec;
	u32 first = 0, end = MOCA_HEAT_WORDS, n;

	while (!b->touched[first])
		first++;
	while (!b->touched[end - 1])
		end--;
	n = end - first;
	rec = moca_ring_reserve(s->own, MOCA_REC_HEAT,
				sizeof(*rec) + 2 * n * sizeof(u64), pid,
				s->heat->now_ns);
	if (!rec)
		return false;
	rec->pid = pid;
	rec->words = n;
	rec->since_ns = s->heat->since_ns;
	rec->addr = start + first * 64 * PAGE_SIZE;
	memcpy(rec->bits, &b->touched[first], n * sizeof(u64));
	memcpy(rec->bits + n, &b->written[first], n * sizeof(u64));
	for (u32 i = first; i < end; i++)
		s->heat->touched += hweight64(b->touched[i]);
	return true;
}

/*
 * What was moved looks accessed, though nobody may have done so at its new address:
 * its task is about to close it. Is there anything else?
 */
static bool leave_moved_out(struct moca_space *sp, unsigned long table,
			    struct moca_heat_bits *b)
{
	u64 any = 0;

	for (u32 i = 0; i < 64 * MOCA_HEAT_WORDS; i++) {
		u64 bit = 1ull << i % 64;

		if (b->touched[i / 64] & bit &&
		    moca_opened_is_moved(sp, table + i * PAGE_SIZE)) {
			b->touched[i / 64] &= ~bit;
			b->written[i / 64] &= ~bit;
		}
		any |= b->touched[i / 64];
	}
	return any;
}

/*
 * Half of the monitor's ring is for what else it tells; what a sweep or the last look
 * finds is told this time or never, and there is no sweep without a quarter (monitor.c).
 */
static bool has_room(const struct moca_session *s, bool may_hold)
{
	return moca_ring_room(s->own) >
	       max(s->own->chunks / (may_hold ? 2 : 8), 1u);
}

bool moca_heat_tell(struct moca_walk *w, unsigned long table,
		    struct moca_heat_bits *b)
{
	struct moca_session *s = w->sp->session;
	struct moca_heat *h = s->heat;
	const bool may_hold = w->look && !h->last;

	if (!w->tell)
		return true;
	if (!list_empty(&w->sp->opened) && !leave_moved_out(w->sp, table, b))
		return true;
	if (!has_room(s, may_hold) ||
	    (may_hold && !(s->flags & MOCA_SETUP_NO_INJECT) &&
	     !remember(h, w->sp, table, b)) ||
	    !put(s, w->sp->pid, table, b)) {
		if (may_hold)
			h->held++;
		else
			h->lost++;
		return false;
	}
	return true;
}

static void begin(struct moca_session *s, u64 now)
{
	struct moca_heat *h = s->heat;

	h->now_ns = now;
	h->held = h->lost = h->looked = h->touched = 0;
}

static void end(struct moca_session *s, u32 flags)
{
	struct moca_heat *h = s->heat;
	struct moca_rec_look *rec;

	rec = moca_ring_reserve(s->own, MOCA_REC_LOOK, sizeof(*rec), 0,
				h->now_ns);
	if (rec) {
		rec->since_ns = h->since_ns;
		rec->end_ns = ktime_get_mono_fast_ns();
		rec->looked = h->looked;
		rec->touched = h->touched;
		rec->held = h->held;
		rec->lost = h->lost;
		rec->flags = flags;
		rec->pad = 0;
	}
	h->sums.looks++;
	h->sums.pages += h->looked;
	h->sums.touched += h->touched;
	h->sums.held += h->held;
	h->sums.lost += h->lost;
	if (!h->held)
		h->since_ns = h->now_ns;
}

/* ---- looking ---- */

static void look_at(struct moca_session *s, struct moca_space *sp, bool tell)
{
	struct moca_walk w = {
		.mm = sp->mm, .sp = sp, .look = true, .tell = tell,
		.heat = s->heat,
	};

	/* Before its first sweep, what was touched is not of the recording. */
	if ((tell && READ_ONCE(sp->fresh)) || !mmget_not_zero(sp->mm))
		return;
	moca_walk(&w);
	mmput_async(sp->mm);
	s->heat->looked += w.looked;
}

static void look_at_all(struct moca_session *s, bool tell)
{
	struct moca_space *sp = NULL;

	while ((sp = moca_space_next(s, sp)))
		look_at(s, sp, tell);
}

/* How long after its begin a look that took `took` is followed by another: half of a
 * CPU's time is for others in any case. */
static u64 pause_after(const struct moca_session *s, u64 took)
{
	u64 least = 2 * took;

	if (s->budget_permille)
		least = max(least, div64_u64(took * 1000 * BUDGET_PART,
					     (u64)s->budget_permille *
					     num_online_cpus()));
	return max(s->heat->period_ns, least);
}

/* Give the reader a quarter of the ring as soon as it is filled: a chunk that is cut
 * before it is full takes as much of the ring. */
static void hand_over(struct moca_session *s)
{
	u64 now = ktime_get_mono_fast_ns();

	if (s->own->head - s->own->published <= s->own->chunks / 4)
		return;
	moca_ring_cut(s->own, s->interval, s->begin_ns);
	moca_ring_publish(s->own, now);
	wake_up_interruptible(&s->readers);
}

void moca_heat_look(struct moca_session *s)
{
	struct moca_heat *h = s->heat;
	u64 took;

	begin(s, ktime_get_mono_fast_ns());
	look_at_all(s, true);
	end(s, 0);
	hand_over(s);
	took = ktime_get_mono_fast_ns() - h->now_ns;
	h->sums.ns += took;
	h->took_ns += took;
	WRITE_ONCE(h->due_ns, h->now_ns + pause_after(s, took));
}

void moca_heat_end(struct moca_session *s)
{
	s->heat->last = true;
	moca_heat_look(s);
	s->heat->last = false;
}

void moca_heat_start(struct moca_session *s)
{
	struct moca_heat *h = s->heat;

	/* What it knew was of the recording before. */
	forget_all(h);
	/* The first sweep has begun at begin_ns. */
	h->since_ns = s->flags & MOCA_SETUP_NO_INJECT ?
			      ktime_get_mono_fast_ns() : s->begin_ns;
	WRITE_ONCE(h->due_ns, h->since_ns + h->period_ns);
	if (s->flags & MOCA_SETUP_NO_INJECT)
		look_at_all(s, false);
}

void moca_heat_sweep(struct moca_session *s, u64 now)
{
	begin(s, now);
}

void moca_heat_swept(struct moca_session *s)
{
	end(s, MOCA_LOOK_SWEEP);
	forget_all(s->heat);
	WRITE_ONCE(s->heat->due_ns, s->heat->now_ns + s->heat->period_ns);
}

u64 moca_heat_due(const struct moca_session *s)
{
	return s->heat ? READ_ONCE(s->heat->due_ns) : U64_MAX;
}

u64 moca_heat_took(struct moca_session *s)
{
	u64 took = s->heat ? s->heat->took_ns : 0;

	if (s->heat)
		s->heat->took_ns = 0;
	return took;
}

void moca_heat_totals(const struct moca_session *s, struct moca_totals *t)
{
	const struct moca_heat *h = s->heat;

	if (!h)
		return;
	t->looks = h->sums.looks;
	t->looked = h->sums.pages;
	t->hot = h->sums.touched;
	t->looks_held = h->sums.held;
	t->looks_lost = h->sums.lost;
	t->look_ns = h->sums.ns;
}
