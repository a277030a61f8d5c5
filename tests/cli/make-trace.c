// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write a small trace that is the same each time, for the tests of the
 * commands that read traces: make-trace DIR
 * [truncated|complete|odd-names|events|only-events|nodes|wrong-nodes|doubtful|
 *  sampled|uneven|clashing]
 * [BLIND]
 *
 * Process 100 (task 0, thread 101 = task 1) and its child 200 (task 2). Each
 * of INTERVALS intervals of 50 ms from START on: task 0 writes 8 pages of its
 * heap and reads 4 of a file, task 1 reads 2 pages of the heap (one of those
 * written, one more) in kernel mode, task 2 writes its heap's first page and
 * touches one page outside of any mapping, which SIGSEGV answers the first time.
 * Task 1 loses 3 samples in interval
 * 1 unless "complete". Task 0's interval 2 is split over two chunks.
 *
 * "events" is complete and has those of write_events() as well;
 * "only-events" has nothing else; "clashing" has types besides whose names SQL
 * knows already. "nodes" is complete and of a machine with
 * CPU 0 on node 0, where the heap is, and CPU 1 on node 2; task 1 runs on CPU 0;
 * "wrong-nodes" says in its metadata that there are three. "doubtful" is complete
 * and tells SIGSEGV of another page. "sampled" is complete, and of interval 1 on its
 * heap's even pages weigh 4 and the others 0. "uneven" is complete; its recorder chose
 * lengths of 40 ms and, of the last interval, 80 ms, and task 0 has no records in
 * intervals 1 and 2. BLIND is a line of the metadata: "6 1 NAME", of
 * NAME (/lib/demo.so, [heap]) 6 pages existed unseen, and 1 was seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/format/machine.h"
#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/format/writer.h"
#include "tests/unit/event-util.h"

#define START 1000000000ull
#define MS 1000000ull
#define INTERVALS 4
#define HEAP 0x10000000ull
#define FILE_ADDR 0x7f0000000000ull
#define PAGE 4096ull

static struct moca_writer *writer;
static uint64_t records, chunks, lost, lossy;
static int only_events;
static int killed;
static const char *blind;
static int doubtful;
static int sampled;
static int uneven;
static int clashing;
static int node_count;	/* in the metadata; 0: not told */

/* When an interval begins, ms after START. */
static unsigned begin_of(unsigned interval)
{
	return interval == INTERVALS ? 200 : interval * (uneven ? 40 : 50);
}

static int write_chunk(uint32_t task, unsigned interval, uint64_t samples_lost,
		       int more, const struct moca_access *a, size_t n)
{
	struct moca_chunk_info info = {
		.task = task,
		.interval = interval,
		.begin_ns = START + begin_of(interval) * MS,
		.end_ns = START + begin_of(interval + 1) * MS - 1,
		.lost = samples_lost,
		.more = more,
	};

	records += n;
	chunks++;
	lost += samples_lost;
	lossy += samples_lost != 0;
	return moca_writer_accesses(writer, &info, a, n);
}

static uint16_t weight_of(unsigned interval, uint64_t addr)
{
	if (!sampled || !interval || addr - HEAP > 16 * PAGE)
		return 1;
	return addr / PAGE % 2 ? 0 : 4;
}

static struct moca_access access_at(unsigned interval, unsigned ms,
				    uint64_t addr, int type)
{
	return (struct moca_access){
		.addr = addr,
		.ip = 0x401000 + addr % 64,
		.time_ns = START + (begin_of(interval) + ms) * MS,
		.phys = addr < FILE_ADDR ? (addr & ~(PAGE - 1)) + (1ull << 32) :
					   0,
		.cpu = 1,
		.node = addr < FILE_ADDR ? 0 : MOCA_NODE_UNKNOWN,
		.type = type,
		.weight = weight_of(interval, addr),
	};
}

static int write_main(unsigned interval)
{
	struct moca_access a[12];
	unsigned i;
	int err = 0;

	for (i = 0; i < 8; i++)
		a[i] = access_at(interval, i, HEAP + i * PAGE + 8 * i,
				 MOCA_ACCESS_WRITE);
	for (; i < 12; i++)
		a[i] = access_at(interval, i, FILE_ADDR + (i - 8) * PAGE,
				 i == 11 ? MOCA_ACCESS_EXEC : MOCA_ACCESS_READ);
	if (interval == 2)
		err = write_chunk(0, interval, 0, 1, a, 5);
	if (err)
		return err;
	return interval == 2 ? write_chunk(0, interval, 0, 0, a + 5, 7) :
			       write_chunk(0, interval, 0, 0, a, 12);
}

