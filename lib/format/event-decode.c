// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/event-decode.h"

int moca_event_params_valid(const struct moca_event_params *p)
{
	return p->clock1 > p->clock0 && p->ns1 >= p->ns0 && p->end >= p->begin;
}

size_t moca_event_params_put(const struct moca_event_params *p, uint8_t *buf)
{
	const uint64_t v[] = { p->begin,  p->end, p->clock_before, p->clock0,
			       p->ns0,	  p->clock1, p->ns1, p->corrupt };
	size_t i, n = 0;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		n += moca_put_varint(buf + n, v[i]);
	return n;
}

static int params_get(struct moca_event_params *p, const uint8_t *buf,
		      size_t len)
{
	uint64_t *const v[] = { &p->begin,  &p->end,	&p->clock_before,
				&p->clock0, &p->ns0,	&p->clock1,
				&p->ns1,    &p->corrupt };
	const uint8_t *end = buf + len;
	size_t i;

	/* What later versions add comes behind. */
	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (moca_get_varint(&buf, end, v[i]))
			return -EBADMSG;
	return moca_event_params_valid(p) ? 0 : -EBADMSG;
}

uint64_t moca_event_ns(const struct moca_event_params *p, uint64_t clock)
{
	uint64_t ticks = p->clock1 - p->clock0, span = p->ns1 - p->ns0, d;
	unsigned __int128 ns;
	int before = clock < p->clock0;

	d = before ? p->clock0 - clock : clock - p->clock0;
	ns = ticks == span ? d : (unsigned __int128)d * span / ticks;
	if (before)
		return ns < p->ns0 ? p->ns0 - (uint64_t)ns : 0;
	return ns < UINT64_MAX - p->ns0 ? p->ns0 + (uint64_t)ns : UINT64_MAX;
}

int moca_record_next(const uint8_t **p, const uint8_t *end, uint64_t *clock,
		     struct moca_record *out)
{
	uint64_t h, sync;
	size_t words;

	if (*p == end)
		return 0;
	if (end - *p < 8)
		return -EBADMSG;
	h = moca_get64(*p);
	words = moca_rec_words(h);
	if (!words || words > (size_t)(end - *p) / 8 ||
	    moca_rec_state(h) != MOCA_REC_COMMITTED)
		return -EBADMSG;
	out->id = moca_rec_id(h);
	out->payload = *p + 8;
	out->len = 8 * (words - 1);
	if (out->id == MOCA_REC_SYNC) {
		if (out->len != sizeof(struct moca_sync))
			return -EBADMSG;
		/* Never back: lib/ring/consumer.h reads it so. */
		sync = moca_get64(out->payload);
		if (!*clock || (int64_t)(sync - *clock) > 0)
			*clock = sync;
	} else if (out->id >= MOCA_REC_FIRST) {
		*clock = moca_rec_clock(*clock, h);
	} else {
		return -EBADMSG;
	}
	out->clock = *clock;
	*p += 8 * words;
	return 1;
}

/*
 * Where field f is in [p, end): its data and count to out. The bytes behind
 * it, or NULL if it sticks out.
 */
static const uint8_t *field_get(const struct moca_field *f, const uint8_t *p,
				const uint8_t *end, struct moca_value *out)
{
	const uint8_t *nul;

	out->field = f;
	out->data = p;
	out->count = 1;
	if (f->kind == MOCA_FIELD_STRING) {
		nul = memchr(p, 0, (size_t)(end - p));
		if (!nul)
			return NULL;
		out->count = (size_t)(nul - p);
		return nul + 1;
	}
	if (f->shape == MOCA_FIELD_ARRAY)
		out->count = f->count;
	if (f->shape == MOCA_FIELD_SEQUENCE) {
		if (end - p < 4)
			return NULL;
		out->count = moca_get32(p);
		p += 4;
		out->data = p;
	}
	if (out->count > (size_t)(end - p) / f->size)
		return NULL;
	return p + out->count * f->size;
}

/* The bytes that the fields take, if they fit but for the padding. */
static int check_payload(const struct moca_type *type, const uint8_t *payload,
			 size_t len, size_t *used)
{
	const uint8_t *p = payload, *end = payload + len;
	struct moca_value v;
	size_t i;

	if (type->is_fixed) {
		*used = type->fixed_len;
		return len >= *used && len - *used < 8 ? 0 : -EBADMSG;
	}
	for (i = 0; p && i < type->type.field_count; i++)
		p = field_get(&type->type.fields[i], p, end, &v);
	if (!p || end - p >= 8)
		return -EBADMSG;
	*used = (size_t)(p - payload);
	return 0;
}

int moca_decoder_event_params(struct moca_decoder *d,
			       const struct moca_file *f,
			       const struct moca_header *h, uint64_t pos,
			       struct moca_event_params *p)
{
	uint8_t buf[256];
	size_t len;
	int ret;

