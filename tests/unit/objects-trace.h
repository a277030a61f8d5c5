/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of a program whose allocations were recorded, for tests. */
#ifndef TESTS_UNIT_OBJECTS_TRACE_H
#define TESTS_UNIT_OBJECTS_TRACE_H

#include "analysis/objects/objects.h"
#include "include/abi/alloc-events.h"
#include "tests/unit/event-trace.h"

#define TASKS_MAX 64
#define PAGE 4096ull
#define HEAP 0x7f0000000000ull
#define CODE 0x400000ull

enum { T_STACK = 16, T_ALLOC, T_FREE, T_UNMAP, T_SMALL, T_TALLY, T_SKIPPED,
       T_THREAD, T_TLS, T_SAMPLE };

/* One task's records, gathered in order of time and written by trace_end(). */
struct told {
	struct moca_change events[256];
	size_t event_count;
	struct moca_access accesses[4096];
	size_t access_count;
	struct {
		struct moca_chunk_info info;
		unsigned shift;
		struct moca_count *rows;
		size_t count, cap;
	} counts[64];
	size_t count_count;
	struct records r;
	uint32_t pid;
	uint32_t tid;
};

static struct told told[TASKS_MAX];
static size_t told_count;
static uint64_t clock_ns;
static uint64_t told_lost;	/* events, of task 0 */

static inline void trace_begin(void)
{
	size_t i;

	for (i = 0; i < TASKS_MAX; i++) {
		told[i].event_count = told[i].access_count = 0;
		told[i].count_count = 0;
		records_reset(&told[i].r);
	}
	told_count = 0;
	clock_ns = 1000000;
}

/* The next moment: all that is told later is later. */
static inline uint64_t tick(void)
{
	return clock_ns += 1000;
}

static inline struct moca_change *put_change(uint32_t task, uint32_t type)
{
	struct told *t = &told[task];
	struct moca_change *e = &t->events[t->event_count++];

	if (t->event_count > sizeof(t->events) / sizeof(*t->events))
		abort();
	*e = (struct moca_change){ .type = type, .time_ns = tick(),
				  .pid = t->pid, .tid = t->tid,
				  .parent = MOCA_NO_TASK, .name = "" };
	return e;
}

static inline void start_task(uint32_t task, uint32_t pid, uint32_t tid,
			      uint32_t parent, uint32_t flags)
{
	struct moca_change *e;

	if (task >= told_count)
		told_count = task + 1;
	told[task].pid = pid;
	told[task].tid = tid;
	e = put_change(task, MOCA_CHANGE_TASK_START);
	e->parent = parent;
	e->flags = flags;
	e->name = "prog";
}

static inline void put_exec(uint32_t task, const char *path)
{
	put_change(task, MOCA_CHANGE_EXEC)->name = path;
}

static inline struct moca_change *put_map(uint32_t task, uint64_t addr,
					 uint64_t len, const char *name)
{
	struct moca_change *e = put_change(task, MOCA_CHANGE_MMAP);

	e->addr = addr;
	e->len = len;
	e->prot = 3;
	e->name = name;
	if (*name == '/')
		e->flags = MOCA_MAP_FILE;
	return e;
}

static const char *program_path = "/bin/prog";

/* A program with a heap of 64 MiB: task 0, pid 100. */
static inline void start_program(void)
{
	trace_begin();
	start_task(0, 100, 100, MOCA_NO_TASK, 0);
	put_exec(0, program_path);
	put_map(0, HEAP, 64 << 20, "");
}

static inline void put_access(uint32_t task, uint64_t addr, int type)
{
	struct told *t = &told[task];
	struct moca_access *a = &t->accesses[t->access_count++];

	if (t->access_count > sizeof(t->accesses) / sizeof(*t->accesses))
		abort();
	*a = (struct moca_access){ .addr = addr, .ip = CODE + 16 * task,
				   .time_ns = tick(), .type = (uint8_t)type,
				   .weight = 1 };
}

