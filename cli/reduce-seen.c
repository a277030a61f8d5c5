// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reduce-seen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/base/vec.h"

int reduce_seen_add(struct reduce_seen *s, const char *path, int profile)
{
	char *copy = strdup(path);

	if (!copy || moca_vec_fit(s->items, s->room, s->count + 1)) {
		free(copy);
		return -ENOMEM;
	}
	s->items[s->count++] = (struct reduce_seen_item){ copy, profile, 0 };
	return 0;
}

/* Hosts may have the folder at other places: the last part of a path counts. */
static uint64_t name_sum(const char *path)
{
	size_t len = strlen(path), from;

	while (len && path[len - 1] == '/')
		len--;
	for (from = len; from && path[from - 1] != '/'; from--)
		;
	return XXH64(path + from, len - from, 0);
}

uint64_t reduce_seen_sum(const struct reduce_seen_item *x)
{
	uint64_t sum = name_sum(x->path);
	char buf[16384], *file;
	FILE *f;
	size_t n;

	if (asprintf(&file, "%s%s", x->path, x->profile ? "" : "/metadata") < 0)
		return sum;
	f = fopen(file, "re");
	free(file);
	if (!f)
		return sum;
	/* fread() fills the buffer, but at the end. */
	while ((n = fread(buf, 1, sizeof(buf), f)))
		sum = XXH64(buf, n, sum);
	fclose(f);
	return sum;
}

void reduce_seen_free(struct reduce_seen *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->items[i].path);
	free(s->items);
	*s = (struct reduce_seen){ 0 };
}
