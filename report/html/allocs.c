// SPDX-License-Identifier: GPL-2.0-or-later
/* How much memory of which object there was when. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/text/json.h"
#include "lib/text/text.h"
#include "report/html/report.h"

#define SERIES 12u	/* objects with a line of their own; the rest is one */
#define BARS 1000u	/* objects drawn one by one */

/* A series: bytes that exist at some time in a bin. */
struct series {
	const struct moca_object *object;	/* NULL: the rest */
	int64_t live[REPORT_RATE_BINS + 1];	/* changes first, then sums */
};

static size_t bin_of(const struct report *r, uint64_t ns)
{
	uint64_t length = r->end_ns - r->begin_ns;

	if (ns <= r->begin_ns)
		return 0;
	if (ns >= r->end_ns)
		return REPORT_RATE_BINS - 1;
	return (ns - r->begin_ns) * REPORT_RATE_BINS / length;
}

static int is_alloc(const struct moca_object *o)
{
	return o->kind == MOCA_OBJECT_HEAP;
}

static int compare_bytes(const void *a, const void *b)
{
	const struct moca_object *x = *(const struct moca_object *const *)a;
	const struct moca_object *y = *(const struct moca_object *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

/* Which series each row is in; SERIES is the rest. */
static uint8_t *assign(struct report *r, struct series *s, size_t *count)
{
	const struct moca_object *rows, **by_bytes;
	uint8_t *of;
	size_t i, n, k = 0;

	rows = moca_objects_rows(r->objects, &n);
	of = malloc(n + 1);
	by_bytes = malloc((n + 1) * sizeof(*by_bytes));
	if (!of || !by_bytes) {
		free(of);
		free(by_bytes);
		return NULL;
	}
	memset(of, SERIES, n + 1);
	for (i = 0; i < n; i++)
		if (is_alloc(&rows[i]))
			by_bytes[k++] = &rows[i];
	qsort(by_bytes, k, sizeof(*by_bytes), compare_bytes);
	for (i = 0; i < k && i < SERIES; i++) {
		s[i].object = by_bytes[i];
		of[by_bytes[i]->id] = (uint8_t)i;
	}
	*count = k > SERIES ? SERIES + 1 : k;
	free(by_bytes);
	return of;
}

/* Size times life: what a bar's area is. */
static double area(const struct report *r, const struct moca_instance *x)
{
	uint64_t begin = x->begin_ns > r->begin_ns ? x->begin_ns : r->begin_ns;
	uint64_t end = x->end_ns && x->end_ns < r->end_ns ? x->end_ns :
							    r->end_ns;

	return end > begin ? (double)x->size * (double)(end - begin) : 0;
}

struct bar {
	double area;
	const struct moca_instance *x;
};

/* The least of the heap is at [0]. */
static void sift(struct bar *bars, size_t i, size_t n)
{
	size_t child;
	struct bar b;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && bars[child + 1].area < bars[child].area)
			child++;
		if (bars[i].area <= bars[child].area)
			break;
		b = bars[i];
		bars[i] = bars[child];
		bars[child] = b;
		i = child;
	}
}

static int compare_bars(const void *a, const void *b)
{
	const struct bar *x = a, *y = b;

	if (x->x->begin_ns != y->x->begin_ns)
		return x->x->begin_ns < y->x->begin_ns ? -1 : 1;
	return x->x->addr < y->x->addr ? -1 : x->x->addr > y->x->addr;
}

static void put_bars(struct report *r, struct json *j, struct bar *bars,
		     size_t n)
{
	const struct moca_instance *x;
	char buf[TEXT_MAX];
	size_t i;

	qsort(bars, n, sizeof(*bars), compare_bars);
	json_open(j, "bars", '[');
	for (i = 0; i < n; i++) {
		x = bars[i].x;
		json_open(j, NULL, '[');
		json_uint(j, NULL, x->object);
		json_uint(j, NULL, x->pid);
		snprintf(buf, sizeof(buf), "0x%" PRIx64, x->addr);
		json_string(j, NULL, buf);
		json_uint(j, NULL, x->size);
		json_int(j, NULL, (int64_t)(x->begin_ns - r->origin));
		if (x->end_ns)
			json_int(j, NULL, (int64_t)(x->end_ns - r->origin));
		else
			json_null(j, NULL);
		json_uint(j, NULL, x->accesses);
		json_close(j, ']');
	}
	json_close(j, ']');
}

static int put_series(struct report *r, struct json *j, struct series *s,
		      size_t count)
{
	struct moca_buf b = { 0 };
	int64_t live;
	double value;
	size_t i, k;
	int err;

	json_open(j, "series", '[');
	for (i = 0; i < count; i++) {
		if (s[i].object)
			json_int(j, NULL, s[i].object->id);
		else
			json_null(j, NULL);
		for (live = 0, k = 0; k < REPORT_RATE_BINS; k++) {
			live += s[i].live[k];
			value = (double)live;
			moca_buf_add(&b, &value, sizeof(value));
		}
	}
	json_close(j, ']');
	err = b.error ?: report_blob(r, "allocs", b.data, b.len);
	moca_buf_free(&b);
	return err;
}

int report_allocs(struct report *r, struct json *j)
{
	struct series *s = calloc(SERIES + 1, sizeof(*s));
	struct bar *bars = calloc(BARS + 1, sizeof(*bars));
	const struct moca_instance *x;
	const struct moca_object *rows;
	size_t i, n, k, bar_count = 0, series = 0;
	uint8_t *of = NULL;
	struct bar b;
	int err = -ENOMEM;

	if (s && bars)
		of = assign(r, s, &series);
	if (!of)
		goto out;
	rows = moca_objects_rows(r->objects, &k);
	x = moca_objects_instances(r->objects, &n);
	for (i = 0; i < n; i++) {
		if (!is_alloc(&rows[x[i].object]))
			continue;
		s[of[x[i].object]].live[bin_of(r, x[i].begin_ns)] +=
			(int64_t)x[i].size;
		if (x[i].end_ns)
			s[of[x[i].object]].live[bin_of(r, x[i].end_ns) + 1] -=
				(int64_t)x[i].size;
		b = (struct bar){ area(r, &x[i]), &x[i] };
		if (bar_count < BARS) {
			bars[bar_count++] = b;
			if (bar_count == BARS)
				for (k = BARS / 2; k-- > 0;)
					sift(bars, k, BARS);
		} else if (b.area > bars[0].area) {
			bars[0] = b;
			sift(bars, 0, BARS);
		}
	}
	json_open(j, "allocs", '{');
	put_bars(r, j, bars, bar_count);
	err = put_series(r, j, s, series);
	json_close(j, '}');
out:
	free(of);
	free(s);
	free(bars);
	return err;
}
