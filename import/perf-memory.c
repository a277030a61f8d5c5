// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/perf-memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <moca/types.h>

#include "lib/base/vec.h"
#include "lib/format/event-writer.h"
#include "lib/ring/layout.h"

#define TYPE 16
#define EVENT_WORDS 7u			/* header and 45 bytes */
#define STREAM_EVENTS 32768u		/* of a chunk, at most */
#define KEPT_MAX ((size_t)4 << 20)	/* words of all streams: 32 MB */
#define GAP_NS (1ull << 33)		/* what a header's bits tell apart */

/* Of union perf_mem_data_src, as linux/perf_event.h has it. */
#define OP(s) ((unsigned)(s) & 0x1f)
#define LEVEL(s) ((unsigned)((s) >> 5) & 0x3fff)
#define SNOOP(s) ((unsigned)((s) >> 19) & 0x1f)
#define NUMBER(s) ((unsigned)((s) >> 33) & 0xf)
#define REMOTE(s) ((unsigned)((s) >> 37) & 1)
enum {
	OP_LOAD = 2, OP_STORE = 4, OP_PREFETCH = 8, OP_EXEC = 16,
	LEVEL_HIT = 2, LEVEL_MISS = 4, LEVEL_FIRST = 8,
	SNOOP_NONE = 2, SNOOP_HIT = 4, SNOOP_MISS = 8, SNOOP_HITM = 16,
	NUMBER_NA = 15,
};

static const char fields[] =
	"x64 addr\nx64 ip\nu64 latency\n"
	"enum op s32 unknown=0,load=1,store=2,exec=3,prefetch=4\n"
	"enum level s32 unknown=0,L1=1,L2=2,L3=3,L4=4,LFB=5,RAM=6,PMEM=7,remote cache=8,I/O=9,uncached=10,CXL=11\n"
	"enum answer s32 unknown=0,hit=1,miss=2\n"
	"enum snoop s32 unknown=0,none=1,hit=2,miss=3,modified=4\n"
	"u8 remote\n";

struct perf_stream {
	uint64_t *words;
	size_t count, room;
	uint32_t events;
	uint64_t first_ns, last_ns;	/* of these */
	uint64_t position;		/* bytes written before */
	int begun;
};

int perf_memory_told(uint64_t source)
{
	return (OP(source) & ~1u) || (LEVEL(source) & ~1u);
}

int perf_memory_type(uint64_t source)
{
	unsigned op = OP(source);

	return op & OP_STORE ? MOCA_ACCESS_WRITE : op & OP_EXEC ?
		MOCA_ACCESS_EXEC : op & (OP_LOAD | OP_PREFETCH) ?
		MOCA_ACCESS_READ : MOCA_ACCESS_UNKNOWN;
}

static int op_of(uint64_t source)
{
	unsigned op = OP(source);

	return op & OP_STORE ? 2 : op & OP_EXEC ? 3 : op & OP_LOAD ? 1 :
	       op & OP_PREFETCH ? 4 : 0;
}

/* By its number, where newer kernels tell one; else by the bits. */
static int level_of(uint64_t source)
{
	static const int8_t numbers[16] = {
		[1] = 1, [2] = 2, [3] = 3, [4] = 4, [8] = 10, [9] = 11,
		[10] = 9, [11] = 8, [12] = 5, [13] = 6, [14] = 7,
	};
	/* From LEVEL_FIRST on: L1, LFB, L2, L3, RAM, two of remote RAM, ... */
	static const int8_t bits[] = { 1, 5, 2, 3, 6, 6, 6, 8, 8, 9, 10 };

	if (NUMBER(source) != NUMBER_NA && numbers[NUMBER(source)])
		return numbers[NUMBER(source)];
	for (size_t i = 0; i < sizeof(bits); i++)
		if (LEVEL(source) & (unsigned)LEVEL_FIRST << i)
			return bits[i];
	return 0;
}

static int is_remote(uint64_t source)
{
	return REMOTE(source) || LEVEL(source) & (0xfu << 8);
}

static int snoop_of(uint64_t source)
{
	unsigned snoop = SNOOP(source);

	return snoop & SNOOP_HITM ? 4 : snoop & SNOOP_MISS ? 3 :
	       snoop & SNOOP_HIT ? 2 : snoop & SNOOP_NONE ? 1 : 0;
}

