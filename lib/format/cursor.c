// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/ahead.h"
#include "lib/format/merge.h"

/* Of the chunk at hand: the next of a small one is unpacked when it is asked for. */
#define AHEAD_RECORDS_MIN 4096

/* What a step to the next chunk came to. */
struct step {
	int ret;		/* 1, 0, -errno */
	int damaged;		/* it cannot be unpacked: step on */
	struct moca_header h;
	uint64_t pos;
};

enum ahead_state { AHEAD_NONE, AHEAD_PUT, AHEAD_DONE };

struct moca_cursor {
	struct moca_trace *trace;
	struct moca_query query;
	size_t at;		/* index of the task now or next read */
	uint8_t kind;		/* of chunk this walk is for; 0 = not yet set */
	struct moca_file file;
	struct moca_decoder decoder;
	struct moca_chunk chunk;
	struct moca_counts counts;
	struct moca_merge merge;	/* of changes or events */
	int in_task;			/* the merge has begun with task at */
	int chunks_only;
	struct moca_ahead *ahead;	/* NULL: nothing is unpacked ahead */
	struct moca_ahead_job job;
	/* AHEAD_PUT: at, file, decoder and step are the job's. */
	enum ahead_state state;
	struct step step;
	struct moca_access *shown;	/* not in decoder: the chunk's at hand */
};

/* A newer program's larger query is right if what we do not know is zero. */
static int copy_query(struct moca_query *to, const struct moca_query *from)
{
	const char *extra = (const char *)from + sizeof(*to);
	size_t i;

	if (from->size < sizeof(*to))
		return -EINVAL;
	for (i = 0; i < from->size - sizeof(*to); i++)
		if (extra[i])
			return -EINVAL;
	*to = *from;
	if ((to->end_ns && to->end_ns < to->begin_ns) ||
	    (to->addr_end && to->addr_end < to->addr_begin) ||
	    to->one_task > 1)
		return -EINVAL;
	return 0;
}

int moca_cursor_open(struct moca_cursor **out, struct moca_trace *t,
		     const struct moca_query *query)
{
	struct moca_cursor *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	c->trace = t;
	c->file.fd = -1;
	c->merge.trace = t;
	c->merge.query = &c->query;
	if (query) {
		ret = copy_query(&c->query, query);
		if (ret) {
			free(c);
			return ret;
		}
	}
	c->decoder.addr_begin = c->query.addr_begin;
	c->decoder.addr_end = c->query.addr_end;
	*out = c;
	return 0;
}

void moca_cursor_close(struct moca_cursor *c)
{
	if (!c)
		return;
	if (c->state == AHEAD_PUT)
		moca_ahead_take(c->ahead, &c->job);
	if (c->shown)
		moca_ahead_leave(c->ahead);
	free(c->shown);
	moca_file_close(&c->file);
	moca_decoder_free(&c->decoder);
	moca_merge_free(&c->merge);
	free(c);
}

void moca_cursor_park(struct moca_cursor *c)
{
	size_t i;

	if (c->state == AHEAD_PUT)
		c->state = moca_ahead_take(c->ahead, &c->job) ? AHEAD_DONE :
								AHEAD_NONE;
	moca_file_park(&c->file);
	for (i = 0; i < c->merge.open_count; i++)
		moca_file_park(&c->merge.open[i]->file);
}

void moca_cursor_streams_below(struct moca_cursor *c, uint32_t n)
{
	c->merge.streams_below = n;
}

void moca_task_changes_only(struct moca_cursor *c)
{
	c->merge.task_files_only = 1;
}

void moca_cursor_ahead(struct moca_cursor *c, struct moca_ahead *a)
{
	c->ahead = a;
}

void moca_chunks_only(struct moca_cursor *c)
{
	c->chunks_only = 1;
}

static int in_time(const struct moca_query *q, uint64_t t)
{
	return t >= q->begin_ns && (!q->end_ns || t < q->end_ns);
}

static int in_addr(const struct moca_query *q, uint64_t addr)
{
	return addr >= q->addr_begin && (!q->addr_end || addr < q->addr_end);
}

static int by_addr(const struct moca_query *q)
{
	return q->addr_begin || q->addr_end;
}

/* The next task that the query asks for, from c->at on. 1 or 0. */
static int next_task(struct moca_cursor *c, size_t count)
{
	const struct moca_query *q = &c->query;
	const struct moca_task *one;

	if (q->one_task) {
		one = moca_trace_find_task(c->trace, q->task);
		if (!one || one < &c->trace->tasks[c->at])
			return 0;
		c->at = (size_t)(one - c->trace->tasks);
	}
	return c->at < count;
}

