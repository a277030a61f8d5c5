// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by thread, object and window: windows grow, and nothing is lost. */
#include "analysis/phases.h"
#include "analysis/series.h"
#include "analysis/trace.h"
#include "tests/unit/objects-trace.h"

#define ACCESSES 4000u
#define STEP 3000000ull		/* ns between two accesses */

static struct moca_series *series;

/* Two threads, which take turns at two pages of one mapping; steps apart. */
static int open_trace(uint64_t step)
{
	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	for (unsigned i = 0; i < ACCESSES; i++) {
		clock_ns += step;
		put_access(i % 2, HEAP + PAGE * (i / 2 % 2),
			   i % 3 ? MOCA_ACCESS_READ : MOCA_ACCESS_WRITE);
	}
	trace_end();
	return moca_trace_open(&trace, dir);
}

/* The sum of a window of a thread, as its accesses say. */
static int64_t counted(const struct moca_series *s, uint32_t task,
		       uint64_t window, int writes)
{
	uint64_t w = s->accesses.window_ns;
	int64_t n = 0;

	for (size_t i = 0; i < told[task].access_count; i++) {
		const struct moca_access *a = &told[task].accesses[i];

		n += (a->time_ns - s->origin) / w == window &&
		     (!writes || a->type == MOCA_ACCESS_WRITE);
	}
	return n;
}

static int sums_are_right(size_t most)
{
	const struct moca_series_table *t = &series->accesses;
	int64_t records = 0;

	CHECK(t->count && t->count <= most + 1);
	for (size_t i = 0; i < t->count; i++) {
		const struct moca_series_cell *c = &t->cells[i];

		CHECK(c->window < MOCA_SERIES_WINDOWS);
		CHECK(!i || c[-1].who < c->who ||
		      (c[-1].who == c->who && c[-1].window < c->window));
		CHECK(c->sums[MOCA_SERIES_RECORDS] ==
		      counted(series, c->who, c->window, 0));
		CHECK(c->sums[MOCA_SERIES_WRITES] ==
		      counted(series, c->who, c->window, 1));
		CHECK(c->sums[MOCA_SERIES_READS] +
		      c->sums[MOCA_SERIES_WRITES] ==
		      c->sums[MOCA_SERIES_RECORDS]);
		records += c->sums[MOCA_SERIES_RECORDS];
	}
	CHECK(records == ACCESSES);
	return 0;
}

static void done(void)
{
	moca_series_free(series);
	moca_trace_close(trace);
	series = NULL;
	trace = NULL;
}

static int all_fit(void)
{
	const struct moca_series_options o = { .range.size = sizeof(o.range) };

	CHECK(!open_trace(1000));
	CHECK(!moca_series_compute(&series, trace, &o));
	CHECK(series->accesses.window_ns == MOCA_SERIES_WINDOW);
	CHECK(!sums_are_right(MOCA_SERIES_CELLS));
	done();
	return 0;
}

/* 12 s are more than 8,192 windows of 1 ms. */
static int long_trace(void)
{
	const struct moca_series_options o = { .range.size = sizeof(o.range) };

	CHECK(!open_trace(STEP));
	CHECK(!moca_series_compute(&series, trace, &o));
	CHECK(series->accesses.window_ns == 2 * MOCA_SERIES_WINDOW);
	CHECK(!sums_are_right(MOCA_SERIES_CELLS));
	done();
	return 0;
}

static int few_cells(void)
{
	struct moca_series_options o = { .range.size = sizeof(o.range) };

	CHECK(!open_trace(STEP));
	for (o.cells = 1000; o.cells > 4; o.cells /= 7) {
		CHECK(!moca_series_compute(&series, trace, &o));
		CHECK(!sums_are_right(o.cells));
		CHECK(series->accesses.count > o.cells / 4);
		moca_series_free(series);
		series = NULL;
	}
	done();
	return 0;
}

/* More threads and objects than cells: one window each, and an end of growing. */
static int too_few_cells(void)
{
	const struct moca_series_options o = { .range.size = sizeof(o.range),
					       .cells = 1 };

	CHECK(!open_trace(STEP));
	CHECK(!moca_series_compute(&series, trace, &o));
	CHECK(!sums_are_right(2));
	CHECK(series->accesses.count == 2);
	done();
	return 0;
}

static int asked_for(void)
{
	struct moca_series_options o = { .range.size = sizeof(o.range),
					 .window_ns = 7 * STEP, .cells = 1000 };

	CHECK(!open_trace(STEP));
	CHECK(!moca_series_compute(&series, trace, &o));
	CHECK(series->accesses.window_ns == 7 * STEP);
	CHECK(!sums_are_right(4 * o.cells));
	moca_series_free(series);
	series = NULL;
	o.cells = 100;
	CHECK(moca_series_compute(&series, trace, &o) == -E2BIG);
	done();
	return 0;
}

/* The walk for phases alone tells what the whole profile does. */
static int phases_alike(void)
{
	struct moca_series_options o = { .range.size = sizeof(o.range),
					 .profile = 1 };
	struct moca_profile *whole = NULL;
	struct moca_phases a, b;
	uint64_t accesses = 0;

	CHECK(!open_trace(STEP));
	CHECK(!moca_series_compute(&series, trace, &o));
	CHECK(series->profile);
	CHECK(!moca_profile_compute(&whole, trace, NULL));
	CHECK(!moca_phases_compute(&a, series->profile, -1));
	CHECK(!moca_phases_compute(&b, whole, -1));
	CHECK(a.count && a.count == b.count);
	for (size_t i = 0; i < a.count; i++) {
		const struct moca_phase *x = &a.phases[i], *y = &b.phases[i];

		CHECK(x->begin_ns == y->begin_ns && x->end_ns == y->end_ns);
		CHECK(x->accesses == y->accesses && x->pages == y->pages);
		CHECK(x->pages);
		CHECK(!strcmp(x->top[0].object->object->name,
			      y->top[0].object->object->name));
		accesses += x->accesses;
	}
	CHECK(accesses == ACCESSES);
	moca_phases_free(&a);
	moca_phases_free(&b);
	moca_profile_free(whole);
	done();
	return 0;
}

int main(void)
{
	run("series: all windows fit", all_fit);
	run("series: windows grow with the time", long_trace);
	run("series: windows grow with the sums", few_cells);
	run("series: more owners than sums", too_few_cells);
	run("series: windows that were asked for", asked_for);
	run("series: phases as of the whole profile", phases_alike);
	dir_remove();
	return failures != 0;
}
