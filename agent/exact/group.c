// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Accesses of a block by registers whose difference is known are counted
 * together, by one look at their addresses, where that costs least: where no
 * flags and a register are needed. What a register holds is told by a *version*,
 * that an instruction of unknown effect gives it anew, and an offset to that.
 */
#include "agent/exact/translate.h"

#define SPAN_MAX 512		/* bytes; more, and they leave a page too often */

static uint32_t versions[REGION_INSNS][16];
static int64_t offsets[REGION_INSNS][16];
static uint32_t last_version;

static void new_block(int at)
{
	for (int r = 0; r < 16; r++) {
		versions[at][r] = ++last_version;
		offsets[at][r] = 0;
	}
}

/* What x leaves in the registers, as the state ahead of the one after it. */
static void step(const struct insn *x, int at, int to)
{
	uint32_t writes = x->what.writes;

	memcpy(versions[to], versions[at], sizeof(versions[to]));
	memcpy(offsets[to], offsets[at], sizeof(offsets[to]));
	if (x->what.move_to >= 0) {
		versions[to][x->what.move_to] = versions[at][x->what.move_from];
		offsets[to][x->what.move_to] = offsets[at][x->what.move_from] +
					  x->what.move_add;
		writes &= ~X86_BIT(x->what.move_to);
	}
	for (int r = 0; r < 16; r++)
		if (writes & X86_BIT(r)) {
			versions[to][r] = ++last_version;
			offsets[to][r] = 0;
		}
}

static int ends_block(const struct work *w, int i)
{
	return i == w->count || w->insns[i].leader ||
	       w->insns[i - 1].next != i;
}

/* The displacement of a, had its registers offset 0. */
static int64_t normal_disp(const struct x86_mem *a, int at)
{
	int64_t d = a->disp;

	if (a->base >= 0)
		d += offsets[at][a->base];
	if (a->index >= 0)
		d += offsets[at][a->index] * a->scale;
	return d;
}

static int fits(const struct group *g, const struct x86_mem *a, int at,
		int64_t d)
{
	int64_t low = d < g->low ? d : g->low, high = d > g->high ? d : g->high;

	if (a->rip != g->mem.rip || a->seg != g->mem.seg || a->narrow ||
	    g->mem.narrow)
		return 0;
	if (moca_exact.precise && at != g->first)
		return 0;
	if (a->rip) {
		if ((uint64_t)low >> moca_exact.shift !=
		    (uint64_t)high >> moca_exact.shift)
			return 0;
	} else if (g->base_version !=
			   (a->base >= 0 ? versions[at][a->base] : 0) ||
		   g->index_version !=
			   (a->index >= 0 ? versions[at][a->index] : 0) ||
		   (a->index >= 0 && a->scale != g->mem.scale) ||
		   high - low > SPAN_MAX ||
		   high - low >= 1l << moca_exact.shift) {
		return 0;
	}
	if (g->count < GROUP_MEMBERS)
		return 1;
	for (int i = 0; i < g->count; i++)
		if (g->members[i].disp == d)
			return 1;
	return 0;
}

static void join(struct group *g, const struct x86_mem *a, int64_t d)
{
	int i = 0;

	while (i < g->count && g->members[i].disp != d)
		i++;
	if (i == g->count) {
		g->members[i] = (struct member){ .disp = d };
		g->count++;
	}
	g->members[i].load += a->load;
	g->members[i].store += a->store;
	if (d < g->low)
		g->low = d;
	if (d > g->high)
		g->high = d;
}

static void add(struct work *w, int from, int block, int at,
		const struct x86_mem *a)
{
	int64_t d = normal_disp(a, at);
	struct group *g;

	for (int i = w->group_count - 1; i >= from; i--)
		if (fits(&w->groups[i], a, at, d)) {
			join(&w->groups[i], a, d);
			w->groups[i].place = at;	/* the last, for now */
			return;
		}
	g = &w->groups[w->group_count++];
	memset(g, 0, offsetof(struct group, members));
	g->first = g->place = at;
	g->block = block;
	g->mem = *a;
	g->base_version = a->base >= 0 ? versions[at][a->base] : 0;
	g->index_version = a->index >= 0 ? versions[at][a->index] : 0;
	g->low = g->high = d;
	join(g, a, d);
}

