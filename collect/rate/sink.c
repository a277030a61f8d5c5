// SPDX-License-Identifier: GPL-2.0-or-later
/* What is counted, into a stream of a trace. */
#include "collect/rate/rate.h"

static void put_task(void *arg, uint64_t ns, uint32_t task, pid_t pid,
		     uint32_t tid, const char *name)
{
	moca_rate_task(arg, ns, task, (uint32_t)pid, tid, name);
}

static void put_sample(void *arg, uint64_t ns, uint32_t task,
		       const struct moca_rate_counts *c)
{
	moca_rate_sample(arg, ns, task, c);
}

static void put_end(void *arg, uint64_t ns, uint32_t task, int seen)
{
	moca_rate_end(arg, ns, task, seen);
}

static void put_tick(void *arg, const struct rate_tick *t)
{
	moca_rate_tick(arg, t->ns, t->wall_ns, t->processes, t->tasks);
}

struct rate_sink rate_sink_writer(struct moca_rate_writer *w)
{
	return (struct rate_sink){
		.task = put_task, .sample = put_sample, .end = put_end,
		.tick = put_tick, .arg = w,
	};
}