/* What follows from put_count() is of this time; slices by begin. */
static inline void put_slice(uint32_t task, uint64_t slice, unsigned shift,
			       uint64_t begin_ns, uint64_t end_ns)
{
	size_t i = told[task].count_count++;

	if (i >= sizeof(told[task].counts) / sizeof(*told[task].counts))
		abort();
	told[task].counts[i].info = (struct moca_chunk_info){
		.task = task, .interval = slice, .begin_ns = begin_ns,
		.end_ns = end_ns,
	};
	told[task].counts[i].shift = shift;
	told[task].counts[i].count = 0;
}

/* By address. first_ns > 0: first touched then; < 0: by a store. */
static inline void put_count(uint32_t task, uint64_t addr, uint64_t loads,
			     uint64_t stores, int64_t first_ns)
{
	size_t i = told[task].count_count - 1;
	size_t n = told[task].counts[i].count++;
	struct moca_count *c = told[task].counts[i].rows;

	if (n == told[task].counts[i].cap) {
		told[task].counts[i].cap = n ? 2 * n : 64;
		c = realloc(c, told[task].counts[i].cap * sizeof(*c));
		if (!c)
			abort();
		told[task].counts[i].rows = c;
	}
	c[n] = (struct moca_count){
		.addr = addr, .loads = loads, .stores = stores,
		.first_ns = (uint64_t)(first_ns < 0 ? -first_ns : first_ns),
		.first_store = first_ns < 0,
	};
}

static inline void put_event(uint32_t task, unsigned type)
{
	records_event(&told[task].r, tick(), type);
}

/* The field of the event that is put next. */
static inline void field(uint32_t task, uint64_t v, size_t size)
{
	payload_int(&told[task].r, v, size);
}

/* One frame is what tells sites apart: caller 1, 2, ... */
static inline void put_stack(uint32_t task, uint32_t id, uint64_t caller)
{
	field(task, id, 4);
	field(task, 2, 4);
	field(task, CODE + 16 * caller + 1, 8);
	field(task, CODE + 8, 8);
	put_event(task, T_STACK);
}

static inline void put_alloc(uint32_t task, uint64_t addr, uint64_t size,
			     uint32_t stack, int kind)
{
	field(task, addr, 8);
	field(task, size, 8);
	field(task, stack, 4);
	field(task, (uint64_t)kind, 1);
	put_event(task, T_ALLOC);
}

static inline void put_free(uint32_t task, uint64_t addr, int kind)
{
	field(task, addr, 8);
	field(task, (uint64_t)kind, 1);
	put_event(task, T_FREE);
}

static inline void put_unmap(uint32_t task, uint64_t addr, uint64_t size)
{
	field(task, addr, 8);
	field(task, size, 8);
	put_event(task, T_UNMAP);
}

static inline void put_small(uint32_t task, uint64_t addr, uint32_t size,
			     uint32_t stack)
{
	field(task, addr, 8);
	field(task, size, 4);
	field(task, stack, 4);
	put_event(task, T_SMALL);
}

static inline void put_sample(uint32_t task, uint64_t addr, uint64_t size,
			      uint32_t stack)
{
	field(task, addr, 8);
	field(task, size, 8);
	field(task, stack, 4);
	field(task, 0, 1);
	field(task, MOCA_ALLOC_MALLOC, 1);
	put_event(task, T_SAMPLE);
}

static inline void put_tally(uint32_t task, uint32_t stack, uint64_t count,
			     uint64_t bytes)
{
	field(task, stack, 4);
	field(task, count, 8);
	field(task, bytes, 8);
	put_event(task, T_TALLY);
}

static inline void put_three(uint32_t task, unsigned type, uint64_t a,
			     uint64_t b, uint64_t c)
{
	field(task, a, 8);
	field(task, b, 8);
	field(task, c, 8);
	put_event(task, type);
}

