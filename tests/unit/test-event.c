// SPDX-License-Identifier: GPL-2.0-or-later
/* Events: all kinds of fields, clocks, streams and tasks, no room. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/event-trace.h"

static int check_all_fields(const struct moca_event *m)
{
	static const int64_t expect[] = {
		200, 60000, 4000000000, -1, -100, -30000, -2000000000,
		INT64_MIN, 0xab, 0x123456789abcdef0,
	};
	const struct moca_event_type *type = m->type;
	struct moca_value v;
	size_t i;

	CHECK(type->id == ID && type->field_count == 16);
	CHECK(!strcmp(type->facility, "db") && !strcmp(type->name, "all"));
	for (i = 0; i < 10; i++) {
		CHECK(!moca_event_value(m, i, &v));
		CHECK(v.count == 1 && v.field->name[0] == 'a' + (int)i);
		CHECK(moca_value_integer(&v, 0) == (uint64_t)expect[i]);
		CHECK(moca_value_integer(&v, 1) == 0);
	}
	CHECK(v.field->kind == MOCA_FIELD_HEX && v.field->size == 8);
	CHECK(!moca_event_value(m, 10, &v) && moca_value_float(&v, 0) == 0.5);
	CHECK(!moca_event_value(m, 11, &v));
	CHECK(moca_value_float(&v, 0) == -1e300);
	CHECK(!moca_event_value(m, 12, &v) && v.count == 11);
	CHECK(!strcmp((const char *)v.data, "a \"string\"\n"));
	CHECK(!moca_event_value(m, 13, &v));
	CHECK(v.field->kind == MOCA_FIELD_ENUM && v.field->label_count == 3);
	CHECK((int64_t)moca_value_integer(&v, 0) == -1);
	CHECK(moca_value_float(&v, 0) == -1);
	CHECK(!strcmp(v.field->labels[1].label, "busy wait"));
	CHECK(v.field->labels[1].value == 1 && v.field->labels[2].value == -1);
	CHECK(!moca_event_value(m, 14, &v));
	CHECK(v.field->shape == MOCA_FIELD_ARRAY && v.count == 3);
	CHECK(moca_value_integer(&v, 1) == 2);
	CHECK(moca_value_integer(&v, 2) == 65535);
	CHECK(!moca_event_value(m, 15, &v));
	CHECK(v.field->shape == MOCA_FIELD_SEQUENCE && v.count == 2);
	CHECK((int64_t)moca_value_integer(&v, 1) == -7);
	CHECK(moca_event_value(m, 16, &v) == -EINVAL);
	CHECK(v.data + 16 == m->payload + m->len);
	return 0;
}

static int t_fields(void)
{
	const struct moca_event_type *const *types;
	struct moca_change e = start_of(10, 11, 1000);
	const struct moca_event *m;
	struct moca_event_chunk c;
	struct moca_event_writer *w;
	struct moca_damage damage;
	struct moca_cursor *cur;
	struct moca_trace *t;
	uint64_t position;
	uint32_t task;
	size_t i, n;

	for (i = 0; i < 2; i++) {
		CHECK(!new_trace(&w));
		CHECK(!moca_event_writer_type(w, ID, "db", "all", all_fields));
		CHECK(!moca_event_writer_type(w, ID + 1, "db", "none", ""));
		CHECK(!moca_event_writer_changes(w, 5, &e, 1));
		records_reset(&r);
		records_sync(&r, 2000);
		put_all_fields(2000);
		records_event(&r, 2500, ID + 1);
		put_all_fields(3000);
		c = records_chunk(&r, 5);
		c.compress = (int)i;
		c.lost = 3;
		c.torn = 2;
		CHECK(!moca_event_writer_chunk(w, &c));
		CHECK(!moca_event_writer_position(w, 5, &position));
		CHECK(position == c.end);
		moca_event_writer_destroy(w);

		CHECK(!moca_trace_open(&t, dir));
		types = moca_trace_event_types(t, &n);
		CHECK(n == 2 && types[0]->id == ID && types[1]->id == ID + 1);
		CHECK(!types[1]->field_count);
		CHECK(moca_trace_task_count(t) == 1);
		CHECK(moca_trace_task(t, 0)->tid == 11);
		CHECK(moca_trace_task(t, 0)->start_ns == 1000);
		CHECK(!strcmp(moca_trace_task(t, 0)->name, "prog"));
		CHECK(moca_trace_task(t, 0)->events == 3);
		CHECK(moca_trace_task(t, 0)->events_lost == 3);
		CHECK(moca_trace_task(t, 0)->events_torn == 2);
		CHECK(!moca_cursor_open(&cur, t, NULL));
		CHECK(moca_cursor_event(cur, &m, &task) == 1);
		CHECK(!task && m->time_ns == 2000);
		if (check_all_fields(m))
			return 1;
		CHECK(moca_cursor_event(cur, &m, &task) == 1);
		CHECK(m->type == types[1] && m->time_ns == 2500 && !m->len);
		CHECK(moca_cursor_event(cur, &m, &task) == 1);
		if (check_all_fields(m))
			return 1;
		CHECK(m->time_ns == 3000);
		CHECK(moca_cursor_event(cur, &m, &task) == 0);
		CHECK(moca_cursor_event(cur, &m, &task) == 0);
		moca_cursor_close(cur);
		moca_trace_damage(t, &damage);
		CHECK(!damage.files && !damage.chunks && !damage.tail_bytes);
		moca_trace_close(t);
	}
	return 0;
}

/* --- types ------------------------------------------------------------ */

