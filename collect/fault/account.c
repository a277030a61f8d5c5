// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/account.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/fault/task-clock.h"
#include "collect/ptrace/tracee.h"
#include "collect/run/launch.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"
#include "lib/format/meta.h"
#include "lib/ring/meter.h"

/* The shortest window; what is waited for in one is counted when it ends. */
#define WINDOW_NS 50000000ull
/* What a task must have run for its waits to tell something. */
#define RUN_MIN_NS 1000000ull
/* The same of one that was not looked at before: to be woken, and behind the stops of
 * its begin, it waited for a CPU whatever it ran. */
#define RUN_FIRST_NS 10000000ull
/* So many repeated faults tell which part is the busiest task's. */
#define SHARE_MIN 1000
/* Idle time comes in ticks of 10 ms. */
#define IDLE_NS 100000000ull
/*
 * Of a call of an allocator, besides what libmoca-alloc tells: 2 ns in programs
 * that run for seconds, 4 in shorter ones (tests/bench/cost/run, and parts).
 */
#define ALLOC_CALL_NS 2.5
/*
 * Of what libmoca-alloc has timed, what is sure. It times calls one by one, from begin
 * to end; a CPU that is wide does the program's own work meanwhile: 0.6 of it was
 * added to the CPU time of two loops (parts: small, recursion) on one of 2023, and
 * 1.2 on another, of the same year, where sqlite3 took 1.3. What is beyond what is
 * sure is told as what may be.
 */
#define ALLOC_SURE 0.6
#define ALLOC_MOST 1.5

/* Time that all CPUs together were idle since boot; UINT64_MAX: unknown. */
static uint64_t machine_idle_ns(void)
{
	unsigned long v[5];
	FILE *f = fopen("/proc/stat", "re");
	int n = 0;

	if (f) {
		n = fscanf(f, "cpu %lu %lu %lu %lu %lu", &v[0], &v[1], &v[2],
			   &v[3], &v[4]);
		fclose(f);
	}
	return n == 5 ? (v[3] + v[4]) * (1000000000ull / sysconf(_SC_CLK_TCK)) :
			UINT64_MAX;
}

/* Companions: the sampler of rates, the collector of events. */
static uint64_t companion_cpu_ns(const struct account *a, int which)
{
	const struct moca_record_companion *c = a->rec->opt->companion;

	return c && c->cpu_ns ? c->cpu_ns(c->arg, which) : 0;
}

static struct moca_meter *meter(const struct account *a)
{
	const struct moca_record_companion *c = a->rec->opt->companion;

	return c && c->meter ? c->meter(c->arg) : NULL;
}

/*
 * What the registers and the copy of a stack make a fault dearer, in the program:
 * the CPU time of a program at a fixed interval with and without them, and with
 * copies of 1, 2 and 4 kB, divided by its faults (doc/design/stacks.md).
 */
#define STACK_NS 250.0
#define STACK_BYTE_NS 0.14
/* First touches of a program, from which on it may be asked what they take. */
#define CHURN_TOUCHES 20000
/* Times of the slowdown of all the time, from which on that of work is told apart. */
#define WORK_TOLD 1.5
/* What a thread waited for a CPU, in times of what it ran, from which on that is told. */
#define BUSY_TOLD 0.3
/* What ticks tell of the kernel's CPU time may be less than it is: times, ns. */
#define SYSTEM_MOST 1.25
#define SYSTEM_TICKS_NS 2e7

void account_init(struct account *a, struct recorder *rec,
		  struct task_clock *clock)
{
	struct fault_prices *p = &a->prices;

	*p = calibrate_prices();
	if (rec->opt->stack_bytes) {
		double stack = STACK_NS + STACK_BYTE_NS * rec->opt->stack_bytes;

		p->repeated_ns += stack;
		p->touch_ns += stack;
		p->kept_ns += stack;
		p->again_ns += stack;
	}
	control_init(&a->control, rec->opt->budget, rec->opt->interval_ns,
		     p->repeated_ns, sysconf(_SC_NPROCESSORS_ONLN),
		     rec->launch_ns);
	control_grow(&a->control, rec->opt->credit_ns, rec->opt->shortest_ns);
	a->rec = rec;
	a->share = 1;
	atomic_store(&rec->costs.native_fill_ns, p->native_fill_ns);
	atomic_store(&rec->costs.native_free_ns, p->native_free_ns);
	atomic_store(&rec->costs.native_call_ns, p->native_call_ns);
	a->clock = clock;
	a->reaped_ns = cost_reaped_cpu_ns();
	a->reaped_switches = cost_reaped_switches();
	cost_reaped_parts(&a->reaped_user_ns, &a->reaped_system_ns);
	a->idle_ns = machine_idle_ns();
	a->idle_at_ns = moca_now_ns();
}

