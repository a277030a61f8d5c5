// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/kernel/decode.h"

/* A copy of a chunk. */
struct held {
	struct held *next;
	struct kernel_chunk chunk;
	uint64_t lost;		/* not told yet */
	_Alignas(8) char data[];
};

struct lane {
	struct held *first, **last;
	const struct moca_rec *head;	/* of first; NULL: to be looked for */
};

struct kernel_merge {
	unsigned int count;
	struct lane *lanes;
	size_t bytes;
	uint64_t damaged;
	uint64_t interval;	/* the first that is not closed */
	uint64_t ended;		/* intervals below this have ended */
	uint64_t begin_ns, end_ns;	/* of the one that comes out */
	unsigned int at;	/* the lane that the last record was of */
	uint64_t until_ns;	/* up to then no other is older */
	struct held *used;	/* whose record was handed out last */
};

struct kernel_merge *kernel_merge_new(unsigned int rings)
{
	struct kernel_merge *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->lanes = calloc(rings, sizeof(*m->lanes));
	if (!m->lanes) {
		free(m);
		return NULL;
	}
	m->count = rings;
	for (unsigned int i = 0; i < rings; i++)
		m->lanes[i].last = &m->lanes[i].first;
	return m;
}

void kernel_merge_free(struct kernel_merge *m)
{
	if (!m)
		return;
	for (unsigned int i = 0; i < m->count; i++)
		for (struct held *h = m->lanes[i].first, *next; h; h = next) {
			next = h->next;
			free(h);
		}
	free(m->used);
	free(m->lanes);
	free(m);
}

/* An interval has ended when the monitor says so. */
static void look_for_ends(struct kernel_merge *m, struct kernel_chunk c)
{
	const struct moca_rec *r;

	while (kernel_chunk_next(&c, &r) > 0)
		if (r->type == MOCA_REC_INTERVAL) {
			const struct moca_rec_interval *i = (const void *)r;

			if (i->interval >= m->ended &&
			    i->interval != UINT64_MAX)
				m->ended = i->interval + 1;
		}
}

static int copy_chunk(struct kernel_merge *m, unsigned int lane, const void *p,
		      size_t room)
{
	struct lane *l = &m->lanes[lane];
	struct kernel_chunk c;
	struct held *h;
	size_t bytes;

	if (kernel_chunk_open(&c, p, room)) {
		m->damaged++;
		return 0;
	}
	bytes = c.bytes;
	h = malloc(sizeof(*h) + bytes);
	if (!h)
		return -ENOMEM;
	memcpy(h->data, p, bytes);
	/* What was copied is looked at, not what it was copied from. */
	if (kernel_chunk_open(&h->chunk, h->data, bytes)) {
		m->damaged++;
		free(h);
		return 0;
	}
	h->next = NULL;
	h->lost = h->chunk.head->lost;
	*l->last = h;
	l->last = &h->next;
	m->bytes += sizeof(*h) + bytes;
	if (lane == m->count - 1)
		look_for_ends(m, h->chunk);
	/* Nothing is known of what other lanes have below this. */
	m->until_ns = 0;
	return 0;
}

static int fill_lane(struct kernel_merge *m, unsigned int lane,
		     struct kernel_ring *r)
{
	const void *p;
	int ret;

	while ((ret = kernel_ring_take(r, &p)) > 0) {
		ret = copy_chunk(m, lane, p, r->chunk_bytes);
		if (ret)
			return ret;
		kernel_ring_done(r);
	}
	return ret;
}

int kernel_merge_fill(struct kernel_merge *m, struct kernel_ring *rings)
{
	int ret;

	/* First: what it says has ended is in the other rings by now. */
	ret = fill_lane(m, m->count - 1, &rings[m->count - 1]);
	for (unsigned int i = 0; i < m->count - 1 && !ret; i++)
		ret = fill_lane(m, i, &rings[i]);
	return ret;
}

size_t kernel_merge_bytes(const struct kernel_merge *m)
{
	return m->bytes;
}

uint64_t kernel_merge_damaged(const struct kernel_merge *m)
{
	return m->damaged;
}

int kernel_merge_ready(const struct kernel_merge *m, uint64_t *interval)
{
	uint64_t first = m->ended ? m->ended - 1 : 0;

	/* Those of which nothing came are passed over, however many. */
	for (unsigned int i = 0; i < m->count; i++) {
		const struct held *h = m->lanes[i].first;

		if (h && h->chunk.head->interval < first)
			first = h->chunk.head->interval;
	}
	*interval = first > m->interval ? first : m->interval;
	return *interval < m->ended;
}

