// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make-exact DIR [sliced|pages|balanced|gaps|wrong|empty]: a trace of exact mode,
 * the same each time. A program of three threads (tasks 0 to 2) runs for 2 s.
 * Caller 1 allocates `shared`, a page; caller 2 `large`, 16 MiB; caller 3 small
 * objects of 16 bytes.
 *
 * sliced: cache lines, 20 slices of 100 ms. Tasks 1 and 2 both load and store
 * line 0 of `shared`, 100,000 times each in each slice; line 4 each just once;
 * each has lines of `large` of its own, which meet in its line 100. Task 0 writes
 * what nothing is known of: 3 stores.
 * pages: one slice each. Task 0 fills all pages of `large` by 512 stores each;
 * then tasks 1 and 2 load 100,000 times from each page of their halves; 5 pages
 * in the middle are used by both.
 * balanced: the same, but each fills its own half. gaps: pages, with gaps.
 * wrong: pages, of which the certificate tells one load more.
 */
#include "lib/format/seal.h"
#include "tests/unit/objects-trace.h"

#define MS 1000000ull
#define SLICES 20
#define SHARED (HEAP + (32 << 20))
#define SMALL (HEAP + (40 << 20))
#define LARGE_PAGES 4096u

static uint64_t start;

static void program(void)
{
	int i;

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	start_task(2, 100, 102, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_stack(0, 3, 3);
	put_alloc(0, SHARED, PAGE, 1, MOCA_ALLOC_MALLOC);
	put_alloc(0, HEAP, LARGE_PAGES * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 8; i++)
		put_small(0, SMALL + 16 * i, 16, 3);
	put_tally(0, 3, 8, 128);
	start = clock_ns + 1000;
}

static void sliced(void)
{
	uint64_t begin, own;
	uint32_t task;
	unsigned k, i;

	for (k = 0; k < SLICES; k++) {
		begin = start + k * 100 * MS;
		put_slice(0, k, 6, begin, begin + 100 * MS - 1);
		put_count(0, 0x10000000, 0, k == 3 ? 3 : 1,
			  k ? 0 : -(int64_t)(begin + 1));
		for (task = 1; task < 3; task++) {
			put_slice(task, k, 6, begin, begin + 100 * MS - 1);
			own = task == 1 ? 0 : 101;
			for (i = 0; i < 100; i++) {
				/* 101 to 200, and 100 ahead of them */
				if (task == 2 && !i)
					put_count(2, HEAP + 64 * 100, 50000,
						  50000, k ? 0 :
						  (int64_t)(begin + 3000));
				put_count(task, HEAP + 64 * (own + i),
					  5000, 1000, k ? 0 :
					  (int64_t)(begin + 10 * i + 1));
			}
			if (task == 1)
				put_count(1, HEAP + 64 * 100, 50000, 50000,
					  k ? 0 : (int64_t)(begin + 2000));
			put_count(task, SHARED, 100000, 100000,
				  k ? 0 : -(int64_t)(begin + task));
			put_count(task, SHARED + 256, 1, 1,
				  k ? 0 : -(int64_t)(begin + 10 + task));
		}
	}
	clock_ns = start + SLICES * 100 * MS;
}

static void pages(int balanced)
{
	uint64_t end = start + 2000 * MS, first;
	uint32_t task;
	unsigned i;

	put_slice(0, 0, 12, start, end);
	for (i = 0; i < LARGE_PAGES && !balanced; i++)
		put_count(0, HEAP + PAGE * i, 0, 512,
			  -(int64_t)(start + MS / 10 * i));
	put_count(0, SMALL, 160, 16, -(int64_t)(start + MS));
	for (task = 1; task < 3; task++) {
		put_slice(task, 0, 12, start + (balanced ? 0 : 500 * MS),
			    end - MS);
		for (i = 0; i < LARGE_PAGES; i++) {
			if (i / (LARGE_PAGES / 2) != task - 1 &&
			    (i < 2046 || i > 2050))
				continue;
			first = start + 500 * MS + MS / 10 * i + task;
			put_count(task, HEAP + PAGE * i, 100000,
				  balanced ? 512 : 0,
				  balanced ? -(int64_t)first : (int64_t)first);
		}
	}
	clock_ns = end;
}

static void metadata(int gaps, int wrong, int is_sliced)
{
	struct moca_meta *m = moca_meta_new();
	uint64_t loads = 0, stores = 0;
	const struct moca_count *c;
	size_t t, i, k;

	for (t = 0; t < told_count; t++)
		for (k = 0; k < told[t].count_count; k++)
			for (i = 0; i < told[t].counts[k].count; i++) {
				c = &told[t].counts[k].rows[i];
				loads += c->loads;
				stores += c->stores;
			}
	moca_meta_set(m, "state", "complete");
	moca_meta_set(m, "command", "prog --exactly");
	moca_meta_set(m, "collector", "exact");
	moca_meta_set(m, "start_ns", "1000000");
	moca_meta_set(m, "end_ns", "%llu", (unsigned long long)clock_ns);
	moca_meta_set(m, "exit_status", "0");
	moca_meta_set(m, "exact.granularity", is_sliced ? "64" : "4096");
	moca_meta_set(m, "exact.slice_ns", is_sliced ? "100000000" : "0");
	moca_meta_set(m, "exact.memory", "123456");
	moca_meta_set(m, "certificate.loads", "%llu",
		      (unsigned long long)(loads + (wrong != 0)));
	moca_meta_set(m, "certificate.stores", "%llu",
		      (unsigned long long)stores);
	moca_meta_set(m, "certificate.gaps", gaps ? "3" : "0");
	moca_meta_set(m, "certificate.pages_seen", is_sliced ? "6" : "4097");
	moca_meta_set(m, "certificate.pages_touched", is_sliced ? "6" : "4097");
	if (gaps)
		moca_meta_set(m, "exact.gap.unknown_instruction", "3");
	if (moca_seal_write(m, dirfd_))
		abort();
	moca_meta_free(m);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "sliced";
	int is_sliced = !strcmp(kind, "sliced");
	char cmd[256];

	if (argc < 2)
		return 2;
	program();
	if (is_sliced)
		sliced();
	else if (strcmp(kind, "empty"))
		pages(!strcmp(kind, "balanced"));
	put_change(1, MOCA_CHANGE_TASK_END);
	put_change(2, MOCA_CHANGE_TASK_END);
	put_change(0, MOCA_CHANGE_TASK_END);
	trace_end();
	metadata(!strcmp(kind, "gaps"), !strcmp(kind, "wrong"), is_sliced);
	snprintf(cmd, sizeof(cmd), "mv %s '%s'", dir, argv[1]);
	return system(cmd) != 0;
}
