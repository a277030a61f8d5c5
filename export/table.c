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

/* Most texts are short. Where the copy ends. */
static uint8_t *copy_text(uint8_t *p, const struct rows_text *x)
{
	size_t len = x->len;

	if (len >= 8 && len <= 16) {
		memcpy(p, x->s, 8);
		memcpy(p + len - 8, x->s + len - 8, 8);
	} else if (len >= 4 && len < 8) {
		memcpy(p, x->s, 4);
		memcpy(p + len - 4, x->s + len - 4, 4);
	} else {
		memcpy(p, x->s, len);
	}
	return p + len;
}

/* Of a text, with its quotes doubled; where the copy ends. */
static uint8_t *copy_doubled(uint8_t *p, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			*p++ = '"';
		*p++ = (uint8_t)s[i];
	}
	return p;
}

/* A column, and the bytes of its cell in the row before. */
struct column {
	const uint8_t *head;	/* what stands before each value */
	size_t head_len;
	size_t end;		/* of the cell's bytes, from the row's begin */
	struct out_near near;	/* of numbers */
};

/*
 * Most cells are what they were in the row before. Cells that follow each other and
 * did not change are copied from there, with what stands between them.
 */
struct table {
	struct out *o;
	struct rows *r;
	int json;
	const char *tail;	/* behind the last cell of a row */
	struct texts texts;
	struct moca_buf heads;
	struct column *columns;
	size_t room;		/* bytes of a row of numbers and short texts, at most */
	const uint8_t *last;	/* the row before; NULL: it is not in one piece */
};

#define SHORT 256		/* bytes of a text that is */
#define COPIED 32		/* bytes at a time, also behind the end */

/* A text of any length, as CSV has it. */
static void put_csv(struct out *o, const char *s, size_t len)
{
	uint8_t *p;
	size_t n;

	if (!is_special(s, len)) {
		out_bytes(o, s, len);
		return;
	}
	out_byte(o, '"');
	for (; len; s += n, len -= n) {
		n = len < SHORT ? len : SHORT;
		p = out_room(o, 2 * SHORT);
		out_used(o, (size_t)(copy_doubled(p, s, n) - p));
	}
	out_byte(o, '"');
}

/* Any cell, of any length. */
static void put_any(struct table *t, const struct rows_cell *c)
{
	struct out *o = t->o;

	if (c->type == ROWS_INTEGER)
		out_i64(o, c->integer);
	else if (c->type == ROWS_TEXT && t->json)
		out_json(o, c->text->s, c->text->len);
	else if (c->type == ROWS_TEXT)
		put_csv(o, c->text->s, c->text->len);
	else if ((c->type != ROWS_REAL || !out_real(o, c->real)) && t->json)
		out_string(o, "null");
}

/* Where the cell ends; NULL: it is none of those that most are. */
static uint8_t *put_common(struct table *t, uint8_t *p, const struct rows_cell *c,
			   struct out_near *near)
{
	const struct rows_text *x = c->text;

	if (c->type == ROWS_INTEGER)
		return p + out_put_near(p, c->integer, near);
	if (c->type == ROWS_NULL) {
		memcpy(p, "null", 4);
		return t->json ? p + 4 : p;
	}
	if (c->type != ROWS_TEXT || x->len > SHORT)
		return NULL;
	if (!needs_quotes(&t->texts, x)) {
		if (!t->json)
			return copy_text(p, x);
		*p = '"';
		p = copy_text(p + 1, x);
	} else if (t->json) {
		return NULL;
	} else {
		*p = '"';
		p = copy_doubled(p + 1, x->s, x->len);
	}
	*p = '"';
	return p + 1;
}

/* Where the copy of len bytes ends. Up to COPIED bytes more are read and written. */
static uint8_t *copy_cells(uint8_t *p, const uint8_t *from, size_t len)
{
	uint8_t *end = p + len;

	for (; p < end; p += COPIED, from += COPIED) {
		uint8_t bytes[COPIED];

		memcpy(bytes, from, COPIED);
		memcpy(p, bytes, COPIED);
	}
	return end;
}

