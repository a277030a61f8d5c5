// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by call stack, as a tree and by function; what does not fit; two runs. */
#include <string.h>

#include "analysis/flame-change.h"
#include "tests/unit/objects-trace.h"

/*
 * Functions are letters, 256 bytes of code each in a file that is not there: what
 * they are called is the file and how far into it.
 */
#define SIZE 256ull
#define PROGRAM "/nowhere/prog"

static struct moca_callers *callers;

static void begin(void)
{
	start_program();
	put_map(0, CODE, 1 << 20, PROGRAM);
}

static const char *name(char letter)
{
	static char buf[8][32];
	static unsigned n;

	snprintf(buf[n %= 8], sizeof(buf[0]), "prog+0x%llx", letter * SIZE);
	return buf[n++];
}

/* An access to a page, below stack number `stack`. */
static void touch(uint32_t task, unsigned page, uint32_t stack, unsigned weight)
{
	put_access(task, HEAP + page * PAGE, MOCA_ACCESS_WRITE);
	told[task].accesses[told[task].access_count - 1].stack = stack;
	told[task].accesses[told[task].access_count - 1].weight =
		(uint16_t)weight;
}

/* Stacks 1, 2, ...: letters, the outermost first; a '-' before them: cut. */
static void end(const char *const stacks[])
{
	struct moca_writer *w;
	uint32_t number = 0;

	trace_end();
	if (moca_writer_create(&w, dirfd_))
		abort();
	for (; stacks[number]; number++) {
		const char *s = stacks[number];
		struct moca_stack stack = { .flags = *s == '-' ?
						MOCA_STACK_CUT : 0 };
		uint64_t frames[16];
		size_t len;

		s += *s == '-';
		len = strlen(s);
		for (size_t i = 0; i < len; i++)
			frames[i] = CODE + (uint64_t)s[len - 1 - i] * SIZE +
				    (i != 0);
		stack.frames = frames;
		stack.count = (uint32_t)len;
		if (moca_writer_stacks(w, number + 1, &stack, 1))
			abort();
	}
	moca_writer_destroy(w);
	if (moca_trace_open(&trace, dir) ||
	    moca_callers_open(&callers, trace, NULL))
		abort();
}

static void over(void)
{
	moca_callers_close(callers);
	moca_trace_close(trace);
}

/* Is the node one of these letters, the outermost first? */
static int is_path(const struct moca_flame_tree *x, uint32_t node,
		   const char *letters)
{
	size_t n = strlen(letters);

	while (n && node != MOCA_FLAME_ROOT) {
		if (strcmp(x->functions.items[x->nodes[node].function],
			   name(letters[--n])))
			return 0;
		node = x->nodes[node].parent;
	}
	return !n && node == MOCA_FLAME_ROOT;
}

static uint64_t at(const struct moca_flame_tree *x, const char *letters,
		   int count)
{
	uint64_t n = 0;

	for (size_t i = 0; i < x->leaf_count; i++)
		if (is_path(x, x->leaves[i].node, letters))
			n += x->leaves[i].counts[count];
	return n;
}

static int is_first_task(void *arg, size_t task, size_t n,
			 const struct moca_access *a)
{
	uint32_t *seen = arg;

	/* Accesses are numbered in each task. */
	if (n != seen[task]++)
		abort();
	return task == 0;
}

/* A first touch is one among all accesses, also where only some are wanted. */
static int touches(void)
{
	uint32_t seen[2] = { 0 };
	struct moca_flame_options o = { .wants = is_first_task, .arg = seen };
	struct moca_flame f;

	begin();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	touch(1, 7, 2, 1);
	touch(0, 7, 1, 1);
	touch(0, 8, 1, 1);
	touch(1, 8, 1, 1);
	end((const char *const[]){ "ab", "ac", NULL });
	CHECK(!moca_flame_build(&f, trace, NULL) && f.count == 2);
	CHECK(f.stacks[0].number == 1 && f.stacks[0].task == MOCA_NO_TASK &&
	      f.stacks[0].counts[MOCA_FLAME_ACCESSES] == 3 &&
	      f.stacks[0].counts[MOCA_FLAME_TOUCHES] == 1 &&
	      f.stacks[1].counts[MOCA_FLAME_TOUCHES] == 1);
	moca_flame_free(&f);
	CHECK(!moca_flame_build(&f, trace, &o) && f.count == 1);
	CHECK(f.stacks[0].counts[MOCA_FLAME_ACCESSES] == 2 &&
	      f.stacks[0].counts[MOCA_FLAME_TOUCHES] == 1);
	CHECK(seen[0] == 2 && seen[1] == 2);
	moca_flame_free(&f);
	o = (struct moca_flame_options){ .by_task = 1 };
	CHECK(!moca_flame_build(&f, trace, &o) && f.count == 3);
	CHECK(f.stacks[0].task == 0 && f.stacks[1].task == 1 &&
	      f.stacks[2].task == 1);
	moca_flame_free(&f);
	over();
	return 0;
}

