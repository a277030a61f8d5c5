// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SQLite takes each row by itself, and its aggregates cannot be told of many at once.
 * So a statement of one SELECT of accesses alone with GROUP BY has other sums:
 *
 *	count(*)	sum(_alike)
 *	count(X)	sum((X IS NOT NULL) * _alike)
 *	sum(X)		sum((X) * _alike)
 *
 * where X is an integer column, or compares a column with a literal. A row then may
 * stand for all accesses that are alike (groups.c); where it stands for one, the sums
 * are the same. Whatever is not known to mean the same is left as it is.
 */
#include "query/alike.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX 512

enum token_kind { END, WORD, NUMBER, STRING, SIGN };

struct token {
	enum token_kind kind;
	const char *s;
	int len;
	int close;	/* of a call that is replaced: its ')'; else 0 */
};

struct statement {
	struct token t[TOKENS_MAX];	/* the last is an END */
	int count;	/* without it */
	int from;	/* the token FROM */
};

/* --- tokens ------------------------------------------------------------- */

static int is_word(const struct token *t, const char *word)
{
	return t->kind == WORD && (int)strlen(word) == t->len &&
	       !sqlite3_strnicmp(t->s, word, t->len);
}

static int is_one_of(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (is_word(t, *words))
			return 1;
	return 0;
}

