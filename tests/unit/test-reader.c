// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader: damaged files, queries, mappings, traces still being written. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/format/trace.h"
#include "tests/unit/trace-util.h"

#define CHUNKS 4
#define RECORDS 6

/* A small trace: task 0 with CHUNKS access chunks and one of events. */
static int small_trace(void)
{
	struct moca_change start = {
		.type = MOCA_CHANGE_TASK_START, .pid = 10, .tid = 10,
		.parent = MOCA_NO_TASK, .name = "prog", .time_ns = 1,
	};
	struct moca_access recs[RECORDS];
	struct moca_writer *w;
	int i, k;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&w, dirfd_));
	CHECK(!moca_writer_changes(w, 0, &start, 1));
	for (k = 0; k < CHUNKS; k++) {
		struct moca_chunk_info info = {
			.interval = (uint64_t)k, .begin_ns = 1000u * k,
			.end_ns = 1000u * (k + 1),
		};

		memset(recs, 0, sizeof(recs));
		for (i = 0; i < RECORDS; i++) {
			recs[i].addr = 0x10000u * (k + 1) + 0x1008u * i;
			recs[i].ip = 0x400000 + rnd() % 100;
			recs[i].time_ns = 1000u * k + 100u * i;
			recs[i].phys = rnd() >> 20 << 12;
			recs[i].type = i % 3 + 1;
			recs[i].weight = 1;
		}
		CHECK(!moca_writer_accesses(w, &info, recs, RECORDS));
	}
	moca_writer_destroy(w);
	return 0;
}

struct seen {
	unsigned chunks;	/* read whole */
	unsigned events;
	size_t tasks;
	struct moca_damage damage;
};

/* Open and walk the whole trace twice: damage must count only once. */
static int look(struct seen *s)
{
	const struct moca_mapping *maps;
	const struct moca_chunk *c;
	const struct moca_change *e;
	struct moca_trace *t;
	struct moca_cursor *cur;
	uint32_t task;
	size_t n;
	int pass, ret;

	CHECK(!moca_trace_open(&t, dir));
	for (pass = 0; pass < 2; pass++) {
		memset(s, 0, sizeof(*s));
		CHECK(!moca_cursor_open(&cur, t, NULL));
		while ((ret = moca_cursor_chunk(cur, &c)) == 1) {
			CHECK(c->count == RECORDS);
			CHECK(c->accesses[1].addr ==
			      0x10000u * (c->number + 1) + 0x1008u);
			s->chunks++;
		}
		CHECK(!ret);
		moca_cursor_close(cur);
		/* Without their accesses there are as many. */
		CHECK(!moca_cursor_open(&cur, t, NULL));
		moca_chunks_only(cur);
		for (n = 0; (ret = moca_cursor_chunk(cur, &c)) == 1; n++)
			CHECK(c->count == RECORDS && !c->accesses);
		CHECK(!ret && n == s->chunks);
		moca_cursor_close(cur);
		CHECK(!moca_cursor_open(&cur, t, NULL));
		while ((ret = moca_cursor_change(cur, &e, &task)) == 1)
			s->events++;
		CHECK(!ret);
		moca_cursor_close(cur);
	}
	CHECK(!moca_trace_mappings(t, &maps, &n));
	s->tasks = moca_trace_task_count(t);
	moca_trace_damage(t, &s->damage);
	moca_trace_close(t);
	return 0;
}

static int t_truncated(void)
{
	struct seen s;
	unsigned last = 0;
	uint8_t *p;
	size_t len, cut;

	CHECK(!small_trace());
	p = slurp("task-0", &len);
	for (cut = 0; cut <= len; cut++) {
		spill("task-0", p, cut);
		if (look(&s))
			return 1;
		CHECK(s.chunks + s.events >= last);
		last = s.chunks + s.events;
		/* Of a complete trace no file is empty. */
		CHECK(s.tasks == 1 && !s.damage.chunks &&
		      s.damage.files == !cut);
		CHECK(s.damage.tail_bytes < 400);
	}
	CHECK(s.chunks == CHUNKS && s.events == 1 && !s.damage.tail_bytes);
	free(p);
	return 0;
}

