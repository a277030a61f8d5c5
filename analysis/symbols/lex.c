// SPDX-License-Identifier: GPL-2.0-or-later
/* C, C++ and Fortran texts to tokens; comments and directives are left out. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "analysis/symbols/source.h"

struct lexer {
	struct source *s;
	const char *p;		/* ends in a NUL, which is no text */
	size_t line_begin;
	uint32_t line;
	/* Fortran in columns: up to there there are only comments, */
	const char *comments;
	int goes_on;		/* and what comes then goes on */
};

static size_t where(const struct lexer *l)
{
	return (size_t)(l->p - l->s->text);
}

static void step(struct lexer *l)
{
	if (*l->p++ == '\n') {
		l->line++;
		l->line_begin = where(l);
	}
}

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

static int emit(struct lexer *l, enum token_kind kind, size_t len)
{
	int rc = add_token(l->s, kind, where(l), len, l->line, l->line_begin);

	l->p += len;
	return rc;
}

/* A token that began at these places and ends here. */
static int emit_from(struct lexer *l, enum token_kind kind, size_t at,
		     uint32_t line, size_t line_begin)
{
	return add_token(l->s, kind, at, where(l) - at, line, line_begin);
}

/* The length of the longest of these signs at p, else 1. */
static size_t sign_length(const char *p, const char *const *signs)
{
	for (; *signs; signs++)
		if (!strncmp(p, *signs, strlen(*signs)))
			return strlen(*signs);
	return 1;
}

/* To the end of a directive's last line. */
static void skip_directive(struct lexer *l)
{
	while (*l->p && *l->p != '\n') {
		if (l->p[0] == '/' && l->p[1] == '*') {
			l->p += 2;
			while (*l->p && (l->p[0] != '*' || l->p[1] != '/'))
				step(l);
			if (*l->p)
				l->p += 2;
			continue;
		}
		if (l->p[0] == '\\' && l->p[1] == '\r' && l->p[2] == '\n')
			l->p++;
		if (l->p[0] == '\\' && l->p[1] == '\n')
			l->p++;
		step(l);
	}
}

/* White space, comments, line ends behind '\'. 1 if there was any. */
static int skip_c(struct lexer *l)
{
	if (isspace((unsigned char)*l->p) ||
	    (l->p[0] == '\\' && (l->p[1] == '\n' || l->p[1] == '\r'))) {
		step(l);
		return 1;
	}
	if (l->p[0] == '/' && l->p[1] == '/') {
		while (*l->p && *l->p != '\n') {
			if (l->p[0] == '\\' && l->p[1] == '\n')
				l->p++;
			step(l);
		}
		return 1;
	}
	if (l->p[0] == '/' && l->p[1] == '*') {
		l->p += 2;
		while (*l->p && (l->p[0] != '*' || l->p[1] != '/'))
			step(l);
		if (*l->p)
			l->p += 2;
		return 1;
	}
	return 0;
}

static void skip_quoted(struct lexer *l, char quote)
{
	l->p++;
	while (*l->p && *l->p != quote && *l->p != '\n') {
		if (*l->p == '\\' && l->p[1])
			step(l);
		step(l);
	}
	if (*l->p == quote)
		l->p++;
}

/* R"x(...)x"; at the quote. 0: it is none. One that is not closed is the rest. */
static int skip_raw(struct lexer *l)
{
	const char *open, *end;
	char close[20];
	size_t n = 0;

	while (n <= 16 && l->p[n + 1] && !strchr("()\\ \t\n", l->p[n + 1]))
		n++;
	open = l->p + n + 1;
	if (n > 16 || *open != '(')
		return 0;
	close[0] = ')';
	memcpy(close + 1, l->p + 1, n);
	close[n + 1] = '"';
	close[n + 2] = '\0';
	end = strstr(open, close);
	while (end ? l->p < end + n + 2 : *l->p != '\0')
		step(l);
	return 1;
}

static int lex_quoted(struct lexer *l)
{
	size_t at = where(l), begin = l->line_begin;
	const char *before = l->p;
	uint32_t line = l->line;

	if (*l->p == '"' && at && before[-1] == 'R' && skip_raw(l))
		return emit_from(l, TOKEN_STRING, at, line, begin);
	skip_quoted(l, *l->p);
	return emit_from(l, TOKEN_STRING, at, line, begin);
}

static int lex_number(struct lexer *l)
{
	size_t n = 1;

	while (is_word(l->p[n]) || l->p[n] == '.' ||
	       (l->p[n] == '\'' && is_word(l->p[n + 1])) ||
	       ((l->p[n] == '+' || l->p[n] == '-') &&
		strchr("eEpP", l->p[n - 1]) &&
		strncasecmp(l->p, "0x", 2)))
		n++;
	return emit(l, TOKEN_NUMBER, n);
}