static int parse(const char *fields)
{
	struct moca_type_text text = { .id = ID, .facility = "f", .name = "n",
				       .fields = fields };
	struct moca_type *type;
	int ret = moca_type_parse(&type, &text);

	if (!ret)
		free(type);
	return ret;
}

static int t_types(void)
{
	static const char *const good[] = {
		"", "u8 a\n", "x32 _a9\n", "enum e s32 \n", "enum e s32\n",
		"enum e s32 a=1\n", "enum e s32 a=-0x10,b=0xffffffff,\n",
		"enum e s32  a b = 1 , c = 2 \n", "enum e s32 x==1\n",
		"array a u8 1\n", "array a u64 4095\n",
		"sequence s f64\n", "string s\n",
	};
	static const char *const bad[] = {
		"u8 a", "u8\n", "u8 \n", "\n", "u8 a b\n", " u8 a\n",
		"u8  a\n", "u9 a\n", "u128 a\n", "f16 a\n", "f8 a\n", "u a\n",
		"8 a\n", "int a\n", "u8 9a\n", "u8 a-b\n", "u8 \xc3\xa9\n",
		"u8 a\nu8 a\n", "u8 a\n\n",
		"string s 4\n", "enum e u8 a=1\n", "enum e\n",
		"enum e s32 a\n", "enum e s32 a=\n", "enum e s32 =1\n",
		"enum e s32 a=b\n", "enum e s32 a=1 2\n", "enum e s32 a=1,,b=2\n",
		"enum e s32 a=4294967296\n", "enum e s32 a=-2147483649\n",
		"enum e s32 \033=1\n",
		"array a u8\n", "array a u8 0\n", "array a u8 -1\n",
		"array a u8 32761\n", "array a u64 4096\n", "array a u8 N\n",
		"array a u8 (1)\n", "array a u8 1 2\n", "array a u8 \001\n",
		"array a u8 99999999999999999999\n", "array a string 2\n",
		"sequence s\n", "sequence s string\n",
		"sequence s u8 4\n",
	};
	static char text[70000], many[1000];
	struct moca_type_text t = { .id = ID, .facility = "f", .name = "n",
				    .fields = "" };
	struct moca_type *type;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(why, sizeof(why), "refused: %s", good[i]);
		if (parse(good[i]))
			return 1;
	}
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(why, sizeof(why), "accepted: %s", bad[i]);
		if (parse(bad[i]) != -EINVAL)
			return 1;
	}
	for (i = 0; i < 16; i++)
		sprintf(many + strlen(many), "u8 a%zu\n", i);
	CHECK(!parse(many));
	strcat(many, "u8 b\n");
	CHECK(parse(many) == -EINVAL);
	memset(text, '(', 60000);
	memcpy(text, "array a u8 ", 11);
	CHECK(parse(text) == -EINVAL);
	memset(text + 1000, '(', 1000);
	strcpy(text + 1000, "1\n");
	CHECK(parse(text) == -EINVAL);
	memset(text, 'a', 100);
	strcpy(text + 64, "");
	t.name = text;
	CHECK(moca_type_parse(&type, &t) == -EINVAL);
	text[63] = 0;
	CHECK(!moca_type_parse(&type, &t));
	free(type);
	t.name = "";
	CHECK(moca_type_parse(&type, &t) == -EINVAL);
	t.name = "a:b";
	CHECK(moca_type_parse(&type, &t) == -EINVAL);
	t.name = "a";
	t.id = 15;
	CHECK(moca_type_parse(&type, &t) == -EINVAL);
	t.id = 16384;
	CHECK(moca_type_parse(&type, &t) == -EINVAL);
	return 0;
}

