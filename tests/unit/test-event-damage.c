// SPDX-License-Identifier: GPL-2.0-or-later
/* Events: damaged and hostile files harm only themselves. */
#include <sys/stat.h>

#include "tests/unit/event-trace.h"

#define EACH 4		/* events of a chunk of damage_trace */

/* Two streams of two chunks each, every kind of field. */
static int damage_trace(void)
{
	struct moca_event_writer *w;
	struct moca_event_chunk c;
	struct moca_change e;
	uint32_t i, k;

	CHECK(!new_trace(&w));
	CHECK(!moca_event_writer_type(w, ID, "db", "all", all_fields));
	CHECK(!moca_event_writer_type(w, ID + 1, "db", "none", ""));
	for (i = 0; i < 4; i++) {
		e = start_of(1, 1 + i % 2, 10);
		if (i < 2)
			CHECK(!moca_event_writer_changes(w, i, &e, 1));
		records_reset(&r);
		records_sync(&r, 100 + 1000 * i);
		for (k = 1; k < EACH; k++)
			put_all_fields(100 + 1000 * i + k);
		records_event(&r, 900 + 1000 * i, ID + 1);
		c = records_chunk(&r, i % 2);
		c.compress = i >= 2;
		CHECK(!moca_event_writer_chunk(w, &c));
	}
	moca_event_writer_destroy(w);
	return 0;
}

struct seen {
	unsigned events[2];	/* by tid - 1; of whole chunks */
	unsigned starts;
	size_t types;
	struct moca_damage damage;
};

/* Open and walk twice: damage must count only once. */
static int look(struct seen *s)
{
	const struct moca_event *m;
	const struct moca_change *e;
	struct moca_cursor *cur;
	struct moca_trace *t;
	struct moca_value v;
	uint64_t last;
	uint32_t task, last_task;
	size_t i;
	int pass, ret;

	CHECK(!moca_trace_open(&t, dir));
	for (pass = 0; pass < 2; pass++) {
		memset(s, 0, sizeof(*s));
		last = last_task = 0;
		CHECK(!moca_cursor_open(&cur, t, NULL));
		while ((ret = moca_cursor_event(cur, &m, &task)) == 1) {
			CHECK(task >= last_task);
			CHECK(task > last_task || m->time_ns >= last);
			last = m->time_ns;
			last_task = task;
			for (i = 0; i < m->type->field_count; i++)
				CHECK(!moca_event_value(m, i, &v));
			for (i = 0; i < moca_trace_task_count(t); i++)
				if (moca_trace_task(t, i)->id == task)
					break;
			CHECK(i < moca_trace_task_count(t));
			/* the stream's number, if its start is not readable */
			i = moca_trace_task(t, i)->tid;
			s->events[i ? (i - 1) & 1 : 0]++;
		}
		CHECK(!ret);
		moca_cursor_close(cur);
		CHECK(!moca_cursor_open(&cur, t, NULL));
		while ((ret = moca_cursor_change(cur, &e, &task)) == 1)
			s->starts++;
		CHECK(!ret);
		moca_cursor_close(cur);
	}
	moca_trace_event_types(t, &s->types);
	moca_trace_damage(t, &s->damage);
	moca_trace_close(t);
	return 0;
}

static int t_damage_cut(void)
{
	size_t len, cut;
	struct seen s;
	uint8_t *p;

	CHECK(!damage_trace());
	p = slurp("marker-0", &len);
	for (cut = 0; cut <= len; cut++) {
		spill("marker-0", p, cut);
		if (look(&s))
			return 1;
		/* Of a complete trace no file is empty. */
		CHECK(s.events[1] == 2 * EACH && s.damage.files == !cut);
		CHECK(!s.damage.chunks && s.events[0] % EACH == 0);
		CHECK(s.damage.tail_bytes < 1200);
	}
	CHECK(s.events[0] == 2 * EACH && !s.damage.tail_bytes);
	free(p);
	return 0;
}

/* Any byte of a stream: that chunk is gone, nothing else. */
static int t_damage_flip(void)
{
	size_t len, i;
	struct seen s;
	uint8_t *p, old;

	CHECK(!damage_trace());
	p = slurp("marker-0", &len);
	for (i = 0; i < len; i++) {
		old = p[i];
		p[i] ^= (uint8_t)(1 + rnd() % 255);
		spill("marker-0", p, len);
		p[i] = old;
		if (look(&s))
			return 1;
		CHECK(s.starts + (s.events[0] + s.events[1]) / EACH == 5);
		CHECK(s.events[1] == 2 * EACH || s.starts == 1);
		CHECK(s.damage.chunks + (s.damage.tail_bytes != 0) == 1);
		CHECK(!s.damage.files && s.types == 2);
	}
	free(p);
	return 0;
}