static int is_sign(const struct token *t, char c)
{
	return t->kind == SIGN && *t->s == c;
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Behind the string that begins at s; NULL: it has no end. */
static const char *string_end(const char *s)
{
	for (s++; *s; s++)
		if (*s == '\'' && *++s != '\'')
			return s;
	return NULL;
}

/* One token of a plain statement, from s on. Where it ends, or NULL: it is not plain. */
static const char *take_token(const char *s, struct token *t)
{
	const char *p = s;

	*t = (struct token){ .s = s };
	if (is_letter(*p)) {
		t->kind = WORD;
		while (is_letter(*p) || is_digit(*p))
			p++;
		/* x'12' */
		if (*p == '\'')
			return NULL;
	} else if (is_digit(*p)) {
		t->kind = NUMBER;
		while (is_letter(*p) || is_digit(*p) || *p == '.')
			p++;
	} else if (*p == '\'') {
		t->kind = STRING;
		p = string_end(s);
	} else if (strchr("()*,.=<>!+-/%|&~", *p)) {
		/* Comments are not plain. */
		if ((*p == '-' && p[1] == '-') || (*p == '/' && p[1] == '*'))
			return NULL;
		t->kind = SIGN;
		p++;
	} else {
		return NULL;
	}
	t->len = p ? (int)(p - s) : 0;
	return p;
}

static int take_tokens(struct statement *x, const char *sql)
{
	static const char blanks[] = " \t\n\r";

	for (x->count = 0; sql += strspn(sql, blanks), *sql; x->count++) {
		if (*sql == ';' && !sql[strspn(sql, " \t\n\r;")])
			break;
		if (x->count + 1 == TOKENS_MAX)
			return 0;
		sql = take_token(sql, &x->t[x->count]);
		if (!sql)
			return 0;
	}
	x->t[x->count] = (struct token){ .kind = END, .s = sql };
	return 1;
}

/* --- what it says ------------------------------------------------------- */

/* Is it SELECT ... FROM accesses ... GROUP BY ..., and of that nothing else? */
static int is_plain_select(struct statement *x)
{
	static const char *const others[] = {
		"WITH", "UNION", "EXCEPT", "INTERSECT", "JOIN", "OVER", "FILTER",
		"WINDOW", "DISTINCT", "EXISTS", "VALUES", "ALL", "COLLATE", NULL
	};
	static const char *const behind[] = { "WHERE", "GROUP", NULL };
	int grouped = 0;

	x->from = 0;
	if (!is_word(&x->t[0], "SELECT"))
		return 0;
	for (int i = 1; i < x->count; i++) {
		const struct token *t = &x->t[i];

		if (is_word(t, "SELECT") || is_one_of(t, others) ||
		    (is_word(t, "FROM") && x->from))
			return 0;
		if (is_word(t, "FROM"))
			x->from = i;
		grouped |= is_word(t, "GROUP");
	}
	return x->from && grouped && is_word(&x->t[x->from + 1], "accesses") &&
	       is_one_of(&x->t[x->from + 2], behind);
}

/* What is in the parentheses of the call at i: X? */
static int is_plain_argument(const struct token *t, int count)
{
	static const char *const numbers[] = { "weight", "task", "pid", "tid",
					       "cpu", "node", NULL };
	static const char *const columns[] = {
		"weight", "task", "pid", "tid", "cpu", "node", "thread", "type",
		"mode", "object", "kind", "site", NULL
	};

	if (count == 1)
		return is_one_of(t, numbers);
	/* COLUMN = 'text', and with two signs. */
	if (count < 3 || count > 4 || !is_one_of(t, columns) ||
	    (t[count - 1].kind != STRING && t[count - 1].kind != NUMBER))
		return 0;
	for (int i = 1; i < count - 1; i++)
		if (t[i].kind != SIGN || !strchr("=<>!", *t[i].s))
			return 0;
	return 1;
}

/* The call of count() or sum() at i is replaced, if it can be. */
static int note_call(struct statement *x, int i)
{
	int close = i + 2;

	while (close < x->count && !is_sign(&x->t[close], ')'))
		close++;
	if (close == x->count)
		return 0;
	x->t[i].close = close;
	if (is_word(&x->t[i], "count") && close == i + 3 &&
	    is_sign(&x->t[i + 2], '*'))
		return 1;
	return is_plain_argument(&x->t[i + 2], close - i - 2);
}

/* How many calls are to be replaced; 0: there is another function as well. */
static int find_calls(struct statement *x)
{
	/* Of one value each, always the same; min() and max() of any rows alike. */
	static const char *const functions[] = {
		"min", "max", "round", "printf", "hexadecimal", "coalesce",
		"lower", "upper", "substr", "length", "abs", NULL
	};
	static const char *const words[] = {
		"IN", "AND", "OR", "NOT", "BY", "WHERE", "HAVING", "SELECT",
		"IS", "LIKE", "GLOB", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE",
		"LIMIT", "OFFSET", NULL
	};
	int calls = 0;

	for (int i = 0; i < x->count; i++) {
		const struct token *t = &x->t[i];

		if (t->kind != WORD || !is_sign(&x->t[i + 1], '('))
			continue;
		if (is_word(t, "count") || is_word(t, "sum")) {
			if (!note_call(x, i))
				return 0;
			calls++;
		} else if (!is_one_of(t, functions) && !is_one_of(t, words)) {
			return 0;
		}
	}
	return calls;
}

/* --- the other statement ------------------------------------------------ */

static const char *end_of(const struct token *t)
{
	return t->s + t->len;
}

/* The text from one token to the one before another, with its calls replaced. */
static void put_tokens(sqlite3_str *out, const struct statement *x, int from,
		       int until)
{
	for (int i = from; i < until; i++) {
		const struct token *t = &x->t[i];
		int close = t->close;

		if (!close) {
			sqlite3_str_append(out, t->s, t->len);
		} else if (is_sign(&x->t[i + 2], '*')) {
			sqlite3_str_appendall(out, "sum(" QUERY_ALIKE ")");
		} else {
			int count = is_word(t, "count");
			const char *arg = x->t[i + 2].s;

			sqlite3_str_appendf(out, "sum((%.*s%s) * " QUERY_ALIKE ")",
					    (int)(end_of(&x->t[close - 1]) - arg),
					    arg, count ? " IS NOT NULL" : "");
		}
		i = close ? close : i;
		/* The blanks behind it. */
		if (i + 1 < until)
			sqlite3_str_append(out, end_of(&x->t[i]),
					   (int)(x->t[i + 1].s -
						 end_of(&x->t[i])));
	}
}

/* Has a result column, of tokens from to until - 1, a name? -1: who knows. */
static int is_named(const struct statement *x, int from, int until)
{
	const struct token *last = &x->t[until - 1];

	for (int i = from; i < until; i++)
		if (is_word(&x->t[i], "AS"))
			return 1;
	if (until - from < 2 || (last->kind != WORD && last->kind != STRING))
		return 0;
	/* count(*) n; but CASE ... END. */
	return is_sign(last - 1, ')') && !is_word(last, "END") ? 1 : -1;
}

static int has_call(const struct statement *x, int from, int until)
{
	for (int i = from; i < until; i++)
		if (x->t[i].close)
			return 1;
	return 0;
}

/* One result column: what has no name is called as it was written. 1 or 0. */
static int put_column(sqlite3_str *out, const struct statement *x, int from,
		      int until)
{
	int named = until > from ? is_named(x, from, until) : -1;

	if (named < 0)
		return 0;
	put_tokens(out, x, from, until);
	if (!named && has_call(x, from, until))
		sqlite3_str_appendf(out, " AS \"%.*w\"",
				    (int)(end_of(&x->t[until - 1]) - x->t[from].s),
				    x->t[from].s);
	return 1;
}

static int put_columns(sqlite3_str *out, const struct statement *x)
{
	int depth = 0, from = 1;

	sqlite3_str_appendall(out, "SELECT ");
	for (int i = 1; i <= x->from; i++) {
		depth += is_sign(&x->t[i], '(') - is_sign(&x->t[i], ')');
		if (i < x->from && (depth || !is_sign(&x->t[i], ',')))
			continue;
		if (from > 1)
			sqlite3_str_appendall(out, ", ");
		if (!put_column(out, x, from, i))
			return 0;
		from = i + 1;
	}
	sqlite3_str_appendall(out, " ");
	return 1;
}

char *query_alike(const char *sql)
{
	struct statement *x = malloc(sizeof(*x));
	sqlite3_str *out = sqlite3_str_new(NULL);
	char *text, *copy = NULL;
	int done;

	done = x && take_tokens(x, sql) && x->count && is_plain_select(x) &&
	       find_calls(x) && put_columns(out, x);
	if (done)
		put_tokens(out, x, x->from, x->count);
	text = sqlite3_str_finish(out);
	if (done && text)
		copy = strdup(text);
	sqlite3_free(text);
	free(x);
	return copy;
}