/* What calls itself is counted once; no stack, and one that is cut, say so. */
static int functions(void)
{
	const int n = MOCA_FLAME_ACCESSES;
	struct moca_flame_function *f;
	struct moca_flame_tree x;

	begin();
	touch(0, 1, 1, 8);
	touch(0, 2, 2, 4);
	touch(0, 3, 0, 2);
	touch(0, 4, 3, 1);
	end((const char *const[]){ "abab", "ac", "-d", NULL });
	CHECK(!moca_flame_tree_build(&x, trace, callers, NULL, 100, 0));
	CHECK(x.all[n] == 15 && x.without == 2 && x.cut == 1 && !x.shortened);
	CHECK(at(&x, "abab", n) == 8 && at(&x, "ac", n) == 4 &&
	      at(&x, "ac", MOCA_FLAME_WRITES) == 4);
	f = moca_flame_functions(&x);
	CHECK(f);
	for (size_t i = 0; i < x.functions.count; i++) {
		if (!strcmp(f[i].name, name('a')))
			CHECK(f[i].total[n] == 12 && f[i].self[n] == 0);
		else if (!strcmp(f[i].name, name('b')))
			CHECK(f[i].total[n] == 8 && f[i].self[n] == 8);
		else if (!strcmp(f[i].name, "[no stack]"))
			CHECK(f[i].total[n] == 2 && f[i].self[n] == 2);
		else if (!strcmp(f[i].name, "[cut off]"))
			CHECK(f[i].total[n] == 1 && f[i].self[n] == 0);
		else if (!*f[i].name)
			CHECK(i == 0 && f[i].total[n] == 15);
	}
	free(f);
	moca_flame_tree_free(&x);
	over();
	return 0;
}

/* Nothing is lost where there is no room: it ends at a caller. */
static int limits(void)
{
	const int n = MOCA_FLAME_ACCESSES;
	struct moca_flame_tree x;
	uint64_t alone = 0, others = 0;

	begin();
	touch(0, 1, 1, 2);
	touch(0, 2, 2, 64);
	for (uint32_t i = 1; i < 8; i++) {
		start_task(i, 100, 100 + i, 0, MOCA_TASK_THREAD);
		touch(i, 10 + i, 2, 1);
	}
	end((const char *const[]){ "xyz", "abcd", NULL });
	CHECK(!moca_flame_tree_build(&x, trace, callers, NULL, 3, 1));
	CHECK(x.node_count == 3 && x.all[n] == 73 && x.shortened == 73);
	CHECK(at(&x, "ab", n) == 71 && at(&x, "", n) == 2);
	for (size_t i = 0; i < x.leaf_count; i++) {
		if (x.leaves[i].task == MOCA_NO_TASK)
			others += x.leaves[i].counts[n];
		else
			alone++;
	}
	CHECK(alone == 3 && others == 6);
	CHECK(x.leaves[0].task == 0 && x.leaves[0].counts[n] == 64);
	moca_flame_tree_free(&x);
	CHECK(!moca_flame_tree_build(&x, trace, callers, NULL, 1, 0));
	CHECK(x.node_count == 1 && x.leaf_count == 1 && x.all[n] == 73 &&
	      x.leaves[0].counts[n] == 73);
	moca_flame_tree_free(&x);
	over();
	return 0;
}

