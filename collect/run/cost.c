// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/ptrace/tracee.h"
#include "lib/format/meta.h"

/* A stop that follows the last one so soon has waited for it. */
#define AT_ONCE_NS 3000
/* Until it is calibrated: the figure of a VM of 2026. */
#define STOP_NS 6000
/* No stop takes so long by itself. */
#define STOP_MOST_NS 200000
/* A call that a task runs for us, in a round: 1 to 5 us. */
#define CALL_NS 2000
/* What pages of the memfd take at most, in a call, of what native ones take. */
#define PAGES_FACTOR 4

static const struct {
	const char *key, *label;
} names[COST_KINDS] = {
	[COST_START] = { "start", "start-up" },
	[COST_EXEC] = { "exec", "programs executed" },
	[COST_MEMORY] = { "memory", "stops for memory calls" },
	[COST_THREAD] = { "thread", "stops for new threads" },
	[COST_FORK] = { "fork", "stops for forks" },
	[COST_EXIT] = { "exit", "ends of tasks" },
	[COST_SIGNAL] = { "signal", "stops for signals" },
	[COST_CALL] = { "call", "stops at system calls" },
	[COST_STOP] = { "stop", "other stops" },
	[COST_REPEATED] = { "repeated", "repeated faults" },
	[COST_TOUCH] = { "touch", "dearer first touches" },
	[COST_FREE] = { "free", "ranges of memory given back" },
	[COST_COPIED] = { "copied", "first touches of copied pages" },
	[COST_AGAIN] = { "again", "writes after reads" },
	[COST_ALLOC] = { "alloc", "calls of allocators" },
	[COST_SWEEP] = { "sweep", "sweeps" },
	[COST_RATE] = { "rate", "the sampler of faults and CPU time" },
	[COST_EVENTS] = { "events", "the collector of events" },
	[COST_RECORDER] = { "recorder", "the collector of accesses" },
	[COST_WRITE] = { "write", "chunks written" },
	[COST_END] = { "end", "the end of the recording" },
};

const char *cost_key(enum cost_kind kind)
{
	return names[kind].key;
}

const char *cost_label(enum cost_kind kind)
{
	return names[kind].label;
}

uint64_t cost_thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void learn_stop(struct costs *c, uint64_t gap_ns)
{
	uint64_t price = atomic_load(&c->stop_ns);

	c->gaps[c->gap_count++] = gap_ns;
	if (c->gap_count < COST_GAPS)
		return;
	c->gap_count = 0;
	qsort(c->gaps, COST_GAPS, sizeof(*c->gaps), by_size);
	price = (3 * price + c->gaps[COST_GAPS / 5]) / 4;
	if (price < STOP_MOST_NS)
		atomic_store(&c->stop_ns, price);
}

void cost_stop_begin(struct costs *c, const struct task *t)
{
	uint64_t now = moca_now_ns();

	if (t->cost_resumed_ns)
		learn_stop(c, now - t->cost_resumed_ns);

	c->stop.kind = COST_STOP;
	c->stop.counts = 1;
	c->stop.inner_ns = 0;
	c->stop.natural_ns = 0;
	/*
	 * It came while we saw to another task, at a moment that nobody knows:
	 * half of that on average.
	 */
	c->stop.before_ns = now - c->stop.end_ns < AT_ONCE_NS ?
				    c->stop.length_ns / 2 : 0;
	c->stop.begin_ns = now;
	c->stop.rounds = tracee_rounds();
	c->stop.begin_cpu_ns = cost_thread_cpu_ns();
}

void cost_stop_is(struct costs *c, enum cost_kind kind, int count)
{
	c->stop.kind = kind;
	c->stop.counts = count;
}

void cost_inner(struct costs *c, enum cost_kind kind, uint64_t count,
		uint64_t ns)
{
	cost_add(c, kind, count, ns);
	c->stop.inner_ns += ns;
}

void cost_natural(struct costs *c, uint64_t filled, uint64_t freed)
{
	c->stop.natural_ns += filled * atomic_load(&c->native_touch_ns) +
			      freed * atomic_load(&c->native_free_ns);
}

static void add_to_task(struct costs *c, struct task *t, uint64_t ns)
{
	unsigned int window = atomic_load(&c->window);

	if (!t)
		return;
	t->cost_resumed_ns = c->stop.kind == COST_CALL ? c->stop.end_ns : 0;
	if (t->cost_window != window)
		t->cost_ns = 0;
	t->cost_window = window;
	t->cost_ns += ns;
	/* The collector takes it between windows: a race costs one of them. */
	if (t->cost_ns > atomic_load(&c->busiest_ns))
		atomic_store(&c->busiest_ns, t->cost_ns);
}