void account_free(struct account *a)
{
	task_clock_close(a->clock);
	a->clock = NULL;
}

void account_begin(struct account *a)
{
	a->cpu_before = moca_thread_cpu_ns();
	a->at_ns = moca_now_ns();
	a->control.last_sweep_ns = a->at_ns;
}

static void set(struct account *a, enum cost_kind kind, uint64_t count,
		uint64_t ns)
{
	atomic_store(&a->rec->costs.kind[kind].count, count);
	atomic_store(&a->rec->costs.kind[kind].ns, ns);
}

static uint64_t ns_of(const struct account *a, enum cost_kind kind)
{
	return atomic_load(&a->rec->costs.kind[kind].ns);
}

/* What the program tells of its allocations. It may tell anything. */
static void take_meter(struct account *a, double program_ns)
{
	struct moca_meter *m = meter(a);
	uint64_t calls, ns, waited, sure;

	if (!m)
		return;
	/* No more than its CPU time has room for. */
	calls = fmin(__atomic_load_n(&m->calls, __ATOMIC_RELAXED),
		     program_ns / ALLOC_CALL_NS);
	a->alloc_events = fmin(__atomic_load_n(&m->events, __ATOMIC_RELAXED),
			       calls);
	/* Into the library and back its own clock does not see. */
	ns = fmin((double)__atomic_load_n(&m->ns, __ATOMIC_RELAXED) +
		  (double)calls * ALLOC_CALL_NS, program_ns);
	/* No more than all its tasks can have waited. */
	waited = fmin(__atomic_load_n(&m->waited_ns, __ATOMIC_RELAXED),
		      (double)estimate_since(moca_now_ns(),
					     a->control.start_ns) *
			      (a->rec->task_count + 1));
	sure = (uint64_t)(ALLOC_SURE * (double)ns);
	a->alloc_sure_ns = sure;
	a->alloc_doubt_ns = (uint64_t)(ALLOC_MOST * (double)ns) - sure;
	set(a, COST_ALLOC, calls, sure + waited);
	a->thin = control_thin(&a->control, a->thin,
			       estimate_since(ns, a->alloc_ns),
			       estimate_since(program_ns, a->program_cpu_ns));
	a->alloc_ns = ns;
	__atomic_store_n(&m->thin, a->thin, __ATOMIC_RELAXED);
}

/* What the kinds of cost that stop a task (exec to stop) took so far, ns. */
static uint64_t stopped(const struct account *a)
{
	uint64_t sum = 0;

	for (int k = COST_EXEC; k <= COST_STOP; k++)
		sum += ns_of(a, k);
	return sum;
}

/* Of kinds that are not the collector's: the sum so far. */
static uint64_t waited(const struct account *a)
{
	return stopped(a) + ns_of(a, COST_FREE) + ns_of(a, COST_ALLOC);
}

static uint64_t beside(struct account *a)
{
	set(a, COST_RATE, companion_cpu_ns(a, 0) != 0, companion_cpu_ns(a, 0));
	set(a, COST_EVENTS, companion_cpu_ns(a, 1) != 0,
	    companion_cpu_ns(a, 1));
	return estimate_since(moca_thread_cpu_ns(), a->cpu_before) +
	       ns_of(a, COST_RATE) +
	       ns_of(a, COST_EVENTS) + a->sweep_cpu_ns;
}

