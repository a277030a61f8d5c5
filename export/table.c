// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/table.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"

/* How texts that come again are written, by their id. */
enum known { UNKNOWN, PLAIN, QUOTED };

struct texts {
	int (*is_special)(const char *s, size_t len);
	uint8_t *known;
	size_t count, room;
};

/* Is there a byte that CSV quotes? */
static int is_special(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r')
			return 1;
	return 0;
}

/* Is there a byte that JSON escapes, or that may be no UTF-8? */
static int is_escaped(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((signed char)s[i] < ' ' || s[i] == '"' || s[i] == '\\' || s[i] == 0x7f)
			return 1;
	return 0;
}

/* Is it written otherwise than it is? */
static int needs_quotes(struct texts *t, const struct rows_text *x)
{
	if (!x->id)
		return t->is_special(x->s, x->len);
	while (t->count <= x->id) {
		/* Without memory it is looked at each time. */
		if (moca_vec_fit(t->known, t->room, t->count + 1))
			return t->is_special(x->s, x->len);
		t->known[t->count++] = UNKNOWN;
	}
	if (t->known[x->id] == UNKNOWN)
		t->known[x->id] = t->is_special(x->s, x->len) ? QUOTED : PLAIN;
	return t->known[x->id] == QUOTED;
}

static void put_quoted(struct out *o, const struct rows_text *x)
{
	out_byte(o, '"');
	for (uint32_t i = 0; i < x->len; i++) {
		if (x->s[i] == '"')
			out_byte(o, '"');
		out_byte(o, x->s[i]);
	}
	out_byte(o, '"');
}

/*
 * A column's last value, a number or the id of a short text, as it was written: in
 * some columns it often comes again. It is kept when it comes for the second time:
 * others have nothing to do with it.
 */
#define LAST 32

struct last {
	int64_t value;
	size_t len;		/* 0: the text is not kept */
	uint8_t text[LAST];
};

static uint8_t *put_integer(uint8_t *p, struct last *d, int64_t value)
{
	size_t n;

	if (d->value == value) {
		if (!d->len)
			d->len = out_put_i64(d->text, value);
		memcpy(p, d->text, LAST);
		return p + d->len;
	}
	n = out_put_i64(p, value);
	d->value = value;
	d->len = 0;
	return p + n;
}

/* Most texts are short. */
static void copy_text(uint8_t *p, const char *s, size_t len)
{
	if (len >= 8 && len <= 16) {
		memcpy(p, s, 8);
		memcpy(p + len - 8, s + len - 8, 8);
	} else if (len >= 4 && len < 8) {
		memcpy(p, s, 4);
		memcpy(p + len - 4, s + len - 4, 4);
	} else {
		memcpy(p, s, len);
	}
}

static int is_last(const struct last *d, const struct rows_text *x)
{
	return x->id && d->value == x->id;
}

/* Of a text that is not quoted. */
static uint8_t *put_plain(uint8_t *p, struct last *d, const struct rows_text *x)
{
	if (is_last(d, x) && x->len <= LAST) {
		if (!d->len)
			memcpy(d->text, x->s, x->len);
		d->len = x->len;
		memcpy(p, d->text, LAST);
		return p + d->len;
	}
	copy_text(p, x->s, x->len);
	d->value = x->id;
	d->len = 0;
	return p + x->len;
}

/* What is no number, or long. */
static void put_text(struct out *o, struct texts *t, const struct rows_text *x)
{
	if (needs_quotes(t, x))
		put_quoted(o, x);
	else
		out_bytes(o, x->s, x->len);
}

static void put_heading(struct out *o, const struct rows *r)
{
	struct texts none = { .is_special = is_special };

	for (size_t i = 0; i < r->count; i++) {
		struct rows_text name = {
			r->columns[i].name,
			(uint32_t)strlen(r->columns[i].name), 0,
		};

		if (i)
			out_byte(o, ',');
		put_text(o, &none, &name);
	}
	out_byte(o, '\n');
}

/* Bytes of a text that are written without looking at the room again: LAST at least. */
#define SHORT 256

