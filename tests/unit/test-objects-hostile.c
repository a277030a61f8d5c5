// SPDX-License-Identifier: GPL-2.0-or-later
/* moca objects: what races, odd programs and hostile traces make of it. */
#include "tests/unit/objects-trace.h"

#include "analysis/objects/replay.h"

#define R MOCA_ACCESS_READ
#define W MOCA_ACCESS_WRITE

/*
 * A process whose begin is told later than its accesses takes the pid of one
 * that still lives, whose accesses are not counted yet.
 */
static int early_in_its_place(void)
{
	struct moca_change *e;
	unsigned i;

	for (i = 0; i < 100; i++) {
		start_program();
		put_access(0, HEAP, R);
		told[1].pid = told[1].tid = 100;
		put_access(1, HEAP, R);
		start_task(1, 100, 100, 0, i & 1 ? MOCA_TASK_FORK : 0);
		put_access(0, HEAP, W);
		e = put_change(0, MOCA_CHANGE_TASK_END);
		CHECK(e);
		trace_end();
		CHECK(!objects_of(NULL));
		CHECK(totals.accesses == 3);
	}
	return 0;
}

/*
 * realloc gave the memory back, and another thread has it, before it says what
 * became of it: the other thread's object lives.
 */
static int realloc_overtaken(void)
{
	const struct moca_object *b;

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_stack(1, 2, 2);
	put_alloc(0, HEAP, 4096, 1, MOCA_ALLOC_MALLOC);
	put_free(0, HEAP, MOCA_FREE_REALLOC);
	put_alloc(1, HEAP, 4096, 2, MOCA_ALLOC_MALLOC);
	put_alloc(0, HEAP + 131072, 8192, 1, MOCA_ALLOC_REALLOC);
	put_access(1, HEAP + 8, R);
	trace_end();
	CHECK(!objects_of(NULL));
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(b && b->accesses == 1 && !b->end_ns);
	return 0;
}

/* What a child frees is its copy; its parent's object lives on. */
static int child_frees(void)
{
	const struct moca_object *a, *b;
	uint64_t freed;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, 8192, 1, MOCA_ALLOC_MALLOC);
	put_alloc(0, HEAP + 65536, 8192, 2, MOCA_ALLOC_MALLOC);
	start_task(1, 200, 200, 0, MOCA_TASK_FORK);
	put_free(1, HEAP, MOCA_FREE_FREE);
	put_free(1, HEAP + 65536, MOCA_FREE_FREE);
	freed = clock_ns;
	put_change(1, MOCA_CHANGE_TASK_END);
	put_access(0, HEAP, W);
	put_access(0, HEAP + 65536, W);
	put_free(0, HEAP + 65536, MOCA_FREE_FREE);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(a && a->accesses == 1 && !a->end_ns);
	CHECK(b && b->accesses == 1 && b->end_ns > freed);
	/* When the parent is gone, it is the child's. */
	start_program();
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, 8192, 1, MOCA_ALLOC_MALLOC);
	start_task(1, 200, 200, 0, MOCA_TASK_FORK);
	put_change(0, MOCA_CHANGE_TASK_END);
	put_access(1, HEAP, W);
	put_free(1, HEAP, MOCA_FREE_FREE);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	CHECK(a && a->accesses == 1 && a->end_ns);
	return 0;
}

/* A thread's stack in memory that is for more than this. */
static int stack_in_a_mapping(void)
{
	const uint64_t own = 0x7e0000000000, size = 64 << 20;
	const struct moca_object *a;
	struct moca_change *e;

	start_program();
	put_stack(0, 1, 1);
	put_map(0, own, size, "");
	put_alloc(0, own, size, 1, MOCA_ALLOC_MMAP);
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	e = &told[1].events[told[1].event_count - 1];
	e->addr = own + size - PAGE;
	e->offset = own + size - 512;
	put_three(1, T_THREAD, own + size - 512, own, own + size);
	put_access(0, own + PAGE, W);
	put_access(0, own + size / 2, W);
	/* In a heap, below objects. */
	put_alloc(0, HEAP + PAGE, 65536, 1, MOCA_ALLOC_MALLOC);
	start_task(2, 100, 102, 0, MOCA_TASK_THREAD);
	e = &told[2].events[told[2].event_count - 1];
	e->addr = HEAP + PAGE + 65536;
	put_access(0, HEAP + 16, R);
	put_access(0, HEAP + PAGE, R);
	/* As the agent alone tells it. */
	start_task(3, 100, 103, 0, MOCA_TASK_THREAD);
	put_three(3, T_THREAD, HEAP + PAGE + 65000, HEAP, HEAP + 80000);
	put_access(0, HEAP + 32, R);
	trace_end();
	CHECK(!objects_of(NULL));
	CHECK(!row_of(MOCA_OBJECT_STACK, ""));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	CHECK(a && a->accesses == 3);
	a = row_of(MOCA_OBJECT_ALLOCATOR, "");
	CHECK(a && a->accesses == 2);
	return 0;
}

