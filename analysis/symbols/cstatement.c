// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * C and C++ statements that allocate: from a call, back over casts and
 * brackets, to what it is assigned to.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analysis/symbols/source.h"

#define STATEMENT_MAX 1024	/* tokens */
#define STEPS_MAX 64		/* back from a call */
#define WINDOW_MAX 8192		/* tokens: nobody writes such a line */
#define FUNCTION_MAX 131072	/* tokens behind a line, to its end */

/* Part of a source: tokens [begin, end), whole statements. */
struct window {
	const struct source *s;
	size_t begin, end;
};

static int is(const struct window *w, size_t i, const char *text)
{
	return i >= w->begin && i < w->end && token_is(w->s, i, text);
}

static int is_one_of(const struct window *w, size_t i, const char *const *list)
{
	for (; *list; list++)
		if (is(w, i, *list))
			return 1;
	return 0;
}

static int is_word(const struct window *w, size_t i)
{
	static const char *const not_names[] = {
		"return", "if", "while", "for", "switch", "sizeof", "else",
		"do", "case", "new", "delete", "throw", "co_return", "co_await",
		"and", "or", "not", NULL
	};

	return i >= w->begin && i < w->end &&
	       w->s->tokens[i].kind == TOKEN_WORD &&
	       !is_one_of(w, i, not_names);
}

/* The bracket that the one at i closes; w->end: none. */
static size_t opening(const struct window *w, size_t i)
{
	int depth = 0;

	for (size_t j = i + 1; j-- > w->begin;) {
		if (is(w, j, ")") || is(w, j, "]") || is(w, j, "}"))
			depth++;
		else if ((is(w, j, "(") || is(w, j, "[") || is(w, j, "{")) &&
			 --depth == 0)
			return j;
	}
	return w->end;
}

/* Behind the bracket that closes the one at i; w->end: none. */
static size_t behind(const struct window *w, size_t i)
{
	int depth = 0;

	for (; i < w->end; i++) {
		if (is(w, i, "(") || is(w, i, "[") || is(w, i, "{"))
			depth++;
		else if ((is(w, i, ")") || is(w, i, "]") || is(w, i, "}")) &&
			 --depth == 0)
			return i + 1;
	}
	return w->end;
}

/* The '<' that the '>' at i closes; w->end: it compares. */
static size_t opening_angle(const struct window *w, size_t i)
{
	int depth = 0;

	for (size_t j = i + 1; j-- > w->begin;) {
		if (is(w, j, ")") || is(w, j, "]")) {
			j = opening(w, j);
			if (j == w->end)
				return j;
		} else if (is(w, j, ">")) {
			depth++;
		} else if (is(w, j, "<") && --depth == 0) {
			return j;
		} else if (is(w, j, "=") || is(w, j, "&&") || is(w, j, "(")) {
			return w->end;
		}
	}
	return w->end;
}

/* Behind the '>' of the '<' at i; i: it compares. */
static size_t behind_angle(const struct window *w, size_t i)
{
	int depth = 0;

	for (size_t j = i; j < w->end; j++) {
		if (is(w, j, "("))
			j = behind(w, j) - 1;
		else if (is(w, j, "<"))
			depth++;
		else if (is(w, j, ">") && --depth == 0)
			return j + 1;
		else if (is(w, j, "=") || is(w, j, "&&"))
			return i;
	}
	return i;
}

static void prepend(char *name, const char *text, size_t len)
{
	size_t room;

	if (len > TARGET_NAME - 1)
		len = TARGET_NAME - 1;
	room = TARGET_NAME - 1 - len;	/* for what is there */
	memmove(name + len, name, room);
	memcpy(name, text, len);
	name[TARGET_NAME - 1] = '\0';
}

static void prepend_token(char *name, const struct window *w, size_t i)
{
	prepend(name, w->s->text + w->s->tokens[i].at, w->s->tokens[i].len);
}