/* The first from i on that may differ from the row before; all from 63 on may. */
static size_t next_changed(uint64_t changed, size_t i, size_t count)
{
	uint64_t rest = i < 63 ? (changed | 1ull << 63) >> i : 1;
	size_t next = i + (size_t)__builtin_ctzll(rest);

	return next < count ? next : count;
}

static void put_row(struct table *t)
{
	uint8_t *begin = out_room(t->o, t->room), *p = begin, *row = begin;
	uint64_t changed = t->last ? t->r->changed : UINT64_MAX;
	size_t count = t->r->count, from = 0, next;

	for (size_t i = 0; i < count; i = next) {
		struct column *c = &t->columns[i];
		uint8_t *end;

		next = next_changed(changed, i, count);
		if (next > i) {
			size_t until = t->columns[next - 1].end;
			size_t moved = (size_t)(p - row) - from;

			p = copy_cells(p, t->last + from, until - from);
			for (; moved && c < &t->columns[next]; c++)
				c->end += moved;
			from = until;
			continue;
		}
		next++;
		from = c->end;
		p = copy_cells(p, c->head, c->head_len);
		end = put_common(t, p, &t->r->cells[i], &c->near);
		if (!end) {
			out_used(t->o, (size_t)(p - begin));
			put_any(t, &t->r->cells[i]);
			end = begin = out_room(t->o, t->room);
			changed = UINT64_MAX;
			row = NULL;
		}
		p = end;
		c->end = row ? (size_t)(p - row) : 0;
	}
	for (const char *s = t->tail; *s; s++)
		*p++ = (uint8_t)*s;
	out_used(t->o, (size_t)(p - begin));
	t->last = row;
}

static void put_heading(struct table *t)
{
	for (size_t i = 0; i < t->r->count; i++) {
		const char *name = t->r->columns[i].name;

		if (i)
			out_byte(t->o, ',');
		put_csv(t->o, name, strlen(name));
	}
	out_byte(t->o, '\n');
}

/* What stands before values: , or {"name": and ,"name":. 0 or -ENOMEM. */
static int make_heads(struct table *t)
{
	struct moca_buf *b = &t->heads;
	uint8_t none[COPIED] = { 0 };
	size_t i, at = 0;

	t->columns = calloc(t->r->count + 1, sizeof(*t->columns));
	if (!t->columns)
		return -ENOMEM;
	for (i = 0; i < t->r->count; i++) {
		const char *name = t->r->columns[i].name;

		moca_buf_add(b, i ? "," : "{", i || t->json);
		if (t->json) {
			moca_buf_add(b, "\"", 1);
			moca_buf_add(b, name, strlen(name));
			moca_buf_add(b, "\":", 2);
		}
		t->columns[i].head_len = b->len - at;
		at = b->len;
	}
	/* copy_cells() reads behind the last. */
	moca_buf_add(b, none, sizeof(none));
	if (b->error)
		return b->error;
	for (i = at = 0; i < t->r->count; i++) {
		t->columns[i].head = b->data + at;
		at += t->columns[i].head_len;
	}
	t->room = at + t->r->count * (2 * SHORT + 2) + 2 * COPIED;
	/* An event has some 20 columns. */
	return t->room > OUT_SIZE ? -E2BIG : 0;
}

static int write_table(struct table *t, uint64_t *count)
{
	int ret = make_heads(t);

	*count = 0;
	if (!ret && !t->json)
		put_heading(t);
	while (!ret && (ret = t->r->next(t->r)) > 0 && !t->o->error) {
		put_row(t);
		++*count;
		ret = 0;
	}
	moca_buf_free(&t->heads);
	free(t->columns);
	free(t->texts.known);
	return ret < 0 ? ret : t->o->error;
}

int table_csv(struct out *o, struct rows *r, uint64_t *count)
{
	struct table t = {
		.o = o, .r = r, .tail = "\n",
		.texts.is_special = is_special,
	};

	return write_table(&t, count);
}

int table_json(struct out *o, struct rows *r, uint64_t *count)
{
	struct table t = {
		.o = o, .r = r, .json = 1, .tail = "}\n",
		.texts.is_special = is_escaped,
	};

	return write_table(&t, count);
}
