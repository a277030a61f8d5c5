// SPDX-License-Identifier: GPL-2.0-or-later
/* From the kernel module's rings to a trace, with rings made by hand. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/kernel/decode.h"
#include "collect/kernel/space.h"
#include "collect/run/own.h"
#include "tests/unit/kernel-trace.h"

/* --- decoding ----------------------------------------------------------------- */

/* One of each type, in one chunk. */
static void put_all(struct maker *m)
{
	struct moca_rec_events *e;
	struct moca_rec_gap *g;

	maker_chunk(m, 0, 100, 200, 0);
	put_task(m, 7, 7, 100, 0, MOCA_TASKF_REGISTERED, "sixteen-letters-");
	put_exec(m, 7, 7, 101, "/bin/program");
	put_mapping(m, 7, 102, AT(16), AT(32), MOCA_MAPF_FILE, "/bin/program");
	put_access(m, 7, 7, 103, AT(17) + 8, MOCA_ACC_WRITE);
	g = PUT(m, GAP, gap, 0, 7, 104);
	g->pid = 7;
	g->reason = MOCA_GAP_MAPPING;
	strcpy(PUT(m, NAME, name, 0, 7, 105)->comm, "renamed");
	e = PUT(m, EVENTS, events, 24, 7, 106);
	e->used = 24;
	put_interval(m, 0, 107);
	maker_put(m, 999, sizeof(struct moca_rec), 40, 7, 108);
	put_exit(m, 7, 7, 109, 0);
	put_heat(m, 7, 110, AT(64), 2, 3);
	put_look(m, 110, 2);
}

static int t_all(void)
{
	static const int types[] = { MOCA_REC_TASK, MOCA_REC_EXEC,
		MOCA_REC_MAPPING, MOCA_REC_ACCESS, MOCA_REC_GAP, MOCA_REC_NAME,
		MOCA_REC_EVENTS, MOCA_REC_INTERVAL, MOCA_REC_EXIT,
		MOCA_REC_HEAT, MOCA_REC_LOOK };
	const struct moca_rec *r;
	struct kernel_chunk c;

	CHECK(!rings_new());
	put_all(&cpu0);
	CHECK(!kernel_chunk_open(&c, cpu0.open, cpu0.open->bytes));
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		CHECK(kernel_chunk_next(&c, &r) == 1 && r->type == types[i]);
	CHECK(kernel_chunk_next(&c, &r) == 0);
	rings_free();
	return 0;
}

/* Read all of it, every byte: what is behind would end us. */
static unsigned int devour(const void *p, size_t room, int *bad)
{
	volatile unsigned char sum = 0;
	const struct moca_rec *r;
	struct kernel_chunk c;
	unsigned int n = 0;
	int ret;

	*bad = 0;
	if (kernel_chunk_open(&c, p, room)) {
		*bad = 1;
		return 0;
	}
	while ((ret = kernel_chunk_next(&c, &r)) > 0) {
		for (int i = 0; i < r->bytes; i++)
			sum += ((const unsigned char *)r)[i];
		if (r->type == MOCA_REC_EXEC)
			sum += strlen(((const struct moca_rec_exec *)
					       (const void *)r)->path);
		n++;
	}
	*bad = ret < 0;
	return n;
}

/* A copy that ends where a page does that may not be touched. */
static char *at_the_edge(const void *p, size_t len)
{
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || mprotect(map + 4096, 4096, PROT_NONE))
		abort();
	return memcpy(map + 4096 - len, p, len);
}

static int t_truncated(void)
{
	size_t all;

	CHECK(!rings_new());
	put_all(&cpu0);
	all = cpu0.open->bytes;
	for (size_t len = 0; len <= all; len += 8) {
		char *p = at_the_edge(cpu0.open, len);
		unsigned int n;
		int bad;

		/* Cut off, and saying so or not. */
		n = devour(p, len, &bad);
		CHECK(bad == (len < all));
		CHECK(n == (len < all ? 0 : 11));
		if (len >= sizeof(struct moca_chunk_head)) {
			((struct moca_chunk_head *)(void *)p)->bytes =
				(uint32_t)len;
			n = devour(p, len, &bad);
			CHECK(n <= 11 && (n == 11) == (len == all));
		}
		munmap(p - (4096 - len), 8192);
	}
	rings_free();
	return 0;
}