static int t_flipped(void)
{
	struct seen s;
	uint8_t *p;
	size_t len, i;

	CHECK(!small_trace());
	p = slurp("task-0", &len);
	for (i = 0; i < len; i++) {
		p[i] ^= (uint8_t)(1 + rnd() % 255);
		spill("task-0", p, len);
		if (look(&s))
			return 1;
		/* It is one chunk or the event that is gone, no more. */
		CHECK(s.chunks + s.events == CHUNKS);
		CHECK(s.damage.chunks + (s.damage.tail_bytes != 0) == 1);
		CHECK(!s.damage.files && s.tasks == 1);
		free(p);
		CHECK(!small_trace());
		p = slurp("task-0", &len);
	}
	free(p);
	return 0;
}

/* Bytes that are no chunk in front of, between and after chunks. */
static int t_garbage(void)
{
	static uint8_t buf[400000];
	struct seen s;
	uint8_t *p;
	size_t len, i;

	CHECK(!small_trace());
	p = slurp("task-0", &len);
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i % 3 ? (uint8_t)rnd() : p[i % 8];
	memcpy(buf + 100000, p, len);
	/* across the end of the window in which the reader searches */
	memcpy(buf + 262144 - 30, p, len);
	spill("task-0", buf, sizeof(buf));
	if (look(&s))
		return 1;
	CHECK(s.chunks == 2 * CHUNKS && s.events == 2);
	CHECK(s.damage.chunks == 2);
	CHECK(s.damage.tail_bytes == sizeof(buf) - 262144 + 30 - len);
	free(p);
	return 0;
}

static int t_foreign(void)
{
	struct seen s;
	uint8_t *p;
	size_t len;

	CHECK(!small_trace());
	p = slurp("task-0", &len);
	spill("task-1", p, len);
	CHECK(!symlinkat("task-0", dirfd_, "task-2"));
	CHECK(!mkdirat(dirfd_, "task-3", 0700));
	CHECK(!mkfifoat(dirfd_, "task-4", 0600));
	spill("task-05", p, len);
	spill("task-99999999999", p, len);
	spill("other", p, len);
	spill("task-7", p, 0);
	free(p);
	if (look(&s))
		return 1;
	CHECK(s.damage.files == 7 && s.tasks == 2 && s.chunks == CHUNKS);
	return 0;
}

static int count(const struct moca_query *q, unsigned *chunks, size_t *recs)
{
	const struct moca_chunk *c;
	struct moca_trace *t;
	struct moca_cursor *cur;

	*chunks = 0;
	*recs = 0;
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, q));
	while (moca_cursor_chunk(cur, &c) == 1) {
		(*chunks)++;
		*recs += c->count;
		CHECK(c->reads + c->writes == c->count);
	}
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

static int t_queries(void)
{
	struct moca_query q = { .size = sizeof(q) };
	struct moca_cursor *cur;
	struct moca_trace *t;
	unsigned chunks;
	size_t recs;

	CHECK(!small_trace());
	CHECK(!count(&q, &chunks, &recs));
	CHECK(chunks == CHUNKS && recs == CHUNKS * RECORDS);
	q.begin_ns = 1100;
	q.end_ns = 2200;
	CHECK(!count(&q, &chunks, &recs));
	CHECK(chunks == 2 && recs == RECORDS - 1 + 2);
	q = (struct moca_query){ .size = sizeof(q), .addr_begin = 0x21008,
				 .addr_end = 0x30001 };
	CHECK(!count(&q, &chunks, &recs));
	CHECK(chunks == 2 && recs == RECORDS - 1 + 1);
	q = (struct moca_query){ .size = sizeof(q), .one_task = 1, .task = 4 };
	CHECK(!count(&q, &chunks, &recs));
	CHECK(!chunks);
	q.task = 0;
	CHECK(!count(&q, &chunks, &recs));
	CHECK(chunks == CHUNKS);
	CHECK(!moca_trace_open(&t, dir));
	q.size = 8;
	CHECK(moca_cursor_open(&cur, t, &q) == -EINVAL);
	q = (struct moca_query){ .size = sizeof(q), .begin_ns = 5,
				 .end_ns = 4 };
	CHECK(moca_cursor_open(&cur, t, &q) == -EINVAL);
	moca_trace_close(t);
	return 0;
}

