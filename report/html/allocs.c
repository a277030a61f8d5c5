// SPDX-License-Identifier: GPL-2.0-or-later
/* How much memory of which object there was when, and by which site. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/text/json.h"
#include "report/html/report.h"

#define SERIES 12u	/* objects with a line of their own; the rest is one */
#define SITES 200u	/* in the page */
#define NAME_BYTES 400u

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

/* An object begins or ends. */
struct event {
	uint64_t ns, bytes;
	uint32_t object;
	int ends;
};

/* Of one time those that end first. */
static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return y->ends - x->ends;
}

static struct event *list_events(const struct moca_objects *o,
				 const struct moca_instance *x, size_t n,
				 const struct moca_object *rows, size_t *count)
{
	struct event *e = malloc((2 * n + 1) * sizeof(*e));
	uint64_t end;
	size_t i;

	*count = 0;
	for (i = 0; e && i < n; i++) {
		if (!is_alloc(&rows[x[i].object]))
			continue;
		/* What ends when it begins is never alive. */
		end = moca_objects_end_of(o, &x[i]);
		if (end && end <= x[i].begin_ns)
			continue;
		e[(*count)++] = (struct event){ x[i].begin_ns, x[i].size,
						x[i].object, 0 };
		if (end)
			e[(*count)++] = (struct event){ end, x[i].size,
							x[i].object, 1 };
	}
	if (e)
		qsort(e, *count, sizeof(*e), compare_events);
	return e;
}

/* When most was allocated, what was alive behind all that was at that time. */
static uint64_t find_peak(const struct event *e, size_t n, struct report_site *sites,
			  uint64_t *bytes)
{
	uint64_t live = 0, ns = 0, change;
	struct report_site *s;
	size_t i;

	*bytes = 0;
	for (i = 0; i < n; i++) {
		/* Sizes are the trace's: a sum may wrap around. */
		change = e[i].ends ? -e[i].bytes : e[i].bytes;
		live += change;
		s = &sites[e[i].object];
		s->live += change;
		if (s->live > s->most)
			s->most = s->live;
		if (live > *bytes && (i + 1 == n || e[i + 1].ns != e[i].ns)) {
			*bytes = live;
			ns = e[i].ns;
		}
	}
	return ns;
}

/* Most at the peak first; those of which no lives are known by all they had. */
static int compare_sites(const void *a, const void *b)
{
	const struct report_site *x = a, *y = b;

	if (x->at_peak != y->at_peak)
		return x->at_peak > y->at_peak ? -1 : 1;
	if (x->object->bytes != y->object->bytes)
		return x->object->bytes > y->object->bytes ? -1 : 1;
	return x->object->id < y->object->id ? -1 : 1;
}

static void put_site(struct json *j, const struct report_site *s)
{
	const struct moca_object *o = s->object;
	char buf[NAME_BYTES];

	json_open(j, NULL, '{');
	json_uint(j, "object", o->id);
	snprintf(buf, sizeof(buf), "%s", o->name);
	json_string(j, "name", buf);
	snprintf(buf, sizeof(buf), "%s", o->site);
	json_string(j, "site", buf);
	json_uint(j, "calls", o->instances);
	json_uint(j, "bytes", o->bytes);
	if (is_alloc(o)) {
		json_uint(j, "most", s->most);
		json_uint(j, "at_peak", s->at_peak);
		json_uint(j, "kept", s->kept);
		json_uint(j, "at_end", s->at_end);
	} else {
		json_null(j, "at_peak");
	}
	json_close(j, '}');
}

int report_sites(const struct report *r, struct report_sites *out)
{
	const struct moca_object *rows;
	const struct moca_instance *x;
	struct report_site *s;
	struct event *e;
	uint64_t end;
	size_t i, n;

	memset(out, 0, sizeof(*out));
	rows = moca_objects_rows(r->objects, &out->count);
	x = moca_objects_instances(r->objects, &n);
	out->list = s = calloc(out->count + 1, sizeof(*s));
	e = list_events(r->objects, x, n, rows, &out->events);
	if (!s || !e) {
		free(s);
		free(e);
		return -ENOMEM;
	}
	out->peak_ns = find_peak(e, out->events, s, &out->peak);
	free(e);
	for (i = 0; i < out->count; i++)
		s[i].object = &rows[i];
	for (i = 0; i < n; i++) {
		if (!is_alloc(&rows[x[i].object]))
			continue;
		end = moca_objects_end_of(r->objects, &x[i]);
		if (!end) {
			s[x[i].object].at_end += x[i].size;
			out->end += x[i].size;
		}
		if (x[i].begin_ns > out->peak_ns ||
		    (end && end <= out->peak_ns))
			continue;
		s[x[i].object].at_peak += x[i].size;
		s[x[i].object].kept += end ? 0 : x[i].size;
	}
	return 0;
}

static int put_sites(struct report *r, struct json *j)
{
	struct report_sites s;
	size_t i, k;
	int err = report_sites(r, &s);

	if (err)
		return err;
	for (i = k = 0; i < s.count; i++)
		if (is_alloc(s.list[i].object) ||
		    s.list[i].object->kind == MOCA_OBJECT_SMALL)
			s.list[k++] = s.list[i];
	qsort(s.list, k, sizeof(*s.list), compare_sites);
	json_int(j, "peak_ns", s.events ? (int64_t)(s.peak_ns - r->origin) : 0);
	json_uint(j, "peak_bytes", s.peak);
	json_uint(j, "end_bytes", s.end);
	json_uint(j, "site_count", k);
	json_open(j, "sites", '[');
	for (i = 0; i < k && i < SITES; i++)
		put_site(j, &s.list[i]);
	json_close(j, ']');
	free(s.list);
	return 0;
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
	const struct moca_instance *x;
	const struct moca_object *rows;
	size_t i, n, k, series = 0;
	uint8_t *of = s ? assign(r, s, &series) : NULL;
	int err;

	if (!of) {
		free(s);
		return -ENOMEM;
	}
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
	}
	json_open(j, "allocs", '{');
	err = put_sites(r, j);
	if (!err)
		err = put_series(r, j, s, series);
	json_close(j, '}');
	free(of);
	free(s);
	return err;
}
