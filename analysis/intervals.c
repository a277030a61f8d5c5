// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/intervals.h"

#include <errno.h>
#include <stdlib.h>

/* Intervals [from, to) have that time together. */
static void share_out(double *ns, size_t from, size_t to, uint64_t begin_ns,
		      uint64_t end_ns)
{
	size_t i;

	for (i = from; i < to; i++)
		ns[i] = end_ns > begin_ns ?
			(double)(end_ns - begin_ns) / (double)(to - from) : 0;
}

void moca_intervals_lengths(double *ns, const uint64_t *begins, size_t count,
			    uint64_t all, uint64_t begin_ns, uint64_t end_ns)
{
	size_t i, from = 0;

	for (i = 0; i < count; i++) {
		if (!begins[i])
			continue;
		share_out(ns, from, i, begin_ns, begins[i]);
		from = i;
		begin_ns = begins[i];
	}
	share_out(ns, from, count, begin_ns,
		  end_ns > begin_ns && all > count ?
			  begin_ns + (end_ns - begin_ns) / (all - from) *
					     (count - from) : end_ns);
}

/* An interval, by its working set and its length. */
struct used {
	uint64_t pages;
	double ns;
};

static int by_pages(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	return x->pages < y->pages ? -1 : x->pages > y->pages;
}

/* Few intervals have a column each; one without records is where the last one is. */
static void fill_columns(struct moca_interval_pages *out, const uint64_t *sets,
			 const uint64_t *begins, size_t count,
			 uint64_t begin_ns, uint64_t end_ns)
{
	size_t width = count < MOCA_INTERVALS_COLUMNS ? count :
							MOCA_INTERVALS_COLUMNS;
	double span = (double)(end_ns - begin_ns) + 1;
	size_t i, x, last = 0;

	out->column_count = width;
	for (i = 0; i < count; i++) {
		x = count <= MOCA_INTERVALS_COLUMNS ? i : last;
		if (count > MOCA_INTERVALS_COLUMNS && begins[i] >= begin_ns)
			x = (size_t)((double)(begins[i] - begin_ns) / span *
				     (double)width);
		if (x >= width)
			x = width - 1;
		if (sets[i] > out->columns[x])
			out->columns[x] = sets[i];
		last = x;
	}
}

int moca_intervals_pages(struct moca_interval_pages *out, const uint64_t *sets,
			 const uint64_t *begins, size_t count,
			 uint64_t begin_ns, uint64_t end_ns)
{
	struct used *used = malloc((count + 1) * sizeof(*used));
	double *ns = malloc((count + 1) * sizeof(*ns)), all = 0, sum = 0;
	size_t i;
	int err = used && ns ? 0 : -ENOMEM;

	*out = (struct moca_interval_pages){ 0 };
	if (err)
		goto out;
	moca_intervals_lengths(ns, begins, count, count, begin_ns, end_ns);
	for (i = 0; i < count; i++) {
		used[i] = (struct used){ sets[i], ns[i] };
		all += ns[i];
	}
	qsort(used, count, sizeof(*used), by_pages);
	out->most = count ? used[count - 1].pages : 0;
	for (i = 0; i < count && 2 * sum <= all; i++) {
		out->median = used[i].pages;
		sum += used[i].ns;
	}
	fill_columns(out, sets, begins, count, begin_ns, end_ns);
out:
	free(used);
	free(ns);
	return err;
}
