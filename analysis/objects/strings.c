// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings that are kept once each. */
#include "analysis/objects/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
	return moca_mix(h);
}

static int grow_strings(struct moca_strings *s)
{
	size_t i, at, cap = s->cap ? 2 * s->cap : 256;
	char **p = calloc(cap, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (i = 0; i < s->cap; i++) {
		if (!s->slots[i])
			continue;
		at = hash_text(s->slots[i]) & (cap - 1);
		while (p[at])
			at = (at + 1) & (cap - 1);
		p[at] = s->slots[i];
	}
	free(s->slots);
	s->slots = p;
	s->cap = cap;
	return 0;
}

const char *moca_strings_intern(struct moca_strings *s, const char *text)
{
	size_t at;

	if (2 * s->count >= s->cap && grow_strings(s))
		return NULL;
	at = hash_text(text) & (s->cap - 1);
	for (; s->slots[at]; at = (at + 1) & (s->cap - 1))
		if (!strcmp(s->slots[at], text))
			return s->slots[at];
	s->slots[at] = strdup(text);
	if (s->slots[at])
		s->count++;
	return s->slots[at];
}

void moca_strings_free(struct moca_strings *s)
{
	size_t i;

	for (i = 0; i < s->cap; i++)
		free(s->slots[i]);
	free(s->slots);
}
