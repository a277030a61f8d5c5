// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often libmoca-alloc walks the stacks of calls that come by one wrapper of
 * malloc at one depth: each stack once, as long as its set has room.
 */
#include <string.h>

#include "agent/alloc/emit.h"
#include "agent/alloc/stack.h"
#include "tests/unit/trace-util.h"

#define NOINLINE __attribute__((noinline, noipa))
#define SEVERAL 8		/* that a set has room for */
#define CALLERS 12
#define ROUNDS 100

static struct alloc_thread thread;
static uint64_t stack_end;

/* What stack.c and unwind.c have of the rest of the agent. */
uint32_t alloc_unmaps;

int alloc_emit_stack(uint32_t id, const uint64_t *frames, uint32_t n)
{
	return id && frames[0] && n;
}

int alloc_emit_tally(uint32_t stack, uint64_t count, uint64_t bytes)
{
	return stack && count && bytes;
}

int alloc_stack_bounds(struct alloc_thread *t, uint64_t sp, uint64_t *high,
		       int *foreign)
{
	*high = stack_end;
	*foreign = 0;
	return t && sp < stack_end;
}

/* As hooks do it. */
NOINLINE static uint32_t allocate(void)
{
	unsigned index;

	return alloc_stack_id(&thread, ALLOC_FRAME(), &index);
}

NOINLINE static uint32_t wrapper(void)
{
	uint32_t id = allocate();

	__asm__ volatile("" : "+r"(id));
	return id;
}

/* All at one depth. */
#define CALLER(n)                                 \
	NOINLINE static uint32_t caller_##n(void) \
	{                                         \
		uint32_t id = wrapper();          \
		__asm__ volatile("" : "+r"(id));  \
		return id;                        \
	}
CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) CALLER(6)
CALLER(7) CALLER(8) CALLER(9) CALLER(10) CALLER(11) CALLER(12)

static uint32_t (*const callers[CALLERS])(void) = {
	caller_1, caller_2, caller_3, caller_4, caller_5, caller_6,
	caller_7, caller_8, caller_9, caller_10, caller_11, caller_12,
};

/* So many of them in turn; each has its number. */
static int walk_of(int n, uint64_t *walks)
{
	uint32_t ids[CALLERS] = { 0 }, id;

	memset(&thread, 0, sizeof(thread));
	thread.generation = 1;
	for (int i = 0; i < n * ROUNDS; i++) {
		id = callers[i % n]();
		CHECK(id != 0);
		CHECK(i < n || id == ids[i % n]);
		ids[i % n] = id;
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			CHECK(ids[i] != ids[k]);
	*walks = thread.w.meter.walks;
	return 0;
}

static int t_each_once(void)
{
	uint64_t walks;

	for (int n = 1; n <= SEVERAL; n++) {
		CHECK(!walk_of(n, &walks));
		CHECK(walks == (uint64_t)n);
	}
	return 0;
}

/* More than a set has room for: who comes next is not always who was put out.
 */
static int t_too_many(void)
{
	uint64_t walks;

	CHECK(!walk_of(CALLERS, &walks));
	CHECK(walks >= CALLERS);
	CHECK(walks < CALLERS * ROUNDS * 9 / 10);
	return 0;
}

int main(void)
{
	stack_end = (uint64_t)__builtin_frame_address(0);
	run("walks: each stack once", t_each_once);
	run("walks: more than a set has room for", t_too_many);
	return failures != 0;
}