static inline void put_types(struct moca_event_writer *mw)
{
	static const char *const types[][2] = {
		{ "stack", "u32 id\nsequence frames x64\n" },
		{ "alloc", "x64 addr\nu64 size\nu32 stack\nu8 kind\n" },
		{ "free", "x64 addr\nu8 kind\n" },
		{ "unmap", "x64 addr\nu64 size\n" },
		{ "small", "x64 addr\nu32 size\nu32 stack\n" },
		{ "tally", "u32 stack\nu64 count\nu64 bytes\n" },
		{ "skipped", "u64 count\nu64 bytes\n" },
		{ "thread", "x64 pointer\nx64 stack_low\nx64 stack_high\n" },
		{ "tls", "x64 addr\nu64 size\nx64 base\n" },
		{ "sample",
		  "x64 addr\nu64 size\nu32 stack\nu8 level\nu8 kind\n" },
	};
	unsigned i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (moca_event_writer_type(mw, T_STACK + i, "moca_alloc",
					    types[i][0], types[i][1]))
			abort();
}

static inline void write_told(struct moca_writer *w,
			      struct moca_event_writer *mw, uint32_t task)
{
	struct told *t = &told[task];
	struct moca_chunk_info info = { .task = task };
	struct moca_change e = start_of(t->pid, t->tid,
				       t->events[0].time_ns + 1);
	struct moca_event_chunk c = records_chunk(&t->r, task);
	size_t i;

	if (moca_writer_changes(w, task, t->events, t->event_count))
		abort();
	if (t->access_count) {
		info.begin_ns = t->accesses[0].time_ns;
		info.end_ns = t->accesses[t->access_count - 1].time_ns;
		if (moca_writer_accesses(w, &info, t->accesses,
					 t->access_count))
			abort();
	}
	for (i = 0; i < t->count_count; i++)
		if (moca_writer_counts(w, &t->counts[i].info,
				       t->counts[i].shift, t->counts[i].rows,
				       t->counts[i].count))
			abort();
	if (!t->r.events)
		return;
	c.clock_before = t->r.first;
	c.lost = task ? 0 : told_lost;
	if (moca_event_writer_changes(mw, task, &e, 1) ||
	    moca_event_writer_chunk(mw, &c))
		abort();
}

/* Write what was gathered to dir. */
static inline void trace_end(void)
{
	struct moca_event_writer *mw;
	struct moca_writer *w;
	uint32_t i;

	dir_new();
	put_meta("complete");
	if (moca_writer_create(&w, dirfd_) ||
	    moca_event_writer_create(&mw, dirfd_))
		abort();
	put_types(mw);
	for (i = 0; i < told_count; i++)
		if (told[i].event_count)
			write_told(w, mw, i);
	moca_writer_destroy(w);
	moca_event_writer_destroy(mw);
}

/* --- and what becomes of them ------------------------------------------- */

static struct moca_trace *trace;
static struct moca_objects *objects;
static const struct moca_object *rows;
static size_t row_count;
static struct moca_objects_totals totals;

static inline void objects_done(void)
{
	moca_objects_free(objects);
	moca_trace_close(trace);
	objects = NULL;
	trace = NULL;
}

/* 0, or 1 when it fails or does not count each access once. */
static inline int objects_of(const struct moca_objects_options *opt)
{
	uint64_t sum = 0, wanted = 0;
	size_t i;

	objects_done();
	if (moca_trace_open(&trace, dir) ||
	    moca_objects_compute(&objects, trace, opt))
		return 1;
	rows = moca_objects_rows(objects, &row_count);
	moca_objects_totals(objects, &totals);
	for (i = 0; i < row_count; i++)
		sum += rows[i].accesses;
	for (i = 0; i < moca_trace_task_count(trace); i++)
		wanted += moca_trace_task(trace, i)->accesses;
	return sum != totals.accesses + totals.own ||
	       (!opt && sum != wanted);
}

/* The only row of that kind whose site has that text in it, or NULL. */
static inline const struct moca_object *row_of(enum moca_object_kind kind,
					       const char *text)
{
	const struct moca_object *found = NULL;
	size_t i;

	for (i = 0; i < row_count; i++) {
		if (rows[i].kind != kind || (!strstr(rows[i].site, text) &&
					     !strstr(rows[i].name, text)))
			continue;
		if (found)
			return NULL;
		found = &rows[i];
	}
	return found;
}

/* Of objects allocated by a caller, see put_stack(). */
static inline const struct moca_object *row_by(enum moca_object_kind kind,
					       uint64_t caller)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx",
		 (unsigned long long)(CODE + 16 * caller));
	return row_of(kind, text);
}

#endif
