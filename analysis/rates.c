// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "lib/format/rate-writer.h"
#include "lib/format/trace.h"

#define BUCKETS 4096u
#define TASKS_MAX (1u << 22)	/* what a (perhaps corrupt) file may name */

enum kind { NONE, SETTINGS, TASK, SAMPLE, TICK, END, OWN };

struct walk {
	struct moca_rates *r;
	int binning;		/* the second walk */
	size_t *index;		/* in tasks, by the stream's number; or NONE */
	size_t entry_count;
	size_t task_room, next_room;
	size_t *next;		/* chain of those with the same hash; tasks */
	size_t heads[BUCKETS];
};

static enum kind kind_of(const struct moca_event_type *t)
{
	static const struct {
		const char *name;
		enum kind kind;
		size_t fields;
	} kinds[] = {
		{ "settings", SETTINGS, 2 }, { "task", TASK, 4 },
		{ "sample", SAMPLE, 5 },     { "tick", TICK, 3 },
		{ "end", END, 2 },	     { "own", OWN, 4 },
	};

	if (strcmp(t->facility, MOCA_RATE_FACILITY))
		return NONE;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(t->name, kinds[i].name))
			return t->field_count >= kinds[i].fields ?
				       kinds[i].kind : NONE;
	return NONE;
}

static uint64_t number(const struct moca_event *m, size_t field)
{
	struct moca_value v;

	return moca_event_value(m, field, &v) || !v.count ?
		       0 : moca_value_integer(&v, 0);
}

static void text(const struct moca_event *m, size_t field, char *buf,
		 size_t size)
{
	struct moca_value v;
	size_t n;

	*buf = 0;
	if (moca_event_value(m, field, &v) ||
	    v.field->kind != MOCA_FIELD_STRING)
		return;
	n = v.count < size ? v.count : size - 1;
	memcpy(buf, v.data, n);
	buf[n] = 0;
}

static void add(struct moca_rate_sums *to, const struct moca_rate_sums *x)
{
	to->minor += x->minor;
	to->own += x->own;
	to->major += x->major;
	to->cpu_ns += x->cpu_ns;
}

static size_t bucket(uint32_t pid, uint32_t tid)
{
	return (pid * 31u + tid) % BUCKETS;
}

/* The latest task with these numbers. NULL: none. */
static struct moca_rates_task *find(struct walk *w, uint32_t pid, uint32_t tid)
{
	size_t i = w->heads[bucket(pid, tid)];

	while (i != SIZE_MAX && (w->r->tasks[i].pid != pid ||
				 w->r->tasks[i].tid != tid))
		i = w->next[i];
	return i == SIZE_MAX ? NULL : &w->r->tasks[i];
}

static void enter(struct walk *w, size_t i)
{
	size_t b = bucket(w->r->tasks[i].pid, w->r->tasks[i].tid);

	w->next[i] = w->heads[b];
	w->heads[b] = i;
}

static int room_for(struct walk *w, size_t task)
{
	size_t n = w->entry_count;

	if (task >= TASKS_MAX)
		return -EBADMSG;
	if (moca_vec_fit(w->index, w->entry_count, task + 1))
		return -ENOMEM;
	for (; n < w->entry_count; n++)
		w->index[n] = SIZE_MAX;
	return 0;
}

static int on_task(struct walk *w, const struct moca_event *m)
{
	struct moca_rates *r = w->r;
	size_t task = number(m, 0), n = r->task_count;
	int err = room_for(w, task);

	if (err || w->binning)
		return err == -EBADMSG ? 0 : err;
	if (w->index[task] == SIZE_MAX) {
		if (moca_vec_fit(r->tasks, w->task_room, n + 1) ||
		    moca_vec_fit(w->next, w->next_room, n + 1))
			return -ENOMEM;
		r->tasks[n] = (struct moca_rates_task){
			.pid = (uint32_t)number(m, 1),
			.tid = (uint32_t)number(m, 2),
			.begin_ns = m->time_ns,
		};
		w->index[task] = r->task_count++;
		enter(w, n);
	}
	text(m, 3, r->tasks[w->index[task]].name, sizeof(r->tasks->name));
	return 0;
}

/* Those of whole processes are in the sum: others are in these. */
static int in_sum(const struct moca_rates_task *t)
{
	return t->tid == MOCA_RATE_PROCESS || t->tid == MOCA_RATE_REAPED;
}

static size_t bin_at(const struct moca_rates *r, uint64_t ns)
{
	uint64_t length = r->end_ns - r->begin_ns;

	if (ns <= r->begin_ns)
		return 0;
	if (ns >= r->end_ns)
		return r->bin_count - 1;
	return (size_t)((double)(ns - r->begin_ns) / (double)length *
			(double)r->bin_count);
}

