// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/stop-cost.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "collect/ptrace/round-cost.h"
#include "collect/ptrace/tracee.h"
#include "collect/run/estimate.h"
#include "lib/base/proc.h"

/* A stop that follows the last one so soon has waited for it. */
#define AT_ONCE_NS 3000
/* Until it is calibrated: the figure of a VM of 2026. */
#define STOP_NS 6000
/*
 * One of so many stops of an attached program is looked at, with the stop behind it.
 * Even: entries and ends of calls take turns, and the two are to begin at either.
 */
#define CALL_EVERY 16
/* One of so many stops is looked at: how long we waited for a CPU before it. */
#define WAKE_EVERY 8
/* What pages of the memfd take at most, in a call, of what native ones take. */
#define PAGES_FACTOR 4

/* Its CPU time so far. 0: not known; ptrace waits until it is off its CPU. */
static uint64_t run_ns(const struct task *t, unsigned int *op)
{
	struct __ptrace_syscall_info info;
	uint64_t run, wait;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info) <= 0 ||
	    moca_proc_schedstat(t->pid, t->tid, &run, &wait))
		return 0;
	*op = info.op;
	return run;
}

/*
 * Attached, a task waits at both ends of a stop: for a CPU to wake up, for the
 * supervisor to be done with another task, for its turn. Between the end of a
 * system call and the next one it sleeps for nothing else: what it did not run
 * there is that. One in CALL_EVERY is looked at.
 */
static void learn_call(struct costs *c, struct task *t, uint64_t now)
{
	static unsigned int calls;
	unsigned int op = 0;
	uint64_t before = t->cost_run_ns, run;

	t->cost_run_ns = 0;
	if (!t->cost_resumed_ns || (!before && calls++ % CALL_EVERY))
		return;
	run = run_ns(t, &op);
	if (!before) {
		t->cost_run_ns = run;
		return;
	}
	if (op != PTRACE_SYSCALL_INFO_ENTRY || run < before)
		return;
	round_waited((double)(now - t->cost_resumed_ns) -
		     (double)(run - before));
	atomic_store(&c->call_ns, round_wait());
}

/* How long this thread waited for a CPU so far; 0: not known. */
static uint64_t delay_ns(void)
{
	static int fd = -2;	/* the supervisor's alone */
	uint64_t run, wait;

	if (fd == -2)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	return moca_proc_schedstat_of(fd, &run, &wait) ? 0 : wait;
}

/*
 * Where others use the CPUs, we wait for one before we see to a stop, and its task
 * waits for us. What is more than the price of a stop has in it, in one of
 * WAKE_EVERY, stands for the others.
 */
static uint64_t waited_before(struct costs *c)
{
	uint64_t before = c->stop.delay_ns, waited;

	c->stop.delay_ns = 0;
	if (!before)
		return 0;
	waited = estimate_since(delay_ns(), before);
	waited = estimate_since(waited, atomic_load(&c->stop_ns));
	atomic_fetch_add(&c->wake_ns, WAKE_EVERY * waited);
	return WAKE_EVERY * waited;
}

void cost_stop_begin(struct costs *c, struct task *t)
{
	uint64_t now = moca_now_ns();

	learn_call(c, t, now);

	c->stop.wake_ns = waited_before(c);
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
	c->stop.calls = tracee_calls_run();
	/* Other threads' CPU time is not told apart. */
	c->stop.alone = t->space && t->space->refs == 1 ? t->pid : 0;
	c->stop.begin_cpu_ns = c->stop.alone ?
				       moca_process_cpu_ns(c->stop.alone) :
				       moca_thread_cpu_ns();
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
	c->stop.natural_ns += filled * atomic_load(&c->native_fill_ns) +
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

/*
 * CPU time of the task in a stop of a process with several. Of the time that is
 * not our CPU time some is the task's own, which runs calls for us, and some is
 * nobody's, who waited.
 */
static uint64_t own_by_price(struct costs *c, uint64_t ns)
{
	uint64_t cpu = moca_thread_cpu_ns() - c->stop.begin_cpu_ns;
	uint64_t rounds = tracee_rounds() - c->stop.rounds;
	uint64_t calls = tracee_calls_run() - c->stop.calls;
	uint64_t own = ns > cpu ? ns - cpu : 0, most;

	/* A memory call's list has the program's own call in it. */
	if (calls < rounds || c->stop.kind == COST_MEMORY)
		calls = rounds;
	most = rounds * c->stop_cpu_ns + calls * ROUND_CALL_NS;
	/* Pages that a memory call fills or frees are the task's work. */
	if (c->stop.kind == COST_MEMORY)
		most += PAGES_FACTOR * c->stop.natural_ns;
	if (own <= most)
		return own;
	/*
	 * What perf's events, page tables and descriptors take in a task that
	 * begins or ends has no price.
	 */
	if (c->stop.kind == COST_THREAD || c->stop.kind == COST_FORK ||
	    c->stop.kind == COST_EXEC || c->stop.kind == COST_EXIT)
		atomic_fetch_add(&c->unsure_ns, own - most);
	return most;
}

static uint64_t own_cpu(struct costs *c, uint64_t ns)
{
	if (!c->stop.alone)
		return own_by_price(c, ns);
	/* 0: it has ended. */
	return estimate_since(moca_process_cpu_ns(c->stop.alone),
			      c->stop.begin_cpu_ns);
}

void cost_stop_end(struct costs *c, struct task *t)
{
	uint64_t now = moca_now_ns(), ns = now - c->stop.begin_ns, base, own;

	round_keep(c->stop.natural_ns < ROUND_CALL_NS);
	cost_stop_learn(c);
	base = atomic_load(&c->stop_ns);
	if (!base) {
		base = STOP_NS;
		c->stop_cpu_ns = STOP_NS / 2;
	}
	c->stop.end_ns = now;
	c->stop.length_ns = ns;
	own = own_cpu(c, ns);
	own -= c->stop.natural_ns < own ? c->stop.natural_ns : own;
	/* Who ended is not there to be switched to. */
	if (c->stop.kind != COST_EXIT) {
		own += c->stop_cpu_ns;
		atomic_fetch_add(&c->stops, 1);
	}
	atomic_fetch_add(&c->task_cpu_ns, own);
	if (c->stop.kind == COST_MEMORY)
		c->stop.natural_ns += atomic_load(&c->native_call_ns);
	/* Its memory is given back behind the last task's end, by us. */
	atomic_store(&c->spared_ns, c->stop.kind == COST_EXIT ?
		     estimate_since(c->stop.natural_ns, ns) : 0);
	ns -= c->stop.natural_ns < ns ? c->stop.natural_ns : ns;
	if (c->stop.kind == COST_CALL && atomic_load(&c->call_ns))
		base = atomic_load(&c->call_ns) + c->stop_cpu_ns;
	else
		base += c->stop.before_ns + c->stop.wake_ns;
	add_to_task(c, t, ns + base);
	ns -= c->stop.inner_ns < ns ? c->stop.inner_ns : ns;
	cost_add(c, c->stop.kind, c->stop.counts, ns + base);
	c->stop.delay_ns = c->stop.ended++ % WAKE_EVERY ? 0 : delay_ns();
}

void cost_stop_learn(struct costs *c)
{
	uint64_t ns, cpu_ns;

	if (!round_price(&ns, &cpu_ns))
		return;
	c->stop_cpu_ns = cpu_ns;
	atomic_store(&c->stop_ns, ns);
}
