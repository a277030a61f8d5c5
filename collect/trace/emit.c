// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/emit.h"

#include <string.h>

#include "lib/ring/clock.h"

#define EVENTS_MAX 65536u	/* in a chunk, as the format has it */
#define WORDS_MAX (1u << 20)	/* 8 MiB */
#define TINY 1000	/* ticks, for a line through one point */

struct piece {
	const uint64_t *records;
	size_t words;
	uint32_t events;
	uint64_t begin, end;
	uint64_t clock_before;
	uint64_t clock_first, clock_last;
	uint64_t cut;		/* the line is good up to here */
	uint64_t lost, torn, corrupt;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The line through the first and the last event; times never go back. */
static void set_line(struct tracer_sink *to, struct moca_event_chunk *c,
		     const struct piece *p)
{
	const struct tracer_clock *clock = to->clock;

	if (!p->events) {
		c->ns0 = c->begin_ns = c->end_ns = moca_now_ns();
		c->clock0 = clock->kind == MOCA_CLOCK_MONOTONIC ?
				    c->ns0 : clock->tip.clock;
		c->clock1 = c->clock0 + TINY;
		c->ns1 = c->ns0 + TINY;
		return;
	}
	c->clock0 = p->clock_first;
	c->ns0 = later(tracer_clock_ns(clock, c->clock0), to->last_ns);
	c->begin_ns = c->end_ns = c->ns0;
	if (p->clock_last != p->clock_first) {
		c->clock1 = p->clock_last;
		c->ns1 = later(tracer_clock_ns(clock, c->clock1), c->ns0);
		c->end_ns = c->ns1;
	} else {
		c->clock1 = c->clock0 + TINY;
		c->ns1 = c->ns0 + tracer_clock_ns(clock, c->clock1) -
			 tracer_clock_ns(clock, c->clock0);
	}
}

static int write_piece(struct tracer_sink *to, const struct piece *p)
{
	struct moca_event_chunk c = {
		.stream = to->stream,
		.events = p->events,
		.records = p->records,
		.words = p->words,
		.begin = p->begin,
		.end = p->end,
		.clock_before = p->clock_before,
		.lost = p->lost,
		.torn = p->torn,
		.corrupt = p->corrupt,
		.compress = to->compress,
	};
	int err;

	set_line(to, &c, p);
	err = moca_event_writer_chunk(to->writer, &c);
	if (!err && p->events)
		to->last_ns = c.end_ns;
	return err;
}

static uint64_t clock_after(uint64_t before, const uint64_t *record)
{
	struct moca_sync sync;

	if (moca_rec_id(*record) != MOCA_REC_SYNC)
		return moca_rec_clock(before, *record);
	memcpy(&sync, record + 1, sizeof(sync));
	return before && (int64_t)(sync.clock - before) < 0 ? before :
							      sync.clock;
}

/* A new piece after p, which ended when the clock was at `clock`. */
static void next_piece(struct piece *p, uint64_t clock)
{
	*p = (struct piece){
		.records = p->records + p->words,
		.begin = p->end,
		.end = p->end,
		.clock_before = clock,
	};
}

/* Add a record; an event is at `clock`. */
static void add_record(struct tracer_sink *to, struct piece *p, unsigned words,
		       int is_event, uint64_t clock, uint64_t last)
{
	p->words += words;
	p->end += words * 8;
	if (!is_event)
		return;
	if (!p->events++) {
		p->clock_first = clock;
		p->cut = tracer_clock_straight(to->clock, clock, last);
	}
	p->clock_last = clock;
}

static int write_cut(struct tracer_sink *to, const struct moca_ring_batch *b,
		     struct piece *p)
{
	uint64_t clock = b->clock_before, after;
	size_t at = 0;
	unsigned words;
	int event, err;

	p->words = 0;
	p->events = 0;
	/* Right to the byte unless something torn was taken out. */
	p->end = p->begin;
	while (at < b->words) {
		words = moca_rec_words(b->records[at]);
		event = moca_rec_id(b->records[at]) != MOCA_REC_SYNC;
		after = clock_after(clock, b->records + at);
		if (p->events == EVENTS_MAX || p->words + words > WORDS_MAX ||
		    (event && p->events && after > p->cut)) {
			err = write_piece(to, p);
			if (err)
				return err;
			next_piece(p, clock);
		}
		add_record(to, p, words, event, after, b->clock_last);
		clock = after;
		at += words;
	}
	p->end = b->end;
	return write_piece(to, p);
}

int tracer_emit_batch(struct tracer_sink *to, const struct moca_ring_batch *b)
{
	struct piece whole = {
		.records = b->records, .words = b->words, .events = b->events,
		.begin = b->begin, .end = b->end,
		.clock_before = b->clock_before,
		.clock_first = b->clock_first, .clock_last = b->clock_last,
		.lost = b->lost, .torn = b->torn, .corrupt = b->corrupt,
	};

	/* The end of a subbuffer is told: what is below is given back. */
	if (!b->events && !b->lost && !b->torn && !b->corrupt &&
	    b->end & (to->subbuf_size - 1))
		return 0;
	if (!b->events)
		return write_piece(to, &whole);
	tracer_clock_cover(to->clock, b->clock_last);
	if (b->events <= EVENTS_MAX && b->words <= WORDS_MAX &&
	    tracer_clock_straight(to->clock, b->clock_first, b->clock_last) ==
		    b->clock_last)
		return write_piece(to, &whole);
	return write_cut(to, b, &whole);
}

int tracer_emit_lost(struct tracer_sink *to, uint64_t position, uint64_t lost)
{
	struct piece p = { .begin = position, .end = position, .lost = lost };

	return lost ? write_piece(to, &p) : 0;
}

/* In order of time, whatever the times are. */
static int write_event(struct tracer_sink *to, struct moca_change *e)
{
	e->parent = MOCA_NO_TASK;
	e->time_ns = to->last_ns = later(e->time_ns, to->last_ns);
	return moca_event_writer_changes(to->writer, to->stream, e, 1);
}

int tracer_emit_start(struct tracer_sink *to, const struct tracer_who *who)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = who->start_ns,
		.pid = who->pid, .tid = who->tid, .name = who->name,
		.flags = who->pid != who->tid ? MOCA_TASK_THREAD : 0,
	};

	return write_event(to, &e);
}

int tracer_emit_end(struct tracer_sink *to, const struct tracer_who *who,
		    uint64_t end_ns, int status)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_TASK_END, .pid = who->pid, .tid = who->tid,
		.time_ns = end_ns, .name = "", .status = status,
	};

	return write_event(to, &e);
}

int tracer_emit_gap(struct tracer_sink *to, uint64_t when, const char *what)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_GAP, .name = what, .time_ns = when,
	};

	return write_event(to, &e);
}