static uint64_t part(uint64_t n, size_t k, size_t of)
{
	/* The first ones get what is left over. */
	return n / of + (k < n % of);
}

/*
 * A sample is of the time before it. Of a short time its middle says which bin;
 * a long one, of a task that was not looked at in each round, goes to all.
 */
static void add_over(const struct moca_rates *r, struct moca_rate_sums *bins,
		     uint64_t ns, uint64_t wall,
		     const struct moca_rate_sums *x)
{
	uint64_t width = (r->end_ns - r->begin_ns) / r->bin_count;
	size_t first = bin_at(r, ns - wall / 2), n = 1, k;

	if (wall > 2 * width && wall < ns) {
		first = bin_at(r, ns - wall + width / 2);
		n = bin_at(r, ns - width / 2) - first + 1;
	}
	for (k = 0; k < n; k++) {
		const struct moca_rate_sums y = {
			.minor = part(x->minor, k, n),
			.major = part(x->major, k, n),
			.cpu_ns = part(x->cpu_ns, k, n),
		};

		add(&bins[first + k], &y);
	}
}

static void on_sample(struct walk *w, const struct moca_event *m)
{
	const struct moca_rate_sums x = { .minor = number(m, 1),
					  .major = number(m, 2),
					  .cpu_ns = number(m, 3) };
	uint64_t wall = number(m, 4);
	size_t task = number(m, 0);
	struct moca_rates_task *t;

	if (task >= w->entry_count || w->index[task] == SIZE_MAX)
		return;
	t = &w->r->tasks[w->index[task]];
	if (!w->binning) {
		add(&t->total, &x);
		if (in_sum(t))
			add(&w->r->total, &x);
		return;
	}
	if (t->bins)
		add_over(w->r, t->bins, m->time_ns, wall, &x);
	if (in_sum(t))
		add_over(w->r, w->r->bins, m->time_ns, wall, &x);
}

static void on_tick(struct walk *w, const struct moca_event *m)
{
	struct moca_rates *r = w->r;
	uint64_t wall = number(m, 0);

	if (!w->binning) {
		if (!r->rounds++)
			r->begin_ns = m->time_ns;
		r->end_ns = m->time_ns;
		if (wall > r->longest_ns)
			r->longest_ns = wall;
		if (number(m, 1) > r->processes)
			r->processes = (uint32_t)number(m, 1);
		if (number(m, 2) > r->threads)
			r->threads = (uint32_t)number(m, 2);
		return;
	}
	r->covered_ns[bin_at(r, m->time_ns - wall / 2)] += wall;
}

static void on_end(struct walk *w, const struct moca_event *m)
{
	size_t task = number(m, 0);

	if (task >= w->entry_count || w->index[task] == SIZE_MAX)
		return;
	w->r->tasks[w->index[task]].end_ns = m->time_ns;
	w->r->tasks[w->index[task]].seen = number(m, 1) != 0;
}

/* By then all tasks are known. */
static void on_own(struct walk *w, const struct moca_event *m)
{
	struct moca_rates *r = w->r;
	uint32_t pid = (uint32_t)number(m, 0), tid = (uint32_t)number(m, 1);
	size_t bin = bin_at(r, number(m, 2) + r->period_ns / 2);
	uint64_t n = number(m, 3);
	struct moca_rates_task *t;

	r->has_own = 1;
	r->bins[bin].own += n;
	t = find(w, pid, MOCA_RATE_PROCESS);
	if (t) {
		t->total.own += n;
		if (t->bins)
			t->bins[bin].own += n;
	}
	t = find(w, pid, tid);
	if (t) {
		t->total.own += n;
		if (t->bins)
			t->bins[bin].own += n;
	}
}

static int on_event(struct walk *w, const struct moca_event *m)
{
	switch (kind_of(m->type)) {
	case SETTINGS:
		w->r->period_ns = number(m, 0);
		text(m, 1, w->r->source, sizeof(w->r->source));
		break;
	case TASK:
		return on_task(w, m);
	case SAMPLE:
		on_sample(w, m);
		break;
	case TICK:
		on_tick(w, m);
		break;
	case END:
		if (!w->binning)
			on_end(w, m);
		break;
	case OWN:
		if (w->binning)
			on_own(w, m);
		break;
	case NONE:
		break;
	}
	return 0;
}

static int walk(struct walk *w, struct moca_trace *t)
{
	const struct moca_event *m;
	struct moca_cursor *c;
	uint32_t task;
	int ret = moca_cursor_open(&c, t, NULL), err = 0;

	if (ret)
		return ret;
	moca_cursor_streams_below(c, MOCA_RATE_STREAMS);
	while (!err && (ret = moca_cursor_event(c, &m, &task)) > 0)
		err = on_event(w, m);
	moca_cursor_close(c);
	return err ? err : ret;
}

