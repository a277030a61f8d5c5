// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages by time, of a trace with looks at accessed bits: stretches of pages, in order
 * of their addresses, and how many of each were touched and written in each bin.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/heat.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "lib/text/json.h"
#include "report/html/report.h"

#define BINS 400u
#define STRETCHES 48u
#define WORDS_MAX (1u << 20)	/* of 64 pages each: 256 GB; others are left out */
#define WORD_BYTES (64 * 4096ull)

/* 64 pages that were touched some time. */
struct word {
	uint64_t addr, touched;
	uint32_t pid, stretch;
};

struct stretch {
	size_t first, end;	/* of words */
	uint32_t touched[BINS], written[BINS];	/* page by look */
};

struct heat {
	struct moca_trace *t;
	struct word *words;
	size_t count, room;
	uint64_t left_out;	/* runs of pages */
	int full;
	struct stretch *stretches;
	size_t stretch_count;
	uint64_t begin_ns, end_ns;
};

static int compare(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Sort, and make one of those that are the same. */
static void tidy(struct heat *h)
{
	size_t n = 0;

	qsort(h->words, h->count, sizeof(*h->words), compare);
	for (size_t i = 0; i < h->count; i++) {
		if (n && !compare(&h->words[n - 1], &h->words[i]))
			h->words[n - 1].touched |= h->words[i].touched;
		else
			h->words[n++] = h->words[i];
	}
	h->count = n;
}

static uint64_t bits_of(const struct moca_heat_run *r, size_t word,
			int (*has)(const struct moca_heat_run *r, size_t page))
{
	uint64_t bits = 0;

	for (size_t i = 0; i < 64; i++)
		bits |= (uint64_t)(has(r, 64 * word + i) != 0) << i;
	return bits;
}

static int find_words(struct heat *h, const struct moca_heat_run *r)
{
	if (r->since_ns < h->begin_ns)
		h->begin_ns = r->since_ns;
	if (r->time_ns > h->end_ns)
		h->end_ns = r->time_ns;
	/* Twice as many before they are tidied: then there is room again. */
	if (h->count + r->pages / 64 > 2 * WORDS_MAX) {
		tidy(h);
		h->full = h->count >= WORDS_MAX;
	}
	if (h->full)
		return 0;
	if (moca_vec_fit(h->words, h->room, h->count + r->pages / 64))
		return -ENOMEM;
	for (size_t i = 0; i < r->pages / 64; i++) {
		uint64_t touched = bits_of(r, i, moca_heat_touched);

		if (touched)
			h->words[h->count++] = (struct word){
				.addr = r->addr + i * WORD_BYTES,
				.pid = r->pid, .touched = touched,
			};
	}
	return 0;
}

static int add_to_bins(struct heat *h, const struct moca_heat_run *r)
{
	uint64_t at = r->time_ns > h->begin_ns ? r->time_ns - h->begin_ns : 0;
	uint64_t all = h->end_ns - h->begin_ns;
	size_t bin = at < all ? (size_t)((double)at / (double)all * BINS) :
				BINS - 1;

	int missing = 0;

	bin = bin < BINS ? bin : BINS - 1;
	for (size_t i = 0; i < r->pages / 64; i++) {
		const struct word key = { .addr = r->addr + i * WORD_BYTES,
					  .pid = r->pid };
		const struct word *w = bsearch(&key, h->words, h->count,
					       sizeof(key), compare);
		struct stretch *s = w ? &h->stretches[w->stretch] : NULL;

		uint64_t touched = bits_of(r, i, moca_heat_touched);

		if (!s) {
			missing |= touched != 0;
			continue;
		}
		s->touched[bin] += (uint32_t)__builtin_popcountll(touched);
		s->written[bin] += (uint32_t)__builtin_popcountll(
			bits_of(r, i, moca_heat_written));
	}
	h->left_out += (uint64_t)missing;
	return 0;
}

static int walk(struct heat *h,
		int (*each)(struct heat *h, const struct moca_heat_run *r))
{
	const struct moca_event *e;
	struct moca_heat_run r;
	struct moca_cursor *c;
	uint32_t task;
	int err = 0, ret = moca_cursor_open(&c, h->t, NULL);

	if (ret)
		return ret;
	while (!err && (ret = moca_cursor_event(c, &e, &task)) > 0)
		if (moca_heat_run(&r, e) > 0)
			err = each(h, &r);
	moca_cursor_close(c);
	return err ? err : ret;
}

/* Words of one process, as many in each, and none over a gap of 1 GB. */
static int divide(struct heat *h)
{
	size_t per = h->count / STRETCHES + 1;

	h->stretches = calloc(h->count + 1 < 4 * STRETCHES ?
				      h->count + 1 : 4 * STRETCHES,
			      sizeof(*h->stretches));
	if (!h->stretches)
		return -ENOMEM;
	for (size_t i = 0; i < h->count; i++) {
		const struct word *w = &h->words[i];
		struct stretch *s = &h->stretches[h->stretch_count];

		/* The last takes what is left of many processes. */
		if (!i || (h->stretch_count < 4 * STRETCHES &&
			   (i - s[-1].first >= per || w->pid != w[-1].pid ||
			    w->addr - w[-1].addr > 1ull << 30))) {
			s->first = i;
			h->stretch_count++;
		}
		h->words[i].stretch = (uint32_t)(h->stretch_count - 1);
		h->stretches[h->stretch_count - 1].end = i + 1;
	}
	return 0;
}

static void put_bins(struct json *j, const char *key, const uint32_t *bins)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < BINS; i++)
		json_uint(j, NULL, bins[i]);
	json_close(j, ']');
}

