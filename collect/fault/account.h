/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector spends of the budget: it takes the clocks and counters and
 * gives them to the arithmetic (control.h), and tells the result. Collector
 * thread only.
 */
#ifndef MOCA_FAULT_ACCOUNT_H
#define MOCA_FAULT_ACCOUNT_H

#include "collect/fault/memory.h"
#include "collect/run/calibrate-churn.h"
#include "collect/run/calibrate.h"
#include "collect/run/control.h"
#include "collect/run/pageset.h"

struct task_clock;

/* Faults since the last window. */
struct account_faults {
	uint64_t count[PAGE_FAULTS];	/* of all tasks */
	uint64_t busiest_repeated;	/* of one task */
	double busiest_ns;		/* of one task, less what it saved */
	pid_t busiest;			/* that one; 0: it has ended */
	double saved_ns;		/* of all tasks, by account_saved */
};

struct account {
	struct recorder *rec;
	struct control control;
	struct task_clock *clock;
	uint64_t reaped_ns;	/* CPU time of children, before the program */
	uint64_t reaped_switches;	/* the same of their switches */
	uint64_t program_cpu_ns;	/* as of the last window */
	double reaped_user_ns;	/* of reaped_ns, in user space */
	double reaped_system_ns;	/* and in the kernel */
	double program_user_ns;	/* of program_cpu_ns, once it has ended */
	struct churn_prices churn;	/* likewise; 0: few first touches */
	uint64_t beside_ns;
	uint64_t idle_ns, idle_at_ns;	/* when it was looked at last */
	uint64_t idle_beside_ns;
	uint64_t waited_ns;	/* of all kinds that are waited for */
	uint64_t stopped_ns;	/* of those, of stops: the tasks did nothing */
	uint64_t free_ns;	/* of those, of memory given back */
	uint64_t cold_ns;	/* what may come on top, of cold caches */
	uint64_t late_ns;	/* the same, of waits for a CPU behind stops */
	uint64_t at_ns;		/* of the last window */
	uint64_t cpu_before;	/* of the collector, before the program began */
	uint64_t write_ns;
	uint64_t sweep_cpu_ns;
	struct fault_prices prices;
	uint64_t faults[PAGE_FAULTS];
	double saved_ns;
	double share;		/* of repeated faults, the busiest task's */
	double at_once;		/* tasks that run, besides the first; to 1 */
	struct account_waits {	/* of the task that was the busiest last */
		pid_t tid;
		uint64_t run_ns, wait_ns;
		double stretch;
	} waits;
	uint64_t alloc_ns;	/* as of the last window */
	uint64_t alloc_sure_ns, alloc_doubt_ns;	/* of it, at least; besides */
	uint64_t alloc_events;	/* told one by one */
	unsigned int thin;	/* of allocations */
	int began;
};

/* Calibrates: about 2 ms. clock is taken over and may be NULL. */
void account_init(struct account *a, struct recorder *rec,
		  struct task_clock *clock);
void account_free(struct account *a);
/* The collector begins. */
void account_begin(struct account *a);
/*
 * How much longer what the busiest task does takes, as it waits for a CPU: since
 * it was looked at last, or ever, if that is long. As before where too little can be
 * known. Of a task that has ended half of it is forgotten each time.
 */
double account_stretch(struct account_waits *w, pid_t tid);
/* What so many faults cost, ns. */
double account_price(const struct account *a,
		     const uint64_t count[PAGE_FAULTS]);
/*
 * What the program would have spent on these faults besides, ns; threaded: of a
 * task of several in its process.
 */
double account_saved(const struct account *a,
		     const uint64_t count[PAGE_FAULTS], int threaded);
/* A window ends soon: how many tasks ran at once in it, for account_saved. */
void account_look(struct account *a);
/* Whether a window is long enough to be told from its prices. */
int account_due(const struct account *a);
void account_window(struct account *a, const struct account_faults *f);
/*
 * A sweep of `ns`, what CPU time it took in the program, and how many pages are
 * expected to come back.
 */
void account_sweep(struct account *a, uint64_t begin_ns, uint64_t ns,
		   uint64_t cpu_ns, double pages);
/* A chunk that was written in ns. */
void account_write(struct account *a, uint64_t ns);
/* The program has ended, and all is written. */
void account_end(struct account *a);
/* Keys cost.*, slowdown_estimate, fault_ns. */
void account_describe(struct account *a, struct moca_meta *m);
double account_slowdown(const struct account *a);
/*
 * For the last line: "about 1.12 times the time, 1.30 times the CPU time", and
 * whether the budget was held.
 */
void account_sentence(const struct account *a, char *buf, size_t size);

#endif