/* What cold caches may have taken, of all tasks so far. */
static uint64_t cold(const struct account *a)
{
	return atomic_load(&a->rec->costs.stops) * COST_COLD_NS +
	       atomic_load(&a->rec->costs.doubt_ns) + a->alloc_doubt_ns +
	       atomic_load(&a->rec->costs.kind[COST_SWITCH].count) *
		       COST_COLD_SWITCH_NS +
	       (a->faults[PAGE_TOUCHED] + a->faults[PAGE_KEPT]) *
		       COST_COLD_TOUCH_NS +
	       a->alloc_events * COST_COLD_EVENT_NS;
}

/*
 * Of first touches, those of memory that has huge pages without recording: what
 * they take more, ns. What was asked for is touched as it is mapped anew.
 */
static double huge_price(const struct account *a, uint64_t touched)
{
	double asked = atomic_load(&a->rec->costs.huge_asked);

	return fmin(asked, touched) *
	       (a->prices.native_touch_ns - a->prices.native_huge_ns);
}

/* The same of all first touches, with small pages. */
static double first_touches(const struct account *a,
			    const uint64_t count[PAGE_FAULTS])
{
	return count[PAGE_TOUCHED] * a->prices.touch_ns +
	       count[PAGE_KEPT] * a->prices.kept_ns;
}

/* What first touches took more than natively, so far, ns. It may be less. */
static double touch_ns(const struct account *a)
{
	double touched = a->faults[PAGE_TOUCHED] + a->faults[PAGE_KEPT];
	double asked = fmin(atomic_load(&a->rec->costs.huge_asked), touched);

	/* Huge pages are not copied one by one. */
	return first_touches(a, a->faults) + huge_price(a, touched) -
	       (touched ? a->saved_ns * (1 - asked / touched) : 0);
}

/*
 * Faults are the kernel's work: their prices add up to no more than the CPU time that
 * the kernel ran for the program, system_ns, and what ticks tell wrongly of that. What
 * they would be told too high, ns.
 */
static double beyond(const struct account *a, double system_ns)
{
	double told = ns_of(a, COST_REPEATED) + fmax(0, touch_ns(a)) +
		      ns_of(a, COST_COPIED) + ns_of(a, COST_AGAIN);

	return fmax(0, told - SYSTEM_MOST * system_ns - SYSTEM_TICKS_NS);
}

/* What recording added to the CPU time of all; beyond_ns: prices had that too much. */
static void take_cpu(struct account *a, double program_ns, double beyond_ns)
{
	double ours = launch_own_cpu_ns() + companion_cpu_ns(a, 0) +
		      companion_cpu_ns(a, 1);
	double in_program = atomic_load(&a->rec->costs.task_cpu_ns) +
			    ns_of(a, COST_REPEATED) + touch_ns(a) +
			    ns_of(a, COST_COPIED) + ns_of(a, COST_AGAIN) +
			    ns_of(a, COST_SWITCH) + a->alloc_sure_ns +
			    a->sweep_cpu_ns;
	double unsure = atomic_load(&a->rec->costs.unsure_ns);
	unsigned long unseen = atomic_load(&a->rec->costs.unseen_ns);

	moca_debug("CPU time, ms: program %.1f, of it stops %.1f, faults %.1f, "
		   "allocations %.1f, unseen %.1f, and up to %.1f more; ours "
		   "%.1f", program_ns / 1e6,
		   atomic_load(&a->rec->costs.task_cpu_ns) / 1e6,
		   account_price(a, a->faults) / 1e6, a->alloc_ns / 1e6,
		   unseen / 1e6, (unsure + cold(a)) / 1e6, ours / 1e6);
	in_program += unseen - beyond_ns;
	control_cpu(&a->control, &(struct control_cpu){
		.program_ns = program_ns, .priced_ns = in_program,
		.unsure_ns = unsure, .cold_ns = cold(a), .beside_ns = ours,
	});
}

/* The program's start is over: what it took was waited for by nobody else. */
static void take_start(struct account *a)
{
	uint64_t began = atomic_load(&a->rec->began_ns);

	if (a->began || !began)
		return;
	a->began = 1;
	a->control.start_ns = estimate_since(began, ns_of(a, COST_START));
	control_stall(&a->control, ns_of(a, COST_START));
	/* Windows begin with the program. */
	a->at_ns = began;
	a->waited_ns = 0;
	a->stopped_ns = 0;
	a->cold_ns = cold(a);
	a->late_ns = atomic_load(&a->rec->costs.wake_ns);
}

