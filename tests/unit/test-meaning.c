// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules of analysis/check: for each a trace that breaks it, and one that looks
 * like it and is permitted.
 */
#include "analysis/check/meaning.h"

#include "lib/format/rate-writer.h"
#include "tests/unit/objects-trace.h"

#define STACK_AT 0x7ffe00000000ull

static unsigned wrongs;
static char told_text[4096];
static int of_older;		/* it did not tell all mappings */
static uint64_t changes_lost;
static uint64_t pages_counted;	/* 0: the metadata does not tell */

static void tell(void *arg, const char *text)
{
	(void)arg;
	wrongs++;
	if (strlen(told_text) + strlen(text) + 2 < sizeof(told_text)) {
		strcat(told_text, text);
		strcat(told_text, "\n");
	}
}

static void put_metadata(void)
{
	struct moca_meta *m = moca_meta_new();

	if (!m || moca_meta_set(m, "state", "complete") ||
	    (pages_counted &&
	     moca_meta_set(m, "certificate.pages_touched", "%lu",
			   pages_counted)) ||
	    (changes_lost &&
	     moca_meta_set(m, "changes_lost", "%lu", changes_lost)) ||
	    (!of_older && moca_meta_set(m, "mappings_told", "all")) ||
	    moca_meta_write(m, dirfd_))
		abort();
	moca_meta_free(m);
}

static void walk(struct meaning *m, struct moca_trace *t)
{
	const struct moca_counts *n;
	const struct moca_chunk *c;
	struct moca_cursor *cursor;

	if (moca_cursor_open(&cursor, t, NULL))
		abort();
	while (moca_cursor_chunk(cursor, &c) > 0)
		meaning_chunk(m, c);
	moca_cursor_close(cursor);
	if (moca_cursor_open(&cursor, t, NULL))
		abort();
	while (moca_cursor_counts(cursor, &n) > 0)
		meaning_counts(m, n);
	moca_cursor_close(cursor);
}

/* A look of which three pages are told, and written of them and others. */
static struct {
	int wanted;
	uint64_t since_ns, written, touched;
} look;

static void put_look(void)
{
	const uint64_t bits[] = { 0x7, look.written };
	const struct moca_heat_look l = { .touched = look.touched };
	struct moca_rate_writer *w;

	if (moca_heat_describe(dirfd_) ||
	    moca_rate_writer_create(&w, dirfd_, MOCA_HEAT_STREAM))
		abort();
	/* Its stream begins before its task, as the recorder's does. */
	moca_rate_writer_start(w, 100, "", 500);
	moca_heat_pages(w, clock_ns, look.since_ns, 100, HEAP, 1, bits);
	moca_heat_looked(w, clock_ns, &l);
	moca_rate_writer_end(w, clock_ns);
	if (moca_rate_writer_close(w))
		abort();
}

/* How many contradictions the trace that was gathered has; -errno. */
static int judge(void)
{
	struct moca_trace *t;
	const char *left;
	struct meaning *m;
	unsigned i;
	int err;

	trace_end();
	if (look.wanted)
		put_look();
	put_metadata();
	wrongs = 0;
	told_text[0] = 0;
	err = moca_trace_open(&t, dir);
	if (err)
		return err;
	err = meaning_new(&m, t, tell, NULL);
	if (!err) {
		walk(m, t);
		err = meaning_end(m);
		for (i = 0; (left = meaning_left_out(m, i)); i++) {
			strcat(told_text, "left out: ");
			strcat(told_text, left);
		}
		meaning_free(m);
	}
	moca_trace_close(t);
	return err ? err : (int)wrongs;
}

static int says(const char *text)
{
	return strstr(told_text, text) != NULL;
}

static void two_threads(void)
{
	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
}

static int sound(void)
{
	two_threads();
	put_access(0, HEAP, MOCA_ACCESS_WRITE);
	put_access(1, HEAP + PAGE, MOCA_ACCESS_READ);
	put_alloc(0, HEAP, 5000, 1, MOCA_ALLOC_MALLOC);
	put_alloc(1, HEAP + 8192, 5000, 1, MOCA_ALLOC_MALLOC);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_change(0, MOCA_CHANGE_TASK_END);
	CHECK(!judge());
	return 0;
}

static int behind_the_end(void)
{
	two_threads();
	put_access(1, HEAP, MOCA_ACCESS_READ);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_access(1, HEAP, MOCA_ACCESS_READ);
	CHECK(judge() == 1);
	CHECK(says("task-1, chunk 0, record 1: the access is 1000 ns behind the task's end"));
	return 0;
}

