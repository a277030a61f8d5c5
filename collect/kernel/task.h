/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks and processes of a trace that the module makes, and their files. */
#ifndef MOCA_KERNEL_TASK_H
#define MOCA_KERNEL_TASK_H

#include <stddef.h>

#include "collect/kernel/space.h"
#include "collect/kernel/trace.h"
#include "collect/run/own-faults.h"

#define TASK_BUCKETS 4096u

struct kproc {
	struct kproc *next;
	uint32_t pid;
	unsigned int tasks;	/* that the module told of, alive */
	struct kernel_space *space;
	int wanted;		/* by --include and the like */
	int begun;		/* what it does is the program's */
	struct ktask *unknown;	/* for its swept pages; NULL: none yet */
};

struct ktask {
	struct ktask *next;
	uint32_t tid;		/* 0: kproc.unknown */
	uint32_t id;		/* in the trace */
	struct kproc *proc;
	int implicit;		/* the module did not tell of it */
	uint16_t cpu;		/* where it was seen last */
	struct moca_access *recs;
	size_t count, room;
	uint64_t lost;
	uint64_t last_ns;	/* of recs and of what was written */
	uint64_t repeated, natural;
	struct own_count own;
	struct moca_change *events;	/* each has its name for itself */
	size_t event_count, event_room;
	uint64_t event_ns;	/* of the last */
};

struct kernel_trace {
	struct kernel_trace_options o;
	struct ktask *tasks[TASK_BUCKETS];
	struct kproc *procs[TASK_BUCKETS];
	uint32_t task_count;	/* ever: the next one's number */
	struct moca_certificate cert;
	uint64_t interval, begin_ns;
	uint64_t now_ns;	/* of the last record */
	int error;
	size_t buffered;	/* records */
	uint64_t records, swept, held;
	uint32_t *last;		/* by ring: whose its last record was */
	unsigned int last_count;
	uint32_t last_id;	/* of all rings */
	int has_phys;
	struct early {
		uint64_t page;	/* its number, plus 1; 0: free */
		uint32_t pid;
	} *early;		/* a hash table, at most half full */
	size_t early_count, early_size;
};

struct kproc *kernel_proc(struct kernel_trace *t, uint32_t pid, int create);
struct ktask *kernel_task(const struct kernel_trace *t, uint32_t tid);
/* A new one, which no other has the number of. NULL: no memory. */
struct ktask *kernel_task_new(struct kernel_trace *t, uint32_t tid,
			      struct kproc *p);
/* One without a place in the table: kproc.unknown. */
struct ktask *kernel_task_alone(struct kernel_trace *t, struct kproc *p);
void kernel_task_rename(struct kernel_trace *t, struct ktask *k, uint32_t tid);
/* Any of the process, its leader if it is there; NULL: none. */
struct ktask *kernel_task_of(const struct kernel_trace *t,
			     const struct kproc *p);
/* It is over: what is kept is written, the end is told. */
void kernel_task_end(struct kernel_trace *t, struct ktask *k, uint64_t time_ns,
		     int status);

/* e->name is copied; the time is raised to that of the event before. */
void kernel_task_event(struct kernel_trace *t, struct ktask *k,
		       const struct moca_change *e);
void kernel_task_access(struct kernel_trace *t, struct ktask *k,
			const struct moca_access *a);
/* Write what is kept; more: the interval goes on. */
void kernel_task_write(struct kernel_trace *t, struct ktask *k,
		       uint64_t end_ns, int more);
void kernel_task_write_lost(struct kernel_trace *t, uint32_t id, uint64_t lost);

typedef void (*kernel_task_visit)(struct kernel_trace *t, struct ktask *k,
				  void *arg);
void kernel_task_each(struct kernel_trace *t, kernel_task_visit visit,
		      void *arg);
void kernel_task_free_all(struct kernel_trace *t);
void kernel_fail(struct kernel_trace *t, int err);

#endif