double account_price(const struct account *a,
		     const uint64_t count[PAGE_FAULTS])
{
	return (count[PAGE_REPEATED] + count[PAGE_COPIED]) *
		       a->prices.repeated_ns +
	       first_touches(a, count) +
	       (count[PAGE_AGAIN] + count[PAGE_UNSHARED]) * a->prices.again_ns;
}

double account_saved(const struct account *a,
		     const uint64_t count[PAGE_FAULTS], int threaded)
{
	const struct fault_prices *p = &a->prices;

	return count[PAGE_UNSHARED] *
	       (p->native_unshare_ns +
		(threaded ? a->at_once : 0) *
			(p->native_unshare_threads_ns - p->native_unshare_ns));
}

void account_look(struct account *a)
{
	double wall = estimate_since(moca_now_ns(), a->at_ns);
	double cpu = estimate_since(task_clock_ns(a->clock), a->program_cpu_ns);

	a->at_once = wall > 0 ? fmin(fmax(cpu / wall - 1, 0), 1) : 0;
}

double account_stretch(struct account_waits *w, pid_t tid)
{
	uint64_t run, wait, run_before = 0, wait_before = 0, least = RUN_FIRST_NS;

	if (!tid)
		return w->stretch;
	if (moca_proc_schedstat(tid, tid, &run, &wait)) {
		w->stretch = 1 + fmax(w->stretch - 1, 0) / 2;
		return w->stretch;
	}
	if (w->tid == tid && w->run_ns <= run && w->wait_ns <= wait) {
		run_before = w->run_ns;
		wait_before = w->wait_ns;
		least = RUN_MIN_NS;
	}
	if (run - run_before < least)
		return w->stretch;
	*w = (struct account_waits){
		.tid = tid, .run_ns = run, .wait_ns = wait,
		.stretch = 1 + (double)(wait - wait_before) /
				       (double)(run - run_before),
	};
	return w->stretch;
}

int account_due(const struct account *a)
{
	return (!a->began && atomic_load(&a->rec->began_ns)) ||
	       moca_now_ns() >= a->at_ns + WINDOW_NS;
}

static void take_idle(struct account *a, uint64_t now, uint64_t beside_ns)
{
	uint64_t idle;

	if (now < a->idle_at_ns + IDLE_NS)
		return;
	idle = machine_idle_ns();
	if (idle != UINT64_MAX && a->idle_ns != UINT64_MAX)
		control_idle(&a->control, now - a->idle_at_ns,
			     estimate_since(beside_ns, a->idle_beside_ns),
			     estimate_since(idle, a->idle_ns));
	a->idle_ns = idle;
	a->idle_at_ns = now;
	a->idle_beside_ns = beside_ns;
}

static uint64_t faults_of(const struct account_faults *f)
{
	uint64_t sum = 0;

	for (int i = 0; i < PAGE_FAULTS; i++)
		sum += f->count[i];
	return sum;
}

