// SPDX-License-Identifier: GPL-2.0-or-later
/* What MOCA_EVENT declares and stores is what readers find in it. */
#include <moca/trace.h>

#include "lib/ring/describe.h"
#include "tests/unit/event-trace.h"

#define BITS 128
#define DIGEST (BITS / sizeof(uint64_t))

enum { PAIR = 2 };

MOCA_EVENT(test, numbers, (u8, a), (u16, b), (u32, c), (u64, d), (s8, e),
	   (s16, f), (s32, g), (s64, h), (x8, i), (x16, j), (x32, k), (x64, l));
MOCA_EVENT(test, machine, (int, a), (uint, b), (long, c), (ulong, d),
	   (size, e), (pointer, f), (f32, g), (f64, h));
MOCA_EVENT(test, texts, (string, a), (string, b), (string, c),
	   (enum, d, "idle = 0, busy=1,bad = -0x1"));
MOCA_EVENT(test, rows, (array, a, x8, DIGEST), (sequence, b, s16),
	   (array, c, f64, PAIR), (sequence, d, u64));
MOCA_EVENT(test, nothing);

/* In place of the library: into r. */
const uint32_t *moca_trace_generation = (const uint32_t[]){ 1 };

void *moca_trace_reserve(struct moca_trace_event *event, uint32_t len,
			 struct moca_trace_record *rec)
{
	rec->event = event;
	r.len = len;
	memset(r.payload, 0xee, sizeof(r.payload));
	return r.payload;
}

void *moca_trace_commit(struct moca_trace_record *rec)
{
	static uint64_t clock = 1000;

	records_event(&r, clock++, rec->event->id[0]);
	return NULL;
}

static struct moca_trace_event *const events[] = {
	&moca_trace_event_test_numbers, &moca_trace_event_test_machine,
	&moca_trace_event_test_texts, &moca_trace_event_test_rows,
	&moca_trace_event_test_nothing,
};

static void emit_all(void)
{
	static const uint8_t digest[DIGEST] = { 1, 2, 3, [DIGEST - 1] = 0xff };
	static const int16_t row[] = { -1, 0, 32767 };
	static const double pair[] = { 0.5, -2 };

	moca_trace_test_numbers(255, 65535, UINT32_MAX, UINT64_MAX, -128,
				-32768, INT32_MIN, INT64_MIN, 0xfe, 0xfedc,
				0xfedcba98, 0xfedcba9876543210);
	moca_trace_test_machine(-7, 7, -8, 8, 9, &events, 1.5f, 1e100);
	moca_trace_test_texts("one", NULL, "", -1);
	moca_trace_test_rows(digest, row, 3, pair, NULL, 0);
	moca_trace_test_nothing();
}

static int write_all(void)
{
	struct moca_event_writer *w;
	struct moca_event_chunk c;
	char text[2048], *name;
	uint32_t i;

	CHECK(!new_trace(&w));
	for (i = 0; i < sizeof(events) / sizeof(*events); i++) {
		events[i]->id[0] = ID + i;
		CHECK(moca_event_describe(events[i], text, sizeof(text)) > 0);
		name = text + strlen(text) + 1;
		CHECK(!moca_event_writer_type(w, ID + i, text, name,
					       name + strlen(name) + 1));
	}
	records_reset(&r);
	emit_all();
	c = records_chunk(&r, 0);
	CHECK(!moca_event_writer_chunk(w, &c));
	moca_event_writer_destroy(w);
	return 0;
}

static const struct moca_event *next(struct moca_cursor *cur)
{
	const struct moca_event *m;
	uint32_t task;

	return moca_cursor_event(cur, &m, &task) == 1 ? m : NULL;
}

static int64_t integer(const struct moca_event *m, size_t field, size_t i)
{
	struct moca_value v;

	if (!m || moca_event_value(m, field, &v) || i >= v.count)
		abort();
	return (int64_t)moca_value_integer(&v, i);
}

static double number(const struct moca_event *m, size_t field, size_t i)
{
	struct moca_value v;

	if (moca_event_value(m, field, &v) || i >= v.count)
		abort();
	return moca_value_float(&v, i);
}

static const char *string(const struct moca_event *m, size_t field)
{
	struct moca_value v;

	if (moca_event_value(m, field, &v))
		abort();
	return (const char *)v.data;
}

static int check_all(struct moca_cursor *cur)
{
	static const int64_t numbers[] = {
		255, 65535, UINT32_MAX, -1, -128, -32768, INT32_MIN, INT64_MIN,
		0xfe, 0xfedc, 0xfedcba98, (int64_t)0xfedcba9876543210,
	};
	const struct moca_event *m = next(cur);
	struct moca_value v;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		CHECK(integer(m, i, 0) == numbers[i]);
	m = next(cur);
	CHECK(integer(m, 0, 0) == -7 && integer(m, 1, 0) == 7);
	CHECK(integer(m, 2, 0) == -8 && integer(m, 3, 0) == 8);
	CHECK(integer(m, 4, 0) == 9);
	CHECK(integer(m, 5, 0) == (int64_t)(uintptr_t)&events);
	CHECK(m->type->fields[5].kind == MOCA_FIELD_HEX);
	CHECK(number(m, 6, 0) == 1.5 && number(m, 7, 0) == 1e100);
	m = next(cur);
	CHECK(!strcmp(string(m, 0), "one") && !*string(m, 1) && !*string(m, 2));
	CHECK(integer(m, 3, 0) == -1 && m->type->fields[3].label_count == 3);
	CHECK(!strcmp(m->type->fields[3].labels[2].label, "bad"));
	m = next(cur);
	CHECK(m->type->fields[0].count == 16 && integer(m, 0, 15) == 0xff);
	CHECK(integer(m, 1, 0) == -1 && integer(m, 1, 2) == 32767);
	CHECK(number(m, 2, 1) == -2);
	CHECK(!moca_event_value(m, 3, &v) && !v.count);
	m = next(cur);
	CHECK(m && !m->len && !strcmp(m->type->name, "nothing"));
	CHECK(!next(cur));
	return 0;
}

static int t_events(void)
{
	struct moca_damage damage;
	struct moca_cursor *cur;
	struct moca_trace *t;
	int ret;

	if (write_all())
		return 1;
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cur, t, NULL));
	ret = check_all(cur);
	moca_cursor_close(cur);
	moca_trace_damage(t, &damage);
	CHECK(!damage.chunks);
	moca_trace_close(t);
	return ret;
}

int main(void)
{
	run("event/moca-event", t_events);
	dir_remove();
	return failures != 0;
}
