// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make-trace DIR [ACCESSES [OBJECTS]]: a trace for tests/bench/objects/run. Two
 * tasks, a heap of objects of 1 to 4 pages of 1,000 sites, told one by one;
 * half of the accesses; then every second object is freed and its address used
 * by another of another site; then the other half. Of the accesses each second
 * 65,536 are a sweep, the others random; the two tasks take turns.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/format/writer.h"
#include "tests/unit/event-util.h"

#define PAGE 4096ull
#define HEAP 0x7f0000000000ull
#define SITES 1000
#define CHUNK 65536u
#define PROGRAM 0x400000ull

enum { ID_STACK = 16, ID_ALLOC, ID_FREE };

static struct moca_writer *writer;
static struct moca_event_writer *events;
static struct records r;
static uint64_t now = 1000000000, stream_at;
static uint64_t *starts;	/* of each object, and the heap's end */
static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "make-trace: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void flush_events(void)
{
	struct moca_event_chunk c = records_chunk(&r, 0);

	if (!r.events)
		return;
	c.begin = stream_at;
	c.end = stream_at += 8 * r.count;
	c.clock_before = r.first;
	must(moca_event_writer_chunk(events, &c), "events");
	records_reset(&r);
}

static void put(unsigned id)
{
	records_event(&r, now++, id);
	if (r.events == 8000)
		flush_events();
}

static void put_alloc(uint64_t addr, uint64_t size, uint32_t stack)
{
	payload_int(&r, addr, 8);
	payload_int(&r, size, 8);
	payload_int(&r, stack, 4);
	payload_int(&r, 0, 1);
	put(ID_ALLOC);
}

static void put_free(uint64_t addr)
{
	payload_int(&r, addr, 8);
	payload_int(&r, 0, 1);
	put(ID_FREE);
}

static void describe(void)
{
	struct moca_change e = { .type = MOCA_CHANGE_TASK_START, .pid = 100,
				.tid = 100, .parent = MOCA_NO_TASK,
				.name = "bench", .time_ns = now };
	uint32_t i;

	must(moca_event_writer_type(events, ID_STACK, "moca_alloc", "stack",
				     "u32 id\nsequence frames x64\n"), "type");
	must(moca_event_writer_type(events, ID_ALLOC, "moca_alloc", "alloc",
				     "x64 addr\nu64 size\nu32 stack\nu8 kind\n"),
	     "type");
	must(moca_event_writer_type(events, ID_FREE, "moca_alloc", "free",
				     "x64 addr\nu8 kind\n"), "type");
	must(moca_event_writer_changes(events, 0, &e, 1), "events");
	now += 1000;
	for (i = 1; i <= SITES; i++) {
		payload_int(&r, i, 4);
		payload_int(&r, 2, 4);
		payload_int(&r, PROGRAM + 16 * i, 8);
		payload_int(&r, PROGRAM + 8, 8);
		put(ID_STACK);
	}
}

static void start_tasks(uint64_t heap_size)
{
	struct moca_change e[3] = {
		{ .type = MOCA_CHANGE_TASK_START, .pid = 100, .tid = 100,
		  .parent = MOCA_NO_TASK, .name = "bench", .time_ns = now },
		{ .type = MOCA_CHANGE_EXEC, .pid = 100, .tid = 100,
		  .name = "/nonexistent/bench", .time_ns = now + 1 },
		{ .type = MOCA_CHANGE_MMAP, .pid = 100, .tid = 100,
		  .addr = HEAP, .len = heap_size, .prot = 3,
		  .flags = MOCA_MAP_CERTIFIED | MOCA_MAP_ZAPPED, .name = "",
		  .time_ns = now + 2 },
	};

	must(moca_writer_changes(writer, 0, e, 3), "events");
	e[0].tid = 101;
	e[0].parent = 0;
	e[0].flags = MOCA_TASK_THREAD;
	e[0].time_ns = now + 3;
	must(moca_writer_changes(writer, 1, e, 1), "events");
	now += 10;
}

/* n accesses of both tasks together. */
static void put_accesses(uint64_t n, uint64_t heap_size)
{
	static struct moca_access a[2][CHUNK];
	static uint64_t interval;
	uint64_t at = HEAP, page, pages = heap_size / PAGE;
	unsigned task, i, count;

	for (; n; n -= count < n ? count : n) {
		count = 2 * CHUNK;
		for (i = 0; i < count; i++) {
			page = rnd();
			at += PAGE;
			if (at >= HEAP + heap_size)
				at = HEAP;
			a[i & 1][i / 2] = (struct moca_access){
				.addr = (interval & 1 ? at :
					 HEAP + page % pages * PAGE) +
					(page >> 40 & 0xff8),
				.ip = PROGRAM + (page >> 52 & 0xff0),
				.time_ns = now + i, .weight = 1,
				.type = page >> 33 & 1 ? MOCA_ACCESS_READ :
							 MOCA_ACCESS_WRITE,
			};
		}
		for (task = 0; task < 2; task++) {
			struct moca_chunk_info info = {
				.task = task, .interval = interval,
				.begin_ns = now, .end_ns = now + count,
			};

			must(moca_writer_accesses(writer, &info, a[task],
						  CHUNK), "accesses");
		}
		interval++;
		now += count + 1;
	}
}

int main(int argc, char **argv)
{
	uint64_t accesses = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000000;
	uint64_t objects = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000, i;
	struct moca_meta *m = moca_meta_new();
	int fd;

	if (argc < 2 || !objects) {
		fprintf(stderr, "usage: make-trace DIR [ACCESSES [OBJECTS]]\n");
		return 2;
	}
	if (mkdir(argv[1], 0700))
		must(-errno, argv[1]);
	fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	starts = calloc(objects + 1, sizeof(*starts));
	if (fd < 0 || !starts || !m)
		must(-ENOMEM, argv[1]);
	must(moca_writer_create(&writer, fd), "writer");
	must(moca_event_writer_create(&events, fd), "writer");
	for (starts[0] = HEAP, i = 0; i < objects; i++)
		starts[i + 1] = starts[i] + PAGE * (1 + rnd() % 4);
	start_tasks(starts[objects] - HEAP);
	describe();
	for (i = 0; i < objects; i++)
		put_alloc(starts[i] + 16, starts[i + 1] - starts[i] - 32,
			  1 + i % SITES);
	flush_events();
	put_accesses(accesses / 2, starts[objects] - HEAP);
	for (i = 0; i < objects; i += 2) {
		put_free(starts[i] + 16);
		put_alloc(starts[i] + 16, starts[i + 1] - starts[i] - 32,
			  1 + (i + 1) % SITES);
	}
	flush_events();
	put_accesses(accesses - accesses / 2, starts[objects] - HEAP);
	must(moca_meta_set(m, "state", "complete"), "metadata");
	must(moca_seal_write(m, fd), "metadata");
	return 0;
}