	ret = moca_decoder_load(d, f, h, pos);
	if (ret)
		return ret;
	len = moca_stream_len(&d->in, MOCA_S_PARAMS);
	if (!len || len > sizeof(buf) ||
	    moca_stream_get(&d->in, MOCA_S_PARAMS, buf, len))
		return -EBADMSG;
	return params_get(p, buf, len);
}

int moca_decoder_events(struct moca_decoder *d, const struct moca_file *f,
			 const struct moca_header *h, uint64_t pos,
			 const struct moca_types *types, uint64_t floor_ns,
			 struct moca_event_walk *w)
{
	const struct moca_type *type;
	const uint8_t *p;
	struct moca_record r;
	uint32_t events = 0;
	uint64_t clock;
	size_t len, used;
	int ret;

	ret = moca_decoder_event_params(d, f, h, pos, &w->params);
	if (ret)
		return ret;
	len = moca_stream_len(&d->in, MOCA_S_RECORDS);
	if (len > MOCA_PAYLOAD_MAX || len % 8)
		return -EBADMSG;
	p = moca_stream_peek(&d->in, MOCA_S_RECORDS, len);
	if (!p) {
		if (moca_buf_reserve(&d->records, len + 1))
			return -ENOMEM;
		p = d->records.data;
		if (moca_stream_get(&d->in, MOCA_S_RECORDS, d->records.data,
				    len))
			return -EBADMSG;
	}
	w->pos = p;
	w->end = p + len;
	w->clock = clock = w->params.clock_before;
	w->min_ns = h->begin_ns > floor_ns ? h->begin_ns : floor_ns;
	w->max_ns = h->end_ns > floor_ns ? h->end_ns : floor_ns;
	while ((ret = moca_record_next(&p, w->end, &clock, &r)) > 0) {
		if (r.id == MOCA_REC_SYNC)
			continue;
		type = moca_types_find(types, r.id);
		if (!type || check_payload(type, r.payload, r.len, &used))
			return -EBADMSG;
		events++;
	}
	return ret < 0 || events != h->records ? -EBADMSG : 0;
}

int moca_event_walk_next(struct moca_event_walk *w,
			  const struct moca_types *types,
			  struct moca_event *out)
{
	const struct moca_type *type;
	struct moca_record r;
	uint64_t ns, lost;

	for (;;) {
		if (moca_record_next(&w->pos, w->end, &w->clock, &r) <= 0)
			return 0;
		if (r.id != MOCA_REC_SYNC)
			break;
		lost = moca_get64(r.payload + offsetof(struct moca_sync, lost));
		if (lost > w->lost)
			w->lost = lost;
	}
	ns = moca_event_ns(&w->params, r.clock);
	if (ns < w->min_ns)
		ns = w->min_ns;
	if (ns > w->max_ns)
		ns = w->max_ns;
	w->min_ns = ns;
	out->time_ns = ns;
	type = moca_types_find(types, r.id);
	out->type = &type->type;
	out->payload = r.payload;
	out->lost = w->lost - w->lost_told;
	w->lost_told = w->lost;
	return !check_payload(type, r.payload, r.len, &out->len);
}

int moca_event_value(const struct moca_event *m, size_t i,
		      struct moca_value *out)
{
	const uint8_t *p = m->payload, *end = p + m->len;
	size_t k;

	if (i >= m->type->field_count)
		return -EINVAL;
	for (k = 0; k <= i && p; k++)
		p = field_get(&m->type->fields[k], p, end, out);
	return p ? 0 : -EINVAL;
}

uint64_t moca_value_integer(const struct moca_value *v, size_t i)
{
	const struct moca_field *f = v->field;
	const uint8_t *p = v->data + i * f->size;
	int is_signed = f->kind == MOCA_FIELD_SIGNED ||
			f->kind == MOCA_FIELD_ENUM;
	uint64_t x;

	if (i >= v->count)
		return 0;
	x = f->size == 1 ? *p :
	    f->size == 2 ? moca_get16(p) :
	    f->size == 4 ? moca_get32(p) :
			   moca_get64(p);
	if (is_signed && f->size < 8 && x >> (8 * f->size - 1))
		x |= UINT64_MAX << 8 * f->size;
	return x;
}

double moca_value_float(const struct moca_value *v, size_t i)
{
	const struct moca_field *f = v->field;
	uint64_t bits = moca_value_integer(v, i);
	uint32_t half = (uint32_t)bits;
	double d;
	float s;

	if (f->kind != MOCA_FIELD_FLOAT)
		return f->kind == MOCA_FIELD_SIGNED ||
				       f->kind == MOCA_FIELD_ENUM ?
			       (double)(int64_t)bits :
			       (double)bits;
	if (f->size == 4) {
		memcpy(&s, &half, sizeof(s));
		return s;
	}
	memcpy(&d, &bits, sizeof(d));
	return d;
}