void account_window(struct account *a, const struct account_faults *f)
{
	uint64_t now = moca_now_ns(), cpu = task_clock_ns(a->clock);
	double before = touch_ns(a), touched, priced;
	uint64_t sum, still, side, busiest, own, chill, late, again, free_ns;
	uint64_t alive_ns;
	uint64_t ended = atomic_load(&a->rec->ended_ns);
	struct control *c = &a->control;
	struct control_window w;

	take_start(a);
	for (int i = 0; i < PAGE_FAULTS; i++)
		a->faults[i] += f->count[i];
	a->saved_ns += f->saved_ns;
	set(a, COST_REPEATED, a->faults[PAGE_REPEATED],
	    a->faults[PAGE_REPEATED] * a->prices.repeated_ns);
	set(a, COST_COPIED, a->faults[PAGE_COPIED],
	    a->faults[PAGE_COPIED] * a->prices.repeated_ns);
	touched = touch_ns(a);
	set(a, COST_TOUCH, a->faults[PAGE_TOUCHED] + a->faults[PAGE_KEPT],
	    fmax(0, touched));
	again = a->faults[PAGE_AGAIN] + a->faults[PAGE_UNSHARED];
	set(a, COST_AGAIN, again, again * a->prices.again_ns);
	take_meter(a, cpu);
	side = beside(a);
	sum = waited(a);
	/* What the tasks themselves ran at stops is in their CPU time. */
	still = estimate_since(stopped(a),
			       atomic_load(&a->rec->costs.task_cpu_ns));
	chill = cold(a);
	late = atomic_load(&a->rec->costs.wake_ns);
	busiest = atomic_exchange(&a->rec->costs.busiest_ns, 0);
	atomic_fetch_add(&a->rec->costs.window, 1);
	priced = account_price(a, f->count) - first_touches(a, f->count) +
		 touched - before;
	w = (struct control_window){
		.wall_ns = estimate_since(now, a->at_ns),
		.busiest_ns = f->busiest_ns + busiest,
		.total_ns = priced + estimate_since(sum, a->waited_ns),
		.priced_ns = priced,
		.busiest_priced_ns = f->busiest_ns,
		.stretch = fmin(fmax(account_stretch(&a->waits, f->busiest ?
				  f->busiest : a->waits.tid), 1),
				CONTROL_STRETCH_MOST),
		.cold_ns = estimate_since(chill, a->cold_ns),
		.late_ns = estimate_since(late, a->late_ns),
		.stopped_ns = estimate_since(still, a->stopped_ns),
		.program_ns = estimate_since(cpu, a->program_cpu_ns),
		.beside_ns = estimate_since(side, a->beside_ns),
	};
	/* As control_settle counts it. */
	if (a->began && w.stretch > 1 && priced > 0)
		cost_add(&a->rec->costs, COST_BUSY, faults_of(f),
			 (uint64_t)((w.stretch - 1) * priced));
	take_idle(a, now, side);
	free_ns = ns_of(a, COST_FREE);
	/* What was given back behind the end nobody waited for. */
	alive_ns = atomic_load(&a->rec->ended_free_ns);
	if (ended && !a->rec->attach)
		control_cut(&w, estimate_since(ended, a->at_ns),
			    estimate_since(free_ns, alive_ns > a->free_ns ?
						    alive_ns : a->free_ns));
	if (a->began)
		control_settle(c, &w);
	if (f->count[PAGE_REPEATED] > SHARE_MIN)
		a->share = (double)f->busiest_repeated / f->count[PAGE_REPEATED];
	control_returned(c, now, f->count[PAGE_REPEATED] + f->count[PAGE_AGAIN],
			 a->share);
	own = estimate_since(moca_thread_cpu_ns(), a->cpu_before);
	/* Writing may have waited for the disk: not for the CPU. */
	set(a, COST_RECORDER, 1, estimate_since(own, a->write_ns));
	take_cpu(a, cpu, 0);
	a->program_cpu_ns = cpu;
	a->beside_ns = side;
	a->waited_ns = sum;
	a->stopped_ns = still;
	a->free_ns = free_ns;
	a->cold_ns = chill;
	a->late_ns = late;
	a->at_ns = now;
}

void account_sweep(struct account *a, uint64_t begin_ns, uint64_t ns,
		   uint64_t cpu_ns, double pages)
{
	a->sweep_cpu_ns += cpu_ns < ns ? cpu_ns : ns;
	cost_add(&a->rec->costs, COST_SWEEP, 1, ns);
	control_swept(&a->control, begin_ns, pages, a->share);
}

void account_write(struct account *a, uint64_t ns)
{
	a->write_ns += ns;
	cost_add(&a->rec->costs, COST_WRITE, 1, ns);
}

/* Those of stops, and of the calls that tasks ran for us, have their price. */
static void take_switches(struct account *a)
{
	uint64_t n = estimate_since(cost_reaped_switches(), a->reaped_switches);

	n = estimate_since(n, atomic_load(&a->rec->costs.stops) +
				      tracee_rounds());
	set(a, COST_SWITCH, n, n * COST_SWITCH_NS);
}