void perf_memory_init(struct perf_memory *m, int dirfd,
		      const struct import_trace *trace)
{
	*m = (struct perf_memory){ .dirfd = dirfd, .trace = trace };
}

void perf_memory_free(struct perf_memory *m)
{
	for (size_t i = 0; i < m->cap; i++)
		free(m->streams[i].words);
	free(m->streams);
	moca_event_writer_destroy(m->writer);
}

static int begin(struct perf_memory *m, uint32_t task, struct perf_stream *s)
{
	const struct import_task *t = &m->trace->tasks[task];
	const struct moca_change start = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = s->first_ns,
		.pid = t->pid, .tid = t->tid, .parent = MOCA_NO_TASK,
		.name = t->change_count ? t->changes[0].name : "",
	};

	s->begun = 1;
	return moca_event_writer_changes(m->writer, task, &start, 1);
}

static int flush(struct perf_memory *m, uint32_t task)
{
	struct perf_stream *s = &m->streams[task];
	struct moca_event_chunk c = {
		.stream = task, .events = s->events, .records = s->words,
		.words = s->count, .begin = s->position,
		.end = s->position + 8 * s->count,
		.clock_before = s->first_ns, .clock1 = 1, .ns1 = 1,
		.begin_ns = s->first_ns, .end_ns = s->last_ns, .compress = 1,
	};
	int err = 0;

	if (!s->events)
		return 0;
	if (!s->begun)
		err = begin(m, task, s);
	if (!err)
		err = moca_event_writer_chunk(m->writer, &c);
	s->position = c.end;
	m->kept -= s->count;
	s->count = s->events = 0;
	return err;
}

static int flush_all(struct perf_memory *m)
{
	int err = 0;

	for (size_t i = 0; i < m->cap && !err; i++) {
		err = flush(m, (uint32_t)i);
		free(m->streams[i].words);
		m->streams[i].words = NULL;
		m->streams[i].room = 0;
	}
	return err;
}

static void put_sync(struct perf_stream *s, uint64_t ns)
{
	s->words[s->count++] = moca_rec_make(ns, MOCA_REC_SYNC,
					     MOCA_REC_COMMITTED, 3);
	s->words[s->count++] = ns;
	s->words[s->count++] = 0;
}

static void put_event(struct perf_stream *s, const struct perf_line *l)
{
	const int32_t enums[] = {
		op_of(l->source), level_of(l->source),
		LEVEL(l->source) & LEVEL_HIT ? 1 :
			LEVEL(l->source) & LEVEL_MISS ? 2 : 0,
		snoop_of(l->source),
	};
	uint64_t *to = s->words + s->count;

	memset(to, 0, 8 * EVENT_WORDS);
	to[0] = moca_rec_make(l->time_ns, TYPE, MOCA_REC_COMMITTED, EVENT_WORDS);
	to[1] = l->addr;
	to[2] = l->ip;
	to[3] = l->weight;
	memcpy(&to[4], enums, sizeof(enums));
	to[6] = is_remote(l->source) != 0;
	s->count += EVENT_WORDS;
}

int perf_memory_add(struct perf_memory *m, uint32_t task,
		    const struct perf_line *l)
{
	struct perf_stream *s;
	size_t before;
	int err = 0;

	if (!m->writer) {
		err = moca_event_writer_create(&m->writer, m->dirfd);
		if (!err)
			err = moca_event_writer_type(m->writer, TYPE, "perf_mem",
						     "sample", fields);
	}
	if (!err && m->kept >= KEPT_MAX)
		err = flush_all(m);
	if (err)
		return err;
	if (moca_vec_fit_zeroed(m->streams, m->cap, (size_t)task + 1))
		return -ENOMEM;
	s = &m->streams[task];
	if (s->events == STREAM_EVENTS)
		err = flush(m, task);
	if (!err)
		err = moca_vec_fit(s->words, s->room, s->count + EVENT_WORDS + 3);
	if (err)
		return err;
	before = s->count;
	if (!s->events || l->time_ns - s->last_ns > GAP_NS)
		put_sync(s, l->time_ns);
	if (!s->events)
		s->first_ns = l->time_ns;
	s->last_ns = l->time_ns;
	put_event(s, l);
	s->events++;
	m->kept += s->count - before;
	return 0;
}

int perf_memory_end(struct perf_memory *m)
{
	return flush_all(m);
}