int kernel_merge_is_behind(const struct kernel_merge *m, uint64_t interval)
{
	return m->ended > interval && m->ended - interval > 1;
}

/* When the monitor had done all that ends an interval. 0: it did not say. */
static uint64_t sweep_end(const struct kernel_merge *m, uint64_t interval)
{
	const struct moca_rec *r;

	for (const struct held *h = m->lanes[m->count - 1].first; h;
	     h = h->next) {
		struct kernel_chunk c = h->chunk;

		while (kernel_chunk_next(&c, &r) > 0)
			if (r->type == MOCA_REC_INTERVAL &&
			    ((const struct moca_rec_interval *)
				     (const void *)r)->interval == interval)
				return r->time_ns;
	}
	return 0;
}

void kernel_merge_ahead(const struct kernel_merge *m, uint64_t interval,
			kernel_merge_visit visit, void *arg)
{
	uint64_t end = sweep_end(m, interval);
	const struct moca_rec *r;

	for (unsigned int i = 0; i + 1 < m->count; i++) {
		const struct held *h = m->lanes[i].first;

		while (h && h->chunk.head->interval <= interval)
			h = h->next;
		for (int more = 1; h && more &&
		     h->chunk.head->interval == interval + 1; h = h->next) {
			struct kernel_chunk c = h->chunk;

			while ((more = kernel_chunk_next(&c, &r) > 0 &&
				       r->time_ns <= end))
				if (r->type == MOCA_REC_ACCESS)
					visit(arg, (const void *)r);
			/* At the chunk's end, the next one goes on. */
			more = c.pos == c.bytes;
		}
	}
}

static void drop_used(struct kernel_merge *m)
{
	free(m->used);
	m->used = NULL;
}

/* Find the lane's next record, or a chunk that tells of loss. 0: none. */
static int look(struct kernel_merge *m, struct lane *l, uint64_t interval)
{
	while (l->first && l->first->chunk.head->interval <= interval) {
		struct held *h = l->first;
		int ret;

		if (l->head || h->lost)
			return 1;
		ret = kernel_chunk_next(&h->chunk, &l->head);
		if (ret > 0)
			return 1;
		if (ret < 0) {
			m->damaged++;
			h->lost = 1;	/* at least */
			continue;
		}
		l->first = h->next;
		if (!l->first)
			l->last = &l->first;
		m->bytes -= sizeof(*h) + h->chunk.bytes;
		drop_used(m);
		m->used = h;
	}
	return 0;
}

static void note_times(struct kernel_merge *m, const struct held *h)
{
	const struct moca_chunk_head *head = h->chunk.head;

	if (head->interval != m->interval)
		return;
	if (!m->begin_ns || head->begin_ns < m->begin_ns)
		m->begin_ns = head->begin_ns;
	if (head->end_ns > m->end_ns)
		m->end_ns = head->end_ns;
}

static uint64_t time_of(const struct lane *l)
{
	return l->head ? l->head->time_ns : l->first->chunk.head->begin_ns;
}

/* The lane with the oldest record; until_ns: how long it stays that. */
static int choose(struct kernel_merge *m, uint64_t interval)
{
	uint64_t best = UINT64_MAX, second = UINT64_MAX;
	int found = 0;

	for (unsigned int i = 0; i < m->count; i++) {
		struct lane *l = &m->lanes[i];
		uint64_t time;

		if (!look(m, l, interval))
			continue;
		time = time_of(l);
		if (!found || time < best) {
			second = found ? best : UINT64_MAX;
			best = time;
			m->at = i;
			found = 1;
		} else if (time < second) {
			second = time;
		}
	}
	m->until_ns = second;
	return found;
}

int kernel_merge_next(struct kernel_merge *m, uint64_t interval,
		      struct kernel_item *out)
{
	struct lane *l = &m->lanes[m->at];
	struct held *h;

	if (!look(m, l, interval) || time_of(l) >= m->until_ns) {
		if (!choose(m, interval))
			return 0;
		l = &m->lanes[m->at];
	}
	h = l->first;
	note_times(m, h);
	*out = (struct kernel_item){ .ring = m->at, .cpu = h->chunk.head->cpu };
	if (h->lost) {
		out->lost = h->lost;
		h->lost = 0;
		return 1;
	}
	out->rec = l->head;
	l->head = NULL;
	return 1;
}

void kernel_merge_close(struct kernel_merge *m, uint64_t interval,
			uint64_t *begin_ns, uint64_t *end_ns)
{
	*begin_ns = m->begin_ns;
	*end_ns = m->end_ns;
	m->begin_ns = m->end_ns = 0;
	m->until_ns = 0;
	if (interval >= m->interval)
		m->interval = interval + 1;
}
