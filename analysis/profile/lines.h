/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache lines that threads take turns at, by records of pages: each is the exact
 * address and instruction of who came first to the page in an interval. So what
 * is here are samples: which bytes of a line each thread uses, and where in the
 * program; not how often.
 */
#ifndef MOCA_PROFILE_LINES_H
#define MOCA_PROFILE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/objects/objects.h"

#define MOCA_LINE 64u		/* bytes */
/*
 * Rows with more pages are not looked at: parts of threads meet there in lines that
 * each passes once in a walk, and to look up each access takes as long as all else.
 */
#define MOCA_LINES_PAGES 16

/* What was seen of one task in one line. */
struct moca_line_user {
	uint64_t line;		/* number: address / MOCA_LINE */
	uint64_t read_bytes, write_bytes;	/* bit b: from byte b on */
	uint64_t ip;		/* a majority vote, of writes if there are any */
	uint64_t ip_ns;		/* a moment at which it was executed */
	uint32_t ip_votes;
	uint32_t ip_writes;	/* it writes */
	uint32_t space;
	uint32_t task;
	uint32_t key;		/* until the end; then the row's id */
	uint32_t reads, writes;
	uint32_t first, last;	/* intervals in which it used the line */
	uint64_t weight;	/* of these, by the lengths of intervals */
};

/* Users of lines that several tasks used at a time and any wrote; by line, writes. */
struct moca_lines {
	struct moca_line_user *users;
	size_t count;
	unsigned unit;		/* what one of an interval of mean length weighs */
	uint64_t left_out;	/* accesses to lines for which there was no room */
};

/*
 * The line's users begin at users[i]: how many there are. Lines follow each other
 * from i = 0 on.
 */
static inline size_t moca_line_users(const struct moca_lines *l, size_t i)
{
	size_t n = i;

	while (n < l->count && l->users[n].line == l->users[i].line &&
	       l->users[n].space == l->users[i].space)
		n++;
	return n - i;
}

/* All of them, while the trace is walked. */
struct line_walk;
struct line_walk *lines_begin(void);	/* NULL: no memory */
/* An access to a row of few pages, and its weight (passes.h). */
void lines_take(struct line_walk *w, const struct moca_observed *x,
		unsigned weight);
/* 0 or -ENOMEM, also of an earlier moment. w is freed, *out filled. */
int lines_end(struct moca_lines *out, struct line_walk *w,
	      const struct moca_objects *o, unsigned unit);
void lines_free(struct line_walk *w);

#endif