/* A register that holds that version ahead of instruction at, or -1. */
static int holder(uint32_t version, int at, int wanted)
{
	if (versions[at][wanted] == version)
		return wanted;
	for (int r = 0; r < 16; r++)
		if (versions[at][r] == version)
			return r;
	return -1;
}

static int scratch_at(const struct insn *x, const struct x86_mem *m)
{
	/* Those that need no REX prefix first. */
	static const int8_t order[] = { RAX, RCX, RDX, RSI, RDI, RBX, RBP,
					8, 9, 10, 11, 12, 13, 14, 15 };

	if (moca_exact.precise)
		return -1;
	for (unsigned int i = 0; i < sizeof(order); i++)
		if (!(x->live & X86_BIT(order[i])) && order[i] != m->base &&
		    order[i] != m->index)
			return order[i];
	return -1;
}

/* g's operand as it is ahead of instruction at. 0, or -1: not known there. */
static int operand_at(const struct group *g, int at, struct x86_mem *m)
{
	*m = g->mem;
	m->disp = 0;
	if (m->base >= 0) {
		int r = holder(g->base_version, at, m->base);

		if (r < 0)
			return -1;
		m->base = (int8_t)r;
		m->disp -= offsets[at][r];
	}
	if (m->index >= 0) {
		int r = holder(g->index_version, at, m->index);

		if (r < 0 || r == RSP)
			return -1;
		m->index = (int8_t)r;
		m->disp -= offsets[at][r] * m->scale;
	}
	return 0;
}

static int fits_32(int64_t d)
{
	return d == (int32_t)d;
}

/* Where to count g: at its first access or ahead of it. */
static void place(struct work *w, struct group *g)
{
	int best = -1, last = g->place;
	struct x86_mem m;

	for (int at = g->first; at >= g->block; at--) {
		const struct insn *x = &w->insns[at];
		int scratch, score;

		if (operand_at(g, at, &m))
			break;
		if (!g->mem.rip && (!fits_32(g->low + m.disp) ||
				    !fits_32(g->high + m.disp)))
			continue;
		scratch = scratch_at(x, &m);
		score = !(x->live & X86_FLAGS) * 2 + (scratch >= 0 || g->mem.rip);
		if (score <= best)
			continue;
		best = score;
		g->place = at;
		g->scratch = (int8_t)scratch;
		g->flags_dead = !(x->live & X86_FLAGS);
		if (score == 3 || moca_exact.precise)
			break;
	}
	if (best < 0) {
		/* Its own displacement is fine, so there is one. */
		g->place = g->first;
		g->scratch = -1;
		g->flags_dead = 0;
	}
	operand_at(g, g->place, &m);
	g->mem = m;
	for (int i = 0; i < g->count; i++)
		g->members[i].disp += m.disp;
	g->low += m.disp;
	g->high += m.disp;
	g->next = w->insns[g->place].groups;
	w->insns[g->place].groups = (int32_t)(g - w->groups);
	for (int i = g->place + 1; i <= last; i++)
		w->insns[i].balanced = 0;
}

void moca_exact_group(struct work *w)
{
	int from = 0, block = 0;

	last_version = 0;
	w->group_count = 0;
	for (int i = 0; i < w->count; i++)
		w->insns[i].balanced = 1;
	for (int i = 0; i < w->count; i++) {
		const struct insn *x = &w->insns[i];

		if (!i || ends_block(w, i)) {
			for (; from < w->group_count; from++)
				place(w, &w->groups[from]);
			block = i;
			new_block(i);
		}
		if (!w->uncounted)
			for (int k = 0; k < x->what.accesses; k++)
				add(w, from, block, i, &x->what.access[k]);
		if (i + 1 < w->count)
			step(x, i, i + 1);
	}
	for (; from < w->group_count; from++)
		place(w, &w->groups[from]);
}
