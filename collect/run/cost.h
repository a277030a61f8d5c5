/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What recording makes the program wait and work for, measured while it runs,
 * by kind. Both threads of the engine add; the collector reads. Kinds do not
 * overlap: a piece of work that is counted by itself (memory given back, within
 * munmap) is taken off the stop around it.
 */
#ifndef MOCA_RUN_COST_H
#define MOCA_RUN_COST_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/clock.h"

struct moca_meta;

enum cost_kind {
	COST_START,	/* from the start of `moca` to the program's first
			   instruction; attached: while it stood still */
	COST_EXEC,	/* each later exec */
	COST_MEMORY,	/* stops: mmap, munmap, brk, madvise ... */
	COST_THREAD,	/* stops: a new thread */
	COST_FORK,	/* stops: a new process */
	COST_EXIT,	/* a task's end */
	COST_SIGNAL,	/* stops: a signal arrives */
	COST_CALL,	/* stops: a system call of an attached program */
	COST_STOP,	/* other stops */
	COST_REPEATED,	/* faults that sweeps cause */
	COST_TOUCH,	/* first touches: what they take more than natively */
	COST_COPIED,	/* first touches of pages that a fork or an exec filled */
	COST_AGAIN,	/* writes after reads: their samples */
	COST_SWITCH,	/* tasks that gave their CPU up: perf's events go and
			   come back */
	COST_BUSY,	/* what faults took longer as tasks waited for a CPU */
	COST_TRANSLATE,	/* exact mode: code translated, in the program */
	COST_COUNT,	/* exact mode: accesses counted, at the least price */
	COST_LOOP,	/* the same of loops that are counted when they are left */
	COST_STRING,	/* the same of string instructions */
	COST_HELP,	/* exact mode: C counted, at the least price */
	COST_LOOKUP,	/* exact mode: C looked up where a jump leads to, the same */
	COST_COUNTED,	/* exact mode: all of these, by samples of the CPU clock */
	COST_SAMPLE,	/* those samples */
	COST_FREE,	/* memory given back: holes in the memfd */
	COST_ALLOC,	/* calls of allocators, in libmoca-alloc */
	COST_SWEEP,	/* sweeps */
	COST_RATE,	/* the sampler of faults and CPU time */
	COST_EVENTS,	/* the collector of events */
	COST_RECORDER,	/* CPU time of the collector of accesses */
	COST_WRITE,	/* chunks written to the disk */
	COST_END,	/* from the program's end to that of `moca` */
	COST_KINDS
};

/*
 * What no stop and no fault shows, in CPU time of the program; the figures of a
 * VM of 2026 (tests/bench/cost/parts prints them). An exec loads libmoca-alloc
 * and libmocatrace: relocation, constructors, page tables. A task that begins
 * inherits perf's events, and gives them back at its end.
 */
#define COST_PRELOAD_NS 400000
#define COST_FORK_NS 190000
#define COST_THREAD_NS 24000
/*
 * They depend on the machine and on its host: 0.8 to 0.9 of them on another VM. What
 * is sure is the least; up to the most is told as what may be.
 */
#define COST_UNSEEN_LEAST 0.6
#define COST_UNSEEN_MOST 1.5
/*
 * A task that gives its CPU up and gets it back: perf's events leave it and come
 * back. CPU time; as little on a CPU that others use meanwhile, and up to so much
 * more on one that was idle.
 */
#define COST_SWITCH_NS 700
#define COST_COLD_SWITCH_NS 2800

/*
 * What a task may take more once it goes on from a stop, in CPU time: its caches
 * are cold, above all where it goes on on another CPU, and so is the switch. It is
 * in nobody's clock but the task's own, among its work: 13 to 33 us a stop in
 * four programs of tests/bench/cost/run, and 60 to 80 of the elapsed time where a
 * CPU of a VM is idle in between. Told as what may be.
 */
#define COST_COLD_NS 50000
/*
 * The same of a first touch: what is tried at the start is a loop. perl, python3
 * and csr take 0.3 to 0.6 us more a page, a loop (discard) nothing.
 */
#define COST_COLD_TOUCH_NS 350
/*
 * And of an allocation that is told one by one: its event and its stack push out
 * what the program had in its caches. perl loses 0.1 to 0.2 us each so.
 */
#define COST_COLD_EVENT_NS 200

struct cost_sum {
	atomic_ulong count;
	atomic_ulong ns;	/* added up over all tasks */
};

