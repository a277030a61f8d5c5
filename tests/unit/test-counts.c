// SPDX-License-Identifier: GPL-2.0-or-later
/* Chunks of counts: written, read back, queried, refused, damaged. */
#include <sys/stat.h>

#include "export/classic.h"
#include "tests/unit/trace-util.h"

#define MAX 65536

static struct moca_count *rows;

/* n rows, some with a first touch, of granules of 1 << shift bytes. */
static void noise(size_t n, unsigned shift, uint64_t gap)
{
	uint64_t at = rnd() % 1000;
	size_t i;

	for (i = 0; i < n; i++, at += 1 + rnd() % gap) {
		rows[i] = (struct moca_count){ .addr = at << shift,
					       .loads = rnd() >> rnd() % 56,
					       .stores = rnd() % 3 };
		rows[i].loads >>= 17;
		if (!(rows[i].loads | rows[i].stores))
			rows[i].stores = 1;
		if (rnd() % 3)
			continue;
		rows[i].first_ns = 1000 + rnd() % 5000;
		rows[i].first_store = rows[i].stores &&
				      (!rows[i].loads || rnd() & 1);
	}
}

static int same(const struct moca_count *a, const struct moca_count *b)
{
	return a->addr == b->addr && a->loads == b->loads &&
	       a->stores == b->stores && a->first_ns == b->first_ns &&
	       a->first_store == b->first_store;
}

static const struct moca_chunk_info some = {
	.task = 4, .interval = 9, .begin_ns = 1000, .end_ns = 6000, .more = 1,
};

static int write_rows(size_t n, unsigned shift)
{
	struct moca_writer *w;
	int ret;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	ret = moca_writer_counts(w, &some, shift, rows, n);
	CHECK(moca_writer_access_bytes(w) == 0);
	moca_writer_destroy(w);
	return ret;
}