/*
 * Stars before what begins at i: they declare behind a type or a ',', else they
 * read.
 */
static void stars(const struct window *w, size_t i, char *name)
{
	size_t n = 0;

	while (i > w->begin + n && is(w, i - 1 - n, "*"))
		n++;
	if (!n || (i > w->begin + n && (is_word(w, i - 1 - n) ||
					is(w, i - 1 - n, ">") ||
					is(w, i - 1 - n, ","))))
		return;
	while (n--)
		prepend(name, "*", 1);
}

/*
 * "(*u)" at open, before what name has already: "double (*u)[64]" declares u,
 * "(*u).x" is u->x.
 */
static size_t pointer(const struct window *w, size_t open, char *name,
		      unsigned *column)
{
	int star = 0;

	if (open > w->begin && (is_word(w, open - 1) || is(w, open - 1, ">") ||
				is(w, open - 1, "*"))) {
		name[0] = '\0';
	} else if (name[0] == '.') {
		memmove(name, name + 1, strlen(name));
		prepend(name, "->", 2);
	} else if (name[0]) {
		return w->end;
	} else {
		star = 1;
	}
	if (!is_word(w, open + 2))
		return w->end;
	prepend_token(name, w, open + 2);
	if (star)
		prepend(name, "*", 1);
	*column = w->s->tokens[open + 2].column;
	return open;
}

/*
 * The object whose last token is at e, as "p->field", "rows[]", "*out".
 * Its first token; w->end: it is no object.
 */
static size_t object(const struct window *w, size_t e, char *name,
		     unsigned *column)
{
	size_t open;

	name[0] = '\0';
	for (;;) {
		if (is(w, e, "]")) {
			open = opening(w, e);
			if (open == w->end || open == w->begin)
				return w->end;
			prepend(name, "[]", 2);
			e = open - 1;
			continue;
		}
		if (is(w, e, ")")) {
			open = opening(w, e);
			if (open == w->end)
				return open;
			if (e == open + 3 && is(w, open + 1, "*"))
				return pointer(w, open, name, column);
			if (open == w->begin || !is_word(w, open - 1))
				return w->end;
			prepend(name, "()", 2);
			e = open - 1;
			continue;
		}
		if (!is_word(w, e))
			return w->end;
		prepend_token(name, w, e);
		*column = w->s->tokens[e].column;
		if (e < w->begin + 2 ||
		    !(is(w, e - 1, ".") || is(w, e - 1, "->") ||
		      is(w, e - 1, "::")))
			break;
		prepend_token(name, w, e - 1);
		e -= 2;
	}
	stars(w, e, name);
	if (!strncmp(name, "this->", 6))
		memmove(name, name + 6, strlen(name + 6) + 1);
	return e;
}

int allocator_name(const char *name, size_t len)
{
	static const char *const ends[] = {
		"malloc", "calloc", "realloc", "alloc", "alloca", "memalign",
		"reallocarray", "valloc", "strdup", "strndup", "memdup",
		"_new", "malloc0", "alloc0", "_malloc_n", "malloc_n",
		"mmap", "mmap64", "mremap", "alloc_aligned",
		"aligned_malloc", "alloc_n", "malloc64", "realloc64",
		"malloc_zero", "allocz", "mallocz", NULL
	};
	size_t n;

	for (const char *const *e = ends; *e; e++) {
		n = strlen(*e);
		if (len >= n && !strncasecmp(name + len - n, *e, n))
			return 1;
	}
	return 0;
}

static int token_allocates(const struct window *w, size_t i)
{
	return allocator_name(w->s->text + w->s->tokens[i].at,
			      w->s->tokens[i].len);
}