/* Unpack the chunk. 0, -EBADMSG or -ENOMEM. */
static int unpack(struct moca_cursor *c, const struct moca_header *h,
		  uint64_t pos)
{
	if (c->chunks_only)
		return moca_decoder_load(&c->decoder, &c->file, h, pos);
	if (c->kind == MOCA_KIND_COUNTS)
		return moca_decoder_counts(&c->decoder, &c->file, h, pos);
	return moca_decoder_accesses(&c->decoder, &c->file, h, pos);
}

/* Step to and unpack the next chunk within the query's time, if it is sound. */
static void take_step(struct moca_cursor *c, struct step *s)
{
	const struct moca_query *q = &c->query;
	struct moca_trace *t = c->trace;
	struct moca_header *h = &s->h;

	s->damaged = 0;
	for (;;) {
		if (!moca_file_is_open(&c->file)) {
			s->ret = next_task(c, t->file_count);
			if (!s->ret)
				return;
			s->ret = moca_task_file_open(&c->file, t, c->at);
			if (s->ret)
				return;
		}
		s->ret = moca_task_file_next(&c->file, t, c->at, h, &s->pos);
		if (s->ret < 0)
			return;
		if (!s->ret) {
			moca_file_close(&c->file);
			c->at++;
			continue;
		}
		if (h->version != MOCA_FORMAT_VERSION ||
		    h->kind != c->kind || h->end_ns < q->begin_ns ||
		    (q->end_ns && h->begin_ns >= q->end_ns))
			continue;
		s->ret = unpack(c, h, s->pos);
		if (s->ret > 0)
			continue;
		s->damaged = s->ret == -EBADMSG;
		if (!s->ret)
			s->ret = 1;
		return;
	}
}

static void work_ahead(struct moca_ahead_job *job)
{
	struct moca_cursor *c = (struct moca_cursor *)((char *)job -
				offsetof(struct moca_cursor, job));

	take_step(c, &c->step);
}

/* Let the next chunk be unpacked while the caller has the one at hand. */
static void start_ahead(struct moca_cursor *c)
{
	struct moca_access *recs = c->decoder.recs;

	if (!c->ahead || c->chunks_only || c->kind != MOCA_KIND_ACCESSES ||
	    c->step.h.records < AHEAD_RECORDS_MIN)
		return;
	if (!c->shown) {
		if (!moca_ahead_join(c->ahead))
			return;
		c->shown = malloc(MOCA_CHUNK_RECORDS_MAX * sizeof(*recs));
		if (!c->shown) {
			moca_ahead_leave(c->ahead);
			return;
		}
	}
	c->decoder.recs = c->shown;
	c->shown = recs;
	c->job.work = work_ahead;
	c->state = AHEAD_PUT;
	moca_ahead_put(c->ahead, &c->job);
}

/* To the next chunk within the query's time. 1 and its accesses, 0, -errno. */
static int next_chunk(struct moca_cursor *c, struct moca_header *h,
		      struct moca_access **recs)
{
	int done;

	do {
		done = c->state == AHEAD_DONE ||
		       (c->state == AHEAD_PUT &&
			moca_ahead_take(c->ahead, &c->job));
		c->state = AHEAD_NONE;
		if (!done)
			take_step(c, &c->step);
		if (c->step.damaged)
			moca_trace_damaged_chunk(c->trace, &c->file,
						 c->step.pos);
	} while (c->step.damaged);
	if (c->step.ret <= 0)
		return c->step.ret;
	*h = c->step.h;
	*recs = c->decoder.recs;
	start_ahead(c);
	return 1;
}

/* Keep of the chunk's accesses those that the query asks for. */
static void filter(const struct moca_query *q, struct moca_chunk *chunk,
		   struct moca_access *recs)
{
	struct moca_weights w = { 0 };
	const struct moca_access *r;
	size_t i, n = 0;

	chunk->reads = chunk->writes = 0;
	for (i = 0; i < chunk->count; i++) {
		r = &recs[i];
		if (!in_time(q, r->time_ns) || !in_addr(q, r->addr))
			continue;
		chunk->writes += r->type == MOCA_ACCESS_WRITE;
		chunk->reads += r->type == MOCA_ACCESS_READ ||
				r->type == MOCA_ACCESS_EXEC;
		moca_weights_add(&w, r);
		if (n != i)
			recs[n] = *r;
		n++;
	}
	chunk->count = n;
	chunk->weight = w.all;
	chunk->read_weight = w.reads;
	chunk->write_weight = w.writes;
}

