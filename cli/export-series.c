// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/export-series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"

const char *const export_sum_names[MOCA_SERIES_SUMS + 1] = {
	[MOCA_SERIES_READS] = "reads",
	[MOCA_SERIES_WRITES] = "writes",
	[MOCA_SERIES_RECORDS] = "records",
	[MOCA_SERIES_LOADS] = "loads",
	[MOCA_SERIES_STORES] = "stores",
	[EXPORT_BYTES_ALIVE] = "bytes alive",
};

int export_series_of(struct export *x, struct moca_series **out)
{
	const struct moca_series_options opt = {
		.range = x->range, .object = x->object,
		.window_ns = x->window_ns, .profile = !export_is_narrowed(x),
	};
	int err = moca_series_compute(out, x->t, &opt);

	if (err == -E2BIG) {
		moca_error("export: windows of this length make more than %u sums of '%s': give a longer '--window', or none",
			   4 * MOCA_SERIES_CELLS, x->trace);
		x->refused = 1;
	}
	return err;
}

static uint64_t begin_of(const struct moca_series *s,
			 const struct moca_series_table *t, uint64_t window)
{
	return s->origin + window * t->window_ns;
}

/* One sum of n cells of one thread and object. Between windows with any it is 0. */
static void put_sums(const struct moca_series *s,
		     const struct moca_series_cell *c, size_t n, int sum,
		     const struct export_counters *to)
{
	const struct moca_series_table *t = &s->accesses;
	int64_t before = 0;

	for (size_t i = 0; i < n && !to->stopped(to->arg); i++) {
		int ends = i + 1 == n || c[i + 1].window != c[i].window + 1;

		if (c[i].sums[sum] || before)
			to->value(to->arg, begin_of(s, t, c[i].window),
				  c[i].sums[sum]);
		before = c[i].sums[sum];
		if (before && ends) {
			to->value(to->arg, begin_of(s, t, c[i].window + 1), 0);
			before = 0;
		}
	}
}

static int has_sum(const struct moca_series_cell *c, size_t n, int sum)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].sums[sum])
			return 1;
	return 0;
}

/* How many from c[0] on are of its owner, and of its row if by_row. */
static size_t group(const struct moca_series_cell *c, size_t left, int by_row)
{
	size_t n = 1;

	while (n < left && c[n].who == c[0].who &&
	       (!by_row || c[n].row == c[0].row))
		n++;
	return n;
}

void export_series_accesses(const struct moca_series *s,
			    const struct export_counters *to)
{
	const struct moca_series_table *t = &s->accesses;
	const struct moca_object *rows;
	size_t i, n, count;

	rows = moca_objects_rows(s->objects, &count);
	for (i = 0; i < t->count && !to->stopped(to->arg); i += n) {
		const struct moca_series_cell *c = &t->cells[i];

		n = group(c, t->count - i, 1);
		for (int k = 0; k < MOCA_SERIES_SUMS; k++)
			if (has_sum(c, n, k) &&
			    to->begin(to->arg, c->who, &rows[c->row], k))
				put_sums(s, c, n, k, to);
	}
}

/* Bytes alive from each window on, of cells that rise by window. */
static void put_levels(const struct moca_series *s,
		       const struct moca_series_cell *c, size_t n,
		       const struct export_counters *to)
{
	const struct moca_series_table *t = &s->allocations;
	int64_t level = 0, told = -1;

	for (size_t i = 0; i < n && !to->stopped(to->arg); i++) {
		level += c[i].sums[0];
		if (i + 1 < n && c[i + 1].window == c[i].window)
			continue;
		if (level != told)
			to->value(to->arg, begin_of(s, t, c[i].window), level);
		told = level;
	}
}

static int by_window(const void *a, const void *b)
{
	const struct moca_series_cell *x = a, *y = b;

	return x->window < y->window ? -1 : x->window > y->window;
}

void export_series_allocations(struct moca_series *s,
			       const struct export_counters *to)
{
	struct moca_series_table *t = &s->allocations;
	const struct moca_object *rows;
	size_t i, n, k, m, count;

	rows = moca_objects_rows(s->objects, &count);
	for (i = 0; i < t->count && !to->stopped(to->arg); i += n) {
		struct moca_series_cell *c = &t->cells[i];

		n = group(c, t->count - i, 0);
		for (k = 0; k < n; k += m) {
			m = group(c + k, n - k, 1);
			if (to->begin(to->arg, c->who, &rows[c[k].row],
				      EXPORT_BYTES_ALIVE))
				put_levels(s, c + k, m, to);
		}
		qsort(c, n, sizeof(*c), by_window);
		if (to->begin(to->arg, c->who, NULL, EXPORT_BYTES_ALIVE))
			put_levels(s, c, n, to);
	}
}

int export_series_phases(const struct moca_series *s, struct moca_trace *t,
			 void (*fn)(void *arg, size_t n,
				    const struct moca_phase *phase),
			 void *arg)
{
	const struct moca_profile *p = s->profile;
	struct moca_profile *own = NULL;
	struct moca_phases phases;
	int err = 0;

	/* Of counts of exact mode it takes a walk of its own. */
	if (!p)
		err = moca_profile_compute(&own, t, NULL);
	if (!err)
		err = moca_phases_compute(&phases, p ? p : own, -1);
	if (!err) {
		for (size_t i = 0; i < phases.count; i++)
			fn(arg, i, &phases.phases[i]);
		moca_phases_free(&phases);
	}
	moca_profile_free(own);
	return err;
}

const char *export_phase_name(char name[EXPORT_PHASE_NAME], size_t n,
			      const struct moca_phase *phase)
{
	size_t len = (size_t)snprintf(name, EXPORT_PHASE_NAME, "phase %zu",
				      n + 1);

	for (int i = 0; i < MOCA_PHASE_TOP && phase->top[i].object; i++)
		len += (size_t)snprintf(name + len, EXPORT_PHASE_NAME - len,
					"%s%.100s", i ? ", " : ": ",
					phase->top[i].object->object->name);
	return name;
}
