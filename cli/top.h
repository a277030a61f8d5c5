/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `moca top` share: a window of a trace, and its picture. */
#ifndef MOCA_CLI_TOP_H
#define MOCA_CLI_TOP_H

#include "report/objects.h"

enum top_sort { TOP_ACCESSES, TOP_READS, TOP_WRITES, TOP_PAGES, TOP_SORTS };

/* What one thread did in the window. */
struct top_task {
	uint32_t task;		/* its number in the trace */
	uint64_t reads, writes, accesses;
};

/* The last seconds of a trace that is being recorded. */
struct top_window {
	struct objects_view v;	/* rows: by `sort`, without what was not used */
	uint64_t begin_ns, end_ns;
	uint64_t start_ns;	/* of the recording */
	uint64_t longest_ns;	/* the longest interval that begins in it */
	uint64_t intervals;	/* with accesses */
	uint64_t pages;		/* distinct, of 1 << page_shift bytes */
	unsigned page_shift;
	struct top_task *tasks;	/* task_count, most accesses first */
	size_t task_count;
	uint64_t nodes[MOCA_OBJECT_NODES];	/* accesses by the page's node */
	uint64_t node_unknown;
	/* Of the threads in the window, by the sampler of rates; 0: it had none. */
	uint64_t rates_ns;
	uint64_t minor, own, major, cpu_ns;
	struct moca_certificate certificate;
	uint64_t certified_ns;	/* when the recorder wrote that */
	uint64_t lost;
	int sampled;		/* sweeps took samples: figures are estimates */
	/* Of the row that is opened: who touches it. NULL: none is. */
	struct objects_toucher *threads, *lines;
	size_t thread_count, line_count;
};

/*
 * Reads the last window_ns of the trace at path; more, if no interval with
 * accesses is in it. open: the name of the row to open, or NULL. 0 or -errno; w is
 * to be freed in any case.
 */
int top_window_read(struct top_window *w, const char *path, uint64_t window_ns,
		    enum top_sort sort, const char *open);
void top_window_free(struct top_window *w);

/* How the window is shown. */
struct top_view {
	const char *what;	/* the program, or the process */
	int is_tty;
	int columns, rows;
	enum top_sort sort;
	size_t selected;	/* a row */
	char *open;		/* its name, if it is opened */
	int paused;
	char said[512];		/* what the recorder said last; "": nothing */
	uint64_t delay_ns;	/* between two pictures */
	uint64_t wanted_ns;	/* as it was asked for; less than that: Moca lags */
};

/* Prints it to stdout. */
void top_view_show(struct top_view *s, const struct top_window *w);

#endif