int moca_cursor_chunk(struct moca_cursor *c, const struct moca_chunk **out)
{
	const struct moca_query *q = &c->query;
	struct moca_chunk *chunk = &c->chunk;
	struct moca_access *recs;
	struct moca_header h;
	int ret;

	if (c->kind && c->kind != MOCA_KIND_ACCESSES)
		return -EINVAL;
	/* Which the thread may look at, too. */
	if (!c->kind)
		c->kind = MOCA_KIND_ACCESSES;
	do {
		ret = next_chunk(c, &h, &recs);
		if (ret <= 0)
			return ret;
		chunk->task = h.task;
		chunk->number = h.number;
		chunk->interval = h.interval;
		chunk->begin_ns = h.begin_ns;
		chunk->end_ns = h.end_ns;
		chunk->lost = h.lost;
		chunk->reads = h.reads;
		chunk->writes = h.writes;
		chunk->weight = h.weights.all;
		chunk->read_weight = h.weights.reads;
		chunk->write_weight = h.weights.writes;
		chunk->top_weight = (uint32_t)h.weights.top;
		chunk->bytes = (uint64_t)h.header_len + h.payload_len;
		chunk->more = h.flags & MOCA_CHUNK_MORE ? 1 : 0;
		memcpy(chunk->cpumask, h.cpumask, sizeof(chunk->cpumask));
		chunk->count = h.records;
		chunk->accesses = recs;
		if (c->chunks_only)
			break;
		if (q->begin_ns || q->end_ns || by_addr(q))
			filter(q, chunk, recs);
	} while (by_addr(q) && !chunk->count);
	*out = chunk;
	return 1;
}

/* Keep of the rows those whose granules the query's addresses meet. */
static void filter_rows(const struct moca_query *q, struct moca_counts *counts,
			struct moca_count *rows)
{
	uint64_t begin = q->addr_begin & ~(counts->granularity - 1);
	size_t i, n = 0;

	counts->loads = counts->stores = 0;
	for (i = 0; i < counts->count; i++) {
		if (rows[i].addr < begin ||
		    (q->addr_end && rows[i].addr >= q->addr_end))
			continue;
		counts->loads += rows[i].loads;
		counts->stores += rows[i].stores;
		if (n != i)
			rows[n] = rows[i];
		n++;
	}
	counts->count = n;
}

int moca_cursor_counts(struct moca_cursor *c, const struct moca_counts **out)
{
	struct moca_counts *counts = &c->counts;
	struct moca_access *recs;
	struct moca_header h;
	int ret;

	if (c->kind && c->kind != MOCA_KIND_COUNTS)
		return -EINVAL;
	c->kind = MOCA_KIND_COUNTS;
	do {
		ret = next_chunk(c, &h, &recs);
		if (ret <= 0)
			return ret;
		*counts = (struct moca_counts){
			.task = h.task,
			.number = h.number,
			.slice = h.interval,
			.begin_ns = h.begin_ns,
			.end_ns = h.end_ns,
			.granularity = 1ull << h.cpumask[MOCA_COUNTS_SHIFT],
			.loads = h.cpumask[MOCA_COUNTS_LOADS],
			.stores = h.cpumask[MOCA_COUNTS_STORES],
			.bytes = (uint64_t)h.header_len + h.payload_len,
			.more = h.flags & MOCA_CHUNK_MORE ? 1 : 0,
			.count = h.records,
			.rows = c->decoder.rows,
		};
		if (by_addr(&c->query))
			filter_rows(&c->query, counts, c->decoder.rows);
	} while (by_addr(&c->query) && !counts->count);
	*out = counts;
	return 1;
}

/* The next change or event. 1, 0 or -errno. */
static int next_record(struct moca_cursor *c, uint8_t kind,
		       struct moca_source **out, uint32_t *task)
{
	struct moca_trace *t = c->trace;
	int ret;

	if (c->kind && c->kind != kind)
		return -EINVAL;
	c->kind = c->merge.kind = kind;
	for (;;) {
		if (!c->in_task) {
			if (!next_task(c, t->task_count))
				return 0;
			ret = moca_merge_start(&c->merge, c->at);
			if (ret)
				return ret;
			c->in_task = 1;
		}
		ret = moca_merge_next(&c->merge, out);
		if (ret) {
			*task = t->tasks[c->at].id;
			return ret;
		}
		c->in_task = 0;
		c->at++;
	}
}

int moca_cursor_change(struct moca_cursor *c, const struct moca_change **out,
		      uint32_t *task)
{
	struct moca_source *s;
	int ret = next_record(c, MOCA_KIND_CHANGES, &s, task);

	if (ret > 0)
		*out = &s->change;
	return ret;
}

int moca_cursor_event(struct moca_cursor *c, const struct moca_event **out,
		       uint32_t *task)
{
	struct moca_source *s;
	int ret = next_record(c, MOCA_KIND_EVENTS, &s, task);

	if (ret > 0)
		*out = &s->event;
	return ret;
}
