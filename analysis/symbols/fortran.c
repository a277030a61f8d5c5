// SPDX-License-Identifier: GPL-2.0-or-later
/* Fortran statements that allocate. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/source.h"

#define STATEMENT_MAX 4096	/* tokens */

static int ends(const struct source *s, size_t i)
{
	return i >= s->count || !s->tokens[i].len || token_is(s, i, ";");
}

/* Behind the bracket that closes the one at i, or end. */
static size_t behind(const struct source *s, size_t i, size_t end)
{
	int depth = 0;

	for (; i < end; i++) {
		if (token_is(s, i, "(") || token_is(s, i, "["))
			depth++;
		else if ((token_is(s, i, ")") || token_is(s, i, "]")) &&
			 --depth == 0)
			return i + 1;
	}
	return end;
}

/* In lower case, as compilers put names down. */
static void append(char *name, const struct source *s, size_t i)
{
	size_t n = strlen(name);

	if (i < s->count)
		snprintf(name + n, TARGET_NAME - n, "%.*s",
			 (int)s->tokens[i].len, s->text + s->tokens[i].at);
	for (; name[n]; n++)
		name[n] = (char)tolower((unsigned char)name[n]);
}

static void append_text(char *name, const char *text)
{
	size_t n = strlen(name);

	snprintf(name + n, TARGET_NAME - n, "%s", text);
}

/* A number with its sign, all of [i, end). 0 or -1. */
static int literal(const struct source *s, size_t i, size_t end, int64_t *out)
{
	int minus = token_is(s, i, "-");
	char text[24];

	i += (size_t)minus;
	if (end != i + 1 || s->tokens[i].kind != TOKEN_NUMBER ||
	    s->tokens[i].len >= sizeof(text))
		return -1;
	snprintf(text, sizeof(text), "%.*s", (int)s->tokens[i].len,
		 s->text + s->tokens[i].at);
	if (strspn(text, "0123456789") != strlen(text))
		return -1;
	*out = strtoll(text, NULL, 10);
	if (minus)
		*out = -*out;
	return 0;
}

/* "64, 0:9" between i and end, if all are numbers; else rank stays 0. */
static void bounds(const struct source *s, size_t i, size_t end,
		   struct target *t)
{
	unsigned rank = 0;
	size_t from, colon;
	int depth = 0;

	for (from = i, colon = 0; i <= end; i++) {
		if (i < end && (token_is(s, i, "(") || token_is(s, i, "[")))
			depth++;
		if (i < end && (token_is(s, i, ")") || token_is(s, i, "]")))
			depth--;
		if (i < end && depth == 0 && token_is(s, i, ":"))
			colon = i;
		if (i < end && (depth || !token_is(s, i, ",")))
			continue;
		if (rank == TARGET_DIMS)
			return;
		t->lower[rank] = 1;
		if (colon && literal(s, from, colon, &t->lower[rank]) < 0)
			return;
		if (literal(s, colon ? colon + 1 : from, i,
			    &t->upper[rank]) < 0)
			return;
		rank++;
		from = i + 1;
		colon = 0;
	}
	t->rank = rank;
}

/*
 * "x(i)%field(n,m)" from i on: name "x()%field" and, of the last brackets, the
 * bounds. 1, or 0 if it is no such thing.
 */
static int object(const struct source *s, size_t i, size_t end,
		  struct target *t)
{
	size_t close;

	t->name[0] = '\0';
	t->line = s->tokens[i].line;
	t->column = t->name_column = s->tokens[i].column;
	while (i < end && s->tokens[i].kind == TOKEN_WORD) {
		append(t->name, s, i++);
		if (i < end && token_is(s, i, "(")) {
			close = behind(s, i, end);
			if (close >= end || !token_is(s, close, "%")) {
				bounds(s, i + 1, close - 1, t);
				return close >= end;
			}
			append_text(t->name, "()");
			i = close;
		}
		if (i >= end)
			return 1;
		if (!token_is(s, i, "%"))
			return 0;
		append_text(t->name, "%");
		i++;
	}
	return 0;
}

/* The list in "allocate(...)"; i is behind its bracket. */
static size_t allocate(const struct source *s, size_t i, size_t end,
		       struct target *out, size_t max)
{
	size_t n = 0, item = i;
	int depth = 0;

	for (; i <= end && n < max; i++) {
		if (i < end && (token_is(s, i, "(") || token_is(s, i, "[")))
			depth++;
		if (i < end && (token_is(s, i, ")") || token_is(s, i, "]")))
			depth--;
		if (i < end && depth == 0 && token_is(s, i, "::"))
			item = i + 1;	/* behind the type */
		if (i < end && (depth || !token_is(s, i, ",")))
			continue;
		memset(&out[n], 0, sizeof(out[n]));
		/* "stat=ierr" is none. */
		if (item < i && !token_is(s, item + 1, "=") &&
		    object(s, item, i, &out[n]))
			n++;
		item = i + 1;
	}
	return n;
}

size_t targets_fortran(const struct source *s, unsigned line,
		       struct target *out, size_t max)
{
	size_t first = source_line(s, line), begin = first, end, n = 0, i;

	for (i = 0; i < STATEMENT_MAX && begin && !ends(s, begin - 1); i++)
		begin--;
	while (begin < s->count && s->tokens[begin].line <= line && n < max) {
		for (end = begin; end < begin + STATEMENT_MAX &&
		     !ends(s, end);)
			end++;
		for (i = begin; i + 1 < end; i++) {
			if (!token_is(s, i, "allocate") ||
			    !token_is(s, i + 1, "("))
				continue;
			n += allocate(s, i + 2, behind(s, i + 1, end) - 1,
				      out + n, max - n);
			break;
		}
		/* An assignment makes its variable as large as needed. */
		for (i = begin; n < max && i < end; i++) {
			if (token_is(s, i, "(") || token_is(s, i, "allocate"))
				break;
			if (!token_is(s, i, "="))
				continue;
			memset(&out[n], 0, sizeof(out[n]));
			n += (size_t)object(s, begin, i, &out[n]);
			break;
		}
		begin = end + 1;
	}
	return n;
}
