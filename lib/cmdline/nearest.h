/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the words that there are, the nearest to one that there is not. */
#ifndef MOCA_CMDLINE_NEAREST_H
#define MOCA_CMDLINE_NEAREST_H

struct moca_nearest {
	const char *word;
	unsigned least;
	char best[64];		/* "": none is near */
};

/* word is borrowed. */
void moca_nearest_begin(struct moca_nearest *n, const char *word);
/* One that there is. Two wrong letters are the most that is near. */
void moca_nearest_look(struct moca_nearest *n, const char *candidate);

#endif