struct seen_types {
	unsigned n;
	char fields[64];
};

static void see_type(void *arg, uint32_t id, const char *facility,
		     const char *name, const char *fields)
{
	struct seen_types *s = arg;

	s->n += id == ID + s->n && !strcmp(facility, "f");
	snprintf(s->fields, sizeof(s->fields), "%s", fields);
}

/* The writer's side of types: what it refuses, and what it finds again. */
static int t_types_written(void)
{
	struct seen_types seen = { .n = 0 };
	struct moca_event_writer *w;
	struct moca_damage damage;
	struct moca_trace *t;
	uint64_t bytes;
	struct stat st;
	size_t n;

	CHECK(!new_trace(&w));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", "u8 a\n"));
	CHECK(moca_event_writer_type(w, ID + 1, "f", "b", "u8\n") == -EINVAL);
	CHECK(!moca_event_writer_type(w, ID + 1, "f", "b", "u8 b\n"));
	bytes = moca_event_writer_bytes(w);
	CHECK(!moca_event_writer_type(w, ID, "f", "a", "u8 a\n"));
	CHECK(moca_event_writer_type(w, ID, "f", "a", "u16 a\n") == -EINVAL);
	CHECK(moca_event_writer_bytes(w) == bytes);
	CHECK(!fstatat(dirfd_, "marker-types", &st, 0));
	CHECK((uint64_t)st.st_size == bytes && (st.st_mode & 07777) == 0600);
	moca_event_writer_destroy(w);

	CHECK(!moca_event_writer_create(&w, dirfd_));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", "u8 a\n"));
	CHECK(!moca_event_writer_bytes(w));
	CHECK(moca_event_writer_type(w, ID, "f", "c", "u8 a\n") == -EINVAL);
	CHECK(!moca_event_writer_type(w, ID + 2, "f", "c", "u8 c\n"));
	CHECK(!moca_event_writer_types(w, see_type, &seen));
	CHECK(seen.n == 3 && !strcmp(seen.fields, "u8 c\n"));
	moca_event_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	moca_trace_event_types(t, &n);
	moca_trace_damage(t, &damage);
	CHECK(n == 3 && !damage.chunks && !moca_trace_task_count(t));
	moca_trace_close(t);
	return 0;
}

/* --- the clock -------------------------------------------------------- */

static int t_clock(void)
{
	struct moca_event_params p = { .clock0 = 1000, .clock1 = 4000,
					.ns0 = 500, .ns1 = 1500 };
	uint64_t big = UINT64_MAX;

	CHECK(moca_event_ns(&p, 1000) == 500);
	CHECK(moca_event_ns(&p, 4000) == 1500);
	CHECK(moca_event_ns(&p, 2500) == 1000);
	CHECK(moca_event_ns(&p, 7000) == 2500);
	CHECK(moca_event_ns(&p, 400) == 300);
	CHECK(moca_event_ns(&p, 0) == 167);
	p.ns0 = 100;
	p.ns1 = 1100;
	CHECK(moca_event_ns(&p, 0) == 0);
	p = (struct moca_event_params){ .clock1 = 1, .ns1 = big };
	CHECK(moca_event_ns(&p, big) == big);
	p = (struct moca_event_params){ .clock1 = big, .ns1 = big };
	CHECK(moca_event_ns(&p, big - 5) == big - 5);
	p = (struct moca_event_params){ .clock0 = big - 1, .clock1 = big,
					 .ns1 = big };
	CHECK(moca_event_ns(&p, 0) == 0);
	/* 3 GHz, a year of it: to the ns */
	p = (struct moca_event_params){ .clock1 = 3000000000,
					 .ns1 = 1000000000 };
	CHECK(moca_event_ns(&p, 3ull * 31536000 * 1000000000) ==
	      31536000ull * 1000000000);
	return 0;
}

