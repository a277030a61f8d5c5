// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/cmdline/nearest.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 32

/* Levenshtein's distance, of words up to WORD_MAX characters. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX + 1], la = strlen(a), lb = strlen(b), i, j;

	if (la > WORD_MAX || lb > WORD_MAX)
		return WORD_MAX;
	for (j = 0; j <= lb; j++)
		row[j] = j;
	for (i = 1; i <= la; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= lb; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

void moca_nearest_begin(struct moca_nearest *n, const char *word)
{
	*n = (struct moca_nearest){ .word = word, .least = 3 };
}

void moca_nearest_look(struct moca_nearest *n, const char *candidate)
{
	unsigned d = distance(n->word, candidate);

	if (d >= n->least || strlen(candidate) >= sizeof(n->best))
		return;
	n->least = d;
	strcpy(n->best, candidate);
}