/* --- mappings ------------------------------------------------------- */

static struct moca_writer *mw;

static void put(uint32_t task, uint32_t type, uint64_t time, uint64_t addr,
		uint64_t len, const char *name)
{
	struct moca_change e = {
		.type = type, .time_ns = time, .addr = addr, .len = len,
		.name = name, .parent = MOCA_NO_TASK,
		.flags = MOCA_MAP_FILE,
	};

	if (moca_writer_changes(mw, task, &e, 1))
		abort();
}

static void start(uint32_t task, uint64_t time, uint32_t pid, uint32_t parent,
		  uint32_t flags)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = time, .pid = pid,
		.tid = pid + task, .parent = parent, .flags = flags,
		.name = "t",
	};

	if (moca_writer_changes(mw, task, &e, 1))
		abort();
}

/* The name of what was there, "" if nothing. */
static const char *at(struct moca_trace *t, uint32_t pid, uint64_t addr,
		      uint64_t time)
{
	const struct moca_mapping *m = moca_trace_find_mapping(t, pid, addr,
							       time);

	return m ? m->name : "";
}

#define AT(pid, addr, time, what) CHECK(!strcmp(at(t, pid, addr, time), what))

static int t_mappings(void)
{
	const struct moca_mapping *m;
	struct moca_trace *t;
	size_t n, i;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&mw, dirfd_));
	start(0, 1, 100, MOCA_NO_TASK, 0);
	put(0, MOCA_CHANGE_MMAP, 10, 0x10000, 0x10000, "a");
	put(0, MOCA_CHANGE_MMAP, 20, 0x14000, 0x2000, "b");
	put(0, MOCA_CHANGE_MUNMAP, 30, 0x1f000, 0x5000, "");
	start(1, 40, 200, 0, MOCA_TASK_FORK);
	put(0, MOCA_CHANGE_MUNMAP, 50, 0, UINT64_MAX, "");
	put(1, MOCA_CHANGE_EXEC, 60, 0, 0, "/bin/x");
	put(1, MOCA_CHANGE_MMAP, 61, 0x10000, 0x1000, "x");
	start(2, 70, 200, 1, MOCA_TASK_THREAD);
	put(2, MOCA_CHANGE_MMAP, 71, 0x20000, 0x1000, "y");
	put(1, MOCA_CHANGE_TASK_END, 80, 0, 0, "");
	start(3, 82, 300, 2, MOCA_TASK_VFORK);
	put(3, MOCA_CHANGE_MMAP, 83, 0x30000, 0x1000, "z");
	put(3, MOCA_CHANGE_EXEC, 84, 0, 0, "/bin/y");
	put(3, MOCA_CHANGE_MMAP, 85, 0x40000, 0x1000, "w");
	put(2, MOCA_CHANGE_TASK_END, 90, 0, 0, "");
	/* the number again, for another process */
	start(4, 95, 200, 3, MOCA_TASK_FORK);
	put(4, MOCA_CHANGE_MMAP, 96, UINT64_MAX - 4095, 1 << 20, "end");
	moca_writer_destroy(mw);

	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_trace_task_count(t) == 5);
	CHECK(!strcmp(moca_trace_task(t, 1)->name, "x"));
	CHECK(moca_trace_task(t, 1)->end_ns == 80);
	CHECK(moca_trace_task(t, 2)->flags == MOCA_TASK_THREAD);
	CHECK(moca_trace_task(t, 3)->parent == 2);
	AT(100, 0x10000, 9, "");
	AT(100, 0x10000, 10, "a");
	AT(100, 0x1ffff, 10, "a");
	AT(100, 0x20000, 10, "");
	AT(100, 0x14000, 19, "a");
	AT(100, 0x14000, 20, "b");
	AT(100, 0x13fff, 20, "a");
	AT(100, 0x16000, 25, "a");
	m = moca_trace_find_mapping(t, 100, 0x16000, 25);
	CHECK(m->offset == 0x6000 && m->addr == 0x16000 && m->begin_ns == 20);
	CHECK(m->end_ns == 30 && m->pid == 100);
	AT(100, 0x1f000, 30, "");
	AT(100, 0x1efff, 30, "a");
	AT(200, 0x14000, 39, "");
	AT(200, 0x14000, 40, "b");
	AT(100, 0x14000, 50, "");
	AT(200, 0x14000, 59, "b");
	AT(200, 0x14000, 60, "");
	AT(200, 0x10000, 61, "x");
	AT(200, 0x20000, 71, "y");
	AT(200, 0x20000, 81, "y");
	AT(300, 0x20000, 82, "y");
	AT(300, 0x30000, 83, "z");
	AT(200, 0x30000, 83, "z");
	AT(300, 0x30000, 84, "");
	AT(200, 0x30000, 89, "z");
	AT(200, 0x30000, 90, "");
	AT(300, 0x40000, 1000, "w");
	AT(200, 0x40000, 94, "");
	AT(200, 0x40000, 95, "w");
	AT(200, UINT64_MAX - 1, 96, "end");
	AT(999, 0x10000, 50, "");
	CHECK(!moca_trace_mappings(t, &m, &n));
	for (i = 1; i < n; i++)
		CHECK(m[i - 1].pid < m[i].pid ||
		      (m[i - 1].pid == m[i].pid &&
		       m[i - 1].begin_ns <= m[i].begin_ns));
	moca_trace_close(t);
	return 0;
}