static int t_lengths(void)
{
	struct moca_rec *r;
	int bad;

	CHECK(!rings_new());
	for (unsigned int bytes = 0; bytes < 70; bytes++) {
		maker_chunk(&cpu0, 0, 0, 0, 0);
		put_access(&cpu0, 7, 7, 1, AT(1), 0);
		put_access(&cpu0, 7, 7, 2, AT(1), 0);
		r = (void *)((char *)cpu0.open + sizeof(*cpu0.open));
		r->bytes = (uint16_t)bytes;
		devour(cpu0.open, RING_CHUNK, &bad);
		CHECK(bad == (bytes != 48));
	}
	maker_chunk(&cpu0, 0, 0, 0, 0);
	put_exec(&cpu0, 7, 7, 1, "1234567");
	r = (void *)((char *)cpu0.open + sizeof(*cpu0.open));
	CHECK(devour(cpu0.open, RING_CHUNK, &bad) == 1 && !bad);
	((char *)r)[r->bytes - 1] = 'x';	/* no NUL */
	CHECK(devour(cpu0.open, RING_CHUNK, &bad) == 0 && bad);
	maker_chunk(&cpu0, 0, 0, 0, 0);
	put_mapping(&cpu0, 7, 1, AT(5), AT(5), 0, "");
	CHECK(devour(cpu0.open, RING_CHUNK, &bad) == 0 && bad);
	maker_chunk(&cpu0, 0, 0, 0, 0);
	PUT(&cpu0, EVENTS, events, 8, 7, 1)->used = 9;
	CHECK(devour(cpu0.open, RING_CHUNK, &bad) == 0 && bad);
	rings_free();
	return 0;
}

static int t_ring(void)
{
	struct kernel_ring r;
	const void *p;

	CHECK(!rings_new());
	CHECK(kernel_ring_take(&rings[0], &p) == 0);
	for (unsigned int i = 0; i < 3 * RING_CHUNKS; i++) {
		maker_chunk(&cpu0, i, 0, 0, 0);
		maker_done(&cpu0);
		CHECK(kernel_ring_take(&rings[0], &p) == 1);
		CHECK(((const struct moca_chunk_head *)p)->interval == i);
		kernel_ring_done(&rings[0]);
		CHECK(rings[0].user->consumed == i + 1);
	}
	maker_kernel(&cpu0)->produced += RING_CHUNKS + 1;
	CHECK(kernel_ring_take(&rings[0], &p) == -EBADMSG);
	/* Sizes that do not fit. */
	maker_kernel(&cpu0)->ring_chunks = RING_CHUNKS * 2;
	CHECK(kernel_ring_init(&r, cpu0.map, RING_BYTES) == -EBADMSG);
	maker_kernel(&cpu0)->ring_chunks = RING_CHUNKS - 1;
	CHECK(kernel_ring_init(&r, cpu0.map, RING_BYTES) == -EBADMSG);
	maker_kernel(&cpu0)->ring_chunks = RING_CHUNKS;
	maker_kernel(&cpu0)->chunk_bytes = 64;
	CHECK(kernel_ring_init(&r, cpu0.map, RING_BYTES) == -EBADMSG);
	CHECK(kernel_ring_init(&r, cpu0.map, 8192) == -EBADMSG);
	rings_free();
	return 0;
}

/* --- the order of time ---------------------------------------------------------- */

static void count_ahead(void *arg, const struct moca_rec_access *a)
{
	++*(unsigned int *)arg;
}