/* What the kernel did for a task before it was told is none. */
static int before_the_begin(void)
{
	start_program();
	told[1].pid = 100;
	put_access(1, HEAP, MOCA_ACCESS_WRITE);
	told[1].accesses[0].mode = MOCA_MODE_KERNEL;
	put_access(1, HEAP, MOCA_ACCESS_WRITE);
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	CHECK(judge() == 1);
	CHECK(says("task-1, chunk 0, record 1: the access is 1000 ns before the task's begin"));
	return 0;
}

static int not_mapped(void)
{
	struct moca_change *e;

	start_program();
	put_access(0, HEAP + PAGE, MOCA_ACCESS_READ);
	e = put_change(0, MOCA_CHANGE_MUNMAP);
	e->addr = HEAP;
	e->len = 16 * PAGE;
	put_access(0, HEAP + PAGE, MOCA_ACCESS_READ);
	put_access(0, HEAP + 16 * PAGE, MOCA_ACCESS_READ);
	CHECK(judge() == 1);
	CHECK(says("task-0, chunk 0, record 1: the access to 0x7f0000001000 is to no mapping of process 100"));
	return 0;
}

/* The same number, and another process. */
static int of_another(void)
{
	start_program();
	start_task(1, 200, 200, MOCA_NO_TASK, 0);
	put_map(1, STACK_AT, PAGE, "");
	put_access(1, HEAP, MOCA_ACCESS_READ);
	CHECK(judge() == 1);
	CHECK(says("no mapping of process 200"));
	return 0;
}

static int permitted(void)
{
	struct moca_change *e;

	start_program();
	/* Ahead of its mapping, on a stack that grew, the kernel's. */
	put_access(0, HEAP + (128 << 20), MOCA_ACCESS_WRITE);
	put_map(0, HEAP + (128 << 20), PAGE, "");
	e = put_map(0, STACK_AT, 4 * PAGE, "[stack]");
	e->flags = MOCA_MAP_STACK;
	put_access(0, STACK_AT - 7 * PAGE, MOCA_ACCESS_WRITE);
	put_map(0, STACK_AT - (1ull << 30), PAGE, "")->flags = MOCA_MAP_GROWS;
	put_access(0, STACK_AT - (1ull << 30) - 1, MOCA_ACCESS_WRITE);
	put_access(0, 0xffffffffff600000ull, MOCA_ACCESS_EXEC);
	/* Of a program that is left alone. */
	start_task(1, 200, 200, MOCA_NO_TASK, 0);
	put_access(1, HEAP, MOCA_ACCESS_READ);
	CHECK(!judge());
	return 0;
}

/* SIGSEGV answered it, or the call that it was of failed. */
static int not_mapped_and_failed(void)
{
	start_program();
	put_access(0, CODE + 8, MOCA_ACCESS_READ);
	put_access(0, CODE + PAGE, MOCA_ACCESS_READ);
	put_change(0, MOCA_CHANGE_SEGV)->addr = CODE;
	CHECK(judge() == 1);
	CHECK(says("record 1: the access to 0x401000 is to no mapping"));

	start_program();
	put_access(0, CODE, MOCA_ACCESS_READ);
	told[0].accesses[0].mode = MOCA_MODE_KERNEL;
	CHECK(!judge());
	CHECK(says("left out: 1 access inside system calls is to no mapping"));

	start_program();
	put_access(0, CODE, MOCA_ACCESS_READ);
	of_older = 1;
	CHECK(!judge());
	of_older = 0;
	CHECK(says("left out: 1 access is to no mapping: their recorder does not promise"));
	return 0;
}

/* It may follow from what was lost. */
static int changes_were_lost(void)
{
	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_access(1, CODE, MOCA_ACCESS_READ);
	put_access(1, CODE, MOCA_ACCESS_READ);
	changes_lost = 1;
	CHECK(!judge());
	CHECK(says("left out: 2 records are outside of their tasks' lives, and 1 change was lost that may say why"));
	CHECK(says("left out: 2 accesses are to memory that was not mapped, and"));
	changes_lost = 0;
	return 0;
}

static int never_touched(void);
static int touched_twice(void);
static int sum_of(uint64_t pages);