/* Threads of a process that was attached to: none begins it anew, or ends it. */
static int t_mappings_attached(void)
{
	struct moca_trace *t;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&mw, dirfd_));
	start(0, 1, 100, MOCA_NO_TASK, MOCA_TASK_ATTACHED);
	put(0, MOCA_CHANGE_MMAP, 2, 0x10000, 0x1000, "a");
	start(1, 3, 100, MOCA_NO_TASK, MOCA_TASK_ATTACHED);
	put(1, MOCA_CHANGE_TASK_END, 10, 0, 0, "");
	put(0, MOCA_CHANGE_TASK_END, 20, 0, 0, "");
	start(2, 30, 100, MOCA_NO_TASK, MOCA_TASK_ATTACHED);
	moca_writer_destroy(mw);
	CHECK(!moca_trace_open(&t, dir));
	AT(100, 0x10000, 4, "a");
	AT(100, 0x10000, 19, "a");
	AT(100, 0x10000, 21, "");
	AT(100, 0x10000, 31, "");
	moca_trace_close(t);
	return 0;
}

/* Random maps and unmaps against a table of pages. */
static int t_mappings_random(void)
{
	enum { PAGES = 64, STEPS = 600 };
	static char names[STEPS][12];
	static int model[STEPS][PAGES];
	struct moca_trace *t;
	int i, p, len, first, map;

	dir_new();
	put_meta("complete");
	CHECK(!moca_writer_create(&mw, dirfd_));
	start(0, 0, 7, MOCA_NO_TASK, 0);
	for (i = 0; i < STEPS; i++) {
		if (i)
			memcpy(model[i], model[i - 1], sizeof(model[i]));
		first = (int)(rnd() % PAGES);
		len = 1 + (int)(rnd() % (uint64_t)(PAGES - first));
		map = rnd() % 3 != 0;
		snprintf(names[i], sizeof(names[i]), "%d", i);
		put(0, map ? MOCA_CHANGE_MMAP : MOCA_CHANGE_MUNMAP,
		    (uint64_t)i + 1, (uint64_t)first << 12,
		    (uint64_t)len << 12, names[i]);
		for (p = first; p < first + len; p++)
			model[i][p] = map ? i + 1 : 0;
	}
	moca_writer_destroy(mw);
	CHECK(!moca_trace_open(&t, dir));
	for (i = 0; i < STEPS; i++)
		for (p = 0; p < PAGES; p++)
			AT(7, ((uint64_t)p << 12) + 5, (uint64_t)i + 1,
			   model[i][p] ? names[model[i][p] - 1] : "");
	moca_trace_close(t);
	return 0;
}