void account_end(struct account *a)
{
	uint64_t ended = atomic_load(&a->rec->ended_ns), now = moca_now_ns(), cpu;
	uint64_t ns = estimate_since(estimate_since(now, ended),
				     atomic_load(&a->rec->costs.spared_ns));
	struct account_faults none = { 0 };
	double user = 0, system = INFINITY;

	if (ended && now > ended && !a->rec->attach) {
		/* The last window held some of it. */
		set(a, COST_END, 1, ns);
		control_stall(&a->control, ns);
		a->at_ns = now;
	}
	account_window(a, &none);
	/* Attached, its parent waits for it. */
	if (!ended || a->rec->attach)
		return;
	take_switches(a);
	cpu = estimate_since(cost_reaped_cpu_ns(), a->reaped_ns);
	cost_reaped_parts(&user, &system);
	/* What nobody waited for has faults, but no part in these times. */
	if (20 * cpu < 19 * a->program_cpu_ns)
		system = INFINITY;
	if (cpu > a->program_cpu_ns)
		a->program_cpu_ns = cpu;
	take_cpu(a, a->program_cpu_ns, beyond(a, fmax(system - a->reaped_system_ns, 0)));
	a->program_user_ns = fmax(user - a->reaped_user_ns, 0);
	if (a->faults[PAGE_TOUCHED] + a->faults[PAGE_KEPT] >= CHURN_TOUCHES)
		calibrate_churn(&a->churn);
}

double account_slowdown(const struct account *a)
{
	return control_slowdown(&a->control, a->at_ns);
}

/*
 * Attached, each system call stops: what its task waits until another CPU sees
 * to it is not known, only that it is no less than what was counted.
 */
static struct estimate wall(const struct account *a)
{
	struct estimate e = control_wall(&a->control, a->at_ns);

	if (a->rec->attach && !atomic_load(&a->rec->costs.call_ns) &&
	    ns_of(a, COST_CALL) > 0.1 * a->control.spent_ns) {
		e.high = ESTIMATE_UNKNOWN;
		e.middle = e.low;
	}
	return e;
}

/*
 * Attached: the program may have had nothing to do for most of the time, which makes
 * the slowdown of all of that time small. Of the time that its tasks had work: what
 * they ran by themselves, and what recording made them wait and work besides.
 */
struct work {
	double own_ns, with_ns;	/* all tasks: by themselves, with recording */
	double ratio;		/* at least; 0: not known, or as of all the time */
};

static struct work work(const struct account *a)
{
	const struct estimate *cpu = &a->control.cpu;
	struct estimate e = wall(a);
	struct work w = { 0, 0, 0 };

	if (!a->rec->attach || !cpu->told)
		return w;
	w.own_ns = cpu->own_ns;
	w.with_ns = w.own_ns + (double)waited(a) + ns_of(a, COST_BUSY);
	for (int k = COST_REPEATED; k <= COST_AGAIN; k++)
		w.with_ns += ns_of(a, k);
	w.ratio = w.with_ns / w.own_ns;
	if (w.ratio < WORK_TOLD * e.low)
		w.ratio = 0;
	return w;
}

static void describe_work(const struct account *a, struct moca_meta *m)
{
	struct work w = work(a);

	moca_meta_unset(m, "cost.work_low");
	moca_meta_unset(m, "cost.work_ns");
	if (!(w.ratio > 0))
		return;
	moca_meta_set(m, "cost.work_low", "%.4f", w.ratio);
	moca_meta_set(m, "cost.work_ns", "%.0f", w.with_ns);
}