static int write_interval(unsigned interval, int lossy_too)
{
	struct moca_access thread[2], child[3];
	int err;

	thread[0] = access_at(interval, 20, HEAP + 1, MOCA_ACCESS_READ);
	thread[1] = access_at(interval, 21, HEAP + 9 * PAGE, MOCA_ACCESS_READ);
	thread[0].mode = thread[1].mode = MOCA_MODE_KERNEL;
	thread[0].cpu = thread[1].cpu = 0;
	child[0] = access_at(interval, 30, HEAP, MOCA_ACCESS_READ);
	child[1] = access_at(interval, 31, HEAP, MOCA_ACCESS_WRITE);
	child[2] = access_at(interval, 32, 0xdead0000, MOCA_ACCESS_UNKNOWN);
	err = uneven && (interval == 1 || interval == 2) ? 0 :
							   write_main(interval);
	if (!err)
		err = write_chunk(1, interval,
				  lossy_too && interval == 1 ? 3 : 0, 0,
				  thread, 2);
	if (!err)
		err = write_chunk(2, interval, 0, 0, child, 3);
	return err;
}

static struct moca_change event(unsigned ms, uint32_t type, uint32_t pid,
			       uint32_t tid, const char *name)
{
	return (struct moca_change){
		.time_ns = START + ms * MS,
		.type = type,
		.pid = pid,
		.tid = tid,
		.parent = MOCA_NO_TASK,
		.name = name,
	};
}

static struct moca_change mapping(uint32_t pid, uint64_t addr, uint64_t pages,
				 uint32_t flags, const char *name)
{
	struct moca_change e = event(0, MOCA_CHANGE_MMAP, pid, pid, name);

	e.addr = addr;
	e.len = pages * PAGE;
	e.prot = PROT_READ | (flags & MOCA_MAP_FILE ? PROT_EXEC : PROT_WRITE);
	e.flags = flags;
	return e;
}

static int write_changes(const char *name, const char *file)
{
	struct moca_change main_task[7], thread[2], child[5];
	int err;

	main_task[0] = event(0, MOCA_CHANGE_TASK_START, 100, 100, name);
	main_task[1] = event(0, MOCA_CHANGE_EXEC, 100, 100, "/bin/demo");
	main_task[2] = mapping(100, HEAP, 16,
			       MOCA_MAP_CERTIFIED | MOCA_MAP_ZAPPED, "[heap]");
	main_task[3] = mapping(100, FILE_ADDR, 8,
			       MOCA_MAP_FILE | MOCA_MAP_ZAPPED, file);
	main_task[4] = event(100, MOCA_CHANGE_GAP, 100, 100,
			     "a shared mapping of a device");
	main_task[4].addr = 0x7f1000000000;
	main_task[4].len = 4 * PAGE;
	main_task[5] = event(190, MOCA_CHANGE_MUNMAP, 100, 100, "");
	main_task[5].addr = FILE_ADDR;
	main_task[5].len = 8 * PAGE;
	main_task[6] = event(200, MOCA_CHANGE_TASK_END, 100, 100, "");
	main_task[6].status = 3 << 8;
	thread[0] = event(0, MOCA_CHANGE_TASK_START, 100, 101, "worker");
	thread[0].flags = MOCA_TASK_THREAD;
	thread[0].parent = 0;
	thread[1] = event(199, MOCA_CHANGE_TASK_END, 100, 101, "");
	child[0] = event(0, MOCA_CHANGE_TASK_START, 200, 200, "child");
	child[0].flags = MOCA_TASK_FORK;
	child[0].parent = 0;
	child[1] = mapping(200, HEAP, 16, MOCA_MAP_CERTIFIED, "[heap]");
	child[2] = event(5, MOCA_CHANGE_NAME, 200, 200, "renamed");
	child[3] = event(33, MOCA_CHANGE_SEGV, 200, 200, "");
	child[3].addr = doubtful ? HEAP : 0xdead0000;
	child[4] = event(198, MOCA_CHANGE_TASK_END, 200, 200, "");
	child[4].status = 9;
	err = moca_writer_changes(writer, 0, main_task, 7);
	if (!err)
		err = moca_writer_changes(writer, 1, thread, 2);
	if (!err)
		err = moca_writer_changes(writer, 2, child, 5);
	return err;
}

