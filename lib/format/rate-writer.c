// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/rate-writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/event-writer.h"
#include "lib/ring/layout.h"

/* Told from the top down, as ids of programs' events grow from the bottom. */
enum {
	ID_HEAT_PAGES = MOCA_REC_LAST - 9,
	ID_HEAT_LOOK,
	ID_SETTINGS,
	ID_TASK,
	ID_SAMPLE,
	ID_TICK,
	ID_END,
	ID_OWN,
};

#define WORDS 8192u
#define RECORD_WORDS 24u	/* of the largest */
#define NAME_BYTES 63u
#define FLUSH_NS 1000000000ull
#define TICKS 1000		/* ns, for a line through one point */

struct moca_rate_writer {
	struct moca_event_writer *writer;
	uint32_t stream, pid;
	uint64_t records[WORDS];
	size_t words;
	uint32_t events;
	uint64_t first_ns, last_ns;
	uint64_t position;
	int error;
};

struct type {
	uint32_t id;
	const char *name, *fields;
};

static int describe(int dirfd, const char *facility, const struct type *types,
		    size_t n)
{
	struct moca_event_writer *w;
	int err = moca_event_writer_create(&w, dirfd);

	if (err)
		return err;
	for (size_t i = 0; !err && i < n; i++)
		err = moca_event_writer_type(w, types[i].id, facility,
					      types[i].name, types[i].fields);
	moca_event_writer_destroy(w);
	return err;
}

int moca_rate_describe(int dirfd)
{
	static const struct type types[] = {
		{ ID_SETTINGS, "settings", "u64 period_ns\nstring source\n" },
		{ ID_TASK, "task",
		  "u32 task\nu32 pid\nu32 tid\nstring name\n" },
		{ ID_SAMPLE, "sample",
		  "u32 task\nu64 minor\nu64 major\nu64 cpu_ns\nu64 wall_ns\n" },
		{ ID_TICK, "tick",
		  "u64 wall_ns\nu32 processes\nu32 tasks\n" },
		{ ID_END, "end",
		  "u32 task\nenum last s32 lost=0,seen=1\n" },
		{ ID_OWN, "own", "u32 pid\nu32 tid\nu64 begin_ns\nu64 minor\n" },
	};

	return describe(dirfd, MOCA_RATE_FACILITY, types,
			sizeof(types) / sizeof(*types));
}

int moca_heat_describe(int dirfd)
{
	static const struct type types[] = {
		{ ID_HEAT_PAGES, "pages",
		  "u32 pid\nu64 since_ns\nu64 addr\nsequence touched u64\n"
		  "sequence written u64\n" },
		{ ID_HEAT_LOOK, "look",
		  "u64 since_ns\nu64 end_ns\nu64 looked\nu64 touched\n"
		  "u64 held\nu64 lost\nenum kind s32 look=0,sweep=1\n" },
	};

	return describe(dirfd, MOCA_HEAT_FACILITY, types,
			sizeof(types) / sizeof(*types));
}

int moca_rate_writer_create(struct moca_rate_writer **out, int dirfd,
			    uint32_t stream)
{
	struct moca_rate_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->stream = stream;
	err = moca_event_writer_create(&w->writer, dirfd);
	if (err) {
		free(w);
		return err;
	}
	*out = w;
	return 0;
}

int moca_rate_writer_flush(struct moca_rate_writer *w)
{
	struct moca_event_chunk c = {
		.stream = w->stream, .events = w->events,
		.records = w->records, .words = w->words,
		.begin = w->position, .end = w->position + 8 * w->words,
		/* Nothing is needed of the chunk before. */
		.clock_before = w->first_ns,
		.clock0 = w->first_ns, .ns0 = w->first_ns,
		.clock1 = w->last_ns + TICKS, .ns1 = w->last_ns + TICKS,
		.begin_ns = w->first_ns, .end_ns = w->last_ns, .compress = 1,
	};
	int err;

	if (w->events) {
		err = moca_event_writer_chunk(w->writer, &c);
		if (!w->error)
			w->error = err;
		w->position = c.end;
	}
	w->words = 0;
	w->events = 0;
	return w->error;
}

uint64_t moca_rate_writer_bytes(const struct moca_rate_writer *w)
{
	return moca_event_writer_bytes(w->writer);
}

int moca_rate_writer_close(struct moca_rate_writer *w)
{
	int err;

	if (!w)
		return 0;
	err = moca_rate_writer_flush(w);
	moca_event_writer_destroy(w->writer);
	free(w);
	return err;
}

static int write_event(struct moca_rate_writer *w, struct moca_change *e)
{
	int err = moca_rate_writer_flush(w);

	e->parent = MOCA_NO_TASK;
	e->pid = e->tid = w->pid;
	if (!err)
		err = moca_event_writer_changes(w->writer, w->stream, e, 1);
	if (!w->error)
		w->error = err;
	return err;
}

int moca_rate_writer_start(struct moca_rate_writer *w, uint32_t pid,
			   const char *name, uint64_t ns)
{
	struct moca_change e = { .type = MOCA_CHANGE_TASK_START, .time_ns = ns,
				.name = name };

	w->pid = pid;
	w->last_ns = ns;
	return write_event(w, &e);
}

