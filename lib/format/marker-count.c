// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is left of `(array, digest, u8, DIGEST_BITS / 8)` is ((256) / 8). */
#include "lib/format/marker-type.h"

#define DEPTH_MAX 32		/* brackets: hostile input does not recurse on */
#define VALUE_MAX (1ll << 31)

struct text {
	const char *p;
	int depth;
};

static int parse(struct text *t, int level, int64_t *out);

static void skip_blanks(struct text *t)
{
	t->p += strspn(t->p, " \t");
}

static int parse_number(struct text *t, int64_t *out)
{
	unsigned long long v;
	char *end;

	if (*t->p < '0' || *t->p > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(t->p, &end, 0);
	end += strspn(end, "uUlL");
	if (errno || v > VALUE_MAX)
		return -EINVAL;
	t->p = end;
	*out = (int64_t)v;
	return 0;
}

static int parse_operand(struct text *t, int64_t *out)
{
	int ret;

	skip_blanks(t);
	if (*t->p != '(')
		return parse_number(t, out);
	if (t->depth++ == DEPTH_MAX)
		return -EINVAL;
	t->p++;
	ret = parse(t, 0, out);
	if (ret || *t->p != ')')
		return -EINVAL;
	t->p++;
	t->depth--;
	return 0;
}

/* The operator at t of that level, or 0. Shifts are told by '<' and '>'. */
static char operator_at(struct text *t, int level)
{
	static const char *const of[] = { "<>", "+-", "*/%" };
	char c;

	skip_blanks(t);
	c = *t->p;
	if (!c || !strchr(of[level], c) || (!level && t->p[1] != c))
		return 0;
	t->p += level ? 1 : 2;
	return c;
}

static int apply(char op, int64_t a, int64_t b, int64_t *out)
{
	if (((op == '/' || op == '%') && !b) ||
	    ((op == '<' || op == '>') && (a < 0 || b < 0 || b > 31)))
		return -EINVAL;
	*out = op == '<' ? a << b :
	       op == '>' ? a >> b :
	       op == '+' ? a + b :
	       op == '-' ? a - b :
	       op == '*' ? a * b :
	       op == '/' ? a / b :
			   a % b;
	return *out > VALUE_MAX || *out < -VALUE_MAX ? -EINVAL : 0;
}

/* Operators of that level or higher, from left to right. */
static int parse(struct text *t, int level, int64_t *out)
{
	int64_t b;
	char op;
	int ret;

	ret = level == 3 ? parse_operand(t, out) : parse(t, level + 1, out);
	while (!ret && level < 3 && (op = operator_at(t, level))) {
		ret = parse(t, level + 1, &b);
		if (!ret)
			ret = apply(op, *out, b, out);
	}
	return ret;
}

int moca_count_parse(const char *s, int64_t *out)
{
	struct text t = { .p = s };
	int ret = parse(&t, 0, out);

	skip_blanks(&t);
	return ret || *t.p ? -EINVAL : 0;
}
