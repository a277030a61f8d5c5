/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the module's records, in order of time, to a trace: tasks, processes,
 * mappings, and one chunk of accesses per task and interval.
 *
 * An access whose thread is not known (MOCA_ACC_SWEPT) is left out if it is one
 * that kernel_trace_ahead told of. It is of the process' only thread, or else of
 * a task that is made up for it: kernel_trace_unknown.
 */
#ifndef MOCA_KERNEL_TRACE_H
#define MOCA_KERNEL_TRACE_H

#include <stdint.h>
#include <sys/types.h>

#include <moca/types.h>

#include "collect/kernel/merge.h"

struct kernel_heat;
struct kernel_trace;
struct moca_writer;
struct own_faults;

#define kernel_trace_unknown "[unknown thread]"

struct kernel_trace_options {
	struct jit *jit;		/* is told of changes; NULL: nobody is */
	struct moca_writer *writer;	/* borrowed */
	struct own_faults **own_faults;	/* *own_faults may be NULL */
	struct kernel_heat *heat;	/* borrowed; NULL: none is told */
	uint64_t start_ns;
	pid_t root;
	int attach;		/* root ran already; else, what is before its
				   first exec is ours, and left out */
	int injects;		/* pages are seen in each interval */
	/* Shall the program at path, of process pid, be traced? */
	int (*wanted)(void *arg, pid_t pid, const char *path);
	void *arg;
};

/* Faults of the task that had most, since the last call. */
struct kernel_trace_faults {
	uint64_t repeated, natural;
};

/* NULL: no memory. */
struct kernel_trace *kernel_trace_new(const struct kernel_trace_options *o);
void kernel_trace_free(struct kernel_trace *t);

/*
 * What comes out of the rings, in order of time. What cannot be written is
 * remembered: kernel_trace_error.
 */
void kernel_trace_take(struct kernel_trace *t, const struct kernel_item *item);
/*
 * An access of the next interval, before the sweep of this one had ended: what
 * the sweep found there is that. A kernel_merge_visit; forgotten by the cut.
 */
void kernel_trace_ahead(void *trace, const struct moca_rec_access *a);
/* The interval ends, end_ns: when (0: now unknown). Its chunks are written. */
void kernel_trace_cut(struct kernel_trace *t, uint64_t interval,
		      uint64_t end_ns);
/* So many more were lost, and nobody knows where. */
void kernel_trace_lost(struct kernel_trace *t, uint64_t lost);

/* 0, or the first error, -errno; from then on nothing is written. */
int kernel_trace_error(const struct kernel_trace *t);
const struct moca_certificate *kernel_trace_certificate(
	const struct kernel_trace *t);
uint32_t kernel_trace_tasks(const struct kernel_trace *t);
uint64_t kernel_trace_records(const struct kernel_trace *t);
/* Pages of which only the sweep told, and intervals without injection. */
uint64_t kernel_trace_swept(const struct kernel_trace *t);
uint64_t kernel_trace_held(const struct kernel_trace *t);
int kernel_trace_has_phys(const struct kernel_trace *t);
void kernel_trace_busiest(struct kernel_trace *t,
			  struct kernel_trace_faults *out);

#endif
