// SPDX-License-Identifier: GPL-2.0-or-later
/* Markers: all kinds of fields, clocks, streams and tasks, damage, no room. */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/format/marker-decode.h"
#include "lib/format/trace.h"
#include "tests/unit/marker-util.h"
#include "tests/unit/trace-util.h"

#define ID 16

static struct records r;

static struct moca_event start_of(uint32_t pid, uint32_t tid, uint64_t time)
{
	return (struct moca_event){
		.type = MOCA_EVENT_TASK_START, .pid = pid, .tid = tid,
		.parent = MOCA_NO_TASK, .name = "prog", .time_ns = time,
	};
}

static struct moca_event end_of(uint32_t pid, uint32_t tid, uint64_t time)
{
	struct moca_event e = start_of(pid, tid, time);

	e.type = MOCA_EVENT_TASK_END;
	e.name = "";
	return e;
}

static int new_trace(struct moca_marker_writer **w)
{
	dir_new();
	put_meta("complete");
	return moca_marker_writer_create(w, dirfd_);
}

/* --- fields ----------------------------------------------------------- */

static const char all_fields[] =
	"u8 a\nu16 b\nu32 c\nu64 d\ns8 e\ns16 f\ns32 g\ns64 h\n"
	"x8 i\nx64 j\nf32 k\nf64 l\nstring m\n"
	"enum n s32 idle=0, busy wait = 0x1,bad=-1\n"
	"array o u16 3\nsequence p s64\n";

static void put_all_fields(uint64_t clock)
{
	float f = 0.5f;
	double d = -1e300;

	payload_int(&r, 200, 1);
	payload_int(&r, 60000, 2);
	payload_int(&r, 4000000000, 4);
	payload_int(&r, UINT64_MAX, 8);
	payload_int(&r, (uint64_t)-100, 1);
	payload_int(&r, (uint64_t)-30000, 2);
	payload_int(&r, (uint64_t)-2000000000, 4);
	payload_int(&r, (uint64_t)INT64_MIN, 8);
	payload_int(&r, 0xab, 1);
	payload_int(&r, 0x123456789abcdef0, 8);
	payload_put(&r, &f, 4);
	payload_put(&r, &d, 8);
	payload_string(&r, "a \"string\"\n");
	payload_int(&r, (uint64_t)-1, 4);
	payload_int(&r, 1, 2);
	payload_int(&r, 2, 2);
	payload_int(&r, 65535, 2);
	payload_int(&r, 2, 4);
	payload_int(&r, 7, 8);
	payload_int(&r, (uint64_t)-7, 8);
	records_event(&r, clock, ID);
}

static int check_all_fields(const struct moca_marker *m)
{
	static const int64_t expect[] = {
		200, 60000, 4000000000, -1, -100, -30000, -2000000000,
		INT64_MIN, 0xab, 0x123456789abcdef0,
	};
	const struct moca_marker_type *type = m->type;
	struct moca_value v;
	size_t i;

	CHECK(type->id == ID && type->field_count == 16);
	CHECK(!strcmp(type->facility, "db") && !strcmp(type->name, "all"));
	for (i = 0; i < 10; i++) {
		CHECK(!moca_marker_value(m, i, &v));
		CHECK(v.count == 1 && v.field->name[0] == 'a' + (int)i);
		CHECK(moca_value_integer(&v, 0) == (uint64_t)expect[i]);
		CHECK(moca_value_integer(&v, 1) == 0);
	}
	CHECK(v.field->kind == MOCA_FIELD_HEX && v.field->size == 8);
	CHECK(!moca_marker_value(m, 10, &v) && moca_value_float(&v, 0) == 0.5);
	CHECK(!moca_marker_value(m, 11, &v));
	CHECK(moca_value_float(&v, 0) == -1e300);
	CHECK(!moca_marker_value(m, 12, &v) && v.count == 11);
	CHECK(!strcmp((const char *)v.data, "a \"string\"\n"));
	CHECK(!moca_marker_value(m, 13, &v));
	CHECK(v.field->kind == MOCA_FIELD_ENUM && v.field->label_count == 3);
	CHECK((int64_t)moca_value_integer(&v, 0) == -1);
	CHECK(moca_value_float(&v, 0) == -1);
	CHECK(!strcmp(v.field->labels[1].label, "busy wait"));
	CHECK(v.field->labels[1].value == 1 && v.field->labels[2].value == -1);
	CHECK(!moca_marker_value(m, 14, &v));
	CHECK(v.field->shape == MOCA_FIELD_ARRAY && v.count == 3);
	CHECK(moca_value_integer(&v, 1) == 2);
	CHECK(moca_value_integer(&v, 2) == 65535);
	CHECK(!moca_marker_value(m, 15, &v));
	CHECK(v.field->shape == MOCA_FIELD_SEQUENCE && v.count == 2);
	CHECK((int64_t)moca_value_integer(&v, 1) == -7);
	CHECK(moca_marker_value(m, 16, &v) == -EINVAL);
	CHECK(v.data + 16 == m->payload + m->len);
	return 0;
}

