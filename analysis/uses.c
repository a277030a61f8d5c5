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

static int used_use(const struct moca_use *u)
{
	return u->used;
}

MOCA_TABLE(uses, struct moca_use, hash_use, same_use, used_use);

static unsigned magnitude(const struct moca_use *u)
{
	return 63u - (unsigned)__builtin_clzll(moca_use_total(u) | 1);
}

/* Away with the half that has fewest accesses, or more where many have as few. */
static int forget(struct moca_uses *u)
{
	size_t of[64] = { 0 }, i, sum = 0;
	struct moca_use *old = u->items, *to;
	unsigned least = 0;

	to = moca_table_memory(u->cap, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (i = 0; i < u->cap; i++)
		if (old[i].used)
			of[magnitude(&old[i])]++;
	while (2 * sum < u->count)
		sum += of[least++];
	u->items = to;
	u->count = 0;
	u->forget_at = 2 * u->seen;
	for (i = 0; i < u->cap; i++) {
		if (!old[i].used || magnitude(&old[i]) < least)
			continue;
		*uses_at(to, u->cap, &old[i]) = old[i];
		u->count++;
	}
	free(old);
	return 0;
}

static int add(struct moca_uses *u, const struct moca_observed *x)
{
	struct moca_use key = { .ip = x->ip, .key = x->key, .space = x->space };
	struct moca_use *to;

	u->seen++;
	if (u->count < MOCA_USES_MAX &&
	    uses_fit(&u->items, &u->cap, u->count))
		return -ENOMEM;
	to = uses_at(u->items, u->cap, &key);
	if (!to->used && u->count == MOCA_USES_MAX) {
		u->forgot = 1;
		if (u->seen < u->forget_at)
			return 0;
		if (forget(u))
			return -ENOMEM;
		to = uses_at(u->items, u->cap, &key);
	}
	if (!to->used) {
		*to = key;
		to->task = x->task;
		to->time_ns = x->time_ns;
		to->used = 1;
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
	*u = (struct moca_uses){ 0 };
}