/* "(T *)" and the like before a value, from '(' to ')'. */
static int is_cast(const struct window *w, size_t open, size_t close)
{
	if (close == open + 1 ||
	    (open > w->begin && (is_word(w, open - 1) ||
				 is(w, open - 1, "sizeof") ||
				 is(w, open - 1, "if") ||
				 is(w, open - 1, "while"))))
		return 0;
	for (size_t i = open + 1; i < close; i++)
		if (w->s->tokens[i].kind == TOKEN_STRING || is(w, i, "=") ||
		    is(w, i, ";"))
			return 0;
	return 1;
}

/* ')' before a call: of a cast. The token before it, w->end: of no cast. */
static size_t before_cast(const struct window *w, size_t close)
{
	size_t open = opening(w, close);

	if (open == w->end || open == w->begin || !is_cast(w, open, close))
		return w->end;
	return open - 1;
}

/* Methods that make their object's data larger; others belong to no name. */
static int grows_object(const struct window *w, size_t i)
{
	static const char *const methods[] = {
		"resize", "reserve", "push_back", "emplace_back", "assign",
		"insert", "emplace", "append", "push_front", "emplace_front",
		"shrink_to_fit", "push", "try_emplace", "insert_or_assign",
		"rehash", "str", NULL
	};

	return is_one_of(w, i, methods);
}

/*
 * "name(" with what we look for first in its brackets; name is at i. What to
 * go on with, or w->end; 1 in *done: t has its name.
 */
static size_t in_call(const struct window *w, size_t i, struct target *t,
		      int *done)
{
	static const char *const takes[] = { "reset", "attach", "emplace",
					     "assign", NULL };
	size_t open;

	if (is(w, i, ">")) {	/* static_cast<T *>(malloc(n)) */
		open = opening_angle(w, i);
		if (open == w->end || open <= w->begin + 1)
			return w->end;
		i = open - 1;
		if (i > w->begin && is(w, i - 1, "::") && i >= w->begin + 3)
			i -= 2;
		return i > w->begin ? i - 1 : w->end;
	}
	if (!is_word(w, i))
		return i;	/* mere brackets */
	if (i > w->begin + 1 && is_one_of(w, i, takes) &&
	    (is(w, i - 1, ".") || is(w, i - 1, "->"))) {
		*done = object(w, i - 2, t->name, &t->name_column) != w->end;
		return w->end;
	}
	/* "v.push_back(new T)": not v, but what its elements point to. */
	if (i > w->begin + 1 && grows_object(w, i) &&
	    (is(w, i - 1, ".") || is(w, i - 1, "->"))) {
		*done = object(w, i - 2, t->name, &t->name_column) != w->end;
		if (strlen(t->name) + 2 < TARGET_NAME)
			strcat(t->name, "[]");
		return w->end;
	}
	/* "unique_ptr<T> u(new T)", "Grid() : u(new T), v(new T)". */
	if (i > w->begin && (is(w, i - 1, ">") || is_word(w, i - 1) ||
			     is(w, i - 1, ":") || is(w, i - 1, ",") ||
			     is(w, i - 1, "*"))) {
		*done = object(w, i, t->name, &t->name_column) != w->end;
		return w->end;
	}
	return i > w->begin ? i - 1 : w->end;
}

/* Back from '?' or ':' to the '=' before it. */
static size_t assignment_before(const struct window *w, size_t i)
{
	while (i > w->begin) {
		i--;
		if (is(w, i, ")") || is(w, i, "]")) {
			i = opening(w, i);
			if (i == w->end)
				return i;
		} else if (is(w, i, "=")) {
			return i;
		} else if (is(w, i, ",") || is(w, i, "return")) {
			return w->end;
		}
	}
	return w->end;
}

