// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of a program's clock, looked up in made charts. No clock. */
#include <sys/mman.h>
#include <unistd.h>

#include "collect/exact/harvest.h"
#include "tests/unit/trace-util.h"

#define BASE 0x7f0000000000ull
#define AGENT 0x400000ull
#define CHART 3u		/* of the process */

static struct harvest *h;
static struct exact_arena *arena;
static struct exact_space *space;
static struct counted_task *task;

static void write_at(uint64_t offset, const void *p, size_t len)
{
	if (pwrite(arena->fd, p, len, (off_t)(CHART * MOCA_EXACT_SLOT_SIZE +
					      MOCA_EXACT_CHART + offset)) < 0)
		abort();
}

static void write_chart(const struct moca_exact_chart *c)
{
	write_at(0, c, sizeof(*c));
}

/* Bytes 0 to 3 of the second cache are ours, own, updated, string. */
static struct moca_exact_chart chart_new(void)
{
	const uint8_t bits = 0 | 1 << 2 | 2 << 4 | 3 << 6;
	struct moca_exact_chart c = {
		.state = MOCA_EXACT_LIVE, .caches = 2,
		.agent = AGENT, .agent_end = AGENT + 4096,
		.call = AGENT + 16, .call_end = AGENT + 32,
		.base = { BASE + MOCA_EXACT_CACHE_SIZE, BASE },
	};

	write_chart(&c);
	write_at(MOCA_EXACT_CHART_BITS(1), &bits, 1);
	return c;
}

static int begin(void)
{
	int fd = memfd_create("test-share", MFD_CLOEXEC);

	h = calloc(1, sizeof(*h));
	space = calloc(1, sizeof(*space));
	task = calloc(1, sizeof(*task));
	CHECK(h && space && task);
	CHECK(fd >= 0 && !ftruncate(fd, MOCA_EXACT_ARENA_SIZE));
	CHECK((arena = exact_arena_new(fd)));
	CHECK(exact_arena_slot(arena, 0));
	*task = (struct counted_task){ .id = 7, .tid = 70, .pid = 70,
				       .space = space, .slot = 0 };
	space->arena = arena;
	arena->views[0].head->chart = CHART + 1;
	h->tasks[task->id % BUCKETS] = task;
	return 0;
}

static void end(void)
{
	exact_arena_free(arena);
	free(task);
	free(space);
	free(h);
}

static void wait_with(uint64_t ip, int kernel, uint64_t time)
{
	h->share.waiting[h->share.count++] = (struct clock_sample){
		.ip = ip, .tid = 70, .pid = 70, .kernel = kernel,
		.time_ns = time };
}

/* That it is of this kind, and is looked up at all. */
static int is(uint64_t ip, int kernel, enum share_of kind)
{
	struct shares was = h->share.sums;

	wait_with(ip, kernel, 10);
	share_before(h, 10);
	for (int i = 0; i < SHARE_KINDS; i++)
		if (h->share.sums.count[i] != was.count[i] + (i == (int)kind))
			return 0;
	return !h->share.count;
}

static int t_kinds(void)
{
	struct moca_exact_chart c;

	CHECK(!begin());
	c = chart_new();
	/* The first byte of a cache has nothing ahead of it. */
	CHECK(is(BASE, 0, SHARE_COUNTING));
	CHECK(is(BASE + 1, 0, SHARE_ENTERED));
	CHECK(is(BASE + 2, 0, SHARE_UPDATED));
	CHECK(is(BASE + 3, 0, SHARE_OWN));
	/* Behind the program's instruction: that is what took the time. */
	CHECK(is(BASE + 4, 0, SHARE_OWN));
	CHECK(is(BASE + 5, 0, SHARE_COUNTING));
	/* Page faults are at the instruction. */
	CHECK(is(BASE + 1, 1, SHARE_KERNEL));
	CHECK(is(BASE + 4, 1, SHARE_KERNEL_OURS));
	CHECK(is(BASE + MOCA_EXACT_CACHE_SIZE + 1, 0, SHARE_COUNTING));
	/* C, and the call that it makes for the program. */
	CHECK(is(AGENT + 16, 0, SHARE_AGENT));
	CHECK(is(AGENT + 32, 1, SHARE_KERNEL));
	CHECK(is(AGENT + 33, 1, SHARE_KERNEL_OURS));
	CHECK(is(AGENT + 4096, 0, SHARE_OWN));	/* it runs as it is */
	CHECK(is(BASE - 1, 1, SHARE_KERNEL));
	/* What is there now may be the program's. */
	c.left = 1;
	write_chart(&c);
	CHECK(is(BASE + 1, 0, SHARE_UNKNOWN));
	CHECK(is(AGENT, 0, SHARE_AGENT));
	c.state = MOCA_EXACT_FREE;
	write_chart(&c);
	CHECK(is(AGENT, 0, SHARE_UNKNOWN));
	c = (struct moca_exact_chart){ .state = MOCA_EXACT_LIVE,
				       .caches = UINT32_MAX };
	write_chart(&c);
	CHECK(is(BASE, 0, SHARE_UNKNOWN));
	CHECK(is(0, 0, SHARE_UNKNOWN));
	arena->views[0].head->chart = UINT32_MAX;
	CHECK(is(BASE, 0, SHARE_UNKNOWN));
	arena->views[0].head->chart = 0;	/* it counts itself */
	CHECK(is(BASE, 0, SHARE_UNKNOWN));
	space->arena = NULL;			/* it is not counted */
	CHECK(is(BASE, 0, SHARE_OWN) && is(BASE, 1, SHARE_KERNEL));
	end();
	return 0;
}

