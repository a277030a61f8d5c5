// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/cmdline/words.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

/* A word being read, twice: as it is, and with what was quoted escaped. */
struct word {
	char *plain;
	char *pattern;
	size_t plain_len;
	size_t pattern_len;
	int wild;		/* an unquoted *, ? or [ */
};

int moca_words_add(struct words *w, const char *word)
{
	if (moca_vec_fit(w->items, w->room, w->count + 2))
		return -ENOMEM;
	w->items[w->count] = strdup(word);
	if (!w->items[w->count])
		return -ENOMEM;
	w->items[++w->count] = NULL;
	return 0;
}

static void put(struct word *d, char c, int quoted)
{
	d->plain[d->plain_len++] = c;
	if (!quoted && strchr("*?[", c))
		d->wild = 1;
	else if (strchr("*?[]\\", c))
		d->pattern[d->pattern_len++] = '\\';
	d->pattern[d->pattern_len++] = c;
}

/* Read a quoted part behind its opening quote; NULL when it does not end. */
static const char *read_quoted(struct word *d, const char *s, char quote)
{
	for (; *s && *s != quote; s++) {
		if (quote == '"' && *s == '\\' && s[1] &&
		    strchr("\\\"$`", s[1]))
			s++;
		put(d, *s, 1);
	}
	return *s ? s + 1 : NULL;
}

static const char *read_word(struct word *d, const char *s)
{
	d->plain_len = d->pattern_len = 0;
	d->wild = 0;
	while (s && *s && !isspace((unsigned char)*s)) {
		if (*s == '\'' || *s == '"') {
			s = read_quoted(d, s + 1, *s);
		} else if (*s == '\\' && s[1]) {
			put(d, s[1], 1);
			s += 2;
		} else {
			put(d, *s++, 0);
		}
	}
	d->plain[d->plain_len] = 0;
	d->pattern[d->pattern_len] = 0;
	return s;
}

static int add_matches(struct words *w, const struct word *d)
{
	int err = 0;
	size_t i;
	glob_t g;

	if (!d->wild)
		return moca_words_add(w, d->plain);
	if (glob(d->pattern, 0, NULL, &g))
		return moca_words_add(w, d->plain);
	for (i = 0; i < g.gl_pathc && !err; i++)
		err = moca_words_add(w, g.gl_pathv[i]);
	globfree(&g);
	return err;
}

int moca_words_split(struct words *w, const char *s)
{
	struct word d = { 0 };
	int err = 0;

	d.plain = malloc(strlen(s) + 1);
	d.pattern = malloc(2 * strlen(s) + 1);
	if (!d.plain || !d.pattern)
		err = -ENOMEM;
	while (!err) {
		while (isspace((unsigned char)*s))
			s++;
		if (!*s)
			break;
		s = read_word(&d, s);
		err = s ? add_matches(w, &d) : -EINVAL;
	}
	free(d.plain);
	free(d.pattern);
	return err;
}

void moca_words_free(struct words *w)
{
	size_t i;

	for (i = 0; i < w->count; i++)
		free(w->items[i]);
	free(w->items);
	w->items = NULL;
	w->count = 0;
}