/* Fill t from what stands before the call whose first token is at i. */
static int assigned(const struct window *w, size_t i, struct target *t)
{
	int done = 0;

	if (i == w->begin)
		return 0;
	i--;
	for (int n = 0; n < STEPS_MAX && i >= w->begin && i < w->end; n++) {
		if (is(w, i, "return") || is(w, i, "co_return")) {
			t->returned = 1;
			return 1;
		}
		if (is(w, i, "?") || is(w, i, ":"))
			i = assignment_before(w, i);
		if (is(w, i, "=") || is(w, i, "+="))
			return i > w->begin && object(w, i - 1, t->name,
				&t->name_column) != w->end;
		if (is(w, i, ")")) {
			i = before_cast(w, i);
		} else if (is(w, i, "(") || is(w, i, "{")) {
			if (i == w->begin)
				return 0;
			i = in_call(w, i - 1, t, &done);
			if (done)
				return 1;
		} else {
			return 0;
		}
	}
	return 0;
}

/* "(void **)&u" at i, the begin of an argument. */
static int argument(const struct window *w, size_t i, struct target *t)
{
	size_t e;

	if (is(w, i, "(")) {
		e = behind(w, i);
		if (is(w, e, "&"))
			i = e;
	}
	if (!is(w, i, "&"))
		return 0;
	for (e = ++i; e < w->end; e++) {
		if (is(w, e, "[") || is(w, e, "("))
			e = behind(w, e) - 1;
		else if (is(w, e, ",") || is(w, e, ")"))
			break;
	}
	return e > i && object(w, e - 1, t->name, &t->name_column) != w->end;
}

/* "f((void **)&u, n)": the first that is handed over by address. */
static int out_argument(const struct window *w, size_t open, struct target *t)
{
	size_t close = behind(w, open);

	for (size_t i = open + 1; i < close; i++) {
		if (argument(w, i, t))
			return 1;
		while (i < close && !is(w, i, ","))
			i = is(w, i, "(") || is(w, i, "[") || is(w, i, "{") ?
			    behind(w, i) : i + 1;
	}
	return 0;
}

/* "MALLOC(u, n)": no function has such a name. */
static int is_macro(const struct window *w, size_t i)
{
	const struct token *t = &w->s->tokens[i];
	int letters = 0;

	for (size_t n = 0; n < t->len; n++) {
		if (islower((unsigned char)w->s->text[t->at + n]))
			return 0;
		letters += isupper((unsigned char)w->s->text[t->at + n]) != 0;
	}
	return letters > 1;
}

/* What stands alone before the first ',' of two arguments or more. */
static int first_argument(const struct window *w, size_t open,
			  struct target *t)
{
	size_t e = open + 1, first;

	while (e < w->end && !is(w, e, ",") && !is(w, e, ")"))
		e = is(w, e, "(") || is(w, e, "[") ? behind(w, e) : e + 1;
	if (!is(w, e, ",") || e == open + 1)
		return 0;
	first = object(w, e - 1, t->name, &t->name_column);
	return first == open + 1;
}

/* The first token of what is called at i: "std::malloc", "pool->alloc". */
static size_t callee_begin(const struct window *w, size_t i)
{
	while (i >= w->begin + 2 &&
	       (is(w, i - 1, "::") || is(w, i - 1, ".") ||
		is(w, i - 1, "->")) && is_word(w, i - 2))
		i -= 2;
	if (i > w->begin && is(w, i - 1, "::"))
		i--;
	return i;
}

/* A call at token i, its '(' at open. */
static int call(const struct window *w, size_t i, size_t open,
		struct target *t)
{
	static const char *const outs[] = {
		"posix_memalign", "asprintf", "vasprintf", "getline",
		"getdelim", NULL
	};

	memset(t, 0, sizeof(*t));
	t->line = w->s->tokens[i].line;
	t->column = w->s->tokens[i].column;
	if (is_one_of(w, i, outs) && out_argument(w, open, t))
		return 1;
	if (grows_object(w, i) && i >= w->begin + 2 &&
	    (is(w, i - 1, ".") || is(w, i - 1, "->")))
		return object(w, i - 2, t->name, &t->name_column) != w->end;
	if (assigned(w, callee_begin(w, i), t))
		return 1;
	if (open == w->end)
		return 0;
	return out_argument(w, open, t) ||
	       (is_macro(w, i) && first_argument(w, open, t));
}

