// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/condition.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[DIFF_METRICS] = {
	[DIFF_ACCESSES] = "accesses", [DIFF_READS] = "reads",
	[DIFF_WRITES] = "writes",     [DIFF_PAGES] = "pages",
	[DIFF_THREADS] = "threads",   [DIFF_SHARED] = "shared",
	[DIFF_REMOTE] = "remote",     [DIFF_WSS] = "wss",
	[DIFF_FINDINGS] = "findings",
};

const char *condition_metric_name(enum condition_metric m)
{
	return names[m];
}

int condition_metric_is_share(enum condition_metric m)
{
	return m == DIFF_SHARED || m == DIFF_REMOTE;
}

static const char *skip(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* The metric's word. Where it ends, or NULL. */
static const char *parse_metric(struct condition *c, const char *s)
{
	size_t n = 0;
	int i;

	while (isalpha((unsigned char)s[n]))
		n++;
	for (i = 0; i < DIFF_METRICS; i++)
		if (strlen(names[i]) == n && !strncmp(names[i], s, n))
			break;
	c->metric = (enum condition_metric)i;
	return i == DIFF_METRICS ? NULL : s + n;
}

/*
 * "(NAME)", whose name may have brackets itself: it ends with the last one that
 * an operator follows. Where it ends, or NULL.
 */
static const char *parse_name(struct condition *c, const char *s)
{
	const char *p, *end = NULL, *after;

	for (p = strchr(s, ')'); p; p = strchr(p + 1, ')')) {
		after = skip(p + 1);
		if (*after == '<' || *after == '>')
			end = p;
	}
	if (!end || end == s + 1)
		return NULL;
	c->name = strndup(s + 1, (size_t)(end - s - 1));
	return end + 1;
}

static int parse_number(struct condition *c, const char *s,
			const char **why)
{
	char *end;

	c->change = *s == '+' || *s == '-';
	if (!isdigit((unsigned char)s[c->change]) && s[c->change] != '.')
		goto bad;
	c->number = strtod(s, &end);
	switch (*end) {
	case 'G':
		c->number *= 1000;
		/* fall through */
	case 'M':
		c->number *= 1000;
		/* fall through */
	case 'k':
		c->number *= 1000;
		end++;
	}
	c->percent = *end == '%';
	end += c->percent;
	if (*skip(end) || !isfinite(c->number))
		goto bad;
	if (c->percent && !c->change && !condition_metric_is_share(c->metric)) {
		*why = "a percentage without a sign is for remote and shared: +10% is ten percent more than before";
		return -EINVAL;
	}
	return 0;
bad:
	*why = "after the operator comes a number, as 20%, +5%, -10% or 1000";
	return -EINVAL;
}

int condition_parse(struct condition *c, const char *text,
			 const char **why)
{
	const char *s = skip(text);
	int err;

	memset(c, 0, sizeof(*c));
	s = parse_metric(c, s);
	*why = "it begins with accesses, reads, writes, pages, threads, shared, remote, wss or findings";
	if (!s)
		return -EINVAL;
	s = skip(s);
	if (*s == '(') {
		s = parse_name(c, s);
		*why = "an object is named in brackets, as pages(u)>+10%";
		if (!s)
			return -EINVAL;
		if (!c->name)
			return -ENOMEM;
		*why = "the working set is of the whole run, not of an object";
		if (c->metric == DIFF_WSS)
			goto bad;
		s = skip(s);
	}
	*why = "what it measures is followed by <, <=, > or >=";
	if (*s != '<' && *s != '>')
		goto bad;
	c->below = *s++ == '<';
	c->or_equal = *s == '=';
	s = skip(s + c->or_equal);
	err = parse_number(c, s, why);
	if (err)
		condition_free(c);
	return err;
bad:
	condition_free(c);
	return -EINVAL;
}

void condition_free(struct condition *c)
{
	free(c->name);
	c->name = NULL;
}

int condition_holds(const struct condition *c, double a, double b)
{
	double limit = c->number, value = b;

	if (c->percent && condition_metric_is_share(c->metric))
		limit /= 100;
	if (c->change) {
		value = b - a;
		/* Any change of nothing is more than any percentage of it. */
		if (c->percent && !condition_metric_is_share(c->metric))
			value = a > 0 ? 100 * (b - a) / a :
				b > 0 ? INFINITY : 0;
	}
	if (c->or_equal && value == limit)
		return 1;
	return c->below ? value < limit : value > limit;
}