static int t_merge(void)
{
	struct kernel_item item;
	uint64_t interval, begin, end, last = 0, lost = 0;
	unsigned int n = 0, ahead = 0;

	CHECK(!rings_new());
	/* Interval 0: two chunks of one CPU, one of the other, between them. */
	for (unsigned int part = 0; part < 2; part++) {
		maker_chunk(&cpu0, 0, 1000, 2000, part ? 5 : 0);
		for (unsigned int i = 0; i < 20; i++)
			put_access(&cpu0, 7, 7, 1000 + part * 400 + i * 10,
				   AT(i), 0);
		maker_done(&cpu0);
	}
	maker_chunk(&cpu1, 0, 1000, 2000, 0);
	for (unsigned int i = 0; i < 50; i++)
		put_access(&cpu1, 7, 8, 1003 + i * 15, AT(i), 0);
	maker_done(&cpu1);
	CHECK(!kernel_merge_fill(merge, rings));
	CHECK(rings[0].user->consumed == 2 && rings[1].user->consumed == 1);
	CHECK(!kernel_merge_ready(merge, &interval) && interval == 0);
	/* The next one has begun; only now is the first known to have ended. */
	maker_chunk(&cpu1, 1, 2000, 3000, 0);
	put_access(&cpu1, 7, 8, 2001, AT(1), 0);
	put_access(&cpu1, 7, 8, 2004, AT(1), 0);
	put_access(&cpu1, 7, 8, 2008, AT(1), 0);
	maker_done(&cpu1);
	maker_chunk(&monitor, 1, 2000, 3000, 0);
	put_interval(&monitor, 0, 2005);
	maker_done(&monitor);
	CHECK(!kernel_merge_fill(merge, rings));
	CHECK(kernel_merge_ready(merge, &interval) && interval == 0);
	CHECK(!kernel_merge_is_behind(merge, 0));
	kernel_merge_ahead(merge, 0, count_ahead, &ahead);
	CHECK(ahead == 2);
	while (kernel_merge_next(merge, 0, &item)) {
		lost += item.lost;
		if (!item.rec)
			continue;
		CHECK(item.rec->time_ns >= last && item.rec->time_ns < 2000);
		CHECK(item.cpu == (item.rec->tid == 8));
		last = item.rec->time_ns;
		n++;
	}
	CHECK(n == 90 && lost == 5);
	kernel_merge_close(merge, 0, &begin, &end);
	CHECK(begin == 1000 && end == 2000);
	CHECK(!kernel_merge_ready(merge, &interval) && interval == 1);
	for (n = 0; n < 4; n++)
		CHECK(kernel_merge_next(merge, UINT64_MAX, &item) && item.rec);
	CHECK(!kernel_merge_next(merge, UINT64_MAX, &item));
	CHECK(!kernel_merge_bytes(merge) && !kernel_merge_damaged(merge));
	/* A number far ahead costs no time. */
	maker_chunk(&monitor, 2, 0, 0, 0);
	put_interval(&monitor, UINT64_MAX / 2, 5000);
	maker_done(&monitor);
	CHECK(!kernel_merge_fill(merge, rings));
	CHECK(kernel_merge_ready(merge, &interval) && interval == 2);
	kernel_merge_next(merge, interval, &item);
	kernel_merge_next(merge, interval, &item);
	kernel_merge_close(merge, interval, &begin, &end);
	CHECK(kernel_merge_ready(merge, &interval) &&
	      interval == UINT64_MAX / 2);
	rings_free();
	return 0;
}

/* --- address spaces ------------------------------------------------------------- */

static char pieces[256];

static void note_piece(void *arg, const struct moca_rec_mapping *m,
		       uint64_t start, uint64_t end)
{
	size_t n = strlen(pieces);

	snprintf(pieces + n, sizeof(pieces) - n, "%lu-%lu ", start >> 12,
		 end >> 12);
}

static uint64_t inode = 42;	/* of files */

static const char *map_file_at(struct kernel_space *s, uint64_t start,
			       uint64_t end, uint32_t prot, const char *path)
{
	static union {
		struct moca_rec_mapping m;
		char room[sizeof(struct moca_rec_mapping) + 64];
	} u;

	memset(&u, 0, sizeof(u));
	u.m.start = AT(start);
	u.m.end = AT(end);
	u.m.prot = prot;
	u.m.flags = *path ? MOCA_MAPF_FILE : 0;
	u.m.inode = *path ? inode : 0;
	strcpy(u.m.path, path);
	pieces[0] = 0;
	if (kernel_space_map(s, &u.m, note_piece, NULL))
		return "no memory";
	return pieces;
}

static const char *map_at(struct kernel_space *s, uint64_t start, uint64_t end,
			  uint32_t prot)
{
	return map_file_at(s, start, end, prot, "");
}

