/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes that can be tried of each program; a new one is a file and a line. */
#ifndef MOCA_TRY_LIST_H
#define MOCA_TRY_LIST_H

/* What the program has that a change could act on. */
struct try_subject {
	int glibc;		/* malloc is glibc's */
	int openmp;		/* libgomp or libomp is mapped */
	int threads;		/* most tasks that its processes had */
};

/*
 * Fills title and setting of what it would change; NULL: it has nothing for such
 * a program, and says so by returning why.
 */
#define TRY_LIST(X) \
	X(try_keep_memory, "keep-memory") \
	X(try_huge_pages, "huge-pages") \
	X(try_one_arena, "one-arena") \
	X(try_bind_threads, "bind-threads")

/* NULL, or why it cannot act on such a program. */
#define X(function, id) \
	const char *function(const struct try_subject *s, const char **title, \
			     const char **setting);
TRY_LIST(X)
#undef X

#endif
