/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Splitting a command line into words: blanks separate; '...', "..." and a
 * backslash quote as in a shell. Nothing is expanded or executed, except that
 * unquoted *, ? and [ match file names when any exist.
 */
#ifndef MOCA_CMDLINE_WORDS_H
#define MOCA_CMDLINE_WORDS_H

#include <stddef.h>

struct words {
	char **items;		/* ends with a NULL that count leaves out */
	size_t count, room;
};

/* Append s's words. 0, -EINVAL (a quote is not closed) or -ENOMEM. */
int moca_words_split(struct words *w, const char *s);
/* Append one word as it is. 0 or -ENOMEM. */
int moca_words_add(struct words *w, const char *word);
void moca_words_free(struct words *w);

#endif
