// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines that threads take turns at. A task's accesses wait for what it allocates
 * next (analysis/objects/pending.c): all of one task's may come before any of the
 * next one's. So all lines are kept until the table is full. Most pages are of one
 * thread, or met once by each: then only those stay, and are looked at from there on,
 * to which another task came than the first, which a table of pages tells that
 * forgets what has the same hash.
 */
#include "analysis/profile/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/passes.h"
#include "lib/base/table.h"

#define PAGES (1u << 17)	/* places; 8 bytes each */
#define USERS_MAX (1u << 16)	/* 88 bytes each, with the hash's gaps 11 MB */

#define TASK_BITS 22		/* of a task's number */
#define TAKEN ((uint64_t)1 << TASK_BITS)	/* several tasks had it */
#define TAG_SHIFT (TASK_BITS + 1)

struct line_walk {
	uint64_t *pages;	/* task, TAKEN, and the top of the page's hash */
	struct moca_line_user *users;
	size_t count, cap;
	uint64_t left_out;
	int chosen;		/* only lines of pages that several tasks had */
	int err;
};

static uint64_t hash_user(const struct moca_line_user *u)
{
	return moca_mix(u->line ^ moca_mix((uint64_t)u->space << 32 | u->task));
}

static int same_user(const struct moca_line_user *a,
		     const struct moca_line_user *b)
{
	return a->line == b->line && a->task == b->task && a->space == b->space;
}

static int used_user(const struct moca_line_user *u)
{
	return (u->reads | u->writes) != 0;
}

MOCA_TABLE(users, struct moca_line_user, hash_user, same_user, used_user);

struct line_walk *lines_begin(void)
{
	struct line_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->pages = calloc(PAGES, sizeof(*w->pages));
	if (w->pages)
		return w;
	free(w);
	return NULL;
}

void lines_free(struct line_walk *w)
{
	if (!w)
		return;
	free(w->pages);
	free(w->users);
	free(w);
}

static uint64_t hash_page(uint64_t page, uint32_t space)
{
	return moca_mix(page ^ (uint64_t)space << 44);
}

/* Did another task use the page before? */
static int taken(struct line_walk *w, const struct moca_observed *x)
{
	uint64_t h = hash_page(x->addr >> PAGE_SHIFT, x->space);
	uint64_t *p = &w->pages[h & (PAGES - 1)];
	uint64_t own = h >> TAG_SHIFT << TAG_SHIFT |
		       (x->task & (TAKEN - 1)), is = *p;

	if (!is || is >> TAG_SHIFT != h >> TAG_SHIFT)
		*p = own;
	else if ((is & (TAKEN - 1)) != (own & (TAKEN - 1)))
		*p = is | TAKEN;
	return (*p & TAKEN) != 0;
}

/* The table is full: only lines of pages that several tasks had stay. */
static int choose(struct line_walk *w)
{
	struct moca_line_user *old = w->users, *u;
	size_t i, n = w->cap;
	uint64_t h, is;

	w->chosen = 1;
	w->users = NULL;
	w->cap = w->count = 0;
	for (i = 0; i < n && !w->err; i++) {
		u = &old[i];
		h = hash_page(u->line / ((1u << PAGE_SHIFT) / MOCA_LINE), u->space);
		is = w->pages[h & (PAGES - 1)];
		if (!used_user(u) || !(is & TAKEN) ||
		    is >> TAG_SHIFT != h >> TAG_SHIFT)
			continue;
		if (users_fit(&w->users, &w->cap, w->count))
			w->err = -ENOMEM;
		else
			*users_at(w->users, w->cap, u) = *u;
		w->count++;
	}
	free(old);
	return w->err;
}

static void vote(struct moca_line_user *u, const struct moca_observed *x,
		 uint32_t write)
{
	if (write > u->ip_writes) {
		u->ip_writes = 1;
		u->ip_votes = 0;
	}
	if (write < u->ip_writes)
		return;
	if (u->ip_votes && u->ip != x->ip) {
		u->ip_votes--;
		return;
	}
	u->ip = x->ip;
	u->ip_ns = x->time_ns;
	u->ip_votes++;
}

void lines_take(struct line_walk *w, const struct moca_observed *x,
		unsigned weight)
{
	struct moca_line_user *u, key = {
		.line = x->addr / MOCA_LINE, .space = x->space,
		.task = x->task, .key = x->key,
	};
	uint64_t byte = (uint64_t)1 << x->addr % MOCA_LINE;
	int write = x->type == MOCA_ACCESS_WRITE, is_taken;

	if (w->err || x->type == MOCA_ACCESS_EXEC)
		return;
	is_taken = taken(w, x);
	if (w->count == USERS_MAX && !w->chosen && choose(w))
		return;
	if (w->chosen && !is_taken)
		return;
	if (w->count < USERS_MAX && users_fit(&w->users, &w->cap, w->count)) {
		w->err = -ENOMEM;
		return;
	}
	u = users_at(w->users, w->cap, &key);
	if (!used_user(u)) {
		if (w->count == USERS_MAX) {
			w->left_out++;
			return;
		}
		*u = key;
		u->first = (uint32_t)x->interval;
		w->count++;
	}
	u->reads += !write;
	u->writes += write;
	u->last = (uint32_t)x->interval;
	u->weight += weight;
	u->read_bytes |= write ? 0 : byte;
	u->write_bytes |= write ? byte : 0;
	vote(u, x, (uint32_t)write);
}

static int compare(const void *a, const void *b)
{
	const struct moca_line_user *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->writes != y->writes)
		return x->writes > y->writes ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/*
 * Who had the memory before another got it takes no turns with that one: copies
 * those of the k users of a line to `to` whose time another's intersects. How many.
 * to may be u, or below it: what is written over was copied, or is not wanted.
 */
static size_t copy_rivals(struct moca_line_user *to,
			  const struct moca_line_user *u, size_t k)
{
	size_t i, j, n = 0;

	for (i = 0; i < k; i++) {
		for (j = 0; j < k; j++)
			if (j != i && u[j].first <= u[i].last &&
			    u[i].first <= u[j].last)
				break;
		if (j < k)
			to[n++] = u[i];
	}
	return n;
}

int lines_end(struct moca_lines *out, struct line_walk *w,
	      const struct moca_objects *o, unsigned unit)
{
	struct moca_line_user *u = w->users;
	size_t i, k, rivals, n = 0;
	int err = w->err;

	for (i = 0; i < w->cap; i++)
		if (used_user(&u[i])) {
			u[n] = u[i];
			u[n++].key = moca_objects_row_of(o, u[i].key)->id;
		}
	if (n)
		qsort(u, n, sizeof(*u), compare);
	*out = (struct moca_lines){ .users = u, .unit = unit,
				    .left_out = w->left_out };
	for (i = 0; i < n; i += k) {
		struct moca_lines all = { .users = u, .count = n };

		k = moca_line_users(&all, i);
		rivals = copy_rivals(u + out->count, u + i, k);
		/* The first one writes most. */
		if (rivals && u[out->count].writes)
			out->count += rivals;
	}
	w->users = NULL;
	lines_free(w);
	return err;
}
