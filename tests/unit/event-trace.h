/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of events share. */
#ifndef TESTS_UNIT_EVENT_TRACE_H
#define TESTS_UNIT_EVENT_TRACE_H

#include "lib/format/append.h"
#include "lib/format/event-decode.h"
#include "tests/unit/event-util.h"
#include "tests/unit/trace-util.h"

#define ID 16

static struct records r;

static inline struct moca_change start_of(uint32_t pid, uint32_t tid, uint64_t time)
{
	return (struct moca_change){
		.type = MOCA_CHANGE_TASK_START, .pid = pid, .tid = tid,
		.parent = MOCA_NO_TASK, .name = "prog", .time_ns = time,
	};
}

static inline struct moca_change end_of(uint32_t pid, uint32_t tid, uint64_t time)
{
	struct moca_change e = start_of(pid, tid, time);

	e.type = MOCA_CHANGE_TASK_END;
	e.name = "";
	return e;
}

static inline int new_trace(struct moca_event_writer **w)
{
	dir_new();
	put_meta("complete");
	return moca_event_writer_create(w, dirfd_);
}

/* --- fields ----------------------------------------------------------- */

static const char all_fields[] =
	"u8 a\nu16 b\nu32 c\nu64 d\ns8 e\ns16 f\ns32 g\ns64 h\n"
	"x8 i\nx64 j\nf32 k\nf64 l\nstring m\n"
	"enum n s32 idle=0, busy wait = 0x1,bad=-1\n"
	"array o u16 3\nsequence p s64\n";

static inline void put_all_fields(uint64_t clock)
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

/* Read all events' times of a trace; how many. */
static inline size_t read_times(struct moca_query *q, uint64_t *times, size_t max,
			 struct moca_damage *damage)
{
	const struct moca_event *m;
	struct moca_cursor *cur;
	struct moca_trace *t;
	uint32_t task;
	size_t n = 0;

	if (moca_trace_open(&t, dir) || moca_cursor_open(&cur, t, q))
		abort();
	while (moca_cursor_event(cur, &m, &task) == 1 && n < max)
		times[n++] = m->time_ns;
	moca_trace_damage(t, damage);
	moca_cursor_close(cur);
	moca_trace_close(t);
	return n;
}

#endif
