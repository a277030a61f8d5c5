// SPDX-License-Identifier: GPL-2.0-or-later
/* Which objects the counts of exact mode go to. */
#include "tests/unit/objects-trace.h"

static struct moca_counted seen[512];
static size_t seen_count;

static void counted(void *arg, const struct moca_counted *x)
{
	if (seen_count < sizeof(seen) / sizeof(*seen))
		seen[seen_count++] = *x;
}

/* All is counted once: 0. */
static int counts_of(int instances, int touchers)
{
	struct moca_objects_options opt = {
		.size = sizeof(opt), .counted = counted,
		.instances = instances, .touchers = touchers,
	};
	uint64_t loads = 0, stores = 0, l = 0, s = 0;
	size_t i;

	seen_count = 0;
	objects_done();
	if (moca_trace_open(&trace, dir) ||
	    moca_objects_compute(&objects, trace, &opt))
		return 1;
	rows = moca_objects_rows(objects, &row_count);
	moca_objects_totals(objects, &totals);
	for (i = 0; i < moca_trace_task_count(trace); i++) {
		loads += moca_trace_task(trace, i)->loads;
		stores += moca_trace_task(trace, i)->stores;
	}
	for (i = 0; i < row_count; i++) {
		l += rows[i].loads;
		s += rows[i].stores;
	}
	if (l != loads || s != stores ||
	    totals.loads + totals.own_loads != loads ||
	    totals.stores + totals.own_stores != stores)
		return 1;
	for (i = l = s = 0; i < seen_count; i++) {
		l += seen[i].loads;
		s += seen[i].stores;
	}
	return l != loads || s != stores;
}

/* An object lives a while, another takes its place; unsliced. */
static int t_lives(void)
{
	const struct moca_object *a, *b;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_slice(0, 0, 12, 1010000, 2010000);
	put_count(0, HEAP, 1000, 500, -1010000);
	put_count(0, HEAP + PAGE, 70, 0, 1500000);
	clock_ns = 1010000 - 1000;
	put_alloc(0, HEAP, 2 * PAGE, 1, MOCA_ALLOC_MALLOC);
	clock_ns = 1610000 - 1000;
	put_free(0, HEAP, MOCA_FREE_FREE);
	put_alloc(0, HEAP, PAGE, 2, MOCA_ALLOC_MALLOC);
	/* 400 µs less 1: to the end */
	trace_end();
	CHECK(!counts_of(0, 0));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(a && b);
	/* The second page's was there when it was touched; later nothing. */
	CHECK(a->loads > 600 + 60 && a->loads < 610 + 70);
	CHECK(b->loads > 390 && b->loads < 400);
	CHECK(a->stores > 299 && a->stores < 305 && b->stores > 195);
	CHECK(a->loads + b->loads == 1070 && a->stores + b->stores == 500);
	CHECK(totals.exact_only && a->accesses == a->loads + a->stores);
	CHECK(a->reads == a->loads && a->writes == a->stores);
	CHECK(a->wide && a->wide < a->accesses && a->pages_split == 1);
	CHECK(a->pages == 2 && b->pages == 1 && a->threads == 1);
	CHECK(totals.loads == 1070 && totals.stores == 500);
	return 0;
}

/* A granule with several objects: by bytes. */
static int t_bytes(void)
{
	const struct moca_object *small, *heap;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, 4096 - 1024, 1, MOCA_ALLOC_MALLOC);
	put_small(0, HEAP + 4096 - 1024, 512, 2);
	put_slice(0, 0, 12, 2000000, 3000000);
	/* 3072 to 512: and 512 free bytes, which get nothing. */
	put_count(0, HEAP, 7001, 7, 0);
	trace_end();
	CHECK(!counts_of(0, 0));
	heap = row_by(MOCA_OBJECT_HEAP, 1);
	small = row_by(MOCA_OBJECT_SMALL, 2);
	CHECK(heap && small);
	CHECK(heap->loads + small->loads == 7001);
	CHECK(small->loads == 1000 || small->loads == 1001);
	CHECK(heap->stores == 6 && small->stores == 1);
	CHECK(heap->wide == heap->accesses);
	CHECK(seen_count == 2 && seen[0].shared && seen[1].shared);
	return 0;
}