/* Moca's library, and its variables behind it, are in no sum. */
static int t_own(void)
{
	struct kernel_space *s = kernel_space_new();
	struct moca_certificate c = { 0 };
	char folder[] = "/tmp/moca-test-XXXXXX", library[64];
	struct stat st;
	int fd;

	CHECK(s && mkdtemp(folder));
	snprintf(library, sizeof(library), "%s/libmoca-alloc.so", folder);
	fd = open(library, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && !fstat(fd, &st));
	own_file(library);
	inode = st.st_ino;
	map_file_at(s, 10, 20, 3, library);
	inode = 42;
	/* Only called so. */
	map_file_at(s, 50, 54, 3, "/usr/lib/libmoca-alloc.so");
	map_file_at(s, 54, 58, 3, library);
	map_at(s, 20, 24, 3);
	map_at(s, 30, 34, 3);
	map_file_at(s, 40, 44, 3, "/usr/lib/libother.so");
	map_at(s, 44, 46, 3);
	kernel_space_touch(s, AT(12), 1, &c);
	kernel_space_touch(s, AT(21), 0, &c);
	CHECK(!c.pages_seen && !c.pages_touched && !c.pages_other);
	kernel_space_touch(s, AT(30), 1, &c);
	kernel_space_touch(s, AT(40), 1, &c);
	kernel_space_touch(s, AT(45), 1, &c);
	kernel_space_touch(s, AT(51), 1, &c);
	kernel_space_touch(s, AT(55), 1, &c);
	CHECK(c.pages_seen == 5 && c.pages_touched == 5);
	kernel_space_drop(s);
	unlink(library);
	rmdir(folder);
	close(fd);
	return 0;
}

static int t_space(void)
{
	struct kernel_space *s = kernel_space_new(), *child;
	struct moca_certificate c = { 0 };

	CHECK(s);
	CHECK(!strcmp(map_at(s, 10, 20, 3), "10-20 "));
	CHECK(!strcmp(map_at(s, 10, 20, 3), ""));
	CHECK(!strcmp(map_at(s, 8, 25, 3), "8-10 20-25 "));	/* it grew */
	CHECK(!strcmp(map_at(s, 12, 14, 3), ""));
	kernel_space_touch(s, AT(12), 1, &c);
	kernel_space_touch(s, AT(12) + 5, 1, &c);
	kernel_space_touch(s, AT(13), 0, &c);
	kernel_space_touch(s, AT(13), 0, &c);
	CHECK(c.pages_seen == 1 && c.pages_touched == 2);
	kernel_space_touch(s, AT(13), 1, &c);	/* seen later */
	kernel_space_touch(s, AT(12), 0, &c);
	CHECK(c.pages_seen == 2 && c.pages_touched == 2);
	/* Another mapping in the middle: its pages begin anew. */
	CHECK(!strcmp(map_at(s, 12, 13, 1), "12-13 "));
	kernel_space_touch(s, AT(12), 1, &c);
	kernel_space_touch(s, AT(13), 1, &c);
	CHECK(c.pages_seen == 3 && c.pages_touched == 3);
	/* Both sides are still known; what replaces all is one. */
	CHECK(!strcmp(map_at(s, 8, 12, 3), ""));
	CHECK(!strcmp(map_at(s, 13, 25, 3), ""));
	child = kernel_space_copy(s);
	CHECK(child);
	CHECK(!strcmp(map_at(child, 13, 25, 3), ""));
	kernel_space_touch(child, AT(13), 1, &c);	/* a page of its own */
	CHECK(c.pages_seen == 4);
	CHECK(!strcmp(map_at(s, 0, 100, 1), "0-12 13-100 "));
	kernel_space_drop(s);
	kernel_space_drop(child);
	return 0;
}

/* --- the trace ------------------------------------------------------------------ */