static int t_fields(void)
{
	const struct moca_marker_type *const *types;
	struct moca_event e = start_of(10, 11, 1000);
	const struct moca_marker *m;
	struct moca_marker_chunk c;
	struct moca_marker_writer *w;
	struct moca_damage damage;
	struct moca_cursor *cur;
	struct moca_trace *t;
	uint64_t position;
	uint32_t task;
	size_t i, n;

	for (i = 0; i < 2; i++) {
		CHECK(!new_trace(&w));
		CHECK(!moca_marker_writer_type(w, ID, "db", "all", all_fields));
		CHECK(!moca_marker_writer_type(w, ID + 1, "db", "none", ""));
		CHECK(!moca_marker_writer_events(w, 5, &e, 1));
		records_reset(&r);
		records_sync(&r, 2000);
		put_all_fields(2000);
		records_event(&r, 2500, ID + 1);
		put_all_fields(3000);
		c = records_chunk(&r, 5);
		c.compress = (int)i;
		c.lost = 3;
		c.torn = 2;
		CHECK(!moca_marker_writer_chunk(w, &c));
		CHECK(!moca_marker_writer_position(w, 5, &position));
		CHECK(position == c.end);
		moca_marker_writer_destroy(w);

		CHECK(!moca_trace_open(&t, dir));
		types = moca_trace_marker_types(t, &n);
		CHECK(n == 2 && types[0]->id == ID && types[1]->id == ID + 1);
		CHECK(!types[1]->field_count);
		CHECK(moca_trace_task_count(t) == 1);
		CHECK(moca_trace_task(t, 0)->tid == 11);
		CHECK(moca_trace_task(t, 0)->start_ns == 1000);
		CHECK(!strcmp(moca_trace_task(t, 0)->name, "prog"));
		CHECK(moca_trace_task(t, 0)->markers == 3);
		CHECK(moca_trace_task(t, 0)->markers_lost == 3);
		CHECK(moca_trace_task(t, 0)->markers_torn == 2);
		CHECK(!moca_cursor_open(&cur, t, NULL));
		CHECK(moca_cursor_marker(cur, &m, &task) == 1);
		CHECK(!task && m->time_ns == 2000);
		if (check_all_fields(m))
			return 1;
		CHECK(moca_cursor_marker(cur, &m, &task) == 1);
		CHECK(m->type == types[1] && m->time_ns == 2500 && !m->len);
		CHECK(moca_cursor_marker(cur, &m, &task) == 1);
		if (check_all_fields(m))
			return 1;
		CHECK(m->time_ns == 3000);
		CHECK(moca_cursor_marker(cur, &m, &task) == 0);
		CHECK(moca_cursor_marker(cur, &m, &task) == 0);
		moca_cursor_close(cur);
		moca_trace_damage(t, &damage);
		CHECK(!damage.files && !damage.chunks && !damage.tail_bytes);
		moca_trace_close(t);
	}
	return 0;
}

int main(void)
{
	run("marker/fields", t_fields);
	dir_remove();
	return failures != 0;
}
