// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/uses.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/table.h"

static uint64_t hash_use(const struct moca_use *u)
{
	return moca_mix(u->ip ^ moca_mix((uint64_t)u->key << 32 | u->space));
}

static int same_use(const struct moca_use *a, const struct moca_use *b)
{
	return a->ip == b->ip && a->key == b->key && a->space == b->space;
}

static uint16_t tag_of(uint64_t hash)
{
	return (uint16_t)(hash >> 48 | 1);
}

/*
 * The entry that is like *key, or the free one where it would be: its number. Most
 * accesses of a trace with more instructions than there is room for find neither, and
 * tags are all that they read.
 */
static size_t find(const struct moca_uses *u, uint64_t hash,
		   const struct moca_use *key)
{
	size_t at = hash & (u->cap - 1);
	uint16_t tag = tag_of(hash);

	while (u->tags[at] &&
	       (u->tags[at] != tag || !same_use(&u->items[at], key)))
		at = (at + 1) & (u->cap - 1);
	return at;
}

static unsigned magnitude(const struct moca_use *u)
{
	return 63u - (unsigned)__builtin_clzll(moca_use_total(u) | 1);
}

/* Those with at least 2^least accesses, in a table of that size. 0 or -ENOMEM. */
static int rebuild(struct moca_uses *u, size_t cap, unsigned least)
{
	struct moca_uses n = *u;
	uint64_t hash;
	size_t i, at;

	n.items = moca_table_memory(cap, sizeof(*n.items));
	n.tags = calloc(cap, sizeof(*n.tags));
	if (!n.items || !n.tags) {
		free(n.items);
		free(n.tags);
		return -ENOMEM;
	}
	n.cap = cap;
	n.count = 0;
	for (i = 0; i < u->cap; i++) {
		if (!u->items[i].used || magnitude(&u->items[i]) < least)
			continue;
		hash = hash_use(&u->items[i]);
		at = find(&n, hash, &u->items[i]);
		n.items[at] = u->items[i];
		n.tags[at] = tag_of(hash);
		n.count++;
	}
	free(u->items);
	free(u->tags);
	*u = n;
	return 0;
}

/* Away with the half that has fewest accesses, or more where many have as few. */
static int forget(struct moca_uses *u)
{
	size_t of[64] = { 0 }, i, sum = 0;
	unsigned least = 0;

	for (i = 0; i < u->cap; i++)
		if (u->items[i].used)
			of[magnitude(&u->items[i])]++;
	while (2 * sum < u->count)
		sum += of[least++];
	u->forget_at = 2 * u->seen;
	return rebuild(u, u->cap, least);
}

/* Room for one more. 0 or -ENOMEM. */
static int fit(struct moca_uses *u)
{
	return 10 * u->count < 7 * u->cap ? 0 :
	       rebuild(u, u->cap ? 2 * u->cap : 8, 0);
}

static int add(struct moca_uses *u, const struct moca_observed *x)
{
	struct moca_use key = { .ip = x->ip, .key = x->key, .space = x->space };
	uint64_t hash = hash_use(&key);
	struct moca_use *to;
	size_t at;

	u->seen++;
	if (u->count < MOCA_USES_MAX && fit(u))
		return -ENOMEM;
	at = find(u, hash, &key);
	if (!u->tags[at] && u->count == MOCA_USES_MAX) {
		u->forgot = 1;
		if (u->seen < u->forget_at)
			return 0;
		if (forget(u))
			return -ENOMEM;
		at = find(u, hash, &key);
	}
	to = &u->items[at];
	if (!to->used) {
		*to = key;
		to->task = x->task;
		to->time_ns = x->time_ns;
		to->used = 1;
		u->tags[at] = tag_of(hash);
		u->count++;
	}
	if (x->type == MOCA_ACCESS_WRITE)
		to->writes += x->weight;
	else if (x->type == MOCA_ACCESS_UNKNOWN)
		to->other += x->weight;
	else
		to->reads += x->weight;
	return 0;
}

int moca_uses_add(struct moca_uses *u, const struct moca_observed *x,
		  size_t count)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < count; i++)
		if (x[i].ip && x[i].type != MOCA_ACCESS_EXEC)
			err = add(u, &x[i]);
	return err;
}

void moca_uses_free(struct moca_uses *u)
{
	free(u->items);
	free(u->tags);
	*u = (struct moca_uses){ 0 };
}
