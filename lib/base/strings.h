/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set of strings, each but once: equal ones are one pointer. All zeros: empty. */
#ifndef MOCA_BASE_STRINGS_H
#define MOCA_BASE_STRINGS_H

#include "lib/base/table.h"

struct moca_strings {
	char **items;
	size_t count, room;
	struct moca_index index;
};

/* The number of text's copy, from 0 and in the order in which they come; -ENOMEM. */
int64_t moca_strings_number(struct moca_strings *s, const char *text);
/* The one copy of text, which lives as long as s; NULL: no memory. */
const char *moca_strings_intern(struct moca_strings *s, const char *text);
void moca_strings_free(struct moca_strings *s);

#endif
