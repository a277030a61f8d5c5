/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source files as tokens, and which variables the statement on a line gives
 * memory to. By the words of the language alone, without its grammar.
 */
#ifndef MOCA_SYMBOLS_SOURCE_H
#define MOCA_SYMBOLS_SOURCE_H

#include <stddef.h>
#include <stdint.h>

enum token_kind {
	TOKEN_WORD = 1,		/* identifiers and keywords */
	TOKEN_NUMBER,
	TOKEN_STRING,		/* and characters */
	TOKEN_SIGN,		/* operators; Fortran: ';' ends each line */
};

struct token {
	uint32_t at, len;	/* bytes in the text */
	uint32_t line, column;	/* from 1; columns in bytes, as compilers' */
	enum token_kind kind;
};

struct source {
	struct source *next;
	char *path;
	char *text;		/* NULL: not readable, or no text */
	size_t size;
	uint64_t mtime_ns;
	int fortran, fixed;	/* fixed: in columns, as FORTRAN 77 was */
	struct token *tokens;
	size_t count, room;
};

struct moca_symbols;

/* The file at path, read once; NULL: not to be had. Belongs to s. */
const struct source *source_get(struct moca_symbols *s, const char *path);
void sources_free(struct source *list);
/* source.c's part: */
int lex_c(struct source *s);
int lex_fortran(struct source *s);
int add_token(struct source *s, enum token_kind kind, size_t at, size_t len,
	      uint32_t line, size_t line_begin);

/* Whether token i is that text; Fortran has no upper case. 0 out of range. */
int token_is(const struct source *s, size_t i, const char *text);
/* The first token of that line or behind. */
size_t source_line(const struct source *s, unsigned line);

/* Whether the first word of path, "p->field", stands on that line. */
int source_has(const struct source *s, unsigned line, const char *path);

#define TARGET_NAME 128
#define TARGET_DIMS 8

/* What a statement assigns new memory to. */
struct target {
	char name[TARGET_NAME];	/* "u", "p->field", "rows[]", "x%u" */
	unsigned line, column;	/* of the call, and */
	unsigned name_column;	/* of the name, if on that line */
	int returned;		/* no name: the value is returned */
	unsigned rank;		/* Fortran's bounds, where all are numbers */
	int64_t lower[TARGET_DIMS], upper[TARGET_DIMS];
};

/*
 * The targets of calls of callee (without namespace and arguments; NULL: of
 * any function that allocates) in the statements on that line, in their order.
 * How many, at most max.
 */
size_t targets_c(const struct source *s, unsigned line, const char *callee,
		 struct target *out, size_t max);
size_t targets_fortran(const struct source *s, unsigned line,
		       struct target *out, size_t max);
/*
 * Whether the function around line, behind it, hands the variable name to its
 * caller: "return name;", "*out = name;".
 */
int source_passes_on(const struct source *s, unsigned line, const char *name);
/* malloc, xcalloc, pool_alloc, foo_new, ...: a name that says it allocates. */
int allocator_name(const char *name, size_t len);

#endif
