// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make-counts DIR pages|lines [ROWS [OBJECTS]]: a trace of exact mode for
 * tests/bench/report/run. Two threads, a heap of objects of 1,000 sites told one
 * by one. pages: granules of 4,096 bytes, 20 slices; in each slice both threads
 * use all pages of the heap, of which each has rows by turns. lines: granules of
 * 64 bytes, no slices; each thread has the lines of a half.
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

#define HEAP 0x7f0000000000ull
#define SITES 1000
#define CHUNK 65536u
#define PROGRAM 0x400000ull
#define MS 1000000ull
#define SLICES 20u

enum { ID_STACK = 16, ID_ALLOC };

static struct moca_writer *writer;
static struct moca_event_writer *events;
static struct records r;
static uint64_t now = 1000000000, stream_at, loads, stores;
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
	fprintf(stderr, "make-counts: %s: %s\n", what, strerror(-err));
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

/* So many objects of the same size, of all sites in turn. */
static void allocate(uint64_t objects, uint64_t size)
{
	struct moca_change e = { .type = MOCA_CHANGE_TASK_START, .pid = 100,
				.tid = 100, .parent = MOCA_NO_TASK,
				.name = "bench", .time_ns = now };
	uint64_t i;

	must(moca_event_writer_type(events, ID_STACK, "moca_alloc", "stack",
				     "u32 id\nsequence frames x64\n"), "type");
	must(moca_event_writer_type(events, ID_ALLOC, "moca_alloc", "alloc",
				     "x64 addr\nu64 size\nu32 stack\nu8 kind\n"),
	     "type");
	must(moca_event_writer_changes(events, 0, &e, 1), "events");
	now += 1000;
	for (i = 1; i <= SITES; i++) {
		payload_int(&r, i, 4);
		payload_int(&r, 2, 4);
		payload_int(&r, PROGRAM + 16 * i, 8);
		payload_int(&r, PROGRAM + 8, 8);
		put(ID_STACK);
	}
	for (i = 0; i < objects; i++) {
		payload_int(&r, HEAP + i * size + 16, 8);
		payload_int(&r, size - 32, 8);
		payload_int(&r, 1 + i % SITES, 4);
		payload_int(&r, 0, 1);
		put(ID_ALLOC);
	}
	flush_events();
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
		  .flags = MOCA_MAP_CERTIFIED, .name = "",
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

/* n rows of a task from a granule on, every step-th. */
static void put_rows(struct moca_chunk_info info, unsigned shift,
		     uint64_t granule, uint64_t n, unsigned step)
{
	static struct moca_count rows[CHUNK];
	uint64_t i, k;

	for (i = 0; i < n; i += k) {
		for (k = 0; k < CHUNK && i + k < n; k++) {
			rows[k] = (struct moca_count){
				.addr = HEAP + ((granule + (i + k) * step)
						<< shift),
				.loads = 1000 + rnd() % 100,
				.stores = rnd() % 64,
			};
			if (!info.interval) {
				rows[k].first_ns = info.begin_ns + (i + k) * 7;
				rows[k].first_store = rows[k].stores != 0;
			}
			loads += rows[k].loads;
			stores += rows[k].stores;
		}
		info.more = i + k < n;
		must(moca_writer_counts(writer, &info, shift, rows, k),
		     "counts");
	}
}

int main(int argc, char **argv)
{
	int lines = argc > 2 && !strcmp(argv[2], "lines");
	uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 10000000;
	uint64_t objects = argc > 4 ? strtoull(argv[4], NULL, 10) : 100000;
	struct moca_meta *m = moca_meta_new();
	unsigned shift = lines ? 6 : 12, slices = lines ? 1 : SLICES, k, task;
	uint64_t each, size, begin;
	int fd;

	if (argc < 3 || !m || !objects || count < 2 * SLICES) {
		fprintf(stderr,
			"usage: make-counts DIR pages|lines [ROWS [OBJECTS]]\n");
		return 2;
	}
	each = count / 2 / slices;
	size = (((2 * each << shift) / objects) & ~4095ull) + 4096;
	if (mkdir(argv[1], 0700))
		must(-errno, argv[1]);
	fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	must(moca_writer_create(&writer, fd), "writer");
	must(moca_event_writer_create(&events, fd), "writer");
	start_tasks(size * objects);
	allocate(objects, size);
	now += MS;
	begin = now;
	for (k = 0; k < slices; k++)
		for (task = 0; task < 2; task++) {
			struct moca_chunk_info info = {
				.task = task, .interval = k,
				.begin_ns = now + k * 100 * MS,
				.end_ns = now + (k + 1) * 100 * MS - 1,
			};

			/* In every second slice they change places. */
			if (lines)
				put_rows(info, shift, task * each, each, 1);
			else
				put_rows(info, shift, (task + k) & 1, each, 2);
		}
	now += slices * 100 * MS;
	moca_meta_set(m, "state", "complete");
	moca_meta_set(m, "collector", "exact");
	moca_meta_set(m, "start_ns", "%llu", (unsigned long long)begin);
	moca_meta_set(m, "end_ns", "%llu", (unsigned long long)now);
	moca_meta_set(m, "exact.granularity", "%u", 1u << shift);
	moca_meta_set(m, "exact.slice_ns", "%llu",
		      lines ? 0 : (unsigned long long)(100 * MS));
	moca_meta_set(m, "certificate.loads", "%llu",
		      (unsigned long long)loads);
	moca_meta_set(m, "certificate.stores", "%llu",
		      (unsigned long long)stores);
	must(moca_seal_write(m, fd), "metadata");
	moca_meta_free(m);
	moca_writer_destroy(writer);
	moca_event_writer_destroy(events);
	return 0;
}