/* Behind a call's template arguments: its '('; w->end: no call. */
static size_t call_bracket(const struct window *w, size_t i)
{
	size_t open = i + 1;

	if (is(w, open, "<"))
		open = behind_angle(w, open);
	return is(w, open, "(") ? open : w->end;
}

/*
 * "T a(n), b(n)" or "Grid() : a(n), b(n)": names with an initialiser or none,
 * that stand behind a type or another of their kind.
 */
static size_t declared(const struct window *w, struct target *out, size_t max)
{
	size_t n = 0, depth = 0;

	for (size_t i = w->begin; i < w->end && n < max; i++) {
		if (is(w, i, "(") || is(w, i, "[") || is(w, i, "{"))
			depth++;
		if (depth && (is(w, i, ")") || is(w, i, "]") || is(w, i, "}")))
			depth--;
		if (depth || i == w->begin || !is_word(w, i))
			continue;
		if (!is(w, i + 1, "(") && !is(w, i + 1, "{") &&
		    !is(w, i + 1, "=") && !is(w, i + 1, ",") && i + 1 < w->end)
			continue;
		if (!is(w, i - 1, ">") && !is_word(w, i - 1) &&
		    !is(w, i - 1, ",") && !is(w, i - 1, ":") &&
		    !is(w, i - 1, "&") && !is(w, i - 1, "*"))
			continue;
		if (is(w, i - 1, ",") && !n)
			continue;	/* of a template or an argument */
		memset(&out[n], 0, sizeof(out[n]));
		out[n].line = w->s->tokens[i].line;
		if (object(w, i, out[n].name, &out[n].name_column) == w->end)
			continue;
		out[n].column = out[n].name_column;
		n++;
	}
	return n;
}

/* Objects that a method of theirs makes larger, by whatever it calls. */
static size_t grown(const struct window *w, struct target *out, size_t max)
{
	size_t n = 0, open;

	for (size_t i = w->begin; i < w->end && n < max; i++) {
		open = grows_object(w, i) ? call_bracket(w, i) : w->end;
		if (open != w->end)
			n += (size_t)call(w, i, open, &out[n]);
	}
	return n;
}

/* Without a call's name: what is assigned, or declared. */
static size_t any_target(const struct window *w, struct target *out, size_t max)
{
	size_t n = 0;

	for (size_t i = w->begin; i < w->end && n < max; i++) {
		if (!is(w, i, "=") && !is(w, i, "+="))
			continue;
		memset(&out[n], 0, sizeof(out[n]));
		out[n].line = w->s->tokens[i].line;
		out[n].column = w->s->tokens[i].column;
		if (i > w->begin && object(w, i - 1, out[n].name,
					   &out[n].name_column) != w->end)
			n++;
	}
	return n;
}

/* The statements that line is part of. 0: none. */
static int statements(const struct source *s, unsigned line, struct window *w)
{
	size_t i = source_line(s, line), n;

	if (i >= s->count)
		return 0;
	if (s->tokens[i].line > line) {	/* a line without a token of its own */
		return 0;
	}
	w->s = s;
	for (n = 0; i && n < STATEMENT_MAX; i--, n++)
		if (token_is(s, i - 1, ";") || token_is(s, i - 1, "{") ||
		    token_is(s, i - 1, "}"))
			break;
	w->begin = i;
	i = source_line(s, line + 1);
	for (n = 0; i < s->count && n < STATEMENT_MAX; i++, n++)
		if (i && (token_is(s, i - 1, ";") || token_is(s, i - 1, "{") ||
			  token_is(s, i - 1, "}")))
			break;
	w->end = i;
	return w->end - w->begin <= WINDOW_MAX;
}

static int matches(const struct window *w, size_t i, const char *callee)
{
	if (w->s->tokens[i].kind != TOKEN_WORD)
		return 0;
	return callee ? is(w, i, callee) : token_allocates(w, i);
}