/* Any byte of the types: the chunks that need the type, nothing else. */
static int t_damage_types(void)
{
	size_t len, i;
	struct seen s;
	uint8_t *p, old;

	CHECK(!damage_trace());
	p = slurp("marker-types", &len);
	for (i = 0; i < len; i++) {
		old = p[i];
		p[i] ^= (uint8_t)(1 + rnd() % 255);
		spill("marker-types", p, len);
		p[i] = old;
		if (look(&s))
			return 1;
		CHECK(s.types == 1 && s.starts == 2 && !s.damage.files);
		CHECK(!s.events[0] && !s.events[1]);
		CHECK(s.damage.chunks + (s.damage.tail_bytes != 0) == 5);
	}
	for (i = 0; i < len; i++) {
		spill("marker-types", p, i);
		if (look(&s))
			return 1;
		CHECK(s.types < 2 && s.damage.chunks == 4);
	}
	CHECK(!unlinkat(dirfd_, "marker-types", 0));
	if (look(&s))
		return 1;
	CHECK(!s.types && s.damage.chunks == 4 && !s.damage.files);
	spill("marker-types", (const uint8_t *)"scribble", 8);
	if (look(&s))
		return 1;
	CHECK(s.damage.chunks == 4 && s.damage.tail_bytes == 8);
	free(p);
	return 0;
}

/* Records that no ring would hold, with the right checksums. */
static int t_hostile_records(void)
{
	static const struct {
		const char *name;
		uint64_t words[8];
		size_t count;
	} cases[] = {
		{ "no length", { 0x2000ull | 16 << 14 }, 1 },
		{ "sticks out", { 0x2000ull | 16 << 14 | 5, 0, 0, 0 }, 4 },
		{ "too long", { 0x2000ull | 16 << 14 | 4095 }, 1 },
		{ "not committed", { 0x1000ull | 17 << 14 | 1 }, 1 },
		{ "padding", { 0x2000ull | 0 << 14 | 1 }, 1 },
		{ "unknown id", { 0x2000ull | 18 << 14 | 1 }, 1 },
		{ "id below", { 0x2000ull | 15 << 14 | 1 }, 1 },
		{ "short sync", { 0x2000ull | 1 << 14 | 2, 7 }, 2 },
		{ "long sync", { 0x2000ull | 1 << 14 | 4, 7, 7, 7 }, 4 },
		{ "a word too many", { 0x2000ull | 17 << 14 | 2, 0 }, 2 },
		{ "no field", { 0x2000ull | 16 << 14 | 1 }, 1 },
		{ "string without end",
		  { 0x2000ull | 16 << 14 | 3, 0x4141414141414141,
		    0x4141414141414141 }, 3 },
		{ "sequence without count",
		  { 0x2000ull | 16 << 14 | 2, 0x0041414141414141 }, 2 },
		{ "sequence sticks out",
		  { 0x2000ull | 16 << 14 | 2, 0x0000000000000400 }, 2 },
		{ "sequence of 2^32 - 1",
		  { 0x2000ull | 16 << 14 | 2, 0xffffffff00 }, 2 },
		{ "a word of padding",
		  { 0x2000ull | 16 << 14 | 3, 0, 0 }, 3 },
	};
	struct moca_stream_out out;
	struct moca_event_writer *w;
	struct moca_damage damage;
	uint8_t params[8 * MOCA_VARINT_MAX];
	struct moca_event_params p = { .clock1 = 1, .ns1 = 1 };
	uint64_t next[MOCA_KINDS], bytes, words[9], times[16];
	size_t i, n;

	CHECK(!moca_stream_out_init(&out, 1));
	for (i = 0; i <= sizeof(cases) / sizeof(*cases); i++) {
		struct moca_append file = { .type = MOCA_FILE_EVENT,
					    .flags = O_CREAT | O_EXCL };
		struct moca_header h = { .kind = MOCA_KIND_EVENTS,
					 .records = 2, .end_ns = 100 };

		memset(next, 0, sizeof(next));
		CHECK(!new_trace(&w));
		CHECK(!moca_event_writer_type(w, ID, "f", "a",
					       "string s\nsequence q x8\n"));
		CHECK(!moca_event_writer_type(w, ID + 1, "f", "b", ""));
		moca_event_writer_destroy(w);
		words[0] = 0x2000ull | 17 << 14 | 1;	/* a good one */
		n = 1;
		if (i < sizeof(cases) / sizeof(*cases)) {
			snprintf(why, sizeof(why), "%s", cases[i].name);
			memcpy(words + 1, cases[i].words,
			       8 * cases[i].count);
			n += cases[i].count;
			h.records -= !strncmp(strchr(why, 0) - 4, "sync", 4);
		} else {
			snprintf(why, sizeof(why), "fewer than told");
		}
		moca_stream_reset(&out);
		CHECK(!moca_stream_put_raw(&out, MOCA_S_PARAMS, params,
					   moca_event_params_put(&p, params)));
		CHECK(!moca_stream_put_raw(&out, MOCA_S_RECORDS,
					   (uint8_t *)words, 8 * n));
		CHECK(!moca_append_chunk(dirfd_, &file, &h, &out, next,
					 &bytes));
		/* the stream goes on behind it */
		CHECK(!moca_event_writer_create(&w, dirfd_));
		records_reset(&r);
		records_event(&r, 1000, ID + 1);
		struct moca_event_chunk c = records_chunk(&r, 0);
		CHECK(!moca_event_writer_chunk(w, &c));
		moca_event_writer_destroy(w);
		if (read_times(NULL, times, 16, &damage) != 1 ||
		    times[0] != 1000 || damage.chunks != 1)
			return 1;
	}
	moca_stream_out_free(&out);
	return 0;
}

