/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two CPUs' rings and the monitor's, made by hand, and a trace of what is in them. */
#ifndef TESTS_UNIT_KERNEL_TRACE_H
#define TESTS_UNIT_KERNEL_TRACE_H

#include "collect/kernel/heat.h"
#include "collect/kernel/merge.h"
#include "collect/kernel/trace.h"
#include "collect/run/recorder.h"
#include "lib/format/rate-writer.h"
#include "tests/unit/kernel-rings.h"
#include "tests/unit/trace-util.h"

#define AT(p) ((uint64_t)(p) << 12)

static struct maker cpu0, cpu1, monitor;
static struct kernel_ring rings[3];
static struct kernel_merge *merge;

static inline int rings_new(void)
{
	if (maker_new(&cpu0, &rings[0], 0) || maker_new(&cpu1, &rings[1], 1) ||
	    maker_new(&monitor, &rings[2], MOCA_CPU_NONE))
		return -1;
	merge = kernel_merge_new(3);
	return merge ? 0 : -1;
}

static inline void rings_free(void)
{
	kernel_merge_free(merge);
	merge = NULL;
	maker_free(&cpu0);
	maker_free(&cpu1);
	maker_free(&monitor);
}

/* `words` words, of which the first has the pages `touched`, half of them written. */
static inline void put_heat(struct maker *m, uint32_t pid, uint64_t time,
			    uint64_t addr, uint32_t words, uint64_t touched)
{
	struct moca_rec_heat *h = PUT(m, HEAT, heat, 16 * words, pid, time);

	h->pid = pid;
	h->words = words;
	h->addr = addr;
	h->since_ns = time - 5;
	h->bits[0] = touched;
	h->bits[words] = touched & 0x5555555555555555ull;
}

static inline void put_look(struct maker *m, uint64_t time, uint64_t touched)
{
	struct moca_rec_look *l = PUT(m, LOOK, look, 0, 0, time);

	l->since_ns = time - 5;
	l->end_ns = time + 1;
	l->looked = 512;
	l->touched = touched;
	l->lost = 2;
}

static struct own_faults *no_own_faults;
static struct moca_writer *writer;

static inline int is_wanted(void *arg, pid_t pid, const char *path)
{
	return !arg || strcmp(path, arg);
}

/* heat: where its pages go, made in the trace's directory; NULL: none are told. */
static inline struct kernel_trace *trace_new(const char *unwanted,
					     struct kernel_heat **heat)
{
	struct kernel_trace_options o = {
		.own_faults = &no_own_faults, .start_ns = 900, .root = 7,
		.injects = 1, .wanted = is_wanted, .arg = (void *)unwanted,
	};
	struct recorder rec = { .root = 7 };

	dir_new();
	rec.dirfd = dirfd_;
	if (moca_writer_create(&writer, dirfd_) ||
	    (heat && (moca_heat_describe(dirfd_) ||
		      kernel_heat_create(heat, &rec))))
		return NULL;
	o.writer = writer;
	o.heat = heat ? *heat : NULL;
	return kernel_trace_new(&o);
}

static inline void trace_interval(struct kernel_trace *t, uint64_t interval)
{
	struct kernel_item item;
	uint64_t begin, end;

	kernel_merge_ahead(merge, interval, kernel_trace_ahead, t);
	while (kernel_merge_next(merge, interval, &item))
		kernel_trace_take(t, &item);
	kernel_merge_close(merge, interval, &begin, &end);
	kernel_trace_cut(t, interval, end);
}

/* A program with a thread and a child; interval 0. */
static inline void put_program(void)
{
	maker_chunk(&cpu0, 0, 1000, 2000, 0);
	put_task(&cpu0, 7, 7, 1000, 0, MOCA_TASKF_REGISTERED, "moca-engine");
	put_access(&cpu0, 7, 7, 1001, AT(1), 0);	/* before exec: ours */
	put_mapping(&cpu0, 7, 1001, AT(0), AT(4), 0, "");
	put_exec(&cpu0, 7, 7, 1100, "/bin/program");
	put_mapping(&cpu0, 7, 1200, AT(16), AT(32), MOCA_MAPF_HEAP, "");
	put_mapping(&cpu0, 7, 1200, AT(64), AT(65), MOCA_MAPF_FILE, "/lib/x");
	put_access(&cpu0, 7, 7, 1250, AT(16), MOCA_ACC_WRITE);
	put_access(&cpu0, 7, 7, 1300, AT(64), MOCA_ACC_EXEC);
	put_task(&cpu0, 7, 8, 1400, 7, MOCA_TASKF_THREAD, "worker");
	put_task(&cpu0, 9, 9, 1500, 7, 0, "program");
	put_access(&cpu0, 7, 7, 1700, AT(17), MOCA_ACC_KERNEL);
	maker_done(&cpu0);
	maker_chunk(&cpu1, 0, 1000, 2000, 3);
	put_access(&cpu1, 7, 8, 1450, AT(20), MOCA_ACC_FALSE);
	put_access(&cpu1, 9, 9, 1600, AT(16), MOCA_ACC_WRITE);
	put_access(&cpu1, 9, 9, 1601, AT(17), 0);
	put_exit(&cpu1, 9, 9, 1800, 3 << 8);
	maker_done(&cpu1);
	maker_chunk(&monitor, 0, 1000, 2000, 0);
	/* By one of two threads; the child had one only, but it is gone. */
	put_access(&monitor, 7, 7, 1990, AT(30), MOCA_ACC_SWEPT);
	put_access(&monitor, 7, 7, 1991, AT(29), MOCA_ACC_SWEPT);
	put_interval(&monitor, 0, 2000);
	maker_done(&monitor);
}

#endif