static void put_thread(uint32_t task, uint64_t sp)
{
	struct moca_change *e;

	start_task(task, 100, 100 + task, 0, MOCA_TASK_THREAD);
	e = &told[task].events[told[task].event_count - 1];
	e->addr = sp;
	e->offset = sp + 1000;
}

/* Threads one after the other at one place, and two in one mapping. */
static int stacks_in_turn(void)
{
	const uint64_t low = 0x7e0000000000, size = 1 << 20, sp = low + size -
		2000, half = low + size / 2;
	const struct moca_object *a;
	uint32_t i;

	start_program();
	for (i = 1; i < 10; i++) {
		put_map(0, low, size, "");
		/* Who makes it writes to it before it begins. */
		put_access(0, sp + 1000, W);
		put_thread(i, sp);
		put_access(i, sp - 1, W);
		put_change(i, MOCA_CHANGE_TASK_END);
		put_change(0, MOCA_CHANGE_MUNMAP)->addr = low;
		told[0].events[told[0].event_count - 1].len = size;
	}
	put_map(0, low, size, "");
	put_thread(10, half);
	put_thread(11, sp);
	put_access(10, half - 1, W);
	put_access(11, half + 1, W);
	put_access(11, sp - 1, W);
	trace_end();
	CHECK(!objects_of(NULL));
	for (i = 1; i < 10; i++) {
		char name[40];

		snprintf(name, sizeof(name), "stack #%u (prog)", i);
		a = row_of(MOCA_OBJECT_STACK, name);
		CHECK(a && a->accesses == 1 && a->addr == low);
		snprintf(name, sizeof(name), "thread #%u (prog)", i);
		a = row_of(MOCA_OBJECT_TLS, name);
		CHECK(a && a->accesses == 1);
	}
	a = row_of(MOCA_OBJECT_STACK, "stack #10 (prog)");
	CHECK(a && a->accesses == 1 && a->addr == low);
	a = row_of(MOCA_OBJECT_STACK, "stack #11 (prog)");
	CHECK(a && a->accesses == 2 && a->addr == half);
	return 0;
}

/* Sizes that together are more than there is. */
static int huge_sizes(void)
{
	const struct moca_object *a;
	unsigned i;

	start_program();
	put_stack(0, 1, 1);
	for (i = 0; i < 5; i++)
		put_alloc(0, HEAP + i * PAGE, INT64_MAX, 1, MOCA_ALLOC_MALLOC);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	CHECK(a && a->instances == 5 && a->bytes == UINT64_MAX);
	return 0;
}

/* Discards all over the place find no room: that takes none of objects'. */
static int scattered_discards(void)
{
	static struct moca_objects o;
	struct replay_space s = { .eras.pool = &o.era_pool };
	uint64_t i;

	o.era_pool.limit = 1 << 20;
	for (i = 0; i < 1000; i++)
		CHECK(!moca_space_renew(&o, &s, i << 30, (i << 30) + PAGE - 1));
	CHECK(moca_addrmap_find(&s.eras, 0));
	CHECK(!moca_addrmap_find(&s.eras, 999ull << 30));
	CHECK(!o.totals.refused && !o.pool.bytes);
	moca_addrmap_clear(&s.eras);
	moca_addrpool_free(&o.era_pool);
	return 0;
}

int main(void)
{
	run("objects: a process before its begin, in a live one's place",
	    early_in_its_place);
	run("objects: realloc's memory in other hands", realloc_overtaken);
	run("objects: a child frees its copy", child_frees);
	run("objects: a stack in memory that is for more", stack_in_a_mapping);
	run("objects: stacks in turn", stacks_in_turn);
	run("objects: sizes that do not add up", huge_sizes);
	run("objects: discards all over the place", scattered_discards);
	objects_done();
	dir_remove();
	return failures != 0;
}