/* What a process had from its parent is told by that one's chart, while it is there. */
static int t_parents(void)
{
	struct moca_exact_chart c;
	const uint8_t own = 1 << 2;
	uint32_t child = CHART + 2;

	CHECK(!begin());
	c = chart_new();
	c.parent = CHART + 1;
	c.parents[1] = 4;
	c.state = MOCA_EXACT_LIVE;
	if (pwrite(arena->fd, &c, sizeof(c), (off_t)((child - 1) *
		   MOCA_EXACT_SLOT_SIZE + MOCA_EXACT_CHART)) < 0 ||
	    pwrite(arena->fd, &own, 1, (off_t)((child - 1) *
		   MOCA_EXACT_SLOT_SIZE + MOCA_EXACT_CHART +
		   MOCA_EXACT_CHART_BITS(1) + 1)) < 0)
		abort();
	arena->views[0].head->chart = child;
	((struct moca_exact_shared *)((char *)arena->views[0].head +
				      MOCA_EXACT_SHARED))->charts = child;
	CHECK(is(BASE + 2, 0, SHARE_UPDATED));
	CHECK(is(BASE + 5, 0, SHARE_ENTERED));	/* its own */
	/* The parent is gone: what its child needs stays. */
	exact_arena_free_chart(arena, CHART + 1);
	CHECK(is(BASE + 2, 0, SHARE_UPDATED));
	/* Until that is gone, too. */
	exact_arena_free_chart(arena, child);
	CHECK(is(BASE + 2, 0, SHARE_UNKNOWN));
	arena->views[0].head->chart = CHART + 1;
	CHECK(is(BASE + 2, 0, SHARE_UNKNOWN));
	/* Parents in a circle, and none that there can be. */
	c = chart_new();
	c.parent = CHART + 1;
	c.parents[1] = 4;
	write_chart(&c);
	CHECK(is(BASE + 2, 0, SHARE_UNKNOWN));
	exact_arena_free_chart(arena, CHART + 1);
	c.parent = UINT32_MAX;
	write_chart(&c);
	CHECK(is(BASE + 2, 0, SHARE_UNKNOWN));
	exact_arena_free_chart(arena, UINT32_MAX);
	exact_arena_free_chart(arena, CHART + 1);
	CHECK(is(BASE + 2, 0, SHARE_UNKNOWN));
	end();
	return 0;
}

/* In what the process had then: not by a message that is younger. */
static int t_waiting(void)
{
	CHECK(!begin());
	chart_new();
	h->tasks[task->id % BUCKETS] = NULL;
	wait_with(BASE + 3, 0, 10);
	wait_with(BASE + 3, 0, 20);
	share_before(h, 15);
	CHECK(h->share.count == 2);	/* nobody knows the task yet */
	h->tasks[task->id % BUCKETS] = task;
	task->slot = -1;
	share_before(h, 15);
	CHECK(h->share.count == 2);	/* nor its slot */
	task->slot = 0;
	share_before(h, 15);
	CHECK(h->share.count == 1 && h->share.sums.count[SHARE_OWN] == 1);
	CHECK(space->chart == CHART + 1);
	/* Its slot is another's by now, its process is what it was. */
	task->slot = -1;
	share_before(h, 20);
	CHECK(!h->share.count && h->share.sums.count[SHARE_OWN] == 2);
	/* Another has its number. */
	wait_with(BASE + 3, 0, 30);
	task->tid = 71;
	share_before(h, 40);
	CHECK(h->share.count == 1);
	share_settle(h, 40);
	CHECK(!h->share.count && h->share.sums.count[SHARE_UNKNOWN] == 1);
	end();
	return 0;
}

int main(void)
{
	run("samples by charts: kinds", t_kinds);
	run("samples by charts: parents", t_parents);
	run("samples by charts: waiting", t_waiting);
	return failures != 0;
}
