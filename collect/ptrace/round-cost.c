// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/round-cost.h"

#include <stdlib.h>

#include "collect/ptrace/task.h"
#include "collect/run/estimate.h"
#include "lib/base/clock.h"

/* CPU time is taken in every so many rounds: to ask for it takes 1 us. */
#define CPU_EVERY 4
/* Who waits longer waits for something else: for a page from the disk. */
#define WAIT_MOST_NS 10e6

struct window {
	uint64_t ns[ROUND_WINDOW];
	unsigned int count;
	uint64_t price;
};

static struct window wall, cpu;
static struct {
	uint64_t ns, cpu_ns;
	int has_ns, has_cpu;
} last;
static struct {
	double sum_ns, price;
	unsigned int count;
} waits;
static unsigned int rounds;
static int changed;

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A median: a page fault or another program took its time in one of them. */
static void add(struct window *w, uint64_t ns)
{
	w->ns[w->count++] = ns;
	if (w->count < ROUND_WINDOW)
		return;
	w->count = 0;
	qsort(w->ns, ROUND_WINDOW, sizeof(*w->ns), by_size);
	w->price = w->ns[ROUND_WINDOW / 2];
	changed = 1;
}

void round_begin(struct round_clock *r, const struct task *t)
{
	/* Of another process only the CPU time of all its threads is told. */
	int alone = t->space && t->space->refs == 1;

	r->cpu_ns = alone && (!cpu.price || rounds % CPU_EVERY == 0) ?
			    moca_process_cpu_ns(t->pid) : 0;
	r->ns = moca_now_ns();
}

void round_took(uint64_t ns, uint64_t cpu_ns, unsigned int calls)
{
	uint64_t work = (uint64_t)calls * ROUND_CALL_NS;

	last.ns = estimate_since(ns, work);
	last.has_ns = 1;
	last.cpu_ns = estimate_since(cpu_ns, work);
	last.has_cpu = cpu_ns != 0;
	rounds++;
}

void round_end(const struct round_clock *r, const struct task *t,
	       unsigned int calls)
{
	uint64_t ns = moca_now_ns() - r->ns, cpu_ns = 0;

	if (r->cpu_ns)
		cpu_ns = estimate_since(moca_process_cpu_ns(t->pid), r->cpu_ns);
	round_took(ns, cpu_ns, calls);
}

void round_keep(int counts)
{
	if (counts && last.has_ns)
		add(&wall, last.ns);
	if (counts && last.has_cpu)
		add(&cpu, last.cpu_ns);
	last.has_ns = last.has_cpu = 0;
}

int round_price(uint64_t *ns, uint64_t *cpu_ns)
{
	if (!changed || !wall.price)
		return 0;
	changed = 0;
	*ns = wall.price;
	/* A round's CPU time is no more than its time. */
	*cpu_ns = cpu.price < wall.price ? cpu.price : wall.price;
	return 1;
}

void round_waited(double ns)
{
	double mean;

	waits.sum_ns += ns < WAIT_MOST_NS ? ns : WAIT_MOST_NS;
	if (++waits.count < ROUND_WINDOW)
		return;
	mean = waits.sum_ns / ROUND_WINDOW;
	if (mean < 1)
		mean = 1;
	waits.price = waits.price ? (3 * waits.price + mean) / 4 : mean;
	waits.sum_ns = 0;
	waits.count = 0;
}

uint64_t round_wait(void)
{
	return (uint64_t)waits.price;
}