/* SYNC, the 36 bits of the clock wrapping around, times out of bounds. */
static int t_times(void)
{
	const uint64_t wrap = 1ull << 36, base = 5 * wrap - 3000;
	struct moca_event_chunk c;
	struct moca_event_writer *w;
	struct moca_damage damage;
	uint64_t times[16];

	CHECK(!new_trace(&w));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", ""));
	records_reset(&r);
	records_event(&r, base, ID);
	records_event(&r, base + 6000, ID);	/* wraps */
	records_event(&r, base + 6000 + wrap / 2, ID);
	records_sync(&r, base + 9 * wrap);
	records_event(&r, base + 9 * wrap + 3000, ID);
	records_sync(&r, base + 9 * wrap - 1);	/* goes back: not taken */
	records_event(&r, base + 9 * wrap, ID);	/* goes back: cut to 0 */
	c = records_chunk(&r, 0);
	c.clock_before = base - 100;
	c.clock0 = base;
	c.ns0 = 1000;
	c.clock1 = base + 3000;
	c.ns1 = 2000;
	c.begin_ns = 1000;
	c.end_ns = 1000 + (9 * wrap + 3000) / 3;
	CHECK(!moca_event_writer_chunk(w, &c));
	/* overlaps with what was told before, and is wrong about its end */
	records_reset(&r);
	records_sync(&r, base + 9 * wrap - 90000);
	records_event(&r, base + 9 * wrap - 90000, ID);
	records_event(&r, base + 9 * wrap + 90000, ID);
	records_event(&r, base + 9 * wrap + 900000, ID);
	c.records = r.words;
	c.words = r.count;
	c.events = r.events;
	c.begin_ns = 1000 + (9 * wrap - 90000) / 3;
	c.end_ns = 1000 + (9 * wrap + 100000) / 3;
	CHECK(!moca_event_writer_chunk(w, &c));
	moca_event_writer_destroy(w);
	CHECK(read_times(NULL, times, 16, &damage) == 8 && !damage.chunks);
	CHECK(times[0] == 1000 && times[1] == 3000);
	CHECK(times[2] == 3000 + (wrap / 2 + 0) / 3);
	CHECK(times[3] == 1000 + (9 * wrap + 3000) / 3);
	CHECK(times[4] == times[3]);
	CHECK(times[5] == times[4]);
	CHECK(times[6] == 1000 + (9 * wrap + 90000) / 3);
	CHECK(times[7] == c.end_ns);
	return 0;
}