static void put_row(struct out *o, struct texts *t, struct last *d,
		    const struct rows *r)
{
	const struct rows_text *x;
	uint8_t *p;

	for (size_t i = 0; i < r->count; i++) {
		const struct rows_cell *c = &r->cells[i];
		uint8_t *from = out_room(o, SHORT + OUT_NUMBER + 2);

		p = from;
		if (c->type == ROWS_INTEGER) {
			p = put_integer(p, &d[i], c->integer);
		} else if (c->type == ROWS_TEXT) {
			x = c->text;
			if (x->len > SHORT || (!is_last(&d[i], x) &&
					       needs_quotes(t, x))) {
				put_text(o, t, x);
				p = from = out_room(o, 1);
			} else {
				p = put_plain(p, &d[i], x);
			}
		} else if (c->type == ROWS_REAL) {
			out_real(o, c->real);
			p = from = out_room(o, 1);
		}
		*p++ = i + 1 < r->count ? ',' : '\n';
		out_used(o, (size_t)(p - from));
	}
}

int table_csv(struct out *o, struct rows *r, uint64_t *count)
{
	struct last *d = calloc(r->count + 1, sizeof(*d));
	struct texts t = { .is_special = is_special };
	int ret;

	if (!d)
		return -ENOMEM;
	put_heading(o, r);
	*count = 0;
	while ((ret = r->next(r)) > 0 && !o->error) {
		put_row(o, &t, d, r);
		++*count;
	}
	free(t.known);
	free(d);
	return ret < 0 ? ret : o->error;
}

/* What stands before a column's value: {"name": or ,"name":, one after the other. */
struct heads {
	struct moca_buf bytes;
	size_t *ends;		/* that of the one before: it is written each time */
};

static int make_heads(struct heads *h, const struct rows *r)
{
	struct moca_buf *b = &h->bytes;

	h->ends = calloc(r->count + 1, sizeof(*h->ends));
	if (!h->ends)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		const char *name = r->columns[i].name;

		h->ends[i] = b->len;
		if (is_escaped(name, strlen(name)))
			continue;
		moca_buf_add(b, i ? ",\"" : "{\"", 2);
		moca_buf_add(b, name, strlen(name));
		moca_buf_add(b, "\":", 2);
		h->ends[i] = b->len;
	}
	return b->error;
}

/* A value that is no number, nor a short text that comes again. */
static void put_other(struct out *o, const struct rows_cell *c)
{
	if (c->type == ROWS_TEXT)
		out_json(o, c->text->s, c->text->len);
	else if (c->type != ROWS_REAL || !out_real(o, c->real))
		out_string(o, "null");
}

/* The i-th; where the next begins. */
static const uint8_t *put_head(struct out *o, const struct heads *h,
			       const struct rows *r, size_t i,
			       const uint8_t *head)
{
	const uint8_t *end = h->bytes.data + h->ends[i];

	if (end != head) {
		out_bytes(o, head, (size_t)(end - head));
		return end;
	}
	out_byte(o, i ? ',' : '{');
	out_json(o, r->columns[i].name, strlen(r->columns[i].name));
	out_byte(o, ':');
	return head;
}

static void put_object(struct out *o, struct texts *t, struct last *d,
		       const struct heads *h, const struct rows *r)
{
	const uint8_t *head = h->bytes.data;
	uint8_t *p, *from;

	for (size_t i = 0; i < r->count; i++) {
		const struct rows_cell *c = &r->cells[i];

		head = put_head(o, h, r, i, head);
		p = from = out_room(o, SHORT + OUT_NUMBER + 2);
		if (c->type == ROWS_INTEGER) {
			p = put_integer(p, &d[i], c->integer);
		} else if (c->type == ROWS_TEXT && c->text->len <= SHORT &&
			   (is_last(&d[i], c->text) ||
			    !needs_quotes(t, c->text))) {
			*p++ = '"';
			p = put_plain(p, &d[i], c->text);
			*p++ = '"';
		} else {
			put_other(o, c);
			continue;
		}
		out_used(o, (size_t)(p - from));
	}
	out_bytes(o, "}\n", 2);
}

int table_json(struct out *o, struct rows *r, uint64_t *count)
{
	struct last *d = calloc(r->count + 1, sizeof(*d));
	struct texts t = { .is_special = is_escaped };
	struct heads h = { 0 };
	int ret = d ? make_heads(&h, r) : -ENOMEM;

	*count = 0;
	while (!ret && (ret = r->next(r)) > 0 && !o->error) {
		put_object(o, &t, d, &h, r);
		++*count;
		ret = 0;
	}
	moca_buf_free(&h.bytes);
	free(h.ends);
	free(t.known);
	free(d);
	return ret < 0 ? ret : o->error;
}
