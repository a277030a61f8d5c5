// SPDX-License-Identifier: GPL-2.0-or-later
/* Who uses a line that several tasks use, over all slices. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/counts/users.h"
#include "lib/base/table.h"

#define USERS_MAX (1u << 21)	/* some 100 MB with the hash's free places */

static uint64_t hash_user(const struct moca_counts_user *u)
{
	return moca_mix((uint64_t)(u->line - 1) << 32 | u->task);
}

static int same_user(const struct moca_counts_user *a,
		     const struct moca_counts_user *b)
{
	return a->line == b->line && a->task == b->task;
}

static int used_user(const struct moca_counts_user *u)
{
	return u->line != 0;
}

MOCA_TABLE(users, struct moca_counts_user, hash_user, same_user, used_user);

static int add(struct moca_counts_table *t, uint32_t line, uint32_t task,
	       uint64_t loads, uint64_t stores)
{
	struct moca_counts_user key = { .line = line + 1, .task = task }, *u;

	if (t->user_count < USERS_MAX &&
	    users_fit(&t->users, &t->user_cap, t->user_count))
		return -ENOMEM;
	u = users_at(t->users, t->user_cap, &key);
	if (!u->line) {
		if (t->user_count == USERS_MAX) {
			t->users_left_out++;
			return 0;
		}
		*u = key;
		t->user_count++;
	}
	u->loads += loads;
	u->stores += stores;
	return 0;
}

int counts_use(struct moca_counts_table *t, struct moca_counts_line *l,
	       const struct moca_counted *x)
{
	int err = 0;

	if (l->only == x->task)
		return 0;
	/* Its first one has had it for itself so far. */
	if (l->only != MOCA_COUNTS_MANY)
		err = add(t, l->number, l->only, l->loads, l->stores);
	l->only = MOCA_COUNTS_MANY;
	return err ? err : add(t, l->number, x->task, x->loads, x->stores);
}

static uint64_t accesses(const struct moca_counts_user *u)
{
	return u->loads + u->stores;
}

/* By line, and the most first. */
static int compare(const void *a, const void *b)
{
	const struct moca_counts_user *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (accesses(x) != accesses(y))
		return accesses(x) > accesses(y) ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

void counts_sort_users(struct moca_counts_table *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->user_cap; i++)
		if (t->users[i].line)
			t->users[n++] = t->users[i];
	t->user_count = n;
	if (n)
		qsort(t->users, n, sizeof(*t->users), compare);
}

const struct moca_counts_user *
moca_counts_users(const struct moca_counts_table *t,
		  const struct moca_counts_line *l, size_t *count)
{
	size_t lo = 0, hi = t->user_count, mid, end;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->users[mid].line < l->number + 1)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < t->user_count &&
		       t->users[end].line == l->number + 1;)
		end++;
	*count = end - lo;
	return t->users + lo;
}

uint32_t moca_counts_owner(const struct moca_counts_table *t,
			   const struct moca_counts_line *l)
{
	const struct moca_counts_user *u;
	size_t n;

	if (l->only != MOCA_COUNTS_MANY)
		return l->only;
	u = moca_counts_users(t, l, &n);
	/* Who set it up, or read the result, does not matter. */
	return n && 20 * accesses(u) >= 19 * (l->loads + l->stores) ?
		       u->task : MOCA_COUNTS_MANY;
}
