// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/decode.h"

#include <errno.h>
#include <string.h>

/* The fixed part of each type; 0: not known. */
static const unsigned char fixed[] = {
	[MOCA_REC_ACCESS] = sizeof(struct moca_rec_access),
	[MOCA_REC_TASK] = sizeof(struct moca_rec_task),
	[MOCA_REC_EXEC] = sizeof(struct moca_rec_exec),
	[MOCA_REC_EXIT] = sizeof(struct moca_rec_exit),
	[MOCA_REC_MAPPING] = sizeof(struct moca_rec_mapping),
	[MOCA_REC_GAP] = sizeof(struct moca_rec_gap),
	[MOCA_REC_INTERVAL] = sizeof(struct moca_rec_interval),
	[MOCA_REC_EVENTS] = sizeof(struct moca_rec_events),
	[MOCA_REC_NAME] = sizeof(struct moca_rec_name),
	[MOCA_REC_HEAT] = sizeof(struct moca_rec_heat),
	[MOCA_REC_LOOK] = sizeof(struct moca_rec_look),
};

int kernel_chunk_open(struct kernel_chunk *c, const void *p, size_t room)
{
	c->head = p;
	c->pos = sizeof(*c->head);
	c->bytes = 0;
	if (room < sizeof(*c->head) || c->head->bytes < sizeof(*c->head) ||
	    c->head->bytes > room)
		return -EBADMSG;
	c->bytes = c->head->bytes;
	return 0;
}

static int has_text(const struct moca_rec *r, size_t at)
{
	return r->bytes > at && memchr((const char *)r + at, 0, r->bytes - at);
}

static int is_sound(const struct moca_rec *r)
{
	const struct moca_rec_mapping *m = (const void *)r;
	const struct moca_rec_access *a = (const void *)r;
	const struct moca_rec_heat *h = (const void *)r;

	switch (r->type) {
	case MOCA_REC_ACCESS:
		return a->addr < 1ull << 57;
	case MOCA_REC_EXEC:
		return has_text(r, sizeof(struct moca_rec_exec));
	case MOCA_REC_MAPPING:
		return has_text(r, sizeof(*m)) && m->start < m->end &&
		       m->end <= 1ull << 57 && !(m->start & 4095) &&
		       !(m->end & 4095);
	case MOCA_REC_HEAT:
		return h->words && h->words <= MOCA_HEAT_WORDS &&
		       r->bytes >= sizeof(*h) + 16 * h->words &&
		       h->addr < 1ull << 57 && !(h->addr % (64 * 4096));
	case MOCA_REC_EVENTS:
		return ((const struct moca_rec_events *)(const void *)r)->used
		       <= r->bytes - sizeof(struct moca_rec_events);
	default:
		return 1;
	}
}

int kernel_chunk_next(struct kernel_chunk *c, const struct moca_rec **rec)
{
	while (c->pos < c->bytes) {
		const struct moca_rec *r =
			(const void *)((const char *)c->head + c->pos);
		size_t left = c->bytes - c->pos, need;

		if (left < sizeof(*r) || r->bytes < sizeof(*r) ||
		    r->bytes > left || r->bytes % 8)
			goto bad;
		need = r->type < sizeof(fixed) ? fixed[r->type] : 0;
		if (r->bytes < need || (need && !is_sound(r)))
			goto bad;
		c->pos += r->bytes;
		if (!need)
			continue;
		*rec = r;
		return 1;
	}
	return 0;
bad:
	c->pos = c->bytes;
	return -EBADMSG;
}