struct costs {
	struct cost_sum kind[COST_KINDS];
	atomic_ulong unseen_ns;	/* the sum of cost_unseen, at least */
	atomic_ulong doubt_ns;	/* what it may have been more */
	/* Of the stops: CPU time of the program's tasks, ns. */
	atomic_ulong task_cpu_ns;
	/* Of stops where tasks begin and end: neither that nor ours. The task
	 * may have worked or waited. */
	atomic_ulong unsure_ns;
	atomic_ulong stops;	/* that a task went on from */
	/* What we waited for a CPU before stops, besides their price, is in the
	 * stops; their tasks may have waited as long behind them. */
	atomic_ulong wake_ns;
	/* Of the stops since the window began: of the busiest task, ns. */
	atomic_ulong busiest_ns;
	atomic_uint window;	/* raised by the collector */

	/* What the program would spend by itself on a page, or a call, ns. */
	atomic_ulong native_fill_ns, native_free_ns, native_call_ns;
	/* Of the last stop, if a task ended in it: what giving its memory back
	 * would take the program alone, and did not take there. */
	atomic_ulong spared_ns;
	/* Pages of memory that the program asked for huge pages for. */
	atomic_ulong huge_asked;
	/* What a stop takes besides our work, ns: of late (cost_stop_learn). */
	atomic_ulong stop_ns;
	double stop_cpu_ns;	/* of that, the task's own CPU time */
	/*
	 * Attached: what a task waits at a system call's stop besides our work, of
	 * late; 0: not known.
	 */
	atomic_ulong call_ns;

	/* The stop under way; supervisor thread only (ptrace/stop-cost.h). */
	struct {
		enum cost_kind kind;
		int counts;		/* how many of its kind it stands for */
		uint64_t begin_ns;
		/* Then: of the task's process, which is no other's clock; or
		 * of our thread. */
		uint64_t begin_cpu_ns;
		pid_t alone;		/* that process; 0: it has threads */
		uint64_t natural_ns;	/* the program would wait for it alone */
		uint64_t inner_ns;	/* counted as another kind */
		unsigned long rounds;	/* tracee_rounds before */
		unsigned long calls;	/* tracee_calls_run before */
		uint64_t before_ns;	/* it may have waited for the last one */
		uint64_t end_ns;	/* of the last one */
		uint64_t length_ns;
		unsigned long ended;	/* stops so far */
		uint64_t delay_ns;	/* our waits when it ended; 0: not asked */
		uint64_t wake_ns;	/* what we waited for before it */
	} stop;
};

/* Any thread. */
static inline void cost_add(struct costs *c, enum cost_kind kind,
			    uint64_t count, uint64_t ns)
{
	atomic_fetch_add_explicit(&c->kind[kind].count, count,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&c->kind[kind].ns, ns, memory_order_relaxed);
}

/* The program spends about this as well, where no stop and no fault shows it. */
static inline void cost_unseen(struct costs *c, enum cost_kind kind, double ns)
{
	uint64_t least = (uint64_t)(COST_UNSEEN_LEAST * ns);
	uint64_t more = (uint64_t)((COST_UNSEEN_MOST - COST_UNSEEN_LEAST) * ns);

	cost_add(c, kind, 0, least);
	atomic_fetch_add_explicit(&c->unseen_ns, least, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->doubt_ns, more, memory_order_relaxed);
}

/*
 * The program begins, `ns` after we did: what the tracing thread counted so far
 * is part of its start.
 */
void cost_begin(struct costs *c, uint64_t ns);

/* "memory", as in the metadata's keys; "stops for memory calls". */
const char *cost_key(enum cost_kind kind);
const char *cost_label(enum cost_kind kind);
/* Keys cost.KIND.count, cost.KIND.ns of all kinds that occurred. */
void cost_describe(const struct costs *c, struct moca_meta *m);
/*
 * The kind that took most; COST_KINDS: nothing did. crowded: what runs beside
 * the program takes time from it, as no CPU is idle.
 */
enum cost_kind cost_culprit(const struct costs *c, int crowded);
/* "12,480 stops for new threads" */
void cost_phrase(const struct costs *c, enum cost_kind kind, char *buf,
		 size_t size);
/*
 * CPU time of the children that we have waited for, and of theirs. perf's task
 * clock leaves a thread before its end: 20 to 50 us of each.
 */
uint64_t cost_reaped_cpu_ns(void);
/* The same apart, ns: its own, and the kernel's for it; as they were if that fails. */
void cost_reaped_parts(double *user, double *system);
/* How often they gave their CPU up, or it was taken. */
uint64_t cost_reaped_switches(void);

#endif
