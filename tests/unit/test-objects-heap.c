// SPDX-License-Identifier: GPL-2.0-or-later
/* What was alive at the peak and at the end, of several processes. */
#include "tests/unit/objects-trace.h"

static struct moca_heap_totals heap;
static uint64_t end;		/* bytes, by the instances */

static int heap_of(void)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .heap_stacks = 1, .instances = 1,
	};
	const struct moca_heap_stack *s;
	const struct moca_instance *x;
	uint64_t peak = 0, at_end = 0;
	size_t i, n;

	trace_end();
	if (objects_of(&opt))
		return 1;
	moca_objects_heap_totals(objects, &heap);
	s = moca_objects_heap_stacks(objects, &n);
	for (i = 0; i < n; i++) {
		peak += s[i].at_peak;
		at_end += s[i].at_end;
	}
	x = moca_objects_instances(objects, &n);
	for (i = end = 0; i < n; i++)
		end += moca_objects_end_of(objects, &x[i]) ? 0 : x[i].size;
	return peak != heap.peak || at_end != heap.end;
}

static void alloc(uint32_t task, uint64_t at, uint64_t size)
{
	put_stack(task, 1, 1 + task);
	put_alloc(task, HEAP + at, size, 1, MOCA_ALLOC_MALLOC);
}

/* Children in turn: each takes with it what it has. */
static int in_turn(void)
{
	start_program();
	alloc(0, 0, 100);
	for (uint32_t i = 1; i <= 5; i++) {
		start_task(i, 100 + i, 100 + i, 0, MOCA_TASK_FORK);
		alloc(i, 65536, 4000);
		put_change(i, MOCA_CHANGE_TASK_END);
	}
	CHECK(!heap_of());
	CHECK(heap.peak == 4100 && heap.end == 100 && heap.bytes == 20100);
	CHECK(end == 100);
	return 0;
}

/* At the end is before the last process is gone. */
static int last(void)
{
	start_program();
	alloc(0, 0, 100);
	start_task(1, 101, 101, 0, MOCA_TASK_FORK);
	alloc(1, 65536, 4000);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_change(0, MOCA_CHANGE_TASK_END);
	CHECK(!heap_of());
	CHECK(heap.peak == 4100 && heap.end == 100 && end == 100);
	/* It was not the last. */
	start_program();
	alloc(0, 0, 100);
	put_change(0, MOCA_CHANGE_TASK_END);
	start_task(1, 101, 101, MOCA_NO_TASK, 0);
	put_exec(1, "/bin/prog");
	put_map(1, HEAP, 64 << 20, "");
	alloc(1, 0, 30);
	put_change(1, MOCA_CHANGE_TASK_END);
	CHECK(!heap_of());
	CHECK(heap.peak == 100 && heap.end == 30 && end == 30);
	return 0;
}

/* Another program begins in the process, and has none of it. */
static int execs(void)
{
	start_program();
	alloc(0, 0, 100);
	put_exec(0, "/bin/other");
	put_map(0, HEAP, 64 << 20, "");
	alloc(0, 0, 30);
	/* A vfork's child leaves what is its parent's. */
	start_task(1, 101, 101, 0, MOCA_TASK_VFORK);
	put_exec(1, "/bin/third");
	put_change(1, MOCA_CHANGE_TASK_END);
	CHECK(!heap_of());
	CHECK(heap.peak == 100 && heap.end == 30 && end == 30);
	return 0;
}

/* A process that goes to the background has what its parent had, but what it freed. */
static int copies(void)
{
	start_program();
	alloc(0, 0, 100);
	alloc(0, 65536, 50);
	alloc(0, 131072, 7);
	start_task(1, 101, 101, 0, MOCA_TASK_FORK);
	put_free(1, HEAP + 65536, MOCA_FREE_FREE);
	put_change(0, MOCA_CHANGE_TASK_END);
	start_task(2, 102, 102, 1, MOCA_TASK_FORK);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_free(2, HEAP, MOCA_FREE_FREE);
	CHECK(!heap_of());
	CHECK(heap.peak == 157 && heap.end == 7);
	return 0;
}

int main(void)
{
	run("objects: alive, of processes in turn", in_turn);
	run("objects: alive, of the last process", last);
	run("objects: alive, behind an exec", execs);
	run("objects: alive, in copies", copies);
	objects_done();
	dir_remove();
	return failures != 0;
}