static int put_stream(struct moca_event_writer *w, struct records *r,
		      uint32_t stream, uint32_t pid, uint32_t tid,
		      const char *name, unsigned gaps)
{
	struct moca_change e[3];
	struct moca_event_chunk c = records_chunk(r, stream);
	int err;

	e[0] = event(10, MOCA_CHANGE_TASK_START, pid, tid, name);
	e[1] = event(150, MOCA_CHANGE_GAP, pid, tid, "a full buffer");
	e[2] = event(190, MOCA_CHANGE_TASK_END, pid, tid, "");
	err = moca_event_writer_changes(w, stream, e, 1 + gaps);
	if (err)
		return err;
	c.lost = stream == 1 ? 5 : 0;
	c.torn = stream == 1 ? 1 : 0;
	c.compress = 1;
	err = moca_event_writer_chunk(w, &c);
	return err ? err : moca_event_writer_changes(w, stream, e + 2, 1);
}

static void put_commit(struct records *r, unsigned ms, uint64_t transaction,
		       const char *table, uint32_t state)
{
	payload_int(r, transaction, 8);
	payload_string(r, table);
	payload_int(r, state, 4);
	payload_int(r, 1, 1);
	payload_int(r, 0xfe, 1);
	records_event(r, START + ms * MS, 16);
}

/*
 * Thread 101 (stream 0) commits four times, thread 777 (stream 1), which no
 * page trace knows, sleeps twice; 5 events of it are lost, 1 is torn.
 */
static int write_events(int fd)
{
	static struct records r;
	struct moca_event_writer *w;
	float f = 0.1f;
	unsigned i;
	int err;

	err = moca_event_writer_create(&w, fd);
	if (err)
		return err;
	err = moca_event_writer_type(w, 16, "db", "commit",
				      "u64 transaction\nstring table\n"
				      "enum state s32 idle=0,busy=1\n"
				      "array digest x8 2\n");
	if (!err)
		err = moca_event_writer_type(w, 17, "app", "sleep",
					      "f32 seconds\n"
					      "sequence why s16\n");
	if (!err && clashing)
		err = moca_event_writer_type(w, 18, "all_object", "nodes",
					      "u64 a\n");
	if (!err && clashing)
		err = moca_event_writer_type(w, 19, "x", "y",
					      "u64 time_ns\nu64 time_ns_2\n"
					      "u64 A\nu64 a\nu64 a_2\n");
	if (!err && clashing)
		err = moca_event_writer_type(w, 20, "X", "y", "u64 b\n");
	records_sync(&r, START);
	put_commit(&r, 11, 1, "x\"\\\n\033", 0);
	put_commit(&r, 20, 2, "", 1);
	put_commit(&r, 60, 3, "\xc3\xa9\xff", 2);
	put_commit(&r, 170, UINT64_MAX, "t", (uint32_t)-1);
	if (!err)
		err = put_stream(w, &r, 0, 100, 101, "worker", 0);
	records_reset(&r);
	records_sync(&r, START);
	for (i = 0; i < 2; i++) {
		payload_put(&r, &f, sizeof(f));
		payload_int(&r, 2 * i, 4);
		payload_int(&r, 0xfffb0007, 4 * i);
		records_event(&r, START + (100 + 50 * i) * MS, 17);
	}
	if (!err)
		err = put_stream(w, &r, 1, 777, 777, "sleeper", 1);
	moca_event_writer_destroy(w);
	return err;
}

static int write_machine(int fd)
{
	static const uint32_t distances[2][2] = { { 10, 21 }, { 21, 10 } };
	static const int32_t node_of_cpu[] = { 0, 2 };
	static const struct moca_machine_setting settings[] = {
		{ "cpu.model", "a\033[31mCPU" }, { "thp.enabled", "madvise" },
		{ "program.mempolicy", "bind" },
	};
	static const struct moca_machine_node nodes[] = {
		{ .id = 0, .bytes = 1ull << 30, .distances = distances[0] },
		{ .id = 2, .bytes = 2ull << 30, .distances = distances[1] },
	};
	static const struct moca_machine machine = {
		.page_size = PAGE, .node_count = 2, .nodes = nodes,
		.cpu_count = 2, .node_of_cpu = node_of_cpu,
		.setting_count = 3, .settings = settings,
	};

	return moca_machine_write(fd, &machine, START);
}

