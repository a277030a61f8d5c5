// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks that share a file: written, read back, damaged. */
#include <dirent.h>
#include <sys/stat.h>

#include "lib/format/chunk.h"
#include "lib/format/trace.h"
#include "tests/unit/trace-util.h"

#define TASKS 50
#define OWN 16		/* that have files of their own: OWN_FILES */
#define ROUNDS 3
#define RECORDS 4
#define BUSY 20		/* a task that gets one later */
#define BUSY_ROUNDS 12
#define BUSY_RECORDS 4000

static uint64_t addr_of(uint32_t task, uint64_t round, size_t i)
{
	return ((uint64_t)task << 32) + (round << 20) + i * 0x1000;
}

static int put_chunk(struct moca_writer *w, uint32_t task, uint64_t round,
		     size_t n)
{
	static struct moca_access recs[BUSY_RECORDS];
	struct moca_chunk_info info = {
		.task = task, .interval = round, .begin_ns = round * 1000000,
		.end_ns = (round + 1) * 1000000,
	};

	for (size_t i = 0; i < n; i++)
		recs[i] = (struct moca_access){
			.addr = addr_of(task, round, i), .type = 1 + i % 2,
			.ip = n > RECORDS ? rnd() : 0x400000,
			.time_ns = round * 1000000 + i, .weight = 1,
		};
	return moca_writer_accesses(w, &info, recs, n);
}

static int put_change(struct moca_writer *w, uint32_t task, uint32_t type)
{
	struct moca_change e = {
		.type = type, .pid = 10, .tid = 10 + task, .name = "t",
		.parent = MOCA_NO_TASK, .time_ns = type + 1,
	};

	return moca_writer_changes(w, task, &e, 1);
}

/* Round by round, so that the tasks' chunks lie mixed. */
static int make_trace(int busy)
{
	struct moca_writer *w;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	for (uint32_t task = 0; task < TASKS; task++)
		CHECK(!put_change(w, task, MOCA_CHANGE_TASK_START));
	for (uint64_t round = 0; round < ROUNDS; round++)
		for (uint32_t task = TASKS; task--;)
			CHECK(!put_chunk(w, task, round, RECORDS));
	for (uint64_t round = ROUNDS; busy && round < BUSY_ROUNDS; round++)
		CHECK(!put_chunk(w, BUSY, round, BUSY_RECORDS));
	for (uint32_t task = 0; task < TASKS; task++)
		CHECK(!put_change(w, task, MOCA_CHANGE_TASK_END));
	moca_writer_destroy(w);
	return 0;
}

static int there(const char *name)
{
	struct stat st;

	return !fstatat(dirfd_, name, &st, 0);
}

/* All chunks of a task, in order and as they were written. */
static int walk_chunks(struct moca_trace *t, uint32_t task, unsigned *chunks)
{
	struct moca_query q = { .size = sizeof(q), .one_task = 1,
				.task = task };
	const struct moca_chunk *c;
	struct moca_cursor *cur;
	int ret;

	CHECK(!moca_cursor_open(&cur, t, &q));
	for (*chunks = 0; (ret = moca_cursor_chunk(cur, &c)) == 1; ++*chunks) {
		CHECK(c->task == task && c->number == c->interval);
		for (size_t i = 0; i < c->count; i++)
			CHECK(c->accesses[i].addr ==
			      addr_of(task, c->interval, i));
	}
	CHECK(!ret);
	moca_cursor_close(cur);
	return 0;
}

static int walk_events(struct moca_trace *t, unsigned *events)
{
	const struct moca_change *e;
	struct moca_cursor *cur;
	uint32_t task, last = 0;
	int ret;

	CHECK(!moca_cursor_open(&cur, t, NULL));
	for (*events = 0; (ret = moca_cursor_change(cur, &e, &task)) == 1;
	     ++*events) {
		CHECK(task >= last && e->tid == 10 + task);
		last = task;
	}
	CHECK(!ret);
	moca_cursor_close(cur);
	return 0;
}

/* Of a trace without the busy task: what is read, and its damage. */
static int look(unsigned *chunks, unsigned *events, struct moca_damage *damage)
{
	struct moca_trace *t;
	unsigned n;

	CHECK(!moca_trace_open(&t, dir));
	*chunks = 0;
	for (size_t i = 0; i < moca_trace_task_count(t); i++) {
		CHECK(!walk_chunks(t, moca_trace_task(t, i)->id, &n));
		*chunks += n;
	}
	CHECK(!walk_events(t, events));
	moca_trace_damage(t, damage);
	moca_trace_close(t);
	return 0;
}

