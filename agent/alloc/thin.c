// SPDX-License-Identifier: LGPL-2.1-or-later
/* What watching costs, and the level that it is to be done at. */
#include "agent/alloc/thin.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/alloc/emit.h"
#include "agent/alloc/stack.h"
#include "agent/trace/doorbell.h"
#include "lib/ring/clock.h"
#include "lib/ring/meter.h"

/*
 * Beside the level: up to 256 KiB, as larger ones cost more by themselves than
 * what is told of them.
 */
#define MIN_TOP (256u << 10)

#define TIMED 64		/* calls, of which one is timed on the average */
/* What the timed part of a call leaves out: two calls and a note of its frame. */
#define REST_NS 2
/* What a call takes at most: it was interrupted. */
#define TICKS_MAX 100000u
#define TICK_NS 4000000u	/* CPU time from one look at the meter to the next */

/* Of the process' budget, in ns of CPU time. */
#define CREDIT 20000000ll	/* what it begins with: short programs are whole */
#define CREDIT_MAX 1000000000ll
#define DEBT_MAX 200000000ll
#define CALM_NS 200000000ull	/* until a level is left again */
#define FIRST_LEVEL 4u		/* below, samples are as dear as all of them */
#define TURNS_MAX 500u
#define LOCK_TICKS (1ull << 32)	/* its holder has left by longjmp */

struct alloc_thin alloc_thin = { .min = 4096 };

/* Counts that were not told yet, of all threads. Wiped by fork. */
static struct {
	struct sum {
		struct alloc_count untold;
		uint64_t told;
	} sized[ALLOC_CLASSES], freed;
	char pad[ALLOC_PAGE - (ALLOC_CLASSES + 1) * sizeof(struct sum)];
} sums __attribute__((aligned(ALLOC_PAGE)));

_Static_assert(sizeof(sums) == ALLOC_PAGE, "only this is wiped");

static struct {
	uint64_t lock;		/* TSC when it was taken; 0: free */
	/* Of all threads; added to atomically. */
	uint64_t calls, hook_ns, cpu_ns;
	/* Under the lock: as they were at the last decision. */
	uint64_t seen_calls, seen_hook, seen_cpu;
	int64_t balance;	/* ns that may still be spent */
	uint64_t changed_cpu;	/* cpu_ns when the level was changed */
	uint32_t own;		/* level that the budget needs */
	/* By level, what a call has cost when it was last used, ps. */
	uint64_t cost[MOCA_THIN_MAX + 1];
} steer = { .balance = CREDIT };

/* To know how long a tick is. */
static uint64_t begin_tsc, begin_ns;

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t next_random(struct alloc_thread *t)
{
	t->random += 0x9e3779b97f4a7c15ull;
	return mix(t->random);
}

/* 2^-16 of: -log2 of a number that is even in (0, 1), by squaring. */
static uint64_t exponent(uint64_t random)
{
	uint64_t x = random | 1, y, i;
	unsigned shift = __builtin_clzll(x);

	x = x << shift >> 32;		/* [2^31, 2^32) */
	y = 0;
	for (i = 0; i < 16; i++) {
		x = x * x >> 31;	/* [1, 4) of 2^31 */
		y <<= 1;
		if (x >> 32) {
			y |= 1;
			x >>= 1;
		}
	}
	return ((uint64_t)(shift + 1) << 16) - y;
}

/*
 * How many objects until one that is sampled, itself included, if each is with
 * a probability of 2^-level: 1 + floor(ln u / ln(1 - 2^-level)).
 */
static uint64_t gap(struct alloc_thread *t, uint32_t level)
{
	/* 2^16 / -log2(1 - 2^-level) */
	static const uint32_t scale[MOCA_THIN_MAX + 1] = {
		0, 65536, 157904, 340190, 703860, 1430802, 2884497, 5791797,
		11606352, 23235439, 46493603,
	};

	return 1 + (exponent(next_random(t)) * scale[level] >> 32);
}

/* --- the level ----------------------------------------------------------- */