/* Write n of rows, read them back, compare. */
static int round_trip(size_t n, unsigned shift)
{
	const struct moca_counts *c;
	uint64_t loads = 0, stores = 0;
	struct moca_damage damage;
	struct moca_cursor *cur;
	struct moca_trace *t;
	size_t i;

	CHECK(!write_rows(n, shift));
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	CHECK(moca_cursor_counts(cur, &c) == 1);
	CHECK(c->task == 4 && c->slice == 9 && c->number == 0 && c->more);
	CHECK(c->begin_ns == 1000 && c->end_ns == 6000);
	CHECK(c->granularity == 1ull << shift && c->count == n);
	for (i = 0; i < n; i++) {
		CHECK(same(&rows[i], &c->rows[i]));
		loads += rows[i].loads;
		stores += rows[i].stores;
	}
	CHECK(c->loads == loads && c->stores == stores);
	CHECK(moca_trace_task(t, 0)->loads == loads);
	CHECK(moca_trace_task(t, 0)->stores == stores);
	CHECK(moca_trace_task(t, 0)->counts == n);
	CHECK(!moca_trace_task(t, 0)->accesses && !moca_trace_task(t, 0)->chunks);
	CHECK(moca_cursor_counts(cur, &c) == 0);
	moca_trace_damage(t, &damage);
	CHECK(!damage.files && !damage.chunks && !damage.tail_bytes);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

static int t_round_trip(void)
{
	int i, ret = round_trip(0, 6);
	unsigned shift;
	size_t n;

	for (i = 0; i < 60 && !ret; i++) {
		shift = 6 + (unsigned)(rnd() % 7);
		n = 1 + rnd() % 3000;
		noise(n, shift, 1ull << rnd() % 30);
		ret = round_trip(n, shift);
	}
	noise(MAX, 12, 2);
	return ret ? ret : round_trip(MAX, 12);
}

static int t_extremes(void)
{
	memset(rows, 0, 3 * sizeof(*rows));
	rows[0].stores = 1;
	rows[0].first_ns = 6000;
	rows[0].first_store = 1;
	rows[1].addr = 64;
	rows[1].loads = 1;
	rows[1].first_ns = 1000;
	rows[2].addr = UINT64_MAX & ~63ull;
	rows[2].loads = UINT64_MAX - 1;
	rows[2].stores = UINT64_MAX - 1;
	return round_trip(3, 6);
}

static int t_refused(void)
{
	struct moca_chunk_info info = some;
	struct moca_writer *w;

	noise(4, 6, 2);
	CHECK(write_rows(MAX + 1, 6) == -E2BIG);
	CHECK(write_rows(4, 5) == -EINVAL && write_rows(4, 13) == -EINVAL);
	rows[3].addr = rows[2].addr;
	CHECK(write_rows(4, 6) == -EINVAL);
	noise(4, 6, 2);
	rows[1].addr += 8;
	CHECK(write_rows(4, 6) == -EINVAL);
	noise(4, 6, 2);
	rows[1] = (struct moca_count){ .addr = rows[1].addr };
	CHECK(write_rows(4, 6) == -EINVAL);
	/* a first store, and no store */
	noise(4, 6, 2);
	rows[1] = (struct moca_count){ .addr = rows[1].addr, .loads = 1,
				       .first_ns = 2000, .first_store = 1 };
	CHECK(write_rows(4, 6) == -EINVAL);
	noise(4, 6, 2);
	rows[0].loads = rows[1].loads = UINT64_MAX;
	CHECK(write_rows(4, 6) == -EINVAL);
	info.lost = 1;
	noise(4, 6, 2);
	dir_new();
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(moca_writer_counts(w, &info, 6, rows, 4) == -EINVAL);
	info.lost = 0;
	info.end_ns = 1ull << 62;
	info.begin_ns = 0;
	CHECK(moca_writer_counts(w, &info, 6, rows, 4) == -EINVAL);
	moca_writer_destroy(w);
	return 0;
}

/* A first touch out of the slice widens it. */
static int t_widened(void)
{
	const struct moca_counts *c;
	struct moca_cursor *cur;
	struct moca_trace *t;

	memset(rows, 0, 2 * sizeof(*rows));
	rows[0].loads = rows[1].loads = 1;
	rows[1].addr = 64;
	rows[0].first_ns = 7000;
	rows[1].first_ns = 500;
	CHECK(!write_rows(2, 6));
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	CHECK(moca_cursor_counts(cur, &c) == 1);
	CHECK(c->begin_ns == 500 && c->end_ns == 7000);
	CHECK(c->rows[0].first_ns == 7000 && c->rows[1].first_ns == 500);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

/* Rows seen with a query over two tasks of two slices, granules of 4 KiB. */
static int seen_by(const struct moca_query *q, uint64_t *loads)
{
	const struct moca_counts *c;
	struct moca_cursor *cur;
	struct moca_trace *t;
	int n = 0;

	*loads = 0;
	if (moca_trace_open(&t, dir) || moca_cursor_open(&cur, t, q))
		return -1;
	while (moca_cursor_counts(cur, &c) == 1) {
		n += (int)c->count;
		*loads += c->loads;
	}
	moca_cursor_close(cur);
	moca_trace_close(t);
	return n;
}

static int t_queries(void)
{
	struct moca_query q = { .size = sizeof(q) };
	struct moca_chunk_info info = { 0 };
	const struct moca_chunk *chunk;
	const struct moca_counts *c;
	struct moca_cursor *cur;
	struct moca_writer *w;
	struct moca_trace *t;
	uint64_t loads;
	unsigned i;

	memset(rows, 0, 3 * sizeof(*rows));
	for (i = 0; i < 3; i++)
		rows[i] = (struct moca_count){ .addr = 4096 * (i + 1),
					       .loads = 1u << i };
	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	for (i = 0; i < 4; i++) {
		info.task = i % 2;
		info.interval = i / 2;
		info.begin_ns = 1000 * (i / 2);
		info.end_ns = info.begin_ns + 999;
		CHECK(!moca_writer_counts(w, &info, 12, rows, 3));
	}
	moca_writer_destroy(w);
	CHECK(seen_by(NULL, &loads) == 12 && loads == 28);
	q.one_task = 1;
	CHECK(seen_by(&q, &loads) == 6 && loads == 14);
	q.begin_ns = 1000;
	CHECK(seen_by(&q, &loads) == 3 && loads == 7);
	/* a range within a granule meets it */
	q.addr_begin = 0x2008;
	q.addr_end = 0x2010;
	CHECK(seen_by(&q, &loads) == 1 && loads == 2);
	q.addr_end = 0x3001;
	CHECK(seen_by(&q, &loads) == 2 && loads == 6);
	q.addr_begin = 0x9000;
	q.addr_end = 0;
	CHECK(seen_by(&q, &loads) == 0 && loads == 0);
	/* one walk, one kind */
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	CHECK(moca_cursor_counts(cur, &c) == 1);
	CHECK(moca_cursor_chunk(cur, &chunk) == -EINVAL);
	moca_cursor_close(cur);
	CHECK(!moca_cursor_open(&cur, t, NULL));
	CHECK(moca_cursor_chunk(cur, &chunk) == 0);
	CHECK(moca_cursor_counts(cur, &c) == -EINVAL);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

/* Every byte of the file, changed: noticed, or of no meaning. */
static int t_damage(void)
{
	const struct moca_counts *c;
	struct moca_damage damage;
	struct moca_cursor *cur;
	struct moca_trace *t;
	size_t len, i;
	uint8_t *file;

	noise(100, 6, 5);
	CHECK(!write_rows(100, 6));
	file = slurp("task-4", &len);
	for (i = 0; i < len; i++) {
		file[i] ^= 0x41;
		spill("task-4", file, len);
		file[i] ^= 0x41;
		CHECK(!moca_trace_open(&t, dir));
		CHECK(!moca_cursor_open(&cur, t, NULL));
		CHECK(moca_cursor_counts(cur, &c) == 0);
		moca_trace_damage(t, &damage);
		CHECK(damage.files + damage.chunks + damage.tail_bytes);
		moca_cursor_close(cur);
		moca_trace_close(t);
	}
	free(file);
	return 0;
}

/* The classic format has a chunk per slice, and sums of pages. */
static int t_classic(void)
{
	static const char want[] =
		"Task 0 7 4096\n"
		"Chunk 0 2 0 999 00\n"
		"Access 1000 0 9 1 00\n"
		"Access 3000 0 4 1 00\n"
		"Chunk 1 1 1000 1999 00\n"
		"Access 1000 0 9 1 00\n";
	const struct classic_options o = { .page_size = 4096, .cpus = 2 };
	struct moca_change start = { .type = MOCA_CHANGE_TASK_START, .pid = 7,
				    .tid = 7, .parent = MOCA_NO_TASK,
				    .name = "" };
	struct moca_chunk_info info = { .end_ns = 999 };
	struct moca_writer *w;
	struct moca_trace *t;
	uint8_t *got;
	size_t len;

	memset(rows, 0, 3 * sizeof(*rows));
	rows[0] = (struct moca_count){ .addr = 0x1000, .loads = 5 };
	rows[1] = (struct moca_count){ .addr = 0x1fc0, .loads = 4,
				       .stores = 1 };
	rows[2] = (struct moca_count){ .addr = 0x3000, .loads = 4,
				       .stores = 1 };
	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_changes(w, 0, &start, 1));
	info.more = 1;
	CHECK(!moca_writer_counts(w, &info, 6, rows, 2));
	/* MORE, and it was the last: the next slice is a chunk all the same */
	CHECK(!moca_writer_counts(w, &info, 6, rows + 2, 1));
	info.interval = 1;
	info.begin_ns = 1000;
	info.end_ns = 1999;
	info.more = 0;
	CHECK(!moca_writer_counts(w, &info, 6, rows, 2));
	moca_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_classic_export(t, dirfd_, &o));
	moca_trace_close(t);
	got = slurp("Moca-task0", &len);
	got[len] = 0;
	CHECK(!strcmp((char *)got, want));
	free(got);
	return 0;
}

/* A sweep: what a page costs on disk. */
static int t_size(void)
{
	struct moca_writer *w;
	double begin, took;
	size_t i;
	int k;

	for (i = 0; i < MAX; i++)
		rows[i] = (struct moca_count){ .addr = (1ull << 30) + 4096 * i,
					       .loads = 5120 + rnd() % 16,
					       .stores = 512,
					       .first_ns = 1000 + i / 14,
					       .first_store = 1 };
	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	begin = now();
	for (k = 0; k < 10; k++)
		CHECK(!moca_writer_counts(w, &some, 12, rows, MAX));
	took = now() - begin;
	printf("# counts of a sweep: %.2f bytes per row, write %.1f M/s\n",
	       (double)moca_writer_bytes(w) / 10 / MAX, 10 * MAX / took / 1e6);
	CHECK(moca_writer_bytes(w) < 10 * MAX * 2);
	moca_writer_destroy(w);
	return 0;
}

int main(void)
{
	rows = calloc(MAX + 1, sizeof(*rows));
	if (!rows)
		return 1;
	run("counts/round-trip", t_round_trip);
	run("counts/extreme-values", t_extremes);
	run("counts/refused", t_refused);
	run("counts/widened", t_widened);
	run("counts/queries", t_queries);
	run("counts/damage", t_damage);
	run("counts/classic", t_classic);
	run("counts/size", t_size);
	dir_remove();
	free(rows);
	return failures != 0;
}
