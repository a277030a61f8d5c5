// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/native/witness.h"

#include <stdlib.h>
#include <string.h>

#include "collect/run/pageset.h"
#include "collect/run/recorder.h"
#include "lib/base/vec.h"

#define PAGE 4096ul

void native_witness_begin(struct native_witness *w)
{
	w->count = w->late_count = w->space_count = 0;
	w->looking = 1;
}

void native_witness_look(struct native_witness *w, struct native_space *s)
{
	if (!moca_vec_fit(w->spaces, w->space_room, w->space_count + 1))
		w->spaces[w->space_count++] = s;
}

void native_witness_add(struct native_witness *w, struct native_space *s,
		 uint64_t start, uint64_t end)
{
	if (end <= start || end > USER_END)
		return;
	if (moca_vec_fit(w->runs, w->room, w->count + 1)) {
		w->lost += (end - start) / PAGE;
		return;
	}
	w->runs[w->count++] = (struct native_run){ s, start, end };
}

void native_witness_sample(struct native_witness *w, struct native_space *s,
		    uint64_t addr)
{
	if (!w->looking)
		return;
	if (moca_vec_fit(w->late, w->late_room, w->late_count + 1)) {
		w->lost++;
		return;
	}
	w->late[w->late_count++] = (struct native_page){ s, addr };
}

/* The page has no sample in this interval: 1. */
static int judge_page(struct native_witness *w, struct native_space *s,
		      uint64_t addr, struct moca_certificate *cert)
{
	struct page_block *b = pageset_block(s->pages, addr, 1);
	unsigned int p = (addr >> 12) % BLOCK_PAGES;
	uint64_t bit = 1ull << (p % 64);

	w->touched++;
	if (!b) {
		w->lost++;
		return 0;
	}
	if (!(b->exists[p / 64] & bit) && !(b->seen[p / 64] & bit))
		cert->pages_touched++;
	b->exists[p / 64] |= bit;
	if (b->faulted[p / 64] & bit)
		return 0;
	w->unseen++;
	return 1;
}

static void visit_new(struct page_block *b, void *arg)
{
	pageset_zapped(b);
}

void native_witness_judge(struct native_witness *w, struct moca_certificate *cert,
		   void (*told)(void *arg, struct native_space *s, uint64_t start,
				uint64_t end), void *arg)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct native_run *r = &w->runs[i];
		uint64_t open = 0;

		for (uint64_t at = r->start; at < r->end; at += PAGE) {
			if (judge_page(w, r->space, at, cert)) {
				open = open ? open : at;
				continue;
			}
			if (open)
				told(arg, r->space, open, at);
			open = 0;
		}
		if (open)
			told(arg, r->space, open, r->end);
	}
	for (size_t i = 0; i < w->space_count; i++)
		pageset_walk(w->spaces[i]->pages, 0, USER_END, visit_new, NULL);
	/* What had a sample meanwhile may not fault again in this interval. */
	for (size_t i = 0; i < w->late_count; i++) {
		const struct native_page *l = &w->late[i];
		struct page_block *b = pageset_block(l->space->pages, l->addr, 1);
		unsigned int p = (l->addr >> 12) % BLOCK_PAGES;

		if (b)
			b->faulted[p / 64] |= 1ull << (p % 64);
	}
	w->looking = 0;
}

static void visit_count(struct page_block *b, void *arg)
{
	struct native_witness *w = arg;

	for (size_t i = 0; i < BLOCK_WORDS; i++)
		w->unlooked += (unsigned int)__builtin_popcountll(b->faulted[i]);
}

void native_witness_forget(struct native_witness *w, struct native_space *s)
{
	if (s->pages)
		pageset_walk(s->pages, 0, USER_END, visit_count, w);
}

void native_witness_free(struct native_witness *w)
{
	free(w->runs);
	free(w->late);
	free(w->spaces);
}
