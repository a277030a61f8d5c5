// SPDX-License-Identifier: GPL-2.0-or-later
/* What `moca rate` was told, summed up, and passed on. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/rate.h"
#include "lib/base/vec.h"

static void add(struct moca_rate_counts *to, const struct moca_rate_counts *c)
{
	to->minor += c->minor;
	to->major += c->major;
	to->cpu_ns += c->cpu_ns;
}

static void on_task(void *arg, uint64_t ns, uint32_t task, pid_t pid,
		    uint32_t tid, const char *name)
{
	struct rate_view *v = arg;

	if (v->trace)
		v->trace->task(v->trace->arg, ns, task, pid, tid, name);
	if (moca_vec_fit(v->tasks, v->room, (size_t)task + 1)) {
		v->error = -ENOMEM;
		return;
	}
	/* One that is told again has another name. */
	for (; v->count <= task; v->count++)
		memset(&v->tasks[v->count], 0, sizeof(*v->tasks));
	v->tasks[task].pid = pid;
	v->tasks[task].tid = tid;
	snprintf(v->tasks[task].name, sizeof(v->tasks[task].name), "%s", name);
}

/* Threads are in their process' count, too. */
static int is_sum(const struct rate_task *t)
{
	return t->tid == MOCA_RATE_PROCESS || t->tid == MOCA_RATE_REAPED;
}

static void on_sample(void *arg, uint64_t ns, uint32_t task,
		      const struct moca_rate_counts *c)
{
	struct rate_view *v = arg;

	if (v->trace)
		v->trace->sample(v->trace->arg, ns, task, c);
	if (task >= v->count)
		return;
	add(&v->tasks[task].now, c);
	add(&v->tasks[task].shown, c);
	add(&v->tasks[task].total, c);
	if (!is_sum(&v->tasks[task]))
		return;
	add(&v->now, c);
	add(&v->shown, c);
	add(&v->total, c);
}

static void on_end(void *arg, uint64_t ns, uint32_t task, int seen)
{
	struct rate_view *v = arg;

	if (v->trace)
		v->trace->end(v->trace->arg, ns, task, seen);
	if (task < v->count)
		v->tasks[task].ended = 1;
}

void rate_task_name(char *buf, size_t size, const struct rate_task *t)
{
	if (t->tid == MOCA_RATE_REAPED)
		snprintf(buf, size, "%s: ended children", t->name);
	else
		snprintf(buf, size, "%s", t->name);
}

/* Between quotes, which are doubled; what is not plain text as \xHH. */
static void csv_name(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++)
		if (*s == '"')
			fputs("\"\"", f);
		else if (*s < ' ' || *s > '~')
			fprintf(f, "\\x%02x", (unsigned char)*s);
		else
			fputc(*s, f);
	fputc('"', f);
}

static void csv_row(const struct rate_view *v, const struct rate_task *t,
		    const struct moca_rate_counts *c)
{
	const struct rate_tick *k = &v->tick;
	char name[64] = "all";

	if (t)
		rate_task_name(name, sizeof(name), t);
	fprintf(v->csv, "%" PRIu64 ",%" PRIu64 ",%d,", k->ns - v->begin_ns,
		k->wall_ns, t ? t->pid : 0);
	if (t && t->tid != MOCA_RATE_REAPED)
		fprintf(v->csv, "%" PRIu32, t->tid);
	else if (!t)
		fprintf(v->csv, "0");
	fprintf(v->csv, ",");
	csv_name(v->csv, name);
	fprintf(v->csv, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.4f\n",
		c->minor, c->major, c->cpu_ns,
		k->wall_ns ? (double)c->cpu_ns / (double)k->wall_ns : 0.0);
}

static void on_tick(void *arg, const struct rate_tick *tick)
{
	struct rate_view *v = arg;
	size_t i;

	if (v->trace)
		v->trace->tick(v->trace->arg, tick);
	v->tick = *tick;
	if (!v->ticks++) {
		v->begin_ns = v->shown_ns = tick->ns;
		if (v->csv)
			fprintf(v->csv, "time_ns,interval_ns,pid,tid,name,"
				"minor,major,cpu_ns,cpu\n");
	} else if (v->csv) {
		csv_row(v, NULL, &v->now);
		for (i = 0; v->per_task && i < v->count; i++)
			if (v->tasks[i].now.minor | v->tasks[i].now.major |
			    v->tasks[i].now.cpu_ns)
				csv_row(v, &v->tasks[i], &v->tasks[i].now);
	}
	memset(&v->now, 0, sizeof(v->now));
	for (i = 0; v->per_task && i < v->count; i++)
		memset(&v->tasks[i].now, 0, sizeof(v->tasks[i].now));
	rate_live(v, 0);
}

struct rate_sink rate_view_sink(struct rate_view *v)
{
	return (struct rate_sink){
		.task = on_task, .sample = on_sample, .end = on_end,
		.tick = on_tick, .arg = v,
	};
}

void rate_view_free(struct rate_view *v)
{
	free(v->tasks);
}