/* What no lost change can explain is wrong as before; what an exec can is not. */
static int not_by_lost_changes(void)
{
	int never, more_rows, twice, fewer;

	changes_lost = 1;
	never = never_touched();
	more_rows = sum_of(1) == 1 && says("the rows of counts are of 2") &&
	       !says("left out");
	fewer = sum_of(3) == 0 && says("left out: 1 sums of pages are wrong, and 1 change was lost");
	twice = touched_twice();
	changes_lost = 0;
	CHECK(!never && more_rows && fewer);
	CHECK(twice && says("left out: 1 first touches are wrong, and"));
	return 0;
}

/* Mappings are not told from the gap to the next exec. */
static int mappings_not_told(void)
{
	start_program();
	put_access(0, CODE, MOCA_ACCESS_READ);
	put_change(0, MOCA_CHANGE_GAP)->flags = MOCA_GAP_MAPPINGS;
	put_access(0, CODE + PAGE, MOCA_ACCESS_READ);
	put_exec(0, "/bin/other");
	put_access(0, CODE + 2 * PAGE, MOCA_ACCESS_READ);
	put_map(0, HEAP, PAGE, "");
	put_access(0, CODE + 3 * PAGE, MOCA_ACCESS_READ);
	put_exec(0, "/bin/left-alone");
	put_access(0, CODE + 4 * PAGE, MOCA_ACCESS_READ);
	CHECK(judge() == 3);
	CHECK(says("record 0: ") && says("record 2: ") && says("record 3: "));

	/* Of a program that begins it is told when a mapping would be. */
	start_program();
	put_exec(0, "/bin/other");
	put_access(0, CODE, MOCA_ACCESS_READ);
	put_change(0, MOCA_CHANGE_GAP)->flags = MOCA_GAP_MAPPINGS;
	put_map(0, HEAP, PAGE, "");
	put_access(0, CODE + PAGE, MOCA_ACCESS_READ);
	CHECK(!judge());
	return 0;
}

/* Who has another's memory has its gap, too, until it runs another program. */
static int mappings_of_others(void)
{
	start_program();
	start_task(1, 200, 200, 0, MOCA_TASK_VFORK);
	start_task(2, 300, 300, 1, MOCA_TASK_VFORK);
	put_access(1, CODE, MOCA_ACCESS_READ);
	put_change(2, MOCA_CHANGE_GAP)->flags = MOCA_GAP_MAPPINGS;
	put_access(0, CODE + PAGE, MOCA_ACCESS_READ);
	put_access(1, CODE + PAGE, MOCA_ACCESS_READ);
	put_access(2, CODE + PAGE, MOCA_ACCESS_READ);
	put_exec(2, "/bin/other");
	put_map(2, HEAP, PAGE, "");
	put_access(2, CODE + 2 * PAGE, MOCA_ACCESS_READ);
	CHECK(judge() == 2);
	CHECK(says("task-1, chunk 0, record 0: "));
	CHECK(says("task-2, chunk 0, record 1: "));
	return 0;
}

/* Below another mapping there is no stack. */
static int below_no_stack(void)
{
	start_program();
	put_map(0, STACK_AT, 4 * PAGE, "[stack]")->flags = MOCA_MAP_STACK;
	put_access(0, HEAP - PAGE, MOCA_ACCESS_WRITE);
	CHECK(judge() == 1);
	return 0;
}

static void slice(uint64_t number, uint64_t begin)
{
	put_slice(0, number, 6, begin, begin + 999);
}

static int first_touches(void)
{
	uint64_t at;

	start_program();
	at = clock_ns + 1000;
	slice(0, at);
	put_count(0, HEAP, 1, 0, (int64_t)at + 1);
	slice(1, at + 1000);
	put_count(0, HEAP, 1, 0, 0);
	put_count(0, HEAP + 64, 0, 1, -(int64_t)at - 1001);
	CHECK(!judge());
	return 0;
}

static int touched_twice(void)
{
	uint64_t at;

	start_program();
	at = clock_ns + 1000;
	slice(0, at);
	put_count(0, HEAP, 1, 0, (int64_t)at + 1);
	slice(1, at + 1000);
	put_count(0, HEAP, 1, 0, (int64_t)at + 1001);
	CHECK(judge() == 1);
	CHECK(says("task-0, counts 1, row 0: granule 0x7f0000000000 has a first touch, and was touched before"));
	return 0;
}