void account_describe(struct account *a, struct moca_meta *m)
{
	struct estimate e = wall(a);

	cost_describe(&a->rec->costs, m);
	if (e.told)
		moca_meta_set(m, "slowdown_estimate", "%.4f", e.middle);
	else
		moca_meta_unset(m, "slowdown_estimate");
	estimate_describe(&e, "wall", m);
	if (a->control.cpu.all_ns > 0)
		estimate_describe(&a->control.cpu, "cpu", m);
	describe_work(a, m);
	if (a->program_cpu_ns)
		moca_meta_set(m, "cost.program_cpu_ns", "%lu",
			      a->program_cpu_ns);
	if (a->program_user_ns > 0)
		moca_meta_set(m, "cost.program_user_ns", "%.0f",
			      a->program_user_ns);
	calibrate_churn_describe(&a->churn, m);
	moca_meta_set(m, "cost.stops", "%lu", atomic_load(&a->rec->costs.stops));
	moca_meta_set(m, "cost.cold_ns", "%lu", cold(a));
	moca_meta_set(m, "cost.wake_ns", "%lu", atomic_load(&a->rec->costs.wake_ns));
	moca_meta_set(m, "cost.price.stop_ns", "%lu",
		      atomic_load(&a->rec->costs.stop_ns));
	if (atomic_load(&a->rec->costs.call_ns))
		moca_meta_set(m, "cost.price.call_ns", "%lu",
			      atomic_load(&a->rec->costs.call_ns));
	moca_meta_set(m, "cost.price.again_ns", "%.0f", a->prices.again_ns);
	moca_meta_set(m, "cost.price.touch_ns", "%.0f", a->prices.touch_ns);
	moca_meta_set(m, "cost.price.native_touch_ns", "%.0f",
		      a->prices.native_touch_ns);
	moca_meta_set(m, "cost.price.native_free_ns", "%.0f",
		      a->prices.native_free_ns);
	moca_meta_set(m, "cost.price.native_huge_ns", "%.0f",
		      a->prices.native_huge_ns);
	moca_meta_set(m, "cost.price.native_unshare_ns", "%.0f",
		      a->prices.native_unshare_ns);
	moca_meta_set(m, "cost.price.native_unshare_threads_ns", "%.0f",
		      a->prices.native_unshare_threads_ns);
	moca_meta_set(m, "cost.saved_ns", "%.0f", a->saved_ns);
	moca_meta_set(m, "cost.huge_asked", "%lu",
		      atomic_load(&a->rec->costs.huge_asked));
	moca_meta_set(m, "fault_ns", "%.0f", a->control.fault_ns);
}

/*
 * Where CPUs were busy, that belongs to why the budget was not held: how long the
 * busiest threads waited for one, as measured in windows with faults and weighed by
 * their prices.
 */
static void say_busy(const struct account *a, char *buf, size_t size)
{
	double price = account_price(a, a->faults);
	double wait = price > 0 ? ns_of(a, COST_BUSY) / price : 0;

	*buf = 0;
	if (wait >= BUSY_TOLD)
		snprintf(buf, size,
			 "; CPUs were busy: the busiest thread waited for one %.*fx as long as it ran",
			 wait < 10, wait);
}

void account_sentence(const struct account *a, char *buf, size_t size)
{
	struct estimate e = wall(a);
	struct work w = work(a);
	char one[96], two[96] = "", busy[96] = "", what[96], over[64] = "";
	char credit[32] = "", waited_for[96];
	int sure = control_exceeded(&a->control, &e), n;
	enum cost_kind culprit;

	estimate_wall(&e, one, sizeof(one));
	if (a->control.cpu.all_ns > 0)
		estimate_cpu(&a->control.cpu, two, sizeof(two));
	if (w.ratio > 0)
		snprintf(busy, sizeof(busy),
			 " of all the time, at least %.*fx while it had work (%.2f s)",
			 w.ratio < 10, w.ratio, w.with_ns / 1e9);
	n = snprintf(buf, size, "%s%s%s%s", one, busy, *two ? ", " : "", two);
	if ((!sure && !control_likely_exceeded(&a->control, &e)) || n < 0 ||
	    (size_t)n >= size)
		return;
	culprit = cost_culprit(&a->rec->costs, a->control.crowd > 0.5);
	cost_phrase(&a->rec->costs, culprit, what, sizeof(what));
	if (e.told && sure) {
		estimate_percent(&e, over, sizeof(over) - 2);
		strcat(over, ", ");
	}
	if (a->control.credit_ns > 0)
		snprintf(credit, sizeof(credit), " and %g s",
			 a->control.credit_ns / 1e9);
	say_busy(a, waited_for, sizeof(waited_for));
	snprintf(buf + n, size - n, "; the budget of %g %%%s was %snot held: %s"
		 "the largest part: %s%s%s", a->control.budget * 100, credit,
		 sure ? "" : "probably ", over, what,
		 a->rec->attach && culprit == COST_CALL ?
			 " (a program that moca record starts has none)" : "",
		 waited_for);
}