static size_t min_of(uint32_t level)
{
	size_t min = alloc_config.min;

	for (; level > 2 && min < MIN_TOP; level--)
		min *= 2;
	return min > MIN_TOP && alloc_config.min < MIN_TOP ? MIN_TOP : min;
}

/*
 * First the level, then the event: what another thread tells by the old level,
 * later than the event, it takes back (record.c), as it then sees the new turn.
 */
static void set_level(uint32_t level)
{
	__atomic_store_n(&alloc_thin.min, min_of(level), __ATOMIC_RELAXED);
	__atomic_store_n(&alloc_thin.level, level, __ATOMIC_RELAXED);
	__atomic_store_n(&alloc_thin.tracks, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&alloc_thin.turn, 1, __ATOMIC_SEQ_CST);
	alloc_emit_thinned(level, alloc_thin.min);
}

void alloc_thin_tell(void)
{
	if (alloc_thin.level)
		alloc_emit_thinned(alloc_thin.level, alloc_thin.min);
}

void alloc_thin_init(void)
{
	syscall(SYS_madvise, &sums, sizeof(sums), MADV_WIPEONFORK);
	begin_ns = moca_now_ns();
	begin_tsc = moca_ticks();
	if (!alloc_thin.seed)
		alloc_thin.seed = mix(begin_tsc ^ (uint64_t)&sums);
	alloc_thin.min = min_of(alloc_thin.level);
	alloc_thin.tracks |= alloc_thin.level != 0;
}

/* Lower it by how much? Levels below the first are not used. */
static uint32_t lower(uint32_t level)
{
	return level <= FIRST_LEVEL ? 0 : level - 1;
}

static uint32_t higher(uint32_t level)
{
	if (level < FIRST_LEVEL)
		return FIRST_LEVEL;
	return level + 2 < MOCA_THIN_MAX ? level + 2 : MOCA_THIN_MAX;
}

/* What the budget needs, from what was measured since the last time. */
static void decide(struct moca_meter *m)
{
	uint64_t calls = steer.calls - steer.seen_calls;
	uint64_t hook = steer.hook_ns - steer.seen_hook;
	uint64_t cpu = steer.cpu_ns - steer.seen_cpu, plain, next;
	uint32_t level = steer.own, to = level;

	if (cpu < TICK_NS)
		return;
	steer.seen_calls += calls;
	steer.seen_hook += hook;
	steer.seen_cpu += cpu;
	plain = cpu > hook ? cpu - hook : 0;
	steer.balance += (int64_t)(plain * alloc_thin.budget / 1000 - hook);
	if (steer.balance > CREDIT_MAX)
		steer.balance = CREDIT_MAX;
	if (steer.balance < -DEBT_MAX)
		steer.balance = -DEBT_MAX;
	if (calls >= 1000)
		steer.cost[level] = hook * 1000 / calls;
	next = steer.cost[lower(level)] * calls / 1000;
	if (steer.balance < 0 && hook * 1000 > plain * alloc_thin.budget)
		to = higher(level);
	else if (steer.balance > CREDIT / 2 && level &&
		 steer.cpu_ns - steer.changed_cpu > CALM_NS &&
		 alloc_thin.turn < TURNS_MAX &&
		 next * 1400 <= plain * alloc_thin.budget)
		to = lower(level);
	if (m && steer.balance < 0 && level == MOCA_THIN_MAX)
		__atomic_store_n(&m->over, 1, __ATOMIC_RELAXED);
	if (to == level)
		return;
	steer.own = to;
	steer.changed_cpu = steer.cpu_ns;
}

