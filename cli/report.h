/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `moca report` share. */
#ifndef MOCA_CLI_REPORT_H
#define MOCA_CLI_REPORT_H

#include <pthread.h>
#include <sys/types.h>

#include "analysis/grid.h"
#include "analysis/objects/objects.h"
#include "cli/text.h"
#include "report/page.h"

#define REPORT_BINS_LOG2 11	/* of heat: times, at most */
#define REPORT_RATE_BINS 1024u
#define REPORT_NO_CPU UINT16_MAX
#define REPORT_NO_NODE 255u
#define REPORT_REMOTE 1u	/* flags of a cell: page and CPU on two nodes */
#define REPORT_THREADS 65535u	/* threads from here on are one */

/* One interval of the recording, all tasks together. */
struct report_interval {
	uint64_t number;
	uint64_t begin_ns, end_ns;
	uint64_t reads, writes, other, lost;
};

/* What one thread did when. */
struct report_thread {
	const struct moca_task *task;
	uint64_t accesses;	/* seen in the walk */
	/* Of each of REPORT_RATE_BINS: NULL until there is one. */
	uint32_t *reads, *writes, *other;
	uint16_t *cpu;		/* the last one; REPORT_NO_CPU */
	uint32_t *on_cpu;	/* accesses by CPU */
};

/* A machine, as hwloc knows it. */
struct report_topology {
	char *json;		/* a JSON object; NULL = not known */
	char *source;		/* where it is from, in words */
	int what_if;		/* not the machine of the recording */
	size_t cpu_count;
	int16_t *node_of_cpu;	/* -1 = not known */
};

/* An object that is plotted. */
struct report_plot {
	const struct moca_object *object;
	uint32_t key;		/* of its grids */
	size_t heat_blob, density_blob;	/* indices */
};

struct report {
	const char *path;
	struct moca_trace *trace;
	struct moca_objects *objects;
	struct moca_objects_totals totals;
	struct report_topology topology;
	uint64_t origin;
	uint64_t begin_ns, end_ns;	/* of the plots */
	double first_scale;		/* from ns to cells' first */
	struct report_bins {
		uint32_t count, bin;
		uint64_t begin, end;	/* of the bin; ns after begin_ns */
	} heat_bin, rate_bin;
	struct report_interval *intervals;
	size_t interval_count, interval_cap;
	uint64_t intervals_joined;	/* so many are one above */
	uint32_t *task_index;		/* by id */
	size_t task_ids;
	struct report_thread *threads;	/* by the trace's index */
	size_t thread_count;
	uint32_t max_cpu;		/* + 1 */
	struct moca_grids heat, density;
	/* Accesses that wait to be counted. */
	struct report_hit {
		uint32_t key;
		struct moca_grid_cell heat, density;
	} *batch;
	size_t batched;
	struct report_counter {
		pthread_t thread;
		pthread_mutex_t lock;	/* of all below */
		pthread_cond_t changed;
		struct report_hit *full;	/* the thread's while handed */
		size_t full_count;
		int handed;
		int ended;		/* no more will come */
		int error;
	} counter;
	int error;
	/* Rows by accesses, most first. */
	const struct moca_object **rows;
	size_t row_count;
	size_t listed;			/* of these, so many are in the page */
	struct report_plot *plots;
	size_t plot_count;
	size_t coarsened;		/* times that a grid had to shrink for
					   the size of the file */
	struct moca_blob *blobs;
	size_t blob_count, blob_cap;
};

/* report-walk.c: read the trace. 0 or -errno. */
int report_walk(struct report *r);
void report_walk_free(struct report *r);

/* report-plots.c: choose what is plotted, and pack it; within limit bytes. */
int report_plots(struct report *r, size_t limit);
/* Add a blob; 0 or -ENOMEM. */
int report_blob(struct report *r, const char *name, const void *data,
		size_t len);

/*
 * report-summary.c: moca summary --json, beside our own walk. _start begins it;
 * _end waits for it and adds a blob; where it fails, the page is without.
 */
struct report_summary {
	pid_t pid;		/* 0 = not running */
	FILE *out;
};
void report_summary_start(struct report_summary *s, const struct report *r,
			  const char *topology);
int report_summary_end(struct report_summary *s, struct report *r);

/* report-topology.c: spec is NULL, NxM or a file. 0, or -errno after a message. */
int report_topology(struct report *r, const char *spec);

/* report-allocs.c: the allocation timeline, into the index and a blob. */
int report_allocs(struct report *r, struct json *j);

/* report-faults.c: page faults and CPU time over time. 0 or -errno. */
int report_faults(struct report *r);

/* report-index.c: all that is not a blob of its own. 0 or -ENOMEM. */
int report_index(struct report *r);

#endif