/* Interval 1: the thread is gone, so a swept page is the other's. */
static void put_rest(void)
{
	maker_chunk(&cpu0, 1, 2000, 3000, 0);
	/* The sweep of interval 0 found this one. */
	put_access(&cpu0, 7, 7, 1989, AT(29), MOCA_ACC_WRITE);
	put_exit(&cpu0, 7, 8, 2100, 0);
	put_access(&cpu0, 7, 7, 2200, AT(30), MOCA_ACC_WRITE | MOCA_ACC_FALSE);
	maker_done(&cpu0);
	maker_chunk(&monitor, 1, 2000, 3000, 0);
	put_access(&monitor, 7, 7, 2500, AT(31), MOCA_ACC_SWEPT);
	put_interval(&monitor, 1, 3000);
	maker_done(&monitor);
	maker_chunk(&cpu1, 2, 3000, 4000, 0);
	put_exit(&cpu1, 7, 7, 3500, 0);
	maker_done(&cpu1);
}

/* How many records of that kind a task has; UINT8_MAX: of any. */
static unsigned int count(const struct moca_trace *t, uint32_t task,
			  unsigned int type, uint64_t addr)
{
	const struct moca_chunk *c;
	struct moca_cursor *cur;
	unsigned int n = 0;

	if (moca_cursor_open(&cur, (struct moca_trace *)t, NULL))
		abort();
	while (moca_cursor_chunk(cur, &c) > 0)
		for (size_t i = 0; i < c->count; i++)
			n += (task == MOCA_NO_TASK || c->task == task) &&
			     (type == UINT8_MAX ||
			      c->accesses[i].type == type) &&
			     (!addr || c->accesses[i].addr == addr);
	moca_cursor_close(cur);
	return n;
}

static uint64_t lost_of(struct moca_trace *t)
{
	const struct moca_chunk *c;
	struct moca_cursor *cur;
	uint64_t lost = 0;

	if (moca_cursor_open(&cur, t, NULL))
		abort();
	while (moca_cursor_chunk(cur, &c) > 0)
		lost += c->lost;
	moca_cursor_close(cur);
	return lost;
}

static int t_trace(void)
{
	struct moca_certificate c;
	const struct moca_task *task;
	const struct moca_mapping *map;
	struct kernel_trace *t;
	struct moca_trace *r;

	CHECK(!rings_new());
	t = trace_new(NULL, NULL);
	CHECK(t);
	put_program();
	put_rest();
	CHECK(!kernel_merge_fill(merge, rings));
	trace_interval(t, 0);
	trace_interval(t, 1);
	trace_interval(t, UINT64_MAX);
	CHECK(!kernel_trace_error(t));
	c = *kernel_trace_certificate(t);
	CHECK(kernel_trace_tasks(t) == 4 && kernel_trace_swept(t) == 2);
	/* 16, 17, 64, 20, 29, 30 of the program, 16, 17 of its child; and 31. */
	CHECK(c.pages_seen == 8 && c.pages_touched == 9);
	CHECK(c.records == 10 && c.lost == 3 && c.lossy_chunks == 1);
	put_meta("complete");
	CHECK(!moca_trace_open(&r, dir));
	CHECK(moca_trace_task_count(r) == 4);
	task = moca_trace_task(r, 0);
	CHECK(task->pid == 7 && task->tid == 7);
	task = moca_trace_task(r, 1);
	CHECK(task->pid == 7 && task->tid == 8 && task->parent == 0 &&
	      !strcmp(task->name, "worker"));
	task = moca_trace_task(r, 2);
	CHECK(task->pid == 9 && task->parent == 0);
	CHECK(!strcmp(moca_trace_task(r, 3)->name, kernel_trace_unknown));
	CHECK(count(r, 0, MOCA_ACCESS_WRITE, AT(16)) == 1);
	CHECK(count(r, 0, MOCA_ACCESS_EXEC, AT(64)) == 1);
	CHECK(count(r, 0, UINT8_MAX, AT(1)) == 0);
	CHECK(count(r, 0, MOCA_ACCESS_UNKNOWN, AT(31)) == 1);
	CHECK(count(r, 0, UINT8_MAX, 0) == 6);
	CHECK(count(r, 3, UINT8_MAX, 0) == 1);
	CHECK(count(r, 1, MOCA_ACCESS_READ, AT(20)) == 1);
	CHECK(count(r, 2, UINT8_MAX, 0) == 2);
	CHECK(count(r, 3, MOCA_ACCESS_UNKNOWN, AT(30)) == 1);
	CHECK(lost_of(r) == 3);
	CHECK(moca_trace_find_mapping(r, 7, AT(20), 1450) &&
	      !strcmp(moca_trace_find_mapping(r, 7, AT(20), 1450)->name,
		      "[heap]"));
	CHECK(moca_trace_find_mapping(r, 9, AT(17), 1601));
	/* What it is of. */
	map = moca_trace_find_mapping(r, 7, AT(64), 1300);
	CHECK(map && map->memory == MOCA_MEMORY_FILE && map->ino == 42);
	map = moca_trace_find_mapping(r, 7, AT(20), 1450);
	CHECK(map && map->memory == MOCA_MEMORY_PRIVATE && !map->ino);
	CHECK(!moca_trace_find_mapping(r, 7, AT(1), 1450));
	moca_trace_close(r);
	kernel_trace_free(t);
	moca_writer_destroy(writer);
	rings_free();
	return 0;
}

