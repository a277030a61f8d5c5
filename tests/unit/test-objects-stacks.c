// SPDX-License-Identifier: GPL-2.0-or-later
/* moca objects: stacks of threads and what lies above them, in traces made by hand. */
#include "tests/unit/objects-trace.h"

#define R MOCA_ACCESS_READ
#define W MOCA_ACCESS_WRITE

static int thread_stacks(void)
{
	const uint64_t low = 0x7e0000000000, size = 8 << 20, sp = low + size -
		2000;
	const struct moca_object *a;
	struct moca_change *e;

	start_program();
	put_map(0, 0x7ffff0000000, 65536, "[stack]")->flags = MOCA_MAP_STACK;
	put_map(0, low, size, "");
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	e = &told[1].events[told[1].event_count - 1];
	e->addr = sp;
	e->offset = sp + 1000;
	put_access(1, sp - 1, W);
	put_access(1, low, W);
	put_access(0, sp, R);			/* its control block */
	put_access(0, low + size - 1, R);
	put_access(0, 0x7ffff0000000 - 100, W);	/* one that has grown */
	put_access(0, 0x7ffff0000100, W);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_of(MOCA_OBJECT_STACK, "stack #1 (prog)");
	CHECK(a && a->accesses == 2 && a->addr == low && a->named);
	CHECK(a->size == size - 2000);
	a = row_of(MOCA_OBJECT_TLS, "thread #1");
	CHECK(a && a->accesses == 2);
	a = row_of(MOCA_OBJECT_STACK, "stack #0 (prog)");
	CHECK(a && a->accesses == 2);
	return 0;
}

/* None of the threads that were attached to takes the memory with it. */
static int attached_threads(void)
{
	const struct moca_object *a;

	trace_begin();
	start_task(0, 100, 100, MOCA_NO_TASK, MOCA_TASK_ATTACHED);
	put_map(0, 0x10000, PAGE, "/etc/passwd");
	start_task(1, 100, 101, MOCA_NO_TASK, MOCA_TASK_ATTACHED);
	put_access(0, 0x10000, R);
	put_change(1, MOCA_CHANGE_TASK_END);
	clock_ns += 1000000000;
	put_map(0, 0x20000, PAGE, "/etc/group");
	put_access(0, 0x10000, R);
	put_access(0, 0x20000, R);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_of(MOCA_OBJECT_FILE, "/etc/passwd");
	CHECK(a && a->accesses == 2);
	a = row_of(MOCA_OBJECT_FILE, "/etc/group");
	CHECK(a && a->accesses == 1);
	return 0;
}

/* Told by the agent only: as when the recorder does not know. */
static int stacks_by_agent(void)
{
	const uint64_t low = 0x7e0000000000, size = 1 << 20;
	const struct moca_object *a;

	start_program();
	put_map(0, low, size, "");
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_three(1, T_THREAD, low + size - 3000, low + PAGE, low + size);
	put_access(1, low + size - 5000, W);
	put_access(1, low + size - 2000, W);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_of(MOCA_OBJECT_STACK, "stack #1 (prog)");
	CHECK(a && a->accesses == 1);
	a = row_of(MOCA_OBJECT_TLS, "thread #1");
	CHECK(a && a->accesses == 1);
	return 0;
}

int main(void)
{
	run("objects: stacks of threads", thread_stacks);
	run("objects: threads that were attached to", attached_threads);
	run("objects: stacks, told by the agent", stacks_by_agent);
	objects_done();
	dir_remove();
	return failures != 0;
}