/* A child touched what its parent has; then it ran a program at that address. */
static int touched_by_another_program(void)
{
	uint64_t at;

	start_program();
	at = clock_ns + 1000;
	slice(0, at);
	put_count(0, HEAP, 1, 0, (int64_t)at + 1);
	clock_ns = at + 1000;
	put_exec(0, "/bin/other");
	at = clock_ns + 1000;
	slice(1, at);
	put_count(0, HEAP, 1, 0, (int64_t)at + 1);
	CHECK(!judge());
	return 0;
}

static int never_touched(void)
{
	uint64_t at;

	start_program();
	at = clock_ns + 1000;
	slice(0, at);
	put_count(0, HEAP, 1, 0, 0);
	CHECK(judge() == 1);
	CHECK(says("has no first touch, and was not touched before"));
	return 0;
}

/* Four lines of two pages, and what the recorder says of them. */
static int sum_of(uint64_t pages)
{
	uint64_t at;
	int i, ret;

	start_program();
	at = clock_ns + 1000;
	slice(0, at);
	for (i = 0; i < 4; i++)
		put_count(0, HEAP + (i < 2 ? 0 : PAGE) + 64 * i, 1, 0,
			  (int64_t)at + 1);
	pages_counted = pages;
	ret = judge();
	pages_counted = 0;
	return ret;
}

static int sums(void)
{
	CHECK(!sum_of(2));
	CHECK(sum_of(1) == 1);
	CHECK(says("the recorder counted 1 pages, the rows of counts are of 2"));
	CHECK(sum_of(3) == 1);
	return 0;
}

static int changes(void)
{
	struct moca_change *e;

	start_program();
	put_change(0, MOCA_CHANGE_TASK_END);
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	CHECK(judge() == 2);
	CHECK(says("task-1, change 0 (start): its parent had ended"));
	CHECK(says("no other thread of its process lives"));

	start_program();
	put_map(0, HEAP + 100, PAGE, "");
	e = put_change(0, MOCA_CHANGE_MUNMAP);
	e->addr = HEAP;
	e = put_map(0, HEAP + (128 << 20), PAGE, "");
	e->pid = 300;
	CHECK(judge() == 3);
	CHECK(says("task-0, change 3 (mmap): it is not of whole pages"));
	CHECK(says("task-0, change 4 (munmap): it is of no bytes"));
	CHECK(says("task-0, change 5 (mmap): it is of another process"));

	start_program();
	start_task(1, 200, 200, 0, MOCA_TASK_FORK);
	start_task(2, 200, 200, 0, MOCA_TASK_FORK);
	CHECK(judge() == 1);
	CHECK(says("task-2, change 0 (start): its process lives already"));

	/* Killed in the midst of its fork, and not. */
	start_program();
	put_change(0, MOCA_CHANGE_TASK_END);
	start_task(1, 200, 200, 0, MOCA_TASK_FORK);
	CHECK(!judge());
	two_threads();
	put_change(1, MOCA_CHANGE_TASK_END);
	start_task(2, 200, 200, 1, MOCA_TASK_FORK);
	CHECK(judge() == 1);

	start_program();
	start_task(1, 200, 200, 7, MOCA_TASK_FORK);
	CHECK(judge() == 1);
	CHECK(says("its parent is no task of the trace"));
	return 0;
}

/* Of several threads that were attached to, each ends by itself. */
static int attached(void)
{
	trace_begin();
	start_task(0, 100, 100, MOCA_NO_TASK, MOCA_TASK_ATTACHED);
	start_task(1, 100, 101, MOCA_NO_TASK, MOCA_TASK_ATTACHED);
	put_change(0, MOCA_CHANGE_TASK_END);
	start_task(2, 100, 102, 1, MOCA_TASK_THREAD);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_change(2, MOCA_CHANGE_TASK_END);
	CHECK(!judge());
	return 0;
}

/* Each is seen when its parent has been killed. */
static int orphans(void)
{
	uint32_t i;

	start_program();
	for (i = 1; i < TASKS_MAX; i++) {
		put_change(i - 1, MOCA_CHANGE_TASK_END);
		start_task(i, 100 + i, 100 + i, i - 1, MOCA_TASK_FORK);
	}
	put_change(i - 1, MOCA_CHANGE_TASK_END);
	CHECK(!judge());
	return 0;
}

static int late_event(void)
{
	two_threads();
	put_stack(1, 1, 1);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_alloc(1, HEAP, 5000, 1, MOCA_ALLOC_MALLOC);
	CHECK(judge() == 1);
	CHECK(says("task 1, event 1 (moca_alloc:alloc): it is 1000 ns behind its task's end"));
	return 0;
}