/* By shares: twice as much of all is no change; what is in one run is. */
static int two_runs(void)
{
	struct moca_callers *first;
	struct moca_trace *first_trace;
	struct moca_flame_tree a, b;
	struct moca_flame_changes x;

	begin();
	touch(0, 1, 1, 4);
	touch(0, 2, 2, 4);
	end((const char *const[]){ "ab", "ac", NULL });
	CHECK(!moca_flame_tree_build(&a, trace, callers, NULL, 100, 0));
	first = callers;
	first_trace = trace;
	begin();
	touch(0, 1, 1, 8);
	touch(0, 2, 2, 4);
	touch(0, 3, 3, 4);
	end((const char *const[]){ "ab", "ac", "ade", NULL });
	CHECK(!moca_flame_tree_build(&b, trace, callers, NULL, 100, 0));
	CHECK(!moca_flame_changes_make(&x, &a, &b, MOCA_FLAME_ACCESSES));
	CHECK(x.count == 5);
	CHECK(!strcmp(x.list[0].name, name('c')) &&
	      x.list[0].in[0].self[0] == 4 && x.list[0].in[1].self[0] == 4);
	CHECK(!strcmp(x.list[1].name, name('e')) && !x.list[1].in[0].total[0] &&
	      x.list[1].in[1].self[0] == 4);
	CHECK(!strcmp(x.list[2].name, name('d')) &&
	      x.list[2].in[1].total[0] == 4 && !x.list[2].in[1].self[0]);
	CHECK(!strcmp(x.list[3].name, name('a')) &&
	      !strcmp(x.list[4].name, name('b')));
	CHECK(moca_flame_share(&x, 1, MOCA_FLAME_ACCESSES, 8) == 0.5);
	moca_flame_changes_free(&x);
	moca_flame_tree_free(&a);
	moca_flame_tree_free(&b);
	moca_callers_close(first);
	moca_trace_close(first_trace);
	over();
	return 0;
}

/* In each part of the run, and in all: the same sums, however long the parts are. */
static int over_time(void)
{
	const int n = MOCA_FLAME_ACCESSES, first = MOCA_FLAME_TOUCHES;
	struct moca_flame_windows *w;
	struct moca_flame_tree x;
	uint64_t from, sum = 0;

	begin();
	from = clock_ns;
	for (unsigned i = 0; i < 128; i++)
		touch(0, i / 2, 1 + i / 64, 1);
	end((const char *const[]){ "ab", "ac", NULL });
	CHECK(!moca_flame_tree_over_time(&x, trace, callers, NULL, 100,
					 from + 1, clock_ns + 1));
	w = &x.over_time;
	CHECK(w->count == MOCA_FLAME_WINDOWS && w->items == 2 &&
	      x.leaf_count == 2 && x.leaves[0].counts[n] == 64);
	while (w->count) {
		unsigned half = w->count / 2;

		for (size_t i = 0; i < 2 * w->count; i++) {
			/* The first leaf has the first half of the run. */
			int its = w->count == 1 || i / w->count ==
						   i % w->count / half;
			uint64_t each = w->count == 1 ? 64 : 128 / w->count;

			CHECK(w->sums[i][n] == (its ? each : 0));
			CHECK(w->sums[i][first] == (its ? each / 2 : 0));
			CHECK(w->sums[i][MOCA_FLAME_WRITES] == w->sums[i][n]);
			sum += w->sums[i][n];
		}
		CHECK(sum == 128);
		sum = 0;
		if (w->count == 1)
			break;
		moca_flame_windows_join(w);
		CHECK(w->count == half);
	}
	moca_flame_tree_free(&x);
	over();
	return 0;
}

/* With many stacks the parts get longer, and nothing is lost; times beyond the ends. */
static int many_items(void)
{
	struct moca_flame_windows w;
	const uint64_t *sums;
	uint64_t *at, sum = 0;
	size_t i, n = 50000;

	moca_flame_windows_init(&w, 1000, 1000 + 64 * 10);
	CHECK(w.window_ns == 10 && moca_flame_window_of(&w, 0) == 0 &&
	      moca_flame_window_of(&w, 1639) == 63 &&
	      moca_flame_window_of(&w, UINT64_MAX) == 63);
	CHECK(!moca_flame_windows_of(&w, 0));
	for (i = 0; i < n; i++) {
		at = moca_flame_windows_at(&w, i, 1000 + i % 640);
		CHECK(at);
		at[MOCA_FLAME_READS] += i;
	}
	CHECK(w.count == 16 && w.window_ns == 40 && w.items == n);
	for (i = 0; i < n; i++) {
		sums = moca_flame_windows_of(&w, i);
		CHECK(sums[i % 640 / 40 * MOCA_FLAME_TIMED + MOCA_FLAME_READS] == i);
		for (unsigned k = 0; k < w.count * MOCA_FLAME_TIMED; k++)
			sum += sums[k];
	}
	CHECK(sum == n * (n - 1) / 2);
	moca_flame_windows_free(&w);
	moca_flame_windows_init(&w, 5, 5);
	CHECK(w.window_ns == 1 && moca_flame_window_of(&w, 5) == 0);
	return 0;
}

int main(void)
{
	run("flame: first touches", touches);
	run("flame: functions", functions);
	run("flame: limits", limits);
	run("flame: two runs", two_runs);
	run("flame: over time", over_time);
	run("flame: over time, of many stacks", many_items);
	dir_remove();
	return failures != 0;
}