void cost_stop_end(struct costs *c, struct task *t)
{
	uint64_t now = moca_now_ns(), ns = now - c->stop.begin_ns, base, own;
	uint64_t rounds, most;
	uint64_t cpu = cost_thread_cpu_ns() - c->stop.begin_cpu_ns;

	base = atomic_load(&c->stop_ns);
	if (!base) {
		base = STOP_NS;
		c->stop_cpu_ns = STOP_NS / 2;
	}
	c->stop.end_ns = now;
	c->stop.length_ns = ns;
	/*
	 * Of the time that is not our CPU time some is the task's own, which
	 * runs calls for us, and some is nobody's, who waited.
	 */
	rounds = tracee_rounds() - c->stop.rounds;
	own = ns > cpu ? ns - cpu : 0;
	most = rounds * (c->stop_cpu_ns + CALL_NS);
	/* Pages that a memory call fills or frees are the task's work. */
	if (c->stop.kind == COST_MEMORY)
		most += PAGES_FACTOR * c->stop.natural_ns;
	if (own > most)
		own = most;
	own -= c->stop.natural_ns < own ? c->stop.natural_ns : own;
	/* Who ended is not there to be switched to. */
	if (c->stop.kind != COST_EXIT)
		own += c->stop_cpu_ns;
	atomic_fetch_add(&c->task_cpu_ns, own);
	if (c->stop.kind == COST_MEMORY)
		c->stop.natural_ns += atomic_load(&c->native_call_ns);
	ns -= c->stop.natural_ns < ns ? c->stop.natural_ns : ns;
	add_to_task(c, t, ns + base + c->stop.before_ns);
	ns -= c->stop.inner_ns < ns ? c->stop.inner_ns : ns;
	cost_add(c, c->stop.kind, c->stop.counts,
		 ns + base + c->stop.before_ns);
}

void cost_calibrated(struct costs *c, uint64_t ns, uint64_t tracer_cpu_ns)
{
	c->stop_cpu_ns = ns > tracer_cpu_ns ? ns - tracer_cpu_ns : 0;
	atomic_store(&c->stop_ns, ns);
}

void cost_begin(struct costs *c, uint64_t ns)
{
	for (int k = COST_START; k <= COST_STOP; k++) {
		atomic_store(&c->kind[k].count, 0);
		atomic_store(&c->kind[k].ns, 0);
	}
	atomic_store(&c->kind[COST_FREE].count, 0);
	atomic_store(&c->kind[COST_FREE].ns, 0);
	atomic_store(&c->busiest_ns, 0);
	cost_add(c, COST_START, 1, ns);
}

void cost_describe(const struct costs *c, struct moca_meta *m)
{
	unsigned long total = 0;
	char key[64];

	for (int k = 0; k < COST_KINDS; k++) {
		unsigned long count = atomic_load(&c->kind[k].count);
		unsigned long ns = atomic_load(&c->kind[k].ns);

		if (!count && !ns)
			continue;
		snprintf(key, sizeof(key), "cost.%s.count", names[k].key);
		moca_meta_set(m, key, "%lu", count);
		snprintf(key, sizeof(key), "cost.%s.ns", names[k].key);
		moca_meta_set(m, key, "%lu", ns);
		total += ns;
	}
	moca_meta_set(m, "cost.total_ns", "%lu", total);
}

static int is_beside(int kind)
{
	return kind == COST_SWEEP || kind == COST_RATE || kind == COST_EVENTS ||
	       kind == COST_RECORDER || kind == COST_WRITE;
}

enum cost_kind cost_culprit(const struct costs *c, int crowded)
{
	enum cost_kind most = COST_KINDS;
	unsigned long ns = 0;

	for (int k = 0; k < COST_KINDS; k++)
		if (atomic_load(&c->kind[k].ns) > ns &&
		    (crowded || !is_beside(k))) {
			ns = atomic_load(&c->kind[k].ns);
			most = k;
		}
	return most;
}

/* 12,480 */
static void group_digits(unsigned long n, char *buf, size_t size)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%lu", n);
	size_t at = 0;

	for (int i = 0; i < len && at + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
}

void cost_phrase(const struct costs *c, enum cost_kind kind, char *buf,
		 size_t size)
{
	char n[32];

	switch (kind) {
	case COST_START:
	case COST_RATE:
	case COST_EVENTS:
	case COST_RECORDER:
	case COST_END:
	case COST_KINDS:
		snprintf(buf, size, "%s", kind == COST_KINDS ? "nothing" :
						  names[kind].label);
		return;
	default:
		group_digits(atomic_load(&c->kind[kind].count), n, sizeof(n));
		snprintf(buf, size, "%s %s", n, names[kind].label);
	}
}