static int t_files(void)
{
	struct moca_trace *t;
	unsigned chunks, events;
	char name[32];

	CHECK(!make_trace(1));
	CHECK(there("task-shared"));
	for (unsigned i = 0; i < TASKS; i++) {
		snprintf(name, sizeof(name), "task-%u", i);
		CHECK(there(name) == (i < OWN || i == BUSY));
	}
	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_trace_task_count(t) == TASKS);
	for (unsigned i = 0; i < TASKS; i++) {
		const struct moca_task *task = moca_trace_task(t, i);

		CHECK(task->id == i && task->tid == 10 + i);
		CHECK(task->end_ns == MOCA_CHANGE_TASK_END + 1);
		CHECK(!walk_chunks(t, i, &chunks));
		CHECK(chunks == (i == BUSY ? BUSY_ROUNDS : ROUNDS));
		CHECK(chunks == task->chunks);
	}
	CHECK(!walk_events(t, &events));
	CHECK(events == 2 * TASKS);
	moca_trace_close(t);
	return 0;
}

/* A flipped byte takes one chunk away, of one task. */
static int t_flipped(void)
{
	const unsigned all = TASKS * ROUNDS + 2 * TASKS;
	unsigned chunks, events;
	struct moca_damage d;
	uint8_t *p;
	size_t len;

	CHECK(!make_trace(0));
	p = slurp("task-shared", &len);
	for (size_t i = 0; i < len; i += 101) {
		p[i] ^= 1u << i % 8;
		spill("task-shared", p, len);
		CHECK(!look(&chunks, &events, &d));
		CHECK(chunks + events == all - 1);
		CHECK(d.chunks + (d.tail_bytes != 0) == 1 && !d.files);
		p[i] ^= 1u << i % 8;
	}
	for (size_t cut = 0; cut < len; cut += 211) {
		spill("task-shared", p, cut);
		CHECK(!look(&chunks, &events, &d));
		CHECK(chunks + events < all && !d.chunks && d.files == !cut);
		CHECK(d.tail_bytes < 400);
	}
	free(p);
	return 0;
}

/* A header of a task that there cannot be, and a file that is none. */
static int t_foreign(void)
{
	struct moca_header h = {
		.kind = MOCA_KIND_ACCESSES, .task = MOCA_TASKS_MAX,
	};
	uint8_t buf[MOCA_HEADER_MAX];
	unsigned chunks, events;
	struct moca_damage d;
	size_t len, n;
	uint8_t *p, *both;

	CHECK(!make_trace(0));
	p = slurp("task-shared", &len);
	n = moca_header_put(&h, buf);
	both = malloc(len + n);
	CHECK(both);
	memcpy(both, p, len);
	memcpy(both + len, buf, n);
	spill("task-shared", both, len + n);
	CHECK(!look(&chunks, &events, &d));
	CHECK(chunks == TASKS * ROUNDS && events == 2 * TASKS);
	CHECK(d.chunks == 1 && !d.files);
	CHECK(!unlinkat(dirfd_, "task-shared", 0));
	CHECK(!symlinkat("task-0", dirfd_, "task-shared"));
	CHECK(!look(&chunks, &events, &d));
	CHECK(chunks == OWN * ROUNDS && events == 2 * OWN && d.files == 1);
	free(both);
	free(p);
	return 0;
}

/* What was cut off since the trace was opened is missing, no more. */
static int t_cut_later(void)
{
	unsigned chunks, events;
	struct moca_trace *t;
	uint8_t *p;
	size_t len;

	CHECK(!make_trace(0));
	CHECK(!moca_trace_open(&t, dir));
	p = slurp("task-shared", &len);
	spill("task-shared", p, len / 2);
	for (uint32_t i = 0; i < TASKS; i++)
		CHECK(!walk_chunks(t, i, &chunks));
	CHECK(!walk_events(t, &events));
	CHECK(events < 2 * TASKS);
	moca_trace_close(t);
	free(p);
	return 0;
}

int main(void)
{
	run("shared-file/files", t_files);
	run("shared-file/flipped", t_flipped);
	run("shared-file/foreign", t_foreign);
	run("shared-file/cut-later", t_cut_later);
	dir_remove();
	return failures != 0;
}
