/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `moca report` share. */
#ifndef MOCA_REPORT_HTML_REPORT_H
#define MOCA_REPORT_HTML_REPORT_H

#include <pthread.h>

#include "analysis/comparison.h"
#include "analysis/counts/counts.h"
#include "analysis/grid.h"
#include "analysis/profile/profile.h"
#include "analysis/space.h"
#include "analysis/uses.h"
#include "lib/text/json.h"
#include "report/html/blobs.h"
#include "report/html/page.h"

#define REPORT_BINS_LOG2 11	/* of heat: times, at most */
#define REPORT_RATE_BINS 1024u
#define REPORT_NO_NODE 255u
#define REPORT_REMOTE 1u	/* flags of a cell: page and CPU on two nodes */
#define REPORT_THREADS 65535u	/* threads from here on are one */
#define REPORT_MARKED 16u	/* findings whose structures are marked */

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
	uint16_t *cpu;		/* the last one; 65535: none */
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
	unsigned coarser;	/* of counts: pages of a group, log2 */
};

/* A structure that a finding names; and the line of source that touches most of
 * its pages first. */
struct report_marked {
	const struct moca_object *object;
	const char *function, *file;	/* NULL: not known */
	unsigned line;
};

/* The run that a page sets beside its own, and --fail-if's conditions. */
struct report_compare {
	struct report *before;	/* walked, with its profile; has no blobs */
	const struct comparison *runs;
	const char *const *conditions;	/* as written */
	const int *holds;
	size_t condition_count;
};

/* A line of source that the page refers to. */
struct report_wanted {
	const char *file;
	unsigned line;
	uint64_t built_ns;	/* of the program, as its file says; 0: unknown */
};

struct report {
	const char *path;
	int no_source;		/* no text of source files in the page */
	struct moca_trace *trace;
	struct moca_objects *objects;	/* the profile's, if there is one */
	struct moca_objects_totals totals;
	struct moca_profile_walk *profile_walk;	/* until there is a profile;
						   NULL: there will be none,
						   or one of counts */
	int counts_profile;		/* there will be, for this machine: */
	struct moca_topology machine;
	struct moca_profile *profile;
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
	struct moca_counts_table *counts;	/* of exact mode; the profile's,
						   where it is of these */
	struct moca_uses uses;
	int error;
	struct report_marked marked[REPORT_MARKED];	/* by summary.c */
	size_t marked_count;
	struct report_wanted *wanted;			/* by code.c */
	size_t wanted_count, wanted_cap;
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
	const struct report_compare *compare;	/* NULL: a page of one run */
};

/* walk.c: read the trace, also for profile_walk. 0 or -errno. */
int report_walk(struct report *r);
void report_walk_free(struct report *r);

/* plots.c: choose what is plotted, and pack it. 0 or -ENOMEM. */
int report_plots(struct report *r);
/* Make them coarser until all blobs take no more than limit bytes; as above. */
int report_fit(struct report *r, size_t limit);
/* Add a blob; 0 or -ENOMEM. */
int report_blob(struct report *r, const char *name, const void *data,
		size_t len);

/* A blob that is made as JSON. */
struct report_json {
	struct json j;
	char *text;
	size_t len;
};

/* Begin one: its text is what is written to x->j. 0 or -ENOMEM: there is none. */
int report_json_begin(struct report_json *x);
/*
 * End it, and add it if err is 0, which says how the writing went. 0, err or
 * -ENOMEM.
 */
int report_json_end(struct report *r, struct report_json *x, const char *name,
		    int err);

/*
 * summary.c: moca summary --json. _begin, before the walk, sets
 * profile_walk, or counts_profile; after it, _start makes the summary in a
 * thread, which owns the profile and uses no more of r than the trace, the
 * objects and the counts, and _end waits for it and adds a blob. spec is as for
 * report_topology. 0 or -errno.
 */
struct report_summary {
	struct report *report;
	pthread_t thread;
	int running;
	int err;		/* the thread's, as what follows */
	char *text;
	size_t len;
};
int report_summary_begin(struct report *r, const char *spec);
/* Ends the profile that report_summary_begin began; no summary is made. 0 or -errno. */
int report_profile(struct report *r);
int report_summary_start(struct report_summary *s, struct report *r);
int report_summary_end(struct report_summary *s);

/*
 * overview.c: areas of data and time in which what happens is alike.
 * _start begins to find them, beside what the caller does with the grids, which
 * must not change meanwhile; _end waits and adds a blob. 0 or -errno.
 */
struct report_overview {
	const struct moca_object *objects[MOCA_SPACE_OBJECTS];
	const struct moca_grid *grids[MOCA_SPACE_OBJECTS];
	size_t count;
	struct moca_space_input in;
	struct moca_space space;
	pthread_t thread;
	int running;
	int error;
};
int report_overview_start(struct report_overview *o, const struct report *r);
int report_overview_end(struct report_overview *o, struct report *r);

/* topology.c: spec is NULL, NxM or a file. 0, or -errno after a message. */
int report_topology(struct report *r, const char *spec);

/*
 * counts.c: of a trace with counts of exact mode, and no accesses: what is
 * plotted; those that take most of the file made coarser (1; 0: no more); the
 * members of a plot; and "exact" of the index. -ENOMEM.
 */
int report_counts_plots(struct report *r);
int report_counts_coarsen(struct report *r);
int report_counts_put_plot(struct json *j, const struct report *r,
			   const struct report_plot *p);
int report_counts_index(struct report *r, struct json *j);

/* allocs.c: the allocation timeline, into the index and a blob. */
int report_allocs(struct report *r, struct json *j);
/* What one site allocated: a row of objects. Bytes. */
struct report_site {
	const struct moca_object *object;
	uint64_t live, most;	/* while events are passed in order of time */
	uint64_t at_peak;	/* when all together were most */
	uint64_t kept;		/* of these, until the end */
	uint64_t at_end;
};
struct report_sites {
	struct report_site *list;	/* by row; the caller frees it */
	size_t count;
	uint64_t peak_ns, peak, end;	/* when, and bytes of all together */
	size_t events;
};
/* 0 or -ENOMEM. */
int report_sites(const struct report *r, struct report_sites *out);

/* index.c: all that is not a blob of its own. 0 or -ENOMEM. */
int report_index(struct report *r);

#endif
