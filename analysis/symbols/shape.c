// SPDX-License-Identifier: GPL-2.0-or-later
/* Saying which elements of an array a range of bytes is. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/symbols/tables.h"

#define DEPTH_MAX 16	/* of members in members */

struct text {
	char *buf;
	size_t len, used;
};

static void __attribute__((format(printf, 2, 3)))
say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->used >= t->len)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, t->len - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n;
}

/* What a count of 0 is, in an object of size bytes; 0: none fits. */
static uint64_t as_many_as_fit(const struct moca_shape *s, uint64_t size)
{
	uint64_t row = s->element_size;

	for (unsigned i = 1; i < s->rank; i++)
		if (!row || !s->count[i] ||
		    __builtin_mul_overflow(row, s->count[i], &row))
			return 0;
	return row ? size / row + (size % row != 0) : 0;
}

/* 0 if elements cannot be told apart by the shape. */
static int usable(const struct moca_shape *s)
{
	if (!s || !s->element_size || !s->rank || s->rank > MOCA_SHAPE_RANK)
		return 0;
	for (unsigned i = 1; i < s->rank; i++)
		if (!s->count[i])
			return 0;
	return 1;
}

/* The indices of an element, by its number in the array. */
static void indices(const struct moca_shape *s, uint64_t element,
		    uint64_t *out)
{
	for (unsigned i = s->rank; i-- > 1;) {
		out[i] = element % s->count[i];
		element /= s->count[i];
	}
	out[0] = element;
}

static int64_t at(const struct moca_shape *s, unsigned dim, uint64_t index)
{
	return (int64_t)((uint64_t)s->lower[dim] + index);
}

/* Element by element, [3][128] or (128,3). */
static void say_element(struct text *t, const struct moca_shape *s,
			const uint64_t *index)
{
	if (!s->fortran) {
		for (unsigned i = 0; i < s->rank; i++)
			say(t, "[%" PRId64 "]", at(s, i, index[i]));
		return;
	}
	for (unsigned i = s->rank; i-- > 0;)
		say(t, "%s%" PRId64 "%s", i + 1 == s->rank ? "(" : ",",
		    at(s, i, index[i]), i ? "" : ")");
}

/* Dimension i of a box of elements. */
static void say_dimension(struct text *t, const struct moca_shape *s,
			  unsigned i, uint64_t first, uint64_t last,
			  uint64_t count)
{
	if (first == last)
		say(t, "%" PRId64, at(s, i, first));
	else if (first == 0 && last + 1 == count)
		say(t, s->fortran ? ":" : "*");
	else
		say(t, s->fortran ? "%" PRId64 ":%" PRId64 :
				    "%" PRId64 "..%" PRId64,
		    at(s, i, first), at(s, i, last));
}

static void say_box(struct text *t, const struct moca_shape *s,
		    const uint64_t *first, const uint64_t *last,
		    uint64_t count0)
{
	for (unsigned n = 0; n < s->rank; n++) {
		unsigned i = s->fortran ? s->rank - 1 - n : n;

		say(t, !s->fortran ? "[" : n ? "," : "(");
		say_dimension(t, s, i, first[i], last[i],
			      i ? s->count[i] : count0);
		if (!s->fortran)
			say(t, "]");
	}
	if (s->fortran)
		say(t, ")");
}

/*
 * Neighbours in memory are a box if, behind the first dimension in which they
 * differ, all of each other dimension is there. Else: the first "..", the last.
 */
const char *moca_shape_range(const struct moca_shape *shape, const char *name,
			     uint64_t size, uint64_t begin, uint64_t end,
			     char *buf, size_t len)
{
	uint64_t first[MOCA_SHAPE_RANK], last[MOCA_SHAPE_RANK], count0;
	struct text t = { buf, len, 0 };
	unsigned d = 0, i;

	say(&t, "%s", name);
	if (end > size)
		end = size;
	if (!usable(shape) || begin >= end)
		return buf;
	/* One element that is no array has no index. */
	if (!shape->count[0] && shape->rank == 1 &&
	    size <= shape->element_size)
		return buf;
	count0 = shape->count[0] ? shape->count[0] :
				   as_many_as_fit(shape, size);
	indices(shape, begin / shape->element_size, first);
	indices(shape, (end - 1) / shape->element_size, last);
	if (shape->dims) {
		say(&t, first[0] == last[0] ? "(element %" PRId64 ")" :
			"(elements %" PRId64 "..%" PRId64 ")",
		    at(shape, 0, first[0]), at(shape, 0, last[0]));
		return buf;
	}
	while (d + 1 < shape->rank && first[d] == last[d])
		d++;
	for (i = d + 1; i < shape->rank; i++)
		if (first[i] != 0 || last[i] + 1 != shape->count[i])
			break;
	if (i == shape->rank) {
		say_box(&t, shape, first, last, count0);
		return buf;
	}
	say_element(&t, shape, first);
	say(&t, "..");
	say_element(&t, shape, last);
	return buf;
}

const char *moca_shape_byte(const struct moca_shape *shape, const char *name,
			    uint64_t size, uint64_t at, char *buf, size_t len)
{
	struct text t = { buf, len, 0 };
	struct member m;
	unsigned depth;

	moca_shape_range(shape, name, size, at, at + 1, buf, len);
	for (depth = 0; depth < DEPTH_MAX && shape && shape->type; depth++) {
		at %= shape->element_size;
		if (type_member(shape->type, at, &m))
			break;
		t.used = strlen(buf);
		say(&t, "%s%s", shape->fortran ? "%" : ".", m.name);
		at -= m.at;
		shape = m.shape;
		if (t.used < len)
			moca_shape_range(shape, "", m.size, at, at + 1,
					 buf + t.used, len - t.used);
	}
	return buf;
}

const char *moca_shape_type(const struct moca_shape *shape, uint64_t size,
			    char *buf, size_t len)
{
	struct text t = { buf, len, 0 };
	uint64_t count;

	if (len)
		buf[0] = '\0';
	if (!shape)
		return buf;
	say(&t, "%s", shape->element);
	if (shape->dims) {
		say(&t, shape->fortran ? "(" : "");
		for (unsigned i = 0; i < shape->dims; i++)
			say(&t, !shape->fortran ? "[]" : i ? ",:" : ":");
		say(&t, shape->fortran ? ")" : "");
		return buf;
	}
	if (!shape->count[0] && shape->rank == 1 &&
	    size <= shape->element_size)
		return buf;
	for (unsigned n = 0; n < shape->rank && n < MOCA_SHAPE_RANK; n++) {
		unsigned i = shape->fortran ? shape->rank - 1 - n : n;

		count = shape->count[i];
		if (!i && !count)
			count = as_many_as_fit(shape, size);
		say(&t, !shape->fortran ? "[" : n ? "," : "(");
		if (shape->fortran && shape->lower[i] != 1)
			say(&t, "%" PRId64 ":%" PRId64, shape->lower[i],
			    at(shape, i, count - 1));
		else
			say(&t, "%" PRIu64, count);
		say(&t, !shape->fortran ? "]" : n + 1 == shape->rank ? ")" :
								       "");
	}
	return buf;
}
