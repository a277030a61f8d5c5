// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CPU time of threads, as the sampler beside the recording told it: unlike the
 * times of accesses it does not grow while a thread waits for a CPU, and unlike
 * records it tells what a thread did within an interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/rates.h"
#include "lib/format/rate-writer.h"

/* Of the CPU time of all processes, what is known of their threads. */
#define KNOWN_MIN 0.9

static int by_thread(const void *a, const void *b)
{
	const struct moca_task *x = *(const struct moca_task *const *)a;
	const struct moca_task *y = *(const struct moca_task *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int is_of(const struct moca_task *task, const struct moca_rates_task *is)
{
	return task->pid == is->pid && task->tid == is->tid;
}

/*
 * The last of these numbers that had begun by then; NULL: none. The sampler may have
 * seen a thread before the tracer was told of it.
 */
static const struct moca_task *find(const struct moca_task *const *tasks, size_t n,
				    const struct moca_rates_task *is,
				    uint64_t period_ns)
{
	const struct moca_task key = { .pid = is->pid, .tid = is->tid,
				       .start_ns = is->begin_ns };
	const struct moca_task *wanted = &key;
	size_t from = 0, to = n, mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (by_thread(&tasks[mid], &wanted) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	if (from && is_of(tasks[from - 1], is))
		return tasks[from - 1];
	return from < n && is_of(tasks[from], is) &&
			       tasks[from]->start_ns - is->begin_ns <= period_ns ?
		       tasks[from] : NULL;
}

/* Of each lane's threads. */
static int add_up(struct rules *r, const struct moca_rates *rates)
{
	size_t n = moca_trace_task_count(r->trace), i;
	const struct moca_task **tasks = calloc(n + 1, sizeof(*tasks)), *task;
	double all = 0, known = 0, more = 0;

	if (!tasks)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		tasks[i] = moca_trace_task(r->trace, i);
	qsort(tasks, n, sizeof(*tasks), by_thread);
	for (i = 0; i < rates->task_count; i++) {
		const struct moca_rates_task *is = &rates->tasks[i];
		double ns = (double)is->total.cpu_ns;

		if (is->tid == MOCA_RATE_PROCESS || is->tid == MOCA_RATE_REAPED) {
			all += ns;
			continue;
		}
		task = find(tasks, n, is, rates->period_ns);
		if (!task || task->id >= r->p->tasks)
			continue;
		r->cpu_ns[r->p->lane_of[task->id]] += ns;
		/* What it had after the last sample before its end. */
		if (is->end_ns && !is->seen) {
			r->cpu_more_ns[r->p->lane_of[task->id]] +=
				(double)rates->period_ns;
			more += (double)rates->period_ns;
		}
		known += ns;
	}
	free(tasks);
	/* What is within the error of those that ended is not of others. */
	r->lanes_told = known > 0 && known + more >= KNOWN_MIN * all;
	return 0;
}

/* Of all processes, over the windows of the profile that each bin lies in. */
static void spread_out(struct rules *r, const struct moca_rates *rates)
{
	const struct moca_profile *p = r->p;
	double width = ((double)rates->end_ns - (double)rates->begin_ns) /
		       (double)rates->bin_count;
	double from, to, begin, end;
	size_t i;
	unsigned w;

	for (i = 0; i < rates->bin_count && width > 0; i++) {
		from = (double)rates->begin_ns - (double)p->begin_ns +
		       width * (double)i;
		to = from + width;
		for (w = 0; w < p->windows; w++) {
			begin = fmax(from, (double)w * (double)p->window_ns);
			end = fmin(to, (double)(w + 1) * (double)p->window_ns);
			if (end > begin)
				r->cpu_in[w] += (double)rates->bins[i].cpu_ns *
						(end - begin) / width;
		}
	}
	r->windows_told = rates->total.cpu_ns != 0;
}

static void look_up(struct rules *r)
{
	struct moca_rates *rates = NULL;
	int err;

	if (r->cpu_looked)
		return;
	r->cpu_looked = 1;
	err = moca_rates_compute(&rates, r->trace, MOCA_PROFILE_WINDOWS);
	if (!err && rates) {
		spread_out(r, rates);
		/* As recorded, lanes are of nodes: a thread that moves has several. */
		if (r->p->topology.what_if && r->p->lane_of)
			err = add_up(r, rates);
	}
	moca_rates_free(rates);
	/* Samples that cannot be read are as if there were none. */
	if (err == -ENOMEM)
		r->err = err;
}

const double *advice_cpu_ns(struct rules *r)
{
	look_up(r);
	return r->lanes_told ? r->cpu_ns : NULL;
}

const double *advice_cpu_more_ns(struct rules *r)
{
	look_up(r);
	return r->lanes_told ? r->cpu_more_ns : NULL;
}

const double *advice_cpu_in(struct rules *r)
{
	look_up(r);
	return r->windows_told ? r->cpu_in : NULL;
}