/* Whatever the query, an event has the same time. */
static int t_queries(void)
{
	struct moca_query q = { .size = sizeof(q) };
	struct moca_event_chunk c;
	struct moca_event_writer *w;
	const struct moca_chunk *chunk;
	const struct moca_event *m;
	const struct moca_change *e;
	struct moca_damage damage;
	uint64_t all[600], part[600];
	struct moca_cursor *cur;
	struct moca_trace *t;
	size_t n, i, from, to, count;
	uint32_t task;
	unsigned k;

	CHECK(!new_trace(&w));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", ""));
	for (k = 0; k < 30; k++) {
		records_reset(&r);
		for (i = 0; i < 20; i++)
			records_event(&r, 1000 * k + 10 * i + rnd() % 1500, ID);
		c = records_chunk(&r, k % 3);
		c.clock_before = 1000 * k;
		c.begin_ns = 1000 * k;
		c.end_ns = 1000 * k + 1500;
		CHECK(!moca_event_writer_chunk(w, &c));
	}
	for (k = 0; k < 3; k++) {
		struct moca_change start = start_of(7, 7, 0);

		CHECK(!moca_event_writer_changes(w, k, &start, 1));
	}
	moca_event_writer_destroy(w);
	n = read_times(NULL, all, 600, &damage);
	CHECK(n == 600 && !damage.chunks);
	for (i = 1; i < n; i++)
		CHECK(all[i] >= all[i - 1]);
	for (k = 0; k < 200; k++) {
		q.begin_ns = rnd() % 32000;
		q.end_ns = q.begin_ns + 1 + rnd() % 5000;
		for (from = 0; from < n && all[from] < q.begin_ns; from++)
			;
		for (to = from; to < n && all[to] < q.end_ns; to++)
			;
		count = read_times(&q, part, 600, &damage);
		CHECK(count == to - from);
		CHECK(!memcmp(part, all + from, count * sizeof(*all)));
	}
	q = (struct moca_query){ .size = sizeof(q), .one_task = 1, .task = 1 };
	CHECK(read_times(&q, part, 600, &damage) == 0);
	q.task = 0;
	CHECK(read_times(&q, part, 600, &damage) == 600);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	CHECK(moca_cursor_event(cur, &m, &task) == 1);
	CHECK(moca_cursor_change(cur, &e, &task) == -EINVAL);
	CHECK(moca_cursor_chunk(cur, &chunk) == -EINVAL);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

/* --- streams and tasks ------------------------------------------------ */

/* n events of 8 bytes, step apart, as one chunk. */
static int put_events(struct moca_event_writer *w, uint32_t stream,
		       uint64_t begin, uint64_t step, unsigned n)
{
	struct moca_event_chunk c;
	uint64_t position;
	unsigned i;
	int ret;

	ret = moca_event_writer_position(w, stream, &position);
	if (ret)
		return ret;
	records_reset(&r);
	records_sync(&r, begin);
	for (i = 0; i < n; i++) {
		payload_int(&r, i, 8);
		records_event(&r, begin + i * step, ID);
	}
	c = records_chunk(&r, stream);
	if (!n)
		c.begin_ns = c.end_ns = begin;
	c.begin = position;
	c.end = position + 8 * c.words;
	c.lost = 1;
	c.torn = 2;
	return moca_event_writer_chunk(w, &c);
}

/* A stream with a start, n events from 10 later on, and perhaps an end. */
static int put_stream(struct moca_event_writer *w, uint32_t stream,
		      uint32_t pid, uint32_t tid, uint64_t begin, uint64_t end,
		      unsigned n)
{
	struct moca_change e[2] = { start_of(pid, tid, begin),
				   end_of(pid, tid, end) };
	int ret;

	ret = moca_event_writer_changes(w, stream, e, 1);
	if (!ret)
		ret = put_events(w, stream, begin + 10, 10, n);
	if (!ret && end)
		ret = moca_event_writer_changes(w, stream, e + 1, 1);
	return ret;
}

static int put_task(struct moca_writer *w, uint32_t id, uint32_t pid,
		    uint32_t tid, uint64_t begin, uint64_t end)
{
	struct moca_change e[2] = { start_of(pid, tid, begin),
				   end_of(pid, tid, end) };

	e[0].name = "task";
	return moca_writer_changes(w, id, e, end ? 2 : 1);
}

static int t_attach(void)
{
	static const uint64_t expect[] = { 3, 0, 9, 7, 5, 4, 2, 1, 6 };
	const struct moca_mapping *maps;
	struct moca_event_writer *w;
	const struct moca_event *m;
	const struct moca_change *e;
	const struct moca_task *task;
	struct moca_writer *tasks;
	struct moca_cursor *cur;
	struct moca_trace *t;
	unsigned seen[9] = { 0 }, starts = 0;
	uint64_t last = 0;
	uint32_t id, last_id = 0;
	size_t i, n;

	CHECK(!new_trace(&w));
	CHECK(!moca_writer_create(&tasks, dirfd_));
	CHECK(!put_task(tasks, 0, 10, 10, 100, 1000));
	CHECK(!put_task(tasks, 1, 10, 11, 100, 500));
	CHECK(!put_task(tasks, 2, 10, 11, 600, 0));	/* the number again */
	CHECK(!put_task(tasks, 5, 20, 20, 0, 0));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", "u64 i\n"));
	CHECK(!put_stream(w, 0, 10, 10, 150, 200, 3));
	CHECK(!put_stream(w, 1, 10, 11, 650, 700, 4));
	CHECK(!put_stream(w, 7, 10, 11, 620, 0, 5));	/* two traces */
	CHECK(!put_stream(w, 8, 20, 20, 50, 0, 7));
	/* of no task: other threads, the same at another time */
	CHECK(!put_stream(w, 9, 10, 10, 2000, 2100, 4));
	CHECK(!put_stream(w, 2, 30, 31, 80, 90, 2));
	CHECK(!put_stream(w, 4, 30, 31, 70, 75, 3));
	CHECK(!put_stream(w, 3, 30, 32, 2500, 0, 2));
	CHECK(!put_stream(w, 12, 0, 0, 3000, 0, 1));
	CHECK(!put_stream(w, 11, 0, 0, 4000, 0, 6));
	moca_event_writer_destroy(w);
	moca_writer_destroy(tasks);

	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_trace_task_count(t) == 9);
	for (i = 0; i < 9; i++) {
		task = moca_trace_task(t, i);
		CHECK(task->id == (i < 3 ? i : i + 2));
		CHECK(!(task->flags & MOCA_TASK_EVENTS) == (i < 4));
		CHECK(!strcmp(task->name, i < 4 ? "task" : "prog"));
	}
	task = moca_trace_task(t, 4);
	CHECK(task->tid == 31 && task->start_ns == 70 && task->end_ns == 90);
	CHECK(task->events == 5 && task->events_torn == 4);
	CHECK(task->events_lost == 2 && task->parent == MOCA_NO_TASK);
	CHECK(moca_trace_task(t, 5)->pid == 10);
	CHECK(moca_trace_task(t, 5)->events == 4);
	CHECK(moca_trace_task(t, 6)->tid == 32);
	CHECK(!moca_trace_task(t, 6)->end_ns);
	CHECK(moca_trace_task(t, 7)->start_ns == 3000);

	CHECK(!moca_cursor_open(&cur, t, NULL));
	while (moca_cursor_event(cur, &m, &id) == 1) {
		CHECK(id >= last_id && id < 11);
		CHECK(id != last_id || m->time_ns >= last);
		last = m->time_ns;
		last_id = id;
		seen[id < 3 ? id : id - 2]++;
	}
	moca_cursor_close(cur);
	for (i = 0; i < 9; i++) {
		CHECK(seen[i] == expect[i]);
		CHECK(moca_trace_task(t, i)->events == expect[i]);
	}
	/* What a task's own file tells is not told twice. */
	CHECK(!moca_cursor_open(&cur, t, NULL));
	while (moca_cursor_change(cur, &e, &id) == 1)
		starts += e->type == MOCA_CHANGE_TASK_START;
	moca_cursor_close(cur);
	CHECK(starts == 4 + 6);
	CHECK(!moca_trace_mappings(t, &maps, &n) && !n);
	moca_trace_close(t);
	return 0;
}