static void steer_level(struct moca_meter *m)
{
	uint64_t now = moca_ticks(), holder;
	uint32_t level, wanted;

	holder = __atomic_load_n(&steer.lock, __ATOMIC_RELAXED);
	if (alloc_thin.fixed || (holder && now - holder < LOCK_TICKS) ||
	    !__atomic_compare_exchange_n(&steer.lock, &holder, now, 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if (alloc_thin.budget)
		decide(m);
	level = steer.own;
	/* All is told when there is no budget, as --allocs full wants it. */
	wanted = m && alloc_thin.budget ?
			 __atomic_load_n(&m->thin, __ATOMIC_RELAXED) : 0;
	if (wanted > MOCA_THIN_MAX)
		wanted = MOCA_THIN_MAX;
	if (level < wanted)
		level = wanted;
	if (level != alloc_thin.level)
		set_level(level);
	if (m && level > __atomic_load_n(&m->level, __ATOMIC_RELAXED))
		__atomic_store_n(&m->level, level, __ATOMIC_RELAXED);
	__atomic_store_n(&steer.lock, 0, __ATOMIC_RELEASE);
}

/* --- counts and costs ----------------------------------------------------- */

static int tell_sum(struct sum *s, unsigned class)
{
	uint64_t count, bytes;
	int told;

	count = __atomic_exchange_n(&s->untold.count, 0, __ATOMIC_RELAXED);
	bytes = __atomic_exchange_n(&s->untold.bytes, 0, __ATOMIC_RELAXED);
	if (!count)
		return 1;
	told = class < ALLOC_CLASSES ? alloc_emit_sized(class, count, bytes) :
				       alloc_emit_freed(count, bytes);
	if (told) {
		__atomic_fetch_add(&s->told, count, __ATOMIC_RELAXED);
		return 1;
	}
	__atomic_fetch_add(&s->untold.count, count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->untold.bytes, bytes, __ATOMIC_RELAXED);
	return 0;
}

/* Told whenever it has doubled, as those of stacks are. */
static void add_sum(struct sum *s, struct alloc_count *c, unsigned class)
{
	uint64_t count = c->count, bytes = c->bytes;

	if (!count)
		return;
	c->count = c->bytes = 0;
	__atomic_fetch_add(&s->untold.bytes, bytes, __ATOMIC_RELAXED);
	count += __atomic_fetch_add(&s->untold.count, count, __ATOMIC_RELAXED);
	if (count >= 4096 && count >= __atomic_load_n(&s->told,
						      __ATOMIC_RELAXED))
		tell_sum(s, class);
}

void alloc_sized_tell_all(void)
{
	const struct timespec pause = { 0, 2000000 };
	unsigned i, pauses = 0;

	/* As alloc_count_tell_all: the buffer may be full. */
	for (i = 0; i <= ALLOC_CLASSES; i++)
		while (!tell_sum(i < ALLOC_CLASSES ? &sums.sized[i] :
						     &sums.freed, i) &&
		       ++pauses <= 50)
			syscall(SYS_nanosleep, &pause, NULL);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts = { 0, 0 };

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Of a tick, 2^-10 ns. */
static uint64_t tick_ns(void)
{
	uint64_t tsc = moca_ticks() - begin_tsc, ns = moca_now_ns() - begin_ns;

	return tsc > 1000000 ? (ns << 10) / tsc : 400;
}

static void add(uint64_t *sum, uint64_t n)
{
	if (n)
		__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static void add_meter(struct alloc_thread *t, struct moca_meter *m)
{
	struct alloc_meter a = t->w.meter;
	uint64_t cpu = t == alloc_self ? thread_cpu_ns() : a.cpu_ns;
	uint64_t ns, waited = 0;

	t->w.meter = (struct alloc_meter){ .cpu_ns = cpu };
	ns = (a.ticks * tick_ns() >> 10) + a.calls * REST_NS;
	if (t == alloc_self) {
		waited = *moca_trace_waited();
		*moca_trace_waited() = 0;
	}
	add(&steer.calls, a.calls);
	add(&steer.hook_ns, ns);
	add(&steer.cpu_ns, cpu - a.cpu_ns);
	if (!m)
		return;
	add(&m->calls, a.calls);
	add(&m->events, a.events);
	add(&m->stacks, a.walks);
	add(&m->ticks, a.ticks);
	add(&m->ns, ns);
	add(&m->cpu_ns, cpu - a.cpu_ns);
	add(&m->waited_ns, waited);
}

void alloc_meter_flush(struct alloc_thread *t)
{
	unsigned i;

	for (i = 0; i < ALLOC_CLASSES; i++)
		add_sum(&sums.sized[i], &t->w.sized[i], i);
	add_sum(&sums.freed, &t->w.freed, ALLOC_CLASSES);
	add_meter(t, alloc_meter_page());
}

void alloc_meter_begin(struct alloc_thread *t)
{
	static uint32_t threads;
	uint64_t n = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);

	t->random = mix(alloc_thin.seed + n);
	t->timer_made.left = t->timer_made.gap = 1 + t->random % TIMED;
	t->timer_gone = t->timer_made;
	t->quick = t->quick_given = 0;
	t->sample_level = 0;
	t->until_sample = 0;
	t->last_tick = moca_ticks();
	/* What the thread did before is not all ours to divide. */
	t->w.meter = (struct alloc_meter){ 0 };
}

void alloc_time(struct alloc_timing *begin)
{
	begin->waited = *moca_trace_waited();
	begin->tsc = moca_ticks();
}

void alloc_timed(struct alloc_thread *t, struct alloc_timer *timer,
		 const struct alloc_timing *begin)
{
	uint64_t now = moca_ticks(), timing = moca_ticks() - now,
		 took = now - begin->tsc;

	if (took > TICKS_MAX || *moca_trace_waited() != begin->waited)
		took = TICKS_MAX / 10;
	took -= took < timing ? took : timing;
	t->w.meter.ticks += took * timer->gap;
	t->w.meter.calls += timer->gap;
	timer->left = timer->gap = TIMED / 2 + next_random(t) % TIMED;
	if ((now - t->last_tick) * tick_ns() >> 10 < TICK_NS)
		return;
	t->last_tick = now;
	alloc_meter_flush(t);
	steer_level(alloc_meter_page());
}

/* --- samples --------------------------------------------------------------- */

uint64_t alloc_tracked[ALLOC_PLACES];

static uint32_t *place_of(const void *p, uint32_t *key)
{
	return (uint32_t *)alloc_place(p, key);
}

static int is_tracked_space(const void *p)
{
	return !((uint64_t)p & 15) && (uint64_t)p >> (ALLOC_ADDRESS_BITS + 4) == 0;
}

int alloc_track(const void *p)
{
	uint32_t key, is, i, *at;

	if (!is_tracked_space(p))
		return 0;
	at = place_of(p, &key);
	__atomic_store_n(&alloc_thin.tracks, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++) {
		is = 0;
		/* Pairs with alloc_untrack's: it is there before p is known. */
		if (__atomic_compare_exchange_n(&at[i], &is, key, 0,
						__ATOMIC_RELEASE,
						__ATOMIC_RELAXED) ||
		    is == key)
			return 1;
	}
	return 0;
}

int alloc_untrack(const void *p)
{
	uint32_t key, is, i, *at = place_of(p, &key);
	int found = 0;

	if (!is_tracked_space(p))
		return 0;
	for (i = 0; i < 2; i++) {
		is = __atomic_load_n(&at[i], __ATOMIC_RELAXED);
		if (is == key)
			found |= __atomic_compare_exchange_n(
				&at[i], &is, 0, 0, __ATOMIC_ACQUIRE,
				__ATOMIC_RELAXED);
	}
	return found;
}

void alloc_sample(struct alloc_thread *t, const void *p, size_t size,
		  unsigned kind, const struct alloc_frame *f)
{
	uint32_t level = t->sample_level, stack;
	unsigned index;
	int track;

	t->sample_level = alloc_thin.level;
	t->until_sample = gap(t, t->sample_level);
	if (!level) {		/* the first gap of this thread */
		if (--t->until_sample)
			return;
		level = t->sample_level;
		t->until_sample = gap(t, level);
	}
	stack = alloc_stack_id(t, f, &index);
	track = alloc_track(p);
	t->w.meter.events++;
	if (!alloc_emit_sample(track ? p : NULL, size, stack, level, kind) &&
	    track)
		alloc_untrack(p);
}
