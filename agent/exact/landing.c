// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/landing.h"

#include "agent/exact/cache.h"
#include "agent/exact/emit.h"

/* A longer chain takes as long as C does. */
#define CHAIN_MAX 64

#define SLOTS (1u << JUMP_BITS)

struct landing {
	uint64_t pc;
	uint64_t code;
	uint64_t *other; /* where its code goes if pc was not meant */
	struct landing *next;
	int shown;
};

/* By the low bits, as moca_exact.jumps. */
static struct landing **heads;

static struct landing **head_of(uint64_t pc)
{
	if (!heads)
		heads = moca_exact_map(SLOTS * sizeof(struct landing *));
	return &heads[pc % SLOTS];
}

/* Whoever reads it, in whichever order, finds a chain that ends. */
static void lead(uint64_t *place, const struct landing *l)
{
	__atomic_store_n(place, l ? l->code : (uint64_t)moca_exact_exit_jump,
			 __ATOMIC_RELEASE);
}

/* Flags are kept; rax is where to, and it and rcx are in the spill slots. */
static uint8_t *write_code(uint8_t *p, const uint64_t *negative,
			   const uint64_t *other, uint64_t host)
{
	uint8_t *jump;

	emit_load_literal(&p, RCX, negative);
	emit_lea_sum(&p, RCX, RAX, RCX);
	*p++ = 0xe3; /* jrcxz */
	jump = p++;
	emit_jump_literal(&p, other);
	*jump = (uint8_t)(p - jump - 1);
	emit_gs_load(&p, RAX, SPILL(0));
	emit_gs_load(&p, RCX, SPILL(1));
	emit_jump(&p, (uint8_t *)host);
	return p;
}

struct landing *moca_exact_landing(uint64_t pc, uint64_t host)
{
	struct cache *k = moca_exact_cache_near(host, host + 1, 65536 + 256);
	uint64_t *negative, *other;
	struct landing *l;

	if (!k)
		return NULL;
	negative = moca_exact_literal(k, -pc);
	other = moca_exact_literal(k, 0);
	if (!negative || !other)
		return NULL;
	l = moca_exact_alloc(sizeof(*l));
	l->pc = pc;
	l->code = (uint64_t)k->at;
	l->other = other;
	lead(l->other, NULL);
	k->at = write_code(k->at, negative, other, host);
	return l;
}

static int length(const struct landing *l)
{
	int n = 0;

	for (; l; l = l->next)
		n++;
	return n;
}

/* C shows again those that are still jumped to. */
static void hide_all(struct landing **head)
{
	for (struct landing *l = *head; l; l = l->next)
		l->shown = 0;
	*head = NULL;
}

void moca_exact_landing_show(struct landing *l)
{
	struct landing **head = head_of(l->pc);

	if (l->shown)
		return;
	if (length(*head) >= CHAIN_MAX)
		hide_all(head);
	l->next = *head;
	lead(l->other, l->next);
	*head = l;
	l->shown = 1;
	lead(&moca_exact.jumps[l->pc % SLOTS], l);
}

void moca_exact_landing_hide(struct landing *l)
{
	struct landing **at;
	uint64_t *place;

	if (!l || !l->shown)
		return;
	at = head_of(l->pc);
	place = &moca_exact.jumps[l->pc % SLOTS];
	while (*at != l) {
		place = (*at)->other;
		at = &(*at)->next;
	}
	*at = l->next;
	lead(place, l->next);
	l->shown = 0;
}