/* Take in what fits of rest, too, and return what does not. */
static uint64_t fit_one(struct moca_rate_sums *bin, uint64_t rest)
{
	uint64_t own = bin->own + rest;

	bin->own = own < bin->minor ? own : bin->minor;
	return own - bin->own;
}

/*
 * Page tracing knows when a fault was, samples what was counted until then: what
 * is too much for one bin was counted in the next, or before: a task's end may
 * have been told by its parent. In no bin are there more than faults.
 */
static uint64_t fit_own(struct moca_rate_sums *bins, size_t n)
{
	uint64_t rest = 0, sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		rest = fit_one(&bins[i], rest);
	for (i = n; i-- > 0 && rest;)
		rest = fit_one(&bins[i], rest);
	for (i = 0; i < n; i++)
		sum += bins[i].own;
	return sum;
}

/* The same of CPU time: a bin has no more than the CPUs had while sampled. */
static uint64_t fit_cpu_one(struct moca_rate_sums *bin, uint64_t most,
			    uint64_t rest)
{
	uint64_t all;

	if (__builtin_add_overflow(bin->cpu_ns, rest, &all))
		all = UINT64_MAX;
	bin->cpu_ns = all < most ? all : most;
	return all - bin->cpu_ns;
}

/*
 * A clock is read a little after the round's time, and ticks are counted late:
 * in the short last round this would be CPUs that are not there. It was in the
 * bins before. What has room nowhere is in the total alone.
 */
static void fit_cpu(const struct moca_rates *r, struct moca_rate_sums *bins,
		    uint64_t cpus)
{
	uint64_t rest = 0, most;
	size_t i, k;

	for (k = 0; k < 2 * r->bin_count; k++) {
		i = k < r->bin_count ? r->bin_count - 1 - k : k - r->bin_count;
		if (__builtin_mul_overflow(cpus, r->covered_ns[i], &most))
			most = UINT64_MAX;
		rest = fit_cpu_one(&bins[i], most, rest);
	}
}

static int make_bins(struct moca_rates *r, size_t max)
{
	size_t n = r->rounds / 2, i;

	r->bin_count = n > max ? max : n ? n : 1;
	r->covered_ns = calloc(r->bin_count, sizeof(*r->covered_ns));
	r->bins = calloc(r->bin_count, sizeof(*r->bins));
	if (!r->covered_ns || !r->bins)
		return -ENOMEM;
	for (i = 0; i < r->task_count && i < MOCA_RATES_SERIES; i++) {
		r->tasks[i].bins = calloc(r->bin_count, sizeof(*r->bins));
		if (!r->tasks[i].bins)
			return -ENOMEM;
	}
	return 0;
}

/* cpus: 0 when the trace does not tell. */
static void settle(struct moca_rates *r, uint64_t cpus)
{
	struct moca_rates_task *t;
	size_t i;

	r->total.own = fit_own(r->bins, r->bin_count);
	if (cpus)
		fit_cpu(r, r->bins, cpus);
	for (i = 0; i < r->task_count; i++) {
		t = &r->tasks[i];
		if (t->bins)
			fit_own(t->bins, r->bin_count);
		if (t->bins && cpus)
			fit_cpu(r, t->bins, cpus);
		if (t->total.own > t->total.minor)
			t->total.own = t->total.minor;
	}
}

static uint64_t cpus_of(struct moca_trace *t)
{
	const char *s = moca_trace_meta(t, "cpus");

	return s ? strtoull(s, NULL, 10) : 0;
}

int moca_rates_compute(struct moca_rates **out, struct moca_trace *t,
		       size_t max_bins)
{
	struct walk w = { .binning = 0 };
	int err;

	*out = NULL;
	memset(w.heads, 0xff, sizeof(w.heads));
	w.r = calloc(1, sizeof(*w.r));
	err = w.r ? 0 : -ENOMEM;
	/* Most traces have other events alone, and many of them. */
	if (!err && trace_has_events(t, trace_is_rate))
		err = walk(&w, t);
	/* Beside page tracing, which told none if there were none. */
	if (!err && moca_trace_meta(t, "rate.period_ns"))
		w.r->has_own = 1;
	if (!err && w.r->rounds) {
		err = make_bins(w.r, max_bins);
		w.binning = 1;
		if (!err)
			err = walk(&w, t);
		if (!err) {
			settle(w.r, cpus_of(t));
			*out = w.r;
		}
	}
	free(w.index);
	free(w.next);
	if (!*out)
		moca_rates_free(w.r);
	return err;
}

void moca_rates_free(struct moca_rates *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->task_count; i++)
		free(r->tasks[i].bins);
	free(r->tasks);
	free(r->bins);
	free(r->covered_ns);
	free(r);
}