int moca_rate_writer_end(struct moca_rate_writer *w, uint64_t ns)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_TASK_END, .name = "",
		.time_ns = ns > w->last_ns ? ns : w->last_ns,
	};

	return write_event(w, &e);
}

/* --- records ------------------------------------------------------------- */

struct record {
	uint8_t bytes[8 * (RECORD_WORDS - 1)];
	size_t len;
};

static void put(struct record *r, const void *data, size_t len)
{
	memcpy(r->bytes + r->len, data, len);
	r->len += len;
}

static void put_u32(struct record *r, uint32_t v)
{
	put(r, &v, sizeof(v));
}

static void put_u64(struct record *r, uint64_t v)
{
	put(r, &v, sizeof(v));
}

static void put_string(struct record *r, const char *s)
{
	put(r, s, strnlen(s, NAME_BYTES));
	put(r, "", 1);
}

static void add(struct moca_rate_writer *w, uint64_t ns, unsigned id,
		const struct record *r)
{
	size_t words = 1 + (r->len + 7) / 8;

	if (ns < w->last_ns)
		ns = w->last_ns;
	/* The low bits of the time are enough for half a minute only. */
	if (w->words + words > WORDS ||
	    (w->events && ns - w->last_ns > MOCA_REC_SILENCE / 2))
		moca_rate_writer_flush(w);
	if (!w->events++)
		w->first_ns = ns;
	w->last_ns = ns;
	w->records[w->words] = moca_rec_make(ns, id, MOCA_REC_COMMITTED,
					     (unsigned)words);
	w->records[w->words + words - 1] = 0;
	memcpy(&w->records[w->words + 1], r->bytes, r->len);
	w->words += words;
}

/* Who reads the trace meanwhile, or after a crash, finds most of it. */
static void flush_long(struct moca_rate_writer *w)
{
	if (w->last_ns - w->first_ns >= FLUSH_NS)
		moca_rate_writer_flush(w);
}

void moca_rate_settings(struct moca_rate_writer *w, uint64_t ns,
			uint64_t period_ns, const char *source)
{
	struct record r = { .len = 0 };

	put_u64(&r, period_ns);
	put_string(&r, source);
	add(w, ns, ID_SETTINGS, &r);
}

void moca_rate_task(struct moca_rate_writer *w, uint64_t ns, uint32_t task,
		    uint32_t pid, uint32_t tid, const char *name)
{
	struct record r = { .len = 0 };

	put_u32(&r, task);
	put_u32(&r, pid);
	put_u32(&r, tid);
	put_string(&r, name);
	add(w, ns, ID_TASK, &r);
}

void moca_rate_sample(struct moca_rate_writer *w, uint64_t ns, uint32_t task,
		      const struct moca_rate_counts *c)
{
	struct record r = { .len = 0 };

	put_u32(&r, task);
	put_u64(&r, c->minor);
	put_u64(&r, c->major);
	put_u64(&r, c->cpu_ns);
	put_u64(&r, c->wall_ns);
	add(w, ns, ID_SAMPLE, &r);
}

void moca_rate_tick(struct moca_rate_writer *w, uint64_t ns, uint64_t wall_ns,
		    uint32_t processes, uint32_t tasks)
{
	struct record r = { .len = 0 };

	put_u64(&r, wall_ns);
	put_u32(&r, processes);
	put_u32(&r, tasks);
	add(w, ns, ID_TICK, &r);
	flush_long(w);
}

void moca_rate_end(struct moca_rate_writer *w, uint64_t ns, uint32_t task,
		   int exact)
{
	struct record r = { .len = 0 };

	put_u32(&r, task);
	put_u32(&r, (uint32_t)!!exact);
	add(w, ns, ID_END, &r);
}

void moca_rate_own(struct moca_rate_writer *w, uint64_t ns, uint32_t pid,
		   uint32_t tid, uint64_t begin_ns, uint64_t minor)
{
	struct record r = { .len = 0 };

	put_u32(&r, pid);
	put_u32(&r, tid);
	put_u64(&r, begin_ns);
	put_u64(&r, minor);
	add(w, ns, ID_OWN, &r);
}

static void put_sequence(struct record *r, const uint64_t *v, uint32_t n)
{
	put_u32(r, n);
	put(r, v, n * sizeof(*v));
}

void moca_heat_pages(struct moca_rate_writer *w, uint64_t ns, uint64_t since_ns,
		     uint32_t pid, uint64_t addr, uint32_t words,
		     const uint64_t *bits)
{
	struct record r = { .len = 0 };

	put_u32(&r, pid);
	put_u64(&r, since_ns);
	put_u64(&r, addr);
	put_sequence(&r, bits, words);
	put_sequence(&r, bits + words, words);
	add(w, ns, ID_HEAT_PAGES, &r);
}

void moca_heat_looked(struct moca_rate_writer *w, uint64_t ns,
		      const struct moca_heat_look *l)
{
	struct record r = { .len = 0 };

	put_u64(&r, l->since_ns);
	put_u64(&r, l->end_ns);
	put_u64(&r, l->looked);
	put_u64(&r, l->touched);
	put_u64(&r, l->held);
	put_u64(&r, l->lost);
	put_u32(&r, (uint32_t)!!l->sweep);
	add(w, ns, ID_HEAT_LOOK, &r);
	flush_long(w);
}