/* Twenty streams of one thread at a time are more than are merged. */
static int t_many_at_a_time(void)
{
	struct moca_event_writer *w;
	struct moca_damage damage;
	const struct moca_event *m;
	struct moca_cursor *cur;
	struct moca_trace *t;
	uint64_t last = 0;
	uint32_t id, last_id = 0, n = 0;
	unsigned i;

	CHECK(!new_trace(&w));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", "u64 i\n"));
	for (i = 0; i < 20; i++)
		CHECK(!put_stream(w, i, 1, 1, 100 + i, 2000 + i, 10));
	for (i = 20; i < 60; i++)	/* and then one after the other */
		CHECK(!put_stream(w, i, 1, 1, 200 * i, 0, 10));
	moca_event_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_trace_task_count(t) == 5);
	CHECK(moca_trace_task(t, 0)->events == 560);
	CHECK(!moca_cursor_open(&cur, t, NULL));
	for (; moca_cursor_event(cur, &m, &id) == 1; n++) {
		CHECK(id > last_id || m->time_ns >= last);
		last = m->time_ns;
		last_id = id;
	}
	CHECK(n == 600);
	moca_trace_damage(t, &damage);
	CHECK(!damage.chunks);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

/* --- going on, full disks --------------------------------------------- */

static uint64_t count_events(struct moca_damage *damage)
{
	static uint64_t times[100000];

	return read_times(NULL, times, 100000, damage);
}

/* A file that is cut off anywhere is gone on with behind its last chunk. */
static int t_continue(void)
{
	struct moca_event_writer *w;
	struct moca_damage damage;
	uint64_t position, last = 0;
	size_t len, cut, left;
	uint8_t *p;

	CHECK(!new_trace(&w));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", "u64 i\n"));
	CHECK(!put_stream(w, 0, 1, 1, 100, 0, 2));
	CHECK(!put_events(w, 0, 500, 10, 3));
	moca_event_writer_destroy(w);
	p = slurp("marker-0", &len);
	for (cut = 0; cut <= len; cut++) {
		CHECK(!moca_event_writer_create(&w, dirfd_));
		spill("marker-0", p, cut);
		left = count_events(&damage);
		CHECK(!moca_event_writer_position(w, 0, &position));
		CHECK(position >= last);
		CHECK(position == (left == 5 ? 56 + 72 : left == 2 ? 56 : 0));
		last = position;
		CHECK(!put_events(w, 0, 900, 10, 4));
		moca_event_writer_destroy(w);
		CHECK(count_events(&damage) == left + 4);
		CHECK(!damage.chunks && !damage.tail_bytes && !damage.files);
	}
	CHECK(left == 5);
	/* The last chunk is damaged: the one before it tells. */
	p[len - 3] ^= 1;
	spill("marker-0", p, len);
	CHECK(!moca_event_writer_create(&w, dirfd_));
	CHECK(!moca_event_writer_position(w, 0, &position));
	CHECK(position == 56);
	CHECK(!put_events(w, 0, 900, 10, 4));
	moca_event_writer_destroy(w);
	CHECK(count_events(&damage) == 6 && damage.chunks == 1);
	free(p);
	return 0;
}

