// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/certify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/fault/memory.h"
#include "collect/run/certificate.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"
#include "lib/base/vec.h"
#include "lib/format/meta.h"

/* Told by name, the largest first; the others in sum. */
#define SPOTS_TOLD 32
#define SPOTS_MAX 4096

/* All mappings of one name, of all processes. */
struct spot {
	char *name;
	uint64_t blind;		/* pages that exist and have no record */
	uint64_t known;		/* pages that have one */
};

struct blind_spots {
	struct spot *list;
	size_t count, room;
	struct spot others;	/* beyond SPOTS_MAX */
	char *why;
	uint64_t unwitnessed;	/* address spaces that were never looked at */
};

/* A mapping that the witness has looked at, of one address space. */
struct certify_range {
	struct certify_range *next;
	uint64_t start, end;
	char name[];
};

struct blind_spots *certify_new(void)
{
	return calloc(1, sizeof(struct blind_spots));
}

void certify_free(struct blind_spots *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->count; i++)
		free(b->list[i].name);
	free(b->list);
	free(b->why);
	free(b);
}

void certify_reason(struct blind_spots *b, const char *why)
{
	if (!b->why)
		b->why = strdup(why);
}

static struct spot *find_spot(struct blind_spots *b, const char *name)
{
	struct spot *p;
	size_t i;

	for (i = 0; i < b->count; i++)
		if (!strcmp(b->list[i].name, name))
			return &b->list[i];
	if (i == SPOTS_MAX)
		return &b->others;
	if (moca_vec_fit(b->list, b->room, i + 1))
		return &b->others;
	p = &b->list[i];
	*p = (struct spot){ .name = strdup(name) };
	if (!p->name)
		return &b->others;
	b->count++;
	return p;
}

/* --- what the witness says ------------------------------------------------ */

static void remember(struct mm *mm, uint64_t start, uint64_t end,
		     const char *name)
{
	size_t len = strlen(name) + 1;
	struct certify_range *r;

	for (r = mm->ranges; r; r = r->next)
		if (r->start == start && !strcmp(r->name, name)) {
			if (end > r->end)
				r->end = end;
			return;
		}
	r = malloc(sizeof(*r) + len);
	if (!r)
		return;
	r->start = start;
	r->end = end;
	memcpy(r->name, name, len);
	r->next = mm->ranges;
	mm->ranges = r;
}

void certify_witness(struct blind_spots *b, const struct message *m)
{
	struct mm *mm = mm_of(m->space);

	if (!mm->pages)
		mm->pages = pageset_new();
	if (!mm->pages)
		return;
	for (size_t i = 0; i < m->extent_count; i++)
		pageset_exists(mm->pages, m->extents[i].start,
			       m->extents[i].end);
	remember(mm, m->start, m->end, m->event.name);
}

/* The pages of [start, end) that the witness knows, by mapping. */
static void settle(struct blind_spots *b, struct moca_certificate *k,
		   struct mm *mm, uint64_t start, uint64_t end)
{
	struct certify_range **p = &mm->ranges, *r;

	while ((r = *p)) {
		uint64_t from = r->start > start ? r->start : start;
		uint64_t to = r->end < end ? r->end : end;
		uint64_t blind, known;
		struct spot *s;

		if (from >= to) {
			p = &r->next;
			continue;
		}
		pageset_blind(mm->pages, from, to, &blind, &known);
		if (blind) {
			s = find_spot(b, r->name);
			s->blind += blind;
			s->known += known;
			k->pages_blind += blind;
		}
		if (from > r->start && to < r->end)
			remember(mm, to, r->end, r->name);
		if (from > r->start)
			r->end = from;
		else
			r->start = to;
		if (r->start < r->end) {
			p = &r->next;
			continue;
		}
		*p = r->next;
		free(r);
	}
}

void certify_drop(struct blind_spots *b, struct moca_certificate *k,
		  const struct message *m)
{
	struct mm *mm = mm_of(m->space);
	uint64_t seen;

	if (!mm->pages)
		mm->pages = pageset_new();
	if (!mm->pages)
		return;
	for (size_t i = 0; i < m->extent_count; i++) {
		pageset_settle(mm->pages, m->extents[i].start,
			       m->extents[i].end, &k->pages_touched,
			       &k->pages_seen);
		pageset_clear(mm->pages, m->extents[i].start,
			      m->extents[i].end);
	}
	if (!m->certified)
		settle(b, k, mm, m->start, m->end);
	seen = pageset_clear(mm->pages, m->start, m->end);
	if (!m->certified)
		k->pages_other += seen;
}

void certify_end(struct blind_spots *b, struct moca_certificate *k,
		 struct mm *mm)
{
	if (mm->pages) {
		settle(b, k, mm, 0, USER_END);
		k->pages_other += pageset_clear(mm->pages, 0, USER_END);
	}
	while (mm->ranges) {
		struct certify_range *next = mm->ranges->next;

		free(mm->ranges);
		mm->ranges = next;
	}
	b->unwitnessed += mm->witnessed && !mm->looked_at;
	pageset_free(mm->pages);
	mm->pages = NULL;
}

/* --- what the user is told ------------------------------------------------ */

static int by_blind(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->blind != y->blind)
		return x->blind < y->blind ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void describe_spots(const struct blind_spots *b,
			   const struct moca_certificate *k, struct moca_meta *m)
{
	struct spot rest = b->others, *list;
	char line[4200];

	while (moca_meta_get(m, "blind"))
		moca_meta_unset(m, "blind");
	if (b->why)
		moca_meta_set(m, "certificate.reason", "%s", b->why);
	if (b->unwitnessed)
		moca_meta_set(m, "certificate.unwitnessed", "%lu",
			      b->unwitnessed);
	/* Where not all was written, nobody can tell what of it was seen. */
	if (!k->pages_blind)
		return;
	list = malloc((b->count + 1) * sizeof(*list));
	if (!list)
		return;
	if (b->count)
		memcpy(list, b->list, b->count * sizeof(*list));
	qsort(list, b->count, sizeof(*list), by_blind);
	for (size_t i = 0; i < b->count; i++) {
		if (i >= SPOTS_TOLD) {
			rest.blind += list[i].blind;
			rest.known += list[i].known;
			continue;
		}
		snprintf(line, sizeof(line), "%lu %lu %s", list[i].blind,
			 list[i].known, list[i].name);
		moca_meta_add(m, "blind", line);
	}
	if (rest.blind) {
		snprintf(line, sizeof(line), "%lu %lu other mappings",
			 rest.blind, rest.known);
		moca_meta_add(m, "blind", line);
	}
	free(list);
}

void certify_describe(const struct blind_spots *b,
		      const struct moca_certificate *k, struct moca_meta *m)
{
	certificate_describe(k, m);
	moca_meta_set(m, "certificate.pages_blind", "%lu", k->pages_blind);
	describe_spots(b, k, m);
}

const char *certify_sentence(const struct blind_spots *b,
			     const struct moca_certificate *k, char *buf,
			     size_t size)
{
	return certificate_sentence(k, b->why, buf, size);
}