/* --- while it is being written -------------------------------------- */

static int t_growing(void)
{
	struct moca_chunk_info info = { .end_ns = 1u << 30 };
	static struct moca_access recs[20000];
	const struct moca_chunk *c;
	struct moca_trace *t;
	struct moca_cursor *cur;
	struct moca_damage damage;
	struct moca_writer *w;
	uint64_t n, last = 0;
	int status, k, rounds = 0;
	pid_t pid;
	size_t i;

	dir_new();
	put_meta("recording");
	for (i = 0; i < 20000; i++) {
		recs[i].addr = rnd() >> 20;
		recs[i].time_ns = i;
		recs[i].weight = 1;
	}
	pid = fork();
	if (!pid) {
		if (moca_writer_create(&w, dirfd_))
			_exit(1);
		for (k = 0; k < 100; k++)
			if (moca_writer_accesses(w, &info, recs, 20000))
				_exit(1);
		put_meta("complete");
		_exit(0);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		CHECK(!moca_trace_open(&t, dir));
		CHECK(!moca_cursor_open(&cur, t, NULL));
		for (n = 0; moca_cursor_chunk(cur, &c) == 1; n++)
			CHECK(c->number == n && c->count == 20000);
		CHECK(n >= last);
		last = n;
		moca_trace_damage(t, &damage);
		CHECK(!damage.chunks && !damage.files);
		moca_cursor_close(cur);
		moca_trace_close(t);
		rounds++;
	}
	CHECK(!status && rounds);
	return 0;
}

/* All lines, in their order, are what the keys give; behind the last is none. */
static int t_meta_lines(void)
{
	struct moca_meta *m = moca_meta_new();
	const char *key, *value;
	struct moca_trace *t;
	unsigned notes = 0;
	size_t i;

	dir_new();
	CHECK(m && !moca_meta_set(m, "format", "1") &&
	      !moca_meta_add(m, "note", "a\nb") &&
	      !moca_meta_set(m, "state", "complete") &&
	      !moca_meta_add(m, "note", "") && !moca_meta_write(m, dirfd_));
	moca_meta_free(m);
	CHECK(!moca_trace_open(&t, dir));
	for (i = 0; (key = moca_trace_meta_line(t, i, &value)); i++) {
		if (!strcmp(key, "note"))
			CHECK(moca_trace_meta_nth(t, "note", notes++) == value);
		else
			CHECK(moca_trace_meta(t, key) == value);
	}
	CHECK(i >= 4 && notes == 2 && !value);
	CHECK(!moca_trace_meta_line(t, SIZE_MAX, &value) && !value);
	moca_trace_close(t);
	return 0;
}

int main(void)
{
	run("reader/truncated-at-every-byte", t_truncated);
	run("reader/every-byte-flipped", t_flipped);
	run("reader/garbage", t_garbage);
	run("reader/foreign-files", t_foreign);
	run("reader/queries", t_queries);
	run("reader/mappings", t_mappings);
	run("reader/mappings-attached", t_mappings_attached);
	run("reader/mappings-random", t_mappings_random);
	run("reader/while-written", t_growing);
	run("reader/meta-lines", t_meta_lines);
	dir_remove();
	return failures != 0;
}