/* Chunk numbers go on in each kind. */
static int t_numbers(void)
{
	struct moca_event_writer *w;
	uint64_t next[MOCA_KINDS] = { 0 }, pos;
	struct moca_header h;
	struct moca_file f;
	unsigned i;

	CHECK(!new_trace(&w));
	moca_event_writer_destroy(w);
	for (i = 0; i < 3; i++) {
		CHECK(!moca_event_writer_create(&w, dirfd_));
		CHECK(!put_stream(w, 3, 1, 1, 100, 200, 2));
		CHECK(!put_events(w, 3, 500, 10, 0));
		moca_event_writer_destroy(w);
	}
	CHECK(!moca_file_open(&f, dirfd_, MOCA_FILE_EVENT, 3, INT64_MAX));
	for (i = 0; moca_file_next(&f, &h, &pos) == 1; i++) {
		CHECK(h.number == next[h.kind]);
		CHECK(h.task == 3);
		next[h.kind]++;
	}
	CHECK(i == 12);
	moca_file_close(&f);
	return 0;
}

static int t_refused(void)
{
	struct moca_event_writer *w;
	struct moca_event_chunk c;
	struct moca_change e = start_of(1, 1, 1);
	uint64_t position;
	struct stat st;

	CHECK(!new_trace(&w));
	records_reset(&r);
	records_event(&r, 5, ID);
	c = records_chunk(&r, 0);
	c.events = 2;
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	c.events = 1;
	c.clock1 = 0;
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	c.clock1 = 1;
	c.end_ns = 4;
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	c.end_ns = 5;
	c.words = 0;
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	c.words = 2u << 20;
	CHECK(moca_event_writer_chunk(w, &c) == -E2BIG);
	c.words = r.count;
	c.events = 65537;
	CHECK(moca_event_writer_chunk(w, &c) == -E2BIG);
	c.events = 1;
	r.words[0] = moca_rec_make(5, ID, MOCA_REC_BUSY, 1);
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	r.words[0] = moca_rec_make(5, MOCA_REC_PAD, MOCA_REC_COMMITTED, 1);
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	r.words[0] = moca_rec_make(5, ID, MOCA_REC_COMMITTED, 2);
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	r.words[0] = 0;
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	r.words[0] = moca_rec_make(5, ID, MOCA_REC_COMMITTED, 1);
	c.stream = 1u << 22;
	CHECK(moca_event_writer_chunk(w, &c) == -EINVAL);
	CHECK(fstatat(dirfd_, "marker-0", &st, 0) < 0);
	/* what is not ours is neither followed nor cut */
	CHECK(!symlinkat("/tmp/moca-test-elsewhere", dirfd_, "marker-0"));
	CHECK(!mkfifoat(dirfd_, "marker-1", 0600));
	spill("marker-2", (const uint8_t *)"my notes", 8);
	CHECK(!mkdirat(dirfd_, "marker-3", 0700));
	for (c.stream = 0; c.stream < 4; c.stream++) {
		CHECK(moca_event_writer_chunk(w, &c) == -EEXIST);
		CHECK(moca_event_writer_changes(w, c.stream, &e, 1) == -EEXIST);
	}
	CHECK(access("/tmp/moca-test-elsewhere", F_OK) < 0);
	CHECK(!fstatat(dirfd_, "marker-2", &st, 0) && st.st_size == 8);
	CHECK(!moca_event_writer_chunk(w, &c));
	CHECK(!fstatat(dirfd_, "marker-4", &st, 0));
	CHECK((st.st_mode & 07777) == 0600);
	/* another stream's file under this name */
	CHECK(!renameat(dirfd_, "marker-4", dirfd_, "marker-5"));
	CHECK(moca_event_writer_position(w, 5, &position) == -EEXIST);
	moca_event_writer_destroy(w);
	return 0;
}