/* In slices, and by line: each object has its own. */
static int t_slices(void)
{
	const struct moca_object *a, *b;
	size_t i;

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	clock_ns = 2000000;
	put_alloc(0, HEAP, 128, 1, MOCA_ALLOC_MALLOC);
	put_slice(0, 0, 6, 2100000, 3000000);
	put_count(0, HEAP, 5, 1, 2200000);
	put_count(0, HEAP + 64, 3, 0, 2200000);
	put_slice(1, 0, 6, 2100000, 3000000);
	put_count(1, HEAP, 0, 9, -2300000);
	clock_ns = 3000000;
	put_free(0, HEAP, MOCA_FREE_FREE);
	put_alloc(0, HEAP, 64, 2, MOCA_ALLOC_MALLOC);
	put_slice(0, 1, 6, 3100000, 4000000);
	put_count(0, HEAP, 50, 10, 0);
	put_slice(1, 1, 6, 3100000, 4000000);
	put_count(1, HEAP, 500, 0, 0);
	trace_end();
	CHECK(!counts_of(1, 1));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(a && b && a->loads == 8 && a->stores == 10);
	CHECK(b->loads == 550 && b->stores == 10);
	CHECK(a->threads == 2 && a->pages_shared == 1 && !a->wide);
	CHECK(a->first_task == 0 && a->first_ns == 2200000);
	for (i = 0; i < seen_count; i++) {
		CHECK(!seen[i].shared && seen[i].granularity == 64);
		CHECK(moca_objects_row_of(objects, seen[i].key) ==
		      (seen[i].slice ? b : a));
		CHECK((seen[i].first_ns != 0) == !seen[i].slice);
	}
	CHECK(seen_count == 5);
	return 0;
}

/* Its touchers are threads; its instances have counts of their own. */
static int t_details(void)
{
	const struct moca_toucher *t;
	const struct moca_instance *x;
	size_t n, i;
	uint64_t sum = 0;

	CHECK(!t_slices());
	t = moca_objects_touchers(objects, &n);
	for (i = 0; i < n; i++) {
		CHECK(!t[i].module);
		sum += t[i].accesses;
	}
	CHECK(n >= 4 && sum == 5 + 1 + 3 + 9 + 60 + 500);
	x = moca_objects_instances(objects, &n);
	for (i = 0, sum = 0; i < n; i++)
		sum += x[i].accesses;
	CHECK(sum == 578);
	return 0;
}

/* After a fork each process has its own; nothing is known of the rest. */
static int t_processes(void)
{
	const struct moca_object *a, *none;

	start_program();
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, PAGE, 1, MOCA_ALLOC_MALLOC);
	start_task(1, 200, 200, 0, MOCA_TASK_FORK);
	put_slice(0, 0, 12, 1100000, 2000000);
	put_count(0, HEAP, 10, 0, 0);
	put_slice(1, 0, 12, 1100000, 2000000);
	put_count(1, 0x9000000, 1, 0, 0);
	put_count(1, HEAP, 100, 0, 0);
	clock_ns = 1500000;
	put_change(0, MOCA_CHANGE_TASK_END);
	trace_end();
	CHECK(!counts_of(0, 0));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	none = row_of(MOCA_OBJECT_ANONYMOUS, "[unknown]");
	CHECK(a && a->loads == 110 && a->threads == 2);
	CHECK(none && none->loads == 1 && !none->named);
	CHECK(totals.accesses == 111 && totals.loads == 111);
	return 0;
}

