// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/strings.h"

#include <errno.h>
#include <string.h>

#include "lib/base/vec.h"

int64_t moca_strings_number(struct moca_strings *s, const char *text)
{
	uint64_t hash = moca_hash_bytes(0, text, strlen(text));
	char *copy;
	uint32_t i;

	moca_index_each(i, &s->index, hash)
		if (!strcmp(s->items[i], text))
			return i;
	if (s->count >= MOCA_INDEX_NONE ||
	    moca_vec_fit(s->items, s->room, s->count + 1))
		return -ENOMEM;
	copy = strdup(text);
	if (!copy || moca_index_add(&s->index, hash, (uint32_t)s->count)) {
		free(copy);
		return -ENOMEM;
	}
	s->items[s->count++] = copy;
	return (int64_t)s->count - 1;
}

const char *moca_strings_intern(struct moca_strings *s, const char *text)
{
	int64_t i = moca_strings_number(s, text);

	return i < 0 ? NULL : s->items[i];
}

void moca_strings_free(struct moca_strings *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->items[i]);
	free(s->items);
	moca_index_free(&s->index);
	*s = (struct moca_strings){ 0 };
}
