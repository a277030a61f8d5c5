// SPDX-License-Identifier: GPL-2.0-or-later
/* Ranges of bytes as indices: every range of small arrays, read back. */
#include "tests/unit/symbol-util.h"

/* The index tuples that a text names, as bits of their elements. */
struct parse {
	const struct moca_shape *s;
	const char *p;
	uint64_t count[MOCA_SHAPE_RANK];
};

static int number(struct parse *q, long *out)
{
	char *end;

	*out = strtol(q->p, &end, 10);
	if (end == q->p)
		return 0;
	q->p = end;
	return 1;
}

/* One dimension: "3", "3..5" or "3:5", "*" or ":"; from 0. */
static int dimension(struct parse *q, unsigned d, uint64_t *first,
		     uint64_t *last)
{
	long a, b;

	if (*q->p == '*' || *q->p == ':') {
		q->p++;
		*first = 0;
		*last = q->count[d] - 1;
		return 1;
	}
	if (!number(q, &a))
		return 0;
	b = a;
	if (q->s->fortran && *q->p == ':') {
		q->p++;
		if (!number(q, &b))
			return 0;
	} else if (!strncmp(q->p, "..", 2)) {
		q->p += 2;
		if (!number(q, &b))
			return 0;
	}
	*first = (uint64_t)(a - q->s->lower[d]);
	*last = (uint64_t)(b - q->s->lower[d]);
	return *first <= *last && *last < q->count[d];
}

static int tuple(struct parse *q, uint64_t *first, uint64_t *last)
{
	unsigned rank = q->s->rank;

	for (unsigned n = 0; n < rank; n++) {
		unsigned d = q->s->fortran ? rank - 1 - n : n;

		if (*q->p++ != (!q->s->fortran ? '[' : n ? ',' : '('))
			return 0;
		if (!dimension(q, d, &first[d], &last[d]))
			return 0;
		if (!q->s->fortran && *q->p++ != ']')
			return 0;
	}
	return q->s->fortran ? *q->p++ == ')' : 1;
}

static uint64_t element(const struct parse *q, const uint64_t *index)
{
	uint64_t e = 0;

	for (unsigned d = 0; d < q->s->rank; d++)
		e = e * q->count[d] + index[d];
	return e;
}

/* Bit e: the text names element e. ~0: it cannot be read. */
static uint64_t elements(struct parse *q, unsigned total)
{
	uint64_t first[MOCA_SHAPE_RANK], last[MOCA_SHAPE_RANK], at;
	uint64_t bits = 0, from, to, index[MOCA_SHAPE_RANK];
	int inside;

	if (!tuple(q, first, last))
		return ~0ull;
	if (!strncmp(q->p, "..", 2)) {	/* all from one to another one */
		q->p += 2;
		from = element(q, first);
		if (memcmp(first, last, q->s->rank * sizeof(*first)) ||
		    !tuple(q, first, last) || *q->p)
			return ~0ull;
		to = element(q, first);
		for (at = from; at <= to; at++)
			bits |= 1ull << at;
		return bits;
	}
	if (*q->p)
		return ~0ull;
	for (unsigned e = 0; e < total; e++) {
		uint64_t rest = e;

		inside = 1;
		for (unsigned d = q->s->rank; d-- > 0;) {
			index[d] = rest % q->count[d];
			rest /= q->count[d];
			inside &= index[d] >= first[d] && index[d] <= last[d];
		}
		if (inside)
			bits |= 1ull << e;
	}
	return bits;
}

static int every_range(const struct moca_shape *s, uint64_t count0)
{
	uint64_t want, got, size = s->element_size;
	struct parse q = { .s = s };
	unsigned total = 1;
	char buf[256];

	for (unsigned d = 0; d < s->rank; d++) {
		q.count[d] = d ? s->count[d] : count0;
		total *= (unsigned)q.count[d];
	}
	size *= total;
	CHECK(total < 64);
	for (uint64_t b = 0; b < size; b++) {
		for (uint64_t e = b + 1; e <= size; e++) {
			want = 0;
			for (uint64_t i = b; i < e; i++)
				want |= 1ull << (i / s->element_size);
			moca_shape_range(s, "name", size, b, e, buf,
					 sizeof(buf));
			if (strncmp(buf, "name", 4) != 0)
				got = ~0ull;
			else
				q.p = buf + 4, got = elements(&q, total);
			if (got != want) {
				snprintf(why, sizeof(why), "bytes %d to %d: "
					 "%.100s", (int)b, (int)e, buf);
				return 1;
			}
		}
	}
	return 0;
}