static int t_unwanted(void)
{
	struct kernel_trace *t;
	struct moca_trace *r;

	CHECK(!rings_new());
	t = trace_new("/bin/program", NULL);
	CHECK(t);
	put_program();
	CHECK(!kernel_merge_fill(merge, rings));
	trace_interval(t, 0);
	kernel_trace_free(t);
	put_meta("complete");
	CHECK(!moca_trace_open(&r, dir));
	CHECK(moca_trace_task_count(r) == 3);
	CHECK(count(r, MOCA_NO_TASK, UINT8_MAX, 0) == 0);
	moca_trace_close(r);
	moca_writer_destroy(writer);
	rings_free();
	return 0;
}

/* A thread that is not the leader executes a program. */
static int t_thread_exec(void)
{
	struct kernel_trace *t;
	struct moca_trace *r;

	CHECK(!rings_new());
	t = trace_new(NULL, NULL);
	CHECK(t);
	maker_chunk(&cpu0, 0, 1000, 2000, 0);
	put_task(&cpu0, 7, 7, 1000, 0, MOCA_TASKF_REGISTERED, "one");
	put_exec(&cpu0, 7, 7, 1001, "/bin/one");
	put_task(&cpu0, 7, 8, 1100, 7, MOCA_TASKF_THREAD, "one");
	put_access(&cpu0, 7, 7, 1150, AT(1), 0);
	put_exec(&cpu0, 7, 8, 1200, "/bin/two");
	put_access(&cpu0, 7, 7, 1300, AT(2), 0);
	/* A thread that the module did not tell of, as io_uring's. */
	put_access(&cpu0, 7, 77, 1400, AT(3), 0);
	put_exit(&cpu0, 7, 7, 1500, 0);
	maker_done(&cpu0);
	CHECK(!kernel_merge_fill(merge, rings));
	trace_interval(t, 0);
	kernel_trace_free(t);
	put_meta("complete");
	CHECK(!moca_trace_open(&r, dir));
	CHECK(moca_trace_task_count(r) == 3);
	CHECK(count(r, 0, UINT8_MAX, AT(1)) == 1);
	CHECK(count(r, 1, UINT8_MAX, AT(2)) == 1);
	CHECK(count(r, 2, UINT8_MAX, AT(3)) == 1);
	CHECK(moca_trace_task(r, 0)->end_ns == 1200);
	CHECK(moca_trace_task(r, 2)->end_ns == 1500);
	moca_trace_close(r);
	moca_writer_destroy(writer);
	rings_free();
	return 0;
}

/* Accesses that are in no task's life, or to memory that is gone by then. */
static unsigned int senseless(struct moca_trace *t)
{
	const struct moca_chunk *c;
	struct moca_cursor *cur;
	unsigned int n = 0;

	if (moca_cursor_open(&cur, t, NULL))
		abort();
	while (moca_cursor_chunk(cur, &c) > 0)
		for (size_t i = 0; i < c->count; i++) {
			const struct moca_task *of = moca_trace_task(t, c->task);
			uint64_t time = c->accesses[i].time_ns;

			n += time < of->start_ns || time > of->end_ns ||
			     time < c->begin_ns || time > c->end_ns ||
			     !moca_trace_find_mapping(t, of->pid,
						      c->accesses[i].addr, time);
		}
	moca_cursor_close(cur);
	return n;
}

/*
 * Times have a grain, and an interval begins on one CPU before it ends on
 * another: what a task did stays inside its life.
 */