static void put_stretch(struct json *j, const struct heat *h,
			const struct stretch *s)
{
	const struct word *first = &h->words[s->first];
	const char *name = trace_process_name(h->t, first->pid);
	uint64_t pages = 0;

	for (size_t i = s->first; i < s->end; i++)
		pages += (uint64_t)__builtin_popcountll(h->words[i].touched);
	json_open(j, NULL, '{');
	json_uint(j, "pid", first->pid);
	json_string(j, "process", name ? name : "");
	/* JavaScript's numbers hold the page, not each address. */
	json_uint(j, "first_page", first->addr >> 12);
	json_uint(j, "end_page", (h->words[s->end - 1].addr >> 12) + 64);
	json_uint(j, "pages", pages);
	put_bins(j, "touched", s->touched);
	put_bins(j, "written", s->written);
	json_close(j, '}');
}

static int put(struct report *r, const struct heat *h)
{
	struct report_json x;

	if (report_json_begin(&x))
		return -ENOMEM;
	json_open(&x.j, NULL, '{');
	json_int(&x.j, "begin_ns", (int64_t)(h->begin_ns - r->origin));
	json_int(&x.j, "end_ns", (int64_t)(h->end_ns - r->origin));
	json_uint(&x.j, "left_out", h->left_out);
	json_open(&x.j, "stretches", '[');
	for (size_t i = 0; i < h->stretch_count; i++)
		put_stretch(&x.j, h, &h->stretches[i]);
	json_close(&x.j, ']');
	json_close(&x.j, '}');
	return report_json_end(r, &x, "heat", 0);
}

int report_heat(struct report *r)
{
	struct heat h = { .t = r->trace, .begin_ns = UINT64_MAX };
	int err;

	if (!trace_has_events(r->trace, trace_is_heat))
		return 0;
	err = walk(&h, find_words);
	if (!err)
		tidy(&h);
	if (!err && h.count)
		err = divide(&h);
	if (!err && h.count)
		err = walk(&h, add_to_bins);
	if (!err && h.count)
		err = put(r, &h);
	free(h.words);
	free(h.stretches);
	return err;
}