static int t_every(void)
{
	static const struct moca_shape shapes[] = {
		{ .element_size = 1, .rank = 1, .count = { 50 } },
		{ .element_size = 8, .rank = 1, .count = { 9 } },
		{ .element_size = 8, .rank = 2, .count = { 4, 5 } },
		{ .element_size = 3, .rank = 3, .count = { 3, 4, 5 } },
		{ .element_size = 4, .rank = 4, .count = { 2, 1, 3, 2 } },
		{ .element_size = 8, .rank = 3, .count = { 1, 5, 1 } },
		{ .element_size = 8, .rank = 1, .count = { 1 } },
		{ .element_size = 8, .rank = 2, .count = { 4, 5 },
		  .fortran = 1, .lower = { 1, 1 } },
		{ .element_size = 4, .rank = 3, .count = { 3, 4, 5 },
		  .fortran = 1, .lower = { -1, 0, 7 } },
		{ .element_size = 8, .rank = 1, .count = { 6 },
		  .fortran = 1, .lower = { -3 } },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct moca_shape s = shapes[i];

		if (every_range(&s, s.count[0]))
			return 1;
		/* The same, as many as fit. */
		if (s.count[0] > 1 || s.rank > 1) {
			uint64_t n = s.count[0];

			s.count[0] = 0;
			if (every_range(&s, n))
				return 1;
		}
	}
	return 0;
}

static const char *range(const struct moca_shape *s, uint64_t size,
			 uint64_t begin, uint64_t end)
{
	static char buf[100];

	return moca_shape_range(s, "u", size, begin, end, buf, sizeof(buf));
}

static int t_text(void)
{
	struct moca_shape c = { .element = "double", .element_size = 8,
				.rank = 3, .count = { 8, 256, 16 } };
	struct moca_shape f = { .element = "real(kind=8)", .element_size = 8,
				.rank = 2, .fortran = 1, .count = { 10, 64 },
				.lower = { 1, 0 } };
	struct moca_shape one = { .element = "struct s", .element_size = 100,
				  .rank = 1 };
	struct moca_shape flat = { .element = "real(kind=8)", .dims = 2,
				   .element_size = 8, .rank = 1, .fortran = 1,
				   .lower = { 1 } };
	uint64_t row = 16 * 8, plane = 256 * row;
	char buf[64];

	CHECK(!strcmp(range(&c, 8 * plane, 3 * plane + 128 * row,
			    3 * plane + 192 * row), "u[3][128..191][*]"));
	CHECK(!strcmp(range(&c, 8 * plane, 8, 16), "u[0][0][1]"));
	CHECK(!strcmp(range(&c, 8 * plane, 0, 8 * plane), "u[*][*][*]"));
	CHECK(!strcmp(range(&c, 8 * plane, 120, 136),
		      "u[0][0][15]..[0][1][0]"));
	CHECK(!strcmp(range(&f, 5120, 512 * 2, 512 * 3), "u(:,3)"));
	CHECK(!strcmp(range(&f, 5120, 512 * 2, 512 * 4), "u(:,3:4)"));
	CHECK(!strcmp(range(&f, 5120, 512 * 2 + 8, 512 * 3), "u(1:63,3)"));
	CHECK(!strcmp(range(NULL, 5120, 0, 8), "u"));
	CHECK(!strcmp(range(&one, 100, 10, 20), "u"));
	CHECK(!strcmp(range(&one, 200, 110, 120), "u[1]"));
	CHECK(!strcmp(range(&flat, 800, 0, 80), "u(elements 1..10)"));
	CHECK(!strcmp(moca_shape_type(&c, 8 * plane, buf, sizeof(buf)),
		      "double[8][256][16]"));
	CHECK(!strcmp(moca_shape_type(&f, 5120, buf, sizeof(buf)),
		      "real(kind=8)(0:63,10)"));
	CHECK(!strcmp(moca_shape_type(&one, 100, buf, sizeof(buf)),
		      "struct s"));
	CHECK(!strcmp(moca_shape_type(&one, 250, buf, sizeof(buf)),
		      "struct s[3]"));
	CHECK(!strcmp(moca_shape_type(&flat, 800, buf, sizeof(buf)),
		      "real(kind=8)(:,:)"));
	CHECK(!strcmp(moca_shape_type(NULL, 8, buf, sizeof(buf)), ""));
	/* Cut, never beyond its end. */
	memset(buf, 'x', sizeof(buf));
	moca_shape_range(&c, "name", 8 * plane, 0, 8, buf, 8);
	CHECK(!strcmp(buf, "name[0]") && buf[8] == 'x');
	moca_shape_range(&c, "a long name", 8 * plane, 0, 8, buf, 4);
	CHECK(!strcmp(buf, "a l"));
	return 0;
}

/* Counts that no memory has. */
static int t_extreme(void)
{
	struct moca_shape s = { .element = "double", .element_size = 1ull << 40,
				.rank = 3, .count = { 0, 1ull << 40, 9 } };
	struct moca_shape none = { .element = "double", .rank = 1,
				   .count = { 4 } };
	struct moca_shape hole = { .element = "int", .element_size = 4,
				   .rank = 2, .count = { 4, 0 } };

	CHECK(!strncmp(range(&s, UINT64_MAX, 0, UINT64_MAX), "u", 1));
	CHECK(!strcmp(range(&none, 64, 0, 64), "u"));
	CHECK(!strcmp(range(&hole, 64, 0, 64), "u"));
	CHECK(!strcmp(range(&none, 64, 8, 8), "u"));
	CHECK(!strcmp(range(&none, 64, 100, 200), "u"));
	return 0;
}

int main(void)
{
	run("shape: every range of small arrays", t_every);
	run("shape: as people write it", t_text);
	run("shape: impossible counts", t_extreme);
	return failures != 0;
}