static int t_lives(void)
{
	struct kernel_trace *t;
	struct moca_trace *r;

	CHECK(!rings_new());
	t = trace_new(NULL, NULL);
	CHECK(t);
	maker_chunk(&cpu0, 0, 1000, 2000, 0);
	put_task(&cpu0, 7, 7, 1001, 0, MOCA_TASKF_REGISTERED, "one");
	put_exec(&cpu0, 7, 7, 1002, "/bin/one");
	put_mapping(&cpu0, 7, 1003, AT(16), AT(32), MOCA_MAPF_HEAP, "");
	put_access(&cpu0, 7, 7, 1004, AT(16), 0);
	put_access(&cpu0, 7, 77, 1407, AT(17), 0);	/* of the kernel's */
	put_task(&cpu0, 7, 8, 1500, 7, MOCA_TASKF_THREAD, "one");
	maker_done(&cpu0);
	maker_chunk(&cpu1, 1, 1800, 3000, 0);
	put_access(&cpu1, 7, 8, 1900, AT(18), 0);
	put_access(&cpu1, 7, 7, 1901, AT(19), 0);
	put_mapping(&cpu1, 7, 1910, AT(16), AT(32), MOCA_MAPF_FILE, "/x");
	put_exit(&cpu1, 7, 8, 1950, 0);
	put_exit(&cpu1, 7, 7, 1960, 0);
	maker_done(&cpu1);
	CHECK(!kernel_merge_fill(merge, rings));
	trace_interval(t, 0);
	trace_interval(t, 1);
	kernel_trace_free(t);
	put_meta("complete");
	CHECK(!moca_trace_open(&r, dir));
	CHECK(count(r, MOCA_NO_TASK, UINT8_MAX, 0) == 4);
	CHECK(senseless(r) == 0);
	CHECK(!strcmp(moca_trace_find_mapping(r, 7, AT(18), 2000)->name,
		      "[heap]"));
	moca_trace_close(r);
	moca_writer_destroy(writer);
	rings_free();
	return 0;
}

/* Bytes that are wrong anywhere: the trace is readable, whatever is in it. */
static int t_hostile(void)
{
	struct moca_damage damage;
	struct moca_trace *r;
	uint64_t interval;

	srandom(20251122);
	for (int round = 0; round < 400; round++) {
		struct kernel_trace *t = trace_new(NULL, NULL);
		unsigned int i, n = 1 + (unsigned int)random() % 8;

		CHECK(t && !rings_new());
		put_program();
		put_rest();
		for (i = 0; i < n; i++) {
			struct maker *m = random() % 2 ? &cpu0 : &cpu1;

			m->map[8192 + random() % 1000] = (char)random();
		}
		CHECK(!kernel_merge_fill(merge, rings));
		for (i = 0; i < 9 && kernel_merge_ready(merge, &interval); i++)
			trace_interval(t, interval);
		trace_interval(t, UINT64_MAX);
		kernel_trace_lost(t, 1);
		kernel_trace_cut(t, UINT64_MAX, 0);
		if (round % 50 == 0 && !kernel_trace_error(t)) {
			put_meta("complete");
			CHECK(!moca_trace_open(&r, dir));
			count(r, 0, 0, 0);
			moca_trace_damage(r, &damage);
			CHECK(!damage.chunks && !damage.files);
			moca_trace_close(r);
		}
		kernel_trace_free(t);
		moca_writer_destroy(writer);
		rings_free();
	}
	return 0;
}

int main(void)
{
	run("kernel: a record of each type", t_all);
	run("kernel: cut off anywhere", t_truncated);
	run("kernel: lengths that are wrong", t_lengths);
	run("kernel: a ring's positions", t_ring);
	run("kernel: rings in one order of time", t_merge);
	run("kernel: lives of mappings", t_space);
	run("kernel: mappings of Moca's own", t_own);
	run("kernel: threads, children, swept pages, losses", t_trace);
	run("kernel: left out by choice", t_unwanted);
	run("kernel: exec of a thread, threads of the kernel", t_thread_exec);
	run("kernel: what a task did is inside its life", t_lives);
	run("kernel: wrong bytes", t_hostile);
	dir_remove();
	return failures != 0;
}