/* Calls by name; only_line: that begin on this line, else all of w. */
static size_t calls(const struct window *w, unsigned only_line,
		    const char *callee, struct target *out, size_t max,
		    int *seen)
{
	size_t n = 0, open;
	int is_new;

	for (size_t i = w->begin; i < w->end && n < max; i++) {
		if (only_line && w->s->tokens[i].line != only_line)
			continue;
		is_new = is(w, i, "new") && !callee;
		if (!is_new && !matches(w, i, callee))
			continue;
		open = call_bracket(w, i);
		if (open == w->end && !is_new)
			continue;
		*seen = 1;
		n += (size_t)call(w, i, is_new ? w->end : open, &out[n]);
	}
	return n;
}

/* The window's statements one by one: declarations do not cross a ';'. */
static size_t each_statement(const struct window *all, unsigned line,
			     size_t (*find)(const struct window *w,
					    struct target *out, size_t max),
			     struct target *out, size_t max)
{
	struct window w = { all->s, all->begin, all->begin };
	size_t n = 0;

	for (size_t i = all->begin; i < all->end && n < max; i++) {
		if (!is(all, i, ";") && i + 1 < all->end)
			continue;
		w.end = is(all, i, ";") || is(all, i, "{") ? i : i + 1;
		if (w.end > w.begin &&
		    all->s->tokens[w.end - 1].line >= line &&
		    all->s->tokens[w.begin].line <= line)
			n += find(&w, out + n, max - n);
		w.begin = i + 1;
	}
	return n;
}

/* Only those of this line, if it has any. */
static size_t of_line(struct target *t, size_t n, unsigned line)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (t[i].line == line)
			t[kept++] = t[i];
	return kept ? kept : n;
}

size_t targets_c(const struct source *s, unsigned line, const char *callee,
		 struct target *out, size_t max)
{
	struct window w;
	int seen = 0;
	size_t n;

	if (!statements(s, line, &w))
		return 0;
	n = calls(&w, line, callee, out, max, &seen);
	if (!n)
		n = calls(&w, 0, callee, out, max, &seen);
	if (!n && callee && !seen)	/* called by a macro's name */
		n = calls(&w, line, NULL, out, max, &seen);
	if (!n && !seen && callee)
		n = each_statement(&w, line, grown, out, max);
	if (!n && !seen)
		n = each_statement(&w, line, any_target, out, max);
	if (!n && !seen)
		n = each_statement(&w, line, declared, out, max);
	return of_line(out, n, line);
}

/*
 * Whether name stands between token i and the statement's end. *clear: where
 * the last one looked through ends, which had no such name.
 */
static int names(const struct source *s, size_t i, const char *name,
		 size_t *clear)
{
	if (i < *clear)
		return 0;
	for (; i < s->count && !token_is(s, i, ";") && !token_is(s, i, "}");
	     i++)
		if (token_is(s, i, name))
			return 1;
	*clear = i;
	return 0;
}

int source_passes_on(const struct source *s, unsigned line, const char *name)
{
	size_t i = source_line(s, line), clear = 0, end = s->count;
	int depth = 0;

	if (end - i > FUNCTION_MAX)
		end = i + FUNCTION_MAX;
	for (; i < end && depth >= 0; i++) {
		if (token_is(s, i, "{"))
			depth++;
		else if (token_is(s, i, "}"))
			depth--;
		else if (token_is(s, i, "return") && names(s, i + 1, name,
							  &clear))
			return 1;
		else if (i && token_is(s, i, "*") && token_is(s, i + 2, "=") &&
			 (token_is(s, i - 1, ";") || token_is(s, i - 1, "{") ||
			  token_is(s, i - 1, "}") || token_is(s, i - 1, ")")) &&
			 names(s, i + 3, name, &clear))
			return 1;
	}
	return 0;
}