static int overlap(void)
{
	two_threads();
	put_alloc(0, HEAP, 8192, 1, MOCA_ALLOC_MALLOC);
	put_alloc(1, HEAP + 4096, 8192, 1, MOCA_ALLOC_CALLOC);
	clock_ns += 1000000;
	put_alloc(0, HEAP + (1 << 20), 4096, 1, MOCA_ALLOC_MALLOC);
	CHECK(!judge());
	CHECK(says("left out: 1 object is at addresses of others whose end is not told: task 1, event 0 (moca_alloc:alloc): 8192 bytes at 0x7f0000001000 overlap the object at 0x7f0000000000, which is alive"));
	return 0;
}

static int no_overlap(void)
{
	two_threads();
	put_alloc(0, HEAP, 8192, 1, MOCA_ALLOC_MALLOC);
	put_free(1, HEAP, MOCA_FREE_FREE);
	put_alloc(1, HEAP + 4096, 8192, 1, MOCA_ALLOC_MALLOC);
	/* The free is told 1 us late. */
	put_alloc(0, HEAP + 8192, 4096, 1, MOCA_ALLOC_MALLOC);
	put_free(1, HEAP + 4096, MOCA_FREE_FREE);
	clock_ns += 1000000;
	/* In a mapping, and of a child that has the same addresses. */
	put_alloc(0, HEAP + (1 << 20), 1 << 20, 1, MOCA_ALLOC_MMAP);
	put_alloc(0, HEAP + (1 << 20), 4096, 1, MOCA_ALLOC_MALLOC);
	start_task(2, 200, 200, 0, MOCA_TASK_FORK);
	put_alloc(2, HEAP + (1 << 20), 4096, 1, MOCA_ALLOC_MALLOC);
	put_exec(0, "/bin/other");
	put_alloc(0, HEAP + (1 << 20), 4096, 1, MOCA_ALLOC_MALLOC);
	CHECK(!judge() && !says("overlap"));
	return 0;
}

static int many(void)
{
	int i;

	start_program();
	for (i = 0; i < 1000; i++)
		put_access(0, HEAP - PAGE, MOCA_ACCESS_READ);
	CHECK(judge() == 4);
	CHECK(says("997 more accesses are to memory that was not mapped"));
	return 0;
}

static int judge_look(int64_t age_ns, uint64_t written, uint64_t touched)
{
	int n;

	two_threads();
	look.wanted = 1;
	look.since_ns = clock_ns - (uint64_t)age_ns;
	look.written = written;
	look.touched = touched;
	n = judge();
	look.wanted = 0;
	return n;
}

static int heat(void)
{
	CHECK(!judge_look(5, 0x5, 3));
	CHECK(judge_look(5, 0x5, 4) == 1);
	CHECK(says("heat, event 1: a look has 4 pages, but 3 are told"));
	CHECK(judge_look(5, 0xc, 3) == 1);
	CHECK(says("the page at 0x7f0000003000 was written, but not touched"));
	CHECK(judge_look(-5, 0x5, 0) == 1);
	CHECK(says("heat, event 0: its pages or times are none"));
	return 0;
}

int main(void)
{
	run("meaning: sound", sound);
	run("meaning: an access behind its task's end", behind_the_end);
	run("meaning: an access before its task's begin", before_the_begin);
	run("meaning: memory that is not mapped any more", not_mapped);
	run("meaning: memory that is not mapped, and accesses that fail", not_mapped_and_failed);
	run("meaning: changes that were lost", changes_were_lost);
	run("meaning: what changes that were lost do not explain", not_by_lost_changes);
	run("meaning: mappings that are not told", mappings_not_told);
	run("meaning: mappings that a borrower is not told", mappings_of_others);
	run("meaning: memory of another process", of_another);
	run("meaning: accesses that the format permits", permitted);
	run("meaning: memory below no stack", below_no_stack);
	run("meaning: first touches", first_touches);
	run("meaning: touched first twice", touched_twice);
	run("meaning: touched first by each program", touched_by_another_program);
	run("meaning: never touched first", never_touched);
	run("meaning: lines add up to pages", sums);
	run("meaning: changes that contradict others", changes);
	run("meaning: threads that were attached to", attached);
	run("meaning: orphans", orphans);
	run("meaning: heat", heat);
	run("meaning: an event behind its task's end", late_event);
	run("meaning: objects that overlap", overlap);
	run("meaning: objects that do not", no_overlap);
	run("meaning: many contradictions are counted", many);
	dir_remove();
	return failures != 0;
}