static int t_foreign(void)
{
	struct seen s;
	uint8_t *p;
	size_t len;

	CHECK(!damage_trace());
	p = slurp("marker-0", &len);
	spill("marker-2", p, len);
	CHECK(!symlinkat("marker-0", dirfd_, "marker-3"));
	CHECK(!mkdirat(dirfd_, "marker-4", 0700));
	spill("marker-05", p, len);
	spill("marker-x", p, len);
	spill("marker-", p, len);
	spill("marker-types2", p, len);
	spill("marker-4194304", p, len);
	spill("events", p, len);
	if (look(&s))
		return 1;
	CHECK(s.damage.files == 8 && !s.damage.chunks);
	CHECK(s.events[0] == 2 * EACH && s.events[1] == 2 * EACH);
	/* one stream is scribbled over */
	memset(p, 'x', len);
	spill("marker-0", p, len);
	if (look(&s))
		return 1;
	CHECK(s.events[1] == 2 * EACH && s.damage.tail_bytes == len);
	CHECK(!unlinkat(dirfd_, "marker-types", 0));
	CHECK(!symlinkat("marker-1", dirfd_, "marker-types"));
	if (look(&s))
		return 1;
	CHECK(s.damage.files == 9 && s.damage.chunks == 2 && !s.types);
	free(p);
	return 0;
}

/* Descriptions that contradict each other, in one chunk with good ones. */
static int t_hostile_types(void)
{
	static const struct moca_type_text texts[] = {
		{ ID, "f", "a", "u64 i\n" },
		{ ID, "f", "a", "u64 i\n" },	/* the same: nothing wrong */
		{ ID, "f", "other", "u8 i\n" },
		{ ID + 1, "f", "b", "nonsense" },
		{ 5, "f", "c", "" },
		{ UINT32_MAX, "f", "c", "" },
		{ ID + 2, "f:", "c", "" },
		{ ID + 3, "f", "d", "u8 i\n" },
	};
	struct moca_append file = { .type = MOCA_FILE_TYPES,
				    .flags = O_CREAT | O_EXCL };
	struct moca_header h = { .kind = MOCA_KIND_TYPES, .records = 8 };
	const struct moca_event_type *const *types;
	uint64_t next[MOCA_KINDS] = { 0 }, bytes;
	struct moca_buf b = { 0 };
	struct moca_event_writer *w;
	struct moca_stream_out out;
	struct moca_damage damage;
	struct moca_trace *t;
	size_t i, n;

	CHECK(!new_trace(&w));
	CHECK(!moca_stream_out_init(&out, 1));
	moca_stream_reset(&out);
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK(!moca_type_encode(&b, &texts[i]));
	CHECK(!moca_stream_put(&out, MOCA_S_TYPES, b.data, b.len, 1));
	CHECK(!moca_append_chunk(dirfd_, &file, &h, &out, next, &bytes));
	CHECK(!moca_trace_open(&t, dir));
	types = moca_trace_event_types(t, &n);
	moca_trace_damage(t, &damage);
	CHECK(n == 2 && damage.chunks == 1);
	CHECK(types[0]->id == ID && !strcmp(types[0]->name, "a"));
	CHECK(types[1]->id == ID + 3);
	moca_trace_close(t);
	/* and a writer goes on with it */
	CHECK(moca_event_writer_type(w, ID, "f", "x", "") == -EINVAL);
	CHECK(!moca_event_writer_type(w, ID + 1, "f", "x", ""));
	moca_event_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	moca_trace_event_types(t, &n);
	CHECK(n == 3);
	moca_trace_close(t);
	moca_stream_out_free(&out);
	moca_buf_free(&b);
	return 0;
}

int main(void)
{
	run("event/damage-cut", t_damage_cut);
	run("event/damage-flip", t_damage_flip);
	run("event/damage-types", t_damage_types);
	run("event/hostile-records", t_hostile_records);
	run("event/hostile-types", t_hostile_types);
	run("event/foreign-files", t_foreign);
	dir_remove();
	return failures != 0;
}
