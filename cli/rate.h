/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `moca rate` share: who is told of samples. */
#ifndef MOCA_CLI_RATE_H
#define MOCA_CLI_RATE_H

#include <stdio.h>

#include "collect/rate/rate.h"

/* A task as it is shown. */
struct rate_task {
	pid_t pid;
	uint32_t tid;
	char name[16];
	int ended;
	struct moca_rate_counts now;	/* in this round */
	struct moca_rate_counts shown;	/* since the last line or picture */
	struct moca_rate_counts total;
};

#define RATE_HISTORY 512u

/* What was told so far. */
struct rate_view {
	struct rate_task *tasks;
	size_t count, room;
	int error;		/* -ENOMEM: some are missing */
	struct rate_tick tick;	/* the last one */
	struct moca_rate_counts now, shown, total;	/* all together */
	uint64_t begin_ns, shown_ns;
	uint64_t ticks;
	struct {
		double minor, major, cpu;	/* per second; CPUs */
	} history[RATE_HISTORY];	/* of pictures, the last at count - 1 */
	size_t history_count;

	/* How it is shown. */
	int per_task;
	FILE *live;		/* NULL: not */
	int is_tty;
	int lines;		/* of the last picture */
	FILE *csv;		/* NULL: none */
	const struct rate_sink *trace;	/* NULL: none */
};

/* A sink that keeps the view and shows it, by way of what is set in it. */
struct rate_sink rate_view_sink(struct rate_view *v);
/* The last picture or line, and what all came to, on the live stream. */
void rate_view_finish(struct rate_view *v);
void rate_view_free(struct rate_view *v);

/* rate-live.c: draw, or print a line, when it is time. */
void rate_live(struct rate_view *v, int last);
/* "ended threads of", ...: how a task is called. */
void rate_task_name(char *buf, size_t size, const struct rate_task *t);

/* rate-cases.c: moca rate --cases. The exit code. */
struct rate_cases {
	const char *dir;	/* where plots and data go */
	uint64_t hz;
};
int rate_cases_run(const struct rate_cases *c);

#endif