/* Its clock is a little early: counted in the new program all the same. */
static int t_exec(void)
{
	const struct moca_object *o;

	trace_begin();
	start_task(0, 100, 100, MOCA_NO_TASK, 0);
	put_map(0, HEAP, PAGE, "/old");
	clock_ns = 2000000;
	put_exec(0, "/bin/prog");
	put_map(0, HEAP, PAGE, "/new");
	put_slice(0, 0, 12, 1100000, 2000500);
	put_count(0, HEAP, 10, 0, 0);
	put_slice(0, 0, 12, 2000900, 9000000);
	put_count(0, HEAP, 7, 0, 0);
	trace_end();
	CHECK(!counts_of(0, 0));
	o = row_of(MOCA_OBJECT_FILE, "/old");
	CHECK(o && o->loads == 10);
	o = row_of(MOCA_OBJECT_FILE, "/new");
	CHECK(o && o->loads == 7);
	return 0;
}

/* Records as well: these are what accesses count. */
static int t_both(void)
{
	const struct moca_object *a;

	start_program();
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, PAGE, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 8, MOCA_ACCESS_READ);
	put_slice(0, 0, 12, 1100000, 2000000);
	put_count(0, HEAP, 10, 20, 0);
	trace_end();
	CHECK(!counts_of(0, 0));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	CHECK(a && a->loads == 10 && a->stores == 20);
	CHECK(a->accesses == 1 && a->reads == 1 && !totals.exact_only);
	return 0;
}

/* Each the only one in its line, whatever the linker puts behind them. */
long counts_before __attribute__((section("lonely"), aligned(64))) = 1;
long counts_behind __attribute__((section("lonely"), aligned(64))) = 1;

/* What lies beside a variable in its line is padding, and gets nothing. */
static int t_padding(void)
{
	static char exe[512];
	const struct moca_variable *v;
	const struct moca_object *o;
	uint64_t vaddr = 0, low, high, first;
	struct moca_symbols *s;
	struct moca_module *m;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t i, n;

	CHECK(len > 0 && !moca_symbols_open(&s));
	m = moca_symbols_module(s, exe);
	CHECK(m && !moca_module_span(m, &low, &high) &&
	      !moca_module_vaddr(m, 0, &first));
	n = moca_module_variables(m, &v);
	for (i = 0; i < n; i++)
		if ((!strcmp(v[i].name, "counts_before") ||
		     !strcmp(v[i].name, "counts_behind")) &&
		    (!vaddr || v[i].vaddr < vaddr))
			vaddr = v[i].vaddr;
	moca_symbols_close(s);
	CHECK(vaddr);
	trace_begin();
	start_task(0, 100, 100, MOCA_NO_TASK, 0);
	put_exec(0, exe);
	put_map(0, 0x560000000000, PAGE, exe);
	put_map(0, 0x560000000000 + PAGE, high - first - PAGE, "");
	put_slice(0, 0, 6, 2000000, 3000000);
	put_count(0, 0x560000000000 - first + vaddr, 1000, 100, 0);
	trace_end();
	CHECK(!counts_of(0, 0));
	/* the first of the two */
	o = row_of(MOCA_OBJECT_STATIC, "counts_be");
	CHECK(o && o->loads == 1000 && o->stores == 100 && !o->wide);
	return 0;
}

/* What nobody would write: rows without a process, before all events. */
static int t_hostile(void)
{
	struct moca_count c = { .addr = UINT64_MAX & ~4095ull,
				.loads = UINT64_MAX - 1 };
	struct moca_chunk_info info = { .task = 7, .end_ns = 1 };
	struct moca_writer *w;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_counts(w, &info, 12, &c, 1));
	info.task = 8;
	CHECK(!moca_writer_counts(w, &info, 6, &c, 1));
	moca_writer_destroy(w);
	objects_done();
	CHECK(!moca_trace_open(&trace, dir));
	CHECK(!moca_objects_compute(&objects, trace, NULL));
	objects_done();
	return 0;
}

int main(void)
{
	run("counts/objects: lives", t_lives);
	run("counts/objects: bytes", t_bytes);
	run("counts/objects: slices", t_slices);
	run("counts/objects: details", t_details);
	run("counts/objects: processes", t_processes);
	run("counts/objects: exec", t_exec);
	run("counts/objects: with records", t_both);
	run("counts/objects: padding", t_padding);
	run("counts/objects: hostile", t_hostile);
	objects_done();
	dir_remove();
	return failures != 0;
}