int lex_c(struct source *s)
{
	static const char *const signs[] = {
		"->", "::", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=",
		"%=", "&=", "|=", "^=", "&&", "||", "++", "--", NULL
	};
	struct lexer l = { .s = s, .p = s->text, .line = 1 };
	int fresh = 1, rc;	/* fresh: nothing on this line yet */
	uint32_t line = 1;
	size_t n;

	while (*l.p) {
		if (l.line != line) {
			line = l.line;
			fresh = 1;
		}
		if (skip_c(&l))
			continue;
		if (*l.p == '#' && fresh) {
			skip_directive(&l);
			continue;
		}
		fresh = 0;
		if (*l.p == '"' || *l.p == '\'') {
			rc = lex_quoted(&l);
		} else if (isdigit((unsigned char)*l.p)) {
			rc = lex_number(&l);
		} else if (is_word(*l.p)) {
			for (n = 1; is_word(l.p[n]);)
				n++;
			rc = emit(&l, TOKEN_WORD, n);
		} else {
			rc = emit(&l, TOKEN_SIGN, sign_length(l.p, signs));
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* What a new line of Fortran in columns is: 'c' comment, '&' goes on, ' '. */
static char fixed_line(const char *p)
{
	size_t n;

	if (*p && strchr("cC*!dD", *p))
		return 'c';
	for (n = 0; n < 5 && p[n] == ' ';)
		n++;
	if (n == 5 && p[5] && !strchr(" 0\r\n\t", p[5]))
		return '&';
	return ' ';
}

/* Whether the next line that is no comment goes on with this statement. */
static int goes_on(struct lexer *l)
{
	const char *p = l->p;

	/* Each of many comments asks the same. */
	if (l->comments && p < l->comments)
		return l->goes_on;
	l->goes_on = 0;
	while (p && *p == '\n') {
		l->comments = ++p;
		switch (fixed_line(p)) {
		case '&':
			l->goes_on = 1;
			return 1;
		case 'c':
			p = strchr(p, '\n');
			break;
		default:
			if (p[strspn(p, " \t\r")] != '\n')
				return 0;
			p = strchr(p, '\n');
		}
	}
	return 0;
}

/* The line's end, which ends the statement unless it goes on. */
static int end_line(struct lexer *l, int more)
{
	int rc = 0;

	if (l->s->fixed ? !goes_on(l) : !more)
		rc = add_token(l->s, TOKEN_SIGN, where(l), 0, l->line,
			       l->line_begin);
	step(l);
	if (!l->s->fixed)
		return rc;
	switch (fixed_line(l->p)) {
	case 'c':
		while (*l->p && *l->p != '\n')
			l->p++;
		break;
	case '&':
		l->p += 6;
		break;
	}
	return rc;
}

int lex_fortran(struct source *s)
{
	static const char *const signs[] = {
		"::", "=>", "==", "/=", "<=", ">=", "**", "//", NULL
	};
	struct lexer l = { .s = s, .p = s->text, .line = 1 };
	int more = 0, rc = 0;
	size_t n;

	if (s->fixed && fixed_line(l.p) == 'c')
		while (*l.p && *l.p != '\n')
			l.p++;
	while (*l.p && rc >= 0) {
		if (*l.p == '\n') {
			rc = end_line(&l, more);
			/* A comment's line keeps what was said before. */
			if (!more || s->fixed)
				more = 0;
			continue;
		}
		if (isspace((unsigned char)*l.p)) {
			l.p++;
			continue;
		}
		if (*l.p == '!') {
			while (*l.p && *l.p != '\n')
				l.p++;
			continue;
		}
		if (*l.p == '&') {
			more = 1;
			l.p++;
			continue;
		}
		more = 0;
		if (*l.p == '"' || *l.p == '\'') {
			size_t at = where(&l);
			char quote = *l.p++;

			while (*l.p && *l.p != quote && *l.p != '\n')
				l.p++;
			if (*l.p == quote)
				l.p++;
			rc = emit_from(&l, TOKEN_STRING, at, l.line,
				       l.line_begin);
		} else if (isdigit((unsigned char)*l.p)) {
			for (n = 1; is_word(l.p[n]) || l.p[n] == '.';)
				n++;
			rc = emit(&l, TOKEN_NUMBER, n);
		} else if (is_word(*l.p)) {
			for (n = 1; is_word(l.p[n]);)
				n++;
			rc = emit(&l, TOKEN_WORD, n);
		} else {
			rc = emit(&l, TOKEN_SIGN, sign_length(l.p, signs));
		}
	}
	return rc;
}