static int write_meta(struct moca_meta *m, const char *name, int fd,
		      const char *state)
{
	moca_meta_set(m, "state", "%s", state);
	moca_meta_set(m, "command", "demo %s", name);
	moca_meta_set(m, "host", "testhost");
	moca_meta_set(m, "kernel", "6.1.0 x86_64");
	moca_meta_set(m, "start_time", "1735787045000000000");
	moca_meta_set(m, "exit_status", "%d", 3 << 8);
	moca_meta_set(m, "cpus", "2");
	moca_meta_set(m, "page_size", "4096");
	if (node_count)
		moca_meta_set(m, "nodes", "%d", node_count);
	if (uneven)
		moca_meta_set(m, "credit_ns", "200000000");
	if (!only_events) {
		moca_meta_set(m, "collector", "fault");
		moca_meta_set(m, "mappings_told", "all");
		moca_meta_set(m, "interval_ns", "50000000");
		moca_meta_set(m, "budget", "0.1000");
		moca_meta_set(m, "slowdown_estimate", "1.25");
	}
	moca_meta_set(m, "start_ns", "%llu", START);
	moca_meta_set(m, "end_ns", "%llu", START + 200 * MS);
	if (only_events)
		return moca_seal_write(m, fd);
	if (!moca_meta_get(m, "note")) {
		moca_meta_add(m, "note", "system calls were not seen");
		if (killed)
			moca_meta_add_loss(m, "its collector was killed");
		if (blind && moca_meta_add(m, "blind", blind))
			return -ENOMEM;
	}
	if (blind)
		moca_meta_set(m, "certificate.pages_blind", "%d", atoi(blind));
	moca_meta_set(m, "certificate.pages_seen", "%d", lossy ? 14 : 15);
	moca_meta_set(m, "certificate.pages_touched", "15");
	moca_meta_set(m, "certificate.pages_other", "1");
	moca_meta_set(m, "certificate.records", "%llu",
		      (unsigned long long)records);
	moca_meta_set(m, "certificate.lost", "%llu", (unsigned long long)lost);
	moca_meta_set(m, "certificate.chunks", "%llu",
		      (unsigned long long)chunks);
	moca_meta_set(m, "certificate.lossy_chunks", "%llu",
		      (unsigned long long)lossy);
	return moca_seal_write(m, fd);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "";
	int odd = !strcmp(kind, "odd-names"), fd, err;
	const char *name = odd ? "a\"b\\\x01\xff\xc3\xa9\033[31m" : "demo";
	const char *file = odd ? "/tmp/\xed\xa0\x80,\"x\"\n" : "/lib/demo.so";
	struct moca_meta *m = moca_meta_new();
	int events = !strcmp(kind, "events") || !strcmp(kind, "clashing");
	unsigned i;

	only_events = !strcmp(kind, "only-events");
	killed = !strcmp(kind, "killed");
	blind = argc > 3 ? argv[3] : NULL;
	doubtful = !strcmp(kind, "doubtful");
	sampled = !strcmp(kind, "sampled");
	uneven = !strcmp(kind, "uneven");
	clashing = !strcmp(kind, "clashing");
	node_count = !strcmp(kind, "nodes") ? 2 :
		     !strcmp(kind, "wrong-nodes") ? 3 : 0;
	if (argc < 2 || !m)
		return 2;
	mkdir(argv[1], 0700);
	fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	err = fd < 0 ? -errno : moca_writer_create(&writer, fd);
	if (!err)
		err = write_meta(m, name, fd, "recording");
	if (!err && !only_events)
		err = write_changes(name, file);
	for (i = 0; i < INTERVALS && !err && !only_events; i++)
		err = write_interval(i, strcmp(kind, "complete") && !events &&
					!killed && !doubtful && !sampled &&
					!uneven && !node_count);
	if (!err && node_count)
		err = write_machine(fd);
	if (!err && (events || only_events))
		err = write_events(fd);
	if (!err)
		err = write_meta(m, name, fd, strcmp(kind, "truncated") ?
						      "complete" :
						      "recording");
	if (err)
		fprintf(stderr, "make-trace: %s\n", strerror(-err));
	moca_writer_destroy(writer);
	moca_meta_free(m);
	return err != 0;
}