/* No room, then room again: all that was written is there, nothing else. */
static int t_file_limit(void)
{
	struct rlimit old, small = { 50000, 0 };
	struct moca_event_writer *w;
	struct moca_damage damage;
	unsigned written = 0, failed = 0, i;
	char name[64];
	int ret = 0;

	CHECK(!new_trace(&w));
	CHECK(!moca_event_writer_type(w, ID, "f", "a", "u64 i\n"));
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	for (i = 0; i < 40; i++) {
		ret = put_events(w, 0, 10000 * i, 10, 100 + i);
		written += ret ? 0 : 100 + i;
		failed += ret == -EFBIG;
	}
	for (i = 0, ret = 0; i < 1000 && !ret; i++) {
		snprintf(name, sizeof(name), "u64 field_number_%u\n", i);
		ret = moca_event_writer_type(w, ID + 1 + i, "f", "b", name);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK(ret == -EFBIG);
	CHECK(failed && written > 1000);
	CHECK(count_events(&damage) == written);
	CHECK(!damage.chunks && !damage.tail_bytes);
	CHECK(!put_events(w, 0, 1000000, 10, 7));
	CHECK(!moca_event_writer_type(w, ID + 2000, "f", "c", ""));
	moca_event_writer_destroy(w);
	CHECK(count_events(&damage) == written + 7);
	CHECK(!damage.chunks && !damage.tail_bytes);
	return 0;
}

/* --- while it is written; speed --------------------------------------- */

static int t_growing(void)
{
	struct moca_event_writer *w;
	struct moca_damage damage;
	uint64_t n, last = 0;
	int status, k, rounds = 0;
	pid_t pid;

	dir_new();
	put_meta("recording");
	pid = fork();
	if (!pid) {
		if (moca_event_writer_create(&w, dirfd_))
			_exit(1);
		for (k = 0; k < 300; k++) {
			/* Always the newest type: described just before. */
			if (moca_event_writer_type(w, ID + k, "f", "a", ""))
				_exit(1);
			records_reset(&r);
			records_event(&r, 1000 + k, ID + k);
			struct moca_event_chunk c = records_chunk(&r, k % 5);
			if (moca_event_writer_chunk(w, &c))
				_exit(1);
		}
		_exit(0);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		n = count_events(&damage);
		CHECK(n >= last && !damage.chunks && !damage.files);
		last = n;
		rounds++;
	}
	CHECK(!status && rounds && count_events(&damage) == 300);
	return 0;
}

static int measure(const char *name, size_t payload, int compress)
{
	enum { CHUNKS = 100 };
	struct moca_event_writer *w;
	struct moca_event_chunk c;
	const struct moca_event *m;
	struct moca_cursor *cur;
	struct moca_trace *t;
	double begin, wrote, read;
	uint64_t clock = 1000, n = 0, bytes = 0, words[7];
	char fields[64] = "";
	uint32_t task;
	size_t i;
	int k;

	CHECK(!new_trace(&w));
	for (i = 0; i < payload / 8; i++)
		sprintf(fields + strlen(fields), "u64 f%zu\n", i);
	CHECK(!moca_event_writer_type(w, ID, "f", "a", fields));
	records_reset(&r);
	records_sync(&r, clock);
	while (r.count + 2 + payload / 8 < 16384) {
		for (i = 0; i < 7; i++)
			words[i] = i % 2 ? rnd() % 5000 : r.events * 10;
		words[2] = 0x7f0000000000 + rnd() % 5000 * 64;
		payload_put(&r, words, payload);
		records_event(&r, clock += 60 + rnd() % 400, ID);
	}
	c = records_chunk(&r, 0);
	c.compress = compress;
	begin = now();
	for (k = 0; k < CHUNKS; k++)
		CHECK(!moca_event_writer_chunk(w, &c));
	wrote = now() - begin;
	bytes = moca_event_writer_bytes(w);
	moca_event_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	begin = now();
	while (moca_cursor_event(cur, &m, &task) == 1)
		n++;
	read = now() - begin;
	CHECK(n == (uint64_t)CHUNKS * r.events);
	printf("# %s: %.1f bytes per event, write %.1f M/s, read %.1f M/s\n",
	       name, (double)bytes / (double)n, (double)n / wrote / 1e6,
	       (double)n / read / 1e6);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return 0;
}

static int t_speed(void)
{
	return measure("16 bytes, raw", 8, 0) ||
	       measure("16 bytes, zstd", 8, 1) ||
	       measure("32 bytes, raw", 24, 0) ||
	       measure("32 bytes, zstd", 24, 1) ||
	       measure("64 bytes, zstd", 56, 1);
}

int main(void)
{
	run("event/fields", t_fields);
	run("event/types", t_types);
	run("event/types-written", t_types_written);
	run("event/clock", t_clock);
	run("event/times", t_times);
	run("event/queries", t_queries);
	run("event/attach", t_attach);
	run("event/many-at-a-time", t_many_at_a_time);
	run("event/continue", t_continue);
	run("event/numbers", t_numbers);
	run("event/refused", t_refused);
	run("event/file-size-limit", t_file_limit);
	run("event/while-written", t_growing);
	run("event/speed", t_speed);
	dir_remove();
	return failures != 0;
}
