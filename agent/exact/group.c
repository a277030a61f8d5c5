// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Accesses of a block by registers whose difference is known are counted
 * together, by one look at their addresses, where that costs least: where no
 * flags and a register are needed.
 */
#include "agent/exact/translate.h"

#define SPAN_MAX 512		/* bytes; more, and they leave a page too often */

static struct x86_values values[REGION_INSNS];	/* ahead of each */
static uint32_t last_version;

static int fits(const struct work *w, const struct group *g,
		const struct x86_mem *a, int at)
{
	int64_t span = 1l << moca_exact.shift, d = moca_x86_disp(a, &values[at]);

	if (w->precise && at != g->first)
		return 0;
	/* Accesses whose address is known must be in one granule. */
	if (a->rip && (d ^ g->what.low) >> moca_exact.shift)
		return 0;
	return moca_x86_group_takes(&g->what, a, &values[at],
				    span > SPAN_MAX && !a->rip ? SPAN_MAX :
								 span - 1);
}

/* Returns which group it is in. */
static int16_t add(struct work *w, int from, int block, int at,
		   const struct x86_mem *a)
{
	struct group *g;
	int i = w->group_count - 1;

	while (i >= from && !fits(w, &w->groups[i], a, at))
		i--;
	if (i >= from) {
		g = &w->groups[i];
	} else {
		i = w->group_count++;
		g = &w->groups[i];
		memset(g, 0, offsetof(struct group, members));
		g->first = at;
		g->block = block;
		g->what.members = g->members;
		g->what.room = GROUP_MEMBERS;
		moca_x86_group_begin(&g->what, a, &values[at]);
	}
	g->place = at;		/* the last, for now */
	moca_x86_group_put(&g->what, a, &values[at]);
	return (int16_t)i;
}

/*
 * A register that holds that version ahead of instruction at, or -1. It is one that
 * the program needs: another may have been taken to count with.
 */
static int holder(const struct work *w, uint32_t version, int at, int wanted)
{
	uint32_t live = w->insns[at].live;

	if (values[at].version[wanted] == version && live & X86_BIT(wanted))
		return wanted;
	for (int r = 0; r < 16; r++)
		if (values[at].version[r] == version && live & X86_BIT(r))
			return r;
	return -1;
}

/* Is a register dead ahead of x? If handlers of faults see all of them, none is. */
static int has_dead(const struct work *w, const struct insn *x)
{
	return !w->precise && !w->kept && (X86_GPRS & ~x->live);
}

/* g's operand as it is ahead of instruction at. 0, or -1: not known there. */
static int operand_at(const struct work *w, const struct group *g, int at,
		      struct x86_mem *m)
{
	*m = g->what.mem;
	m->disp = 0;
	if (m->base >= 0) {
		int r = holder(w, g->what.base_version, at, m->base);

		if (r < 0)
			return -1;
		m->base = (int8_t)r;
		m->disp -= values[at].plus[r];
	}
	if (m->index >= 0) {
		int r = holder(w, g->what.index_version, at, m->index);

		if (r < 0 || r == RSP)
			return -1;
		m->index = (int8_t)r;
		m->disp -= values[at].plus[r] * m->scale;
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
	int best = -1, last = g->place, good = w->kept ? 2 : 3;
	struct x86_mem m;

	for (int at = g->first; at >= g->block; at--) {
		const struct insn *x = &w->insns[at];
		int score;

		if (operand_at(w, g, at, &m))
			break;
		if (!g->what.mem.rip && (!fits_32(g->what.low + m.disp) ||
				    !fits_32(g->what.high + m.disp)))
			continue;
		score = !(x->live & X86_FLAGS) * 2 +
			(has_dead(w, x) || g->what.mem.rip);
		if (score <= best)
			continue;
		best = score;
		g->place = at;
		g->flags_dead = !(x->live & X86_FLAGS);
		if (score >= good || w->precise)
			break;
	}
	if (best < 0) {
		/* The first access's own displacement is fine, so there is a place. */
		g->place = g->first;
		g->flags_dead = 0;
	}
	operand_at(w, g, g->place, &m);
	g->what.mem = m;
	moca_x86_group_move(&g->what, m.disp);
	g->next = w->insns[g->place].groups;
	w->insns[g->place].groups = (int32_t)(g - w->groups);
	for (int i = g->place + 1; i <= last; i++)
		w->insns[i].balanced = 0;
}

/* What rep movs, the compiler's way, takes longer for. */
static void copy(struct x86_values *to, const struct x86_values *from)
{
	for (int r = 0; r < 16; r += 2) {
		to->version[r] = from->version[r];
		to->version[r + 1] = from->version[r + 1];
		to->plus[r] = from->plus[r];
		to->plus[r + 1] = from->plus[r + 1];
	}
}

void moca_exact_group(struct work *w)
{
	int from = 0, block = 0;

	last_version = 0;
	w->group_count = 0;
	for (int i = 0; i < w->count; i++) {
		w->insns[i].balanced = 1;
		if (w->uncounted)
			w->insns[i].what.accesses = 0;
	}
	for (int i = 0; i < w->count && !w->uncounted; i++) {
		struct insn *x = &w->insns[i];

		if (!i || moca_exact_ends_block(w, i)) {
			for (; from < w->group_count; from++)
				place(w, &w->groups[from]);
			block = i;
			moca_x86_values_new(&values[i], X86_GPRS, &last_version);
		}
		for (int k = 0; k < x->what.accesses; k++)
			x->group_of[k] = add(w, from, block, i,
					     &x->what.access[k]);
		if (i + 1 < w->count) {
			copy(&values[i + 1], &values[i]);
			moca_x86_values_step(&values[i + 1], &x->what,
					     &last_version);
		}
	}
	for (; from < w->group_count; from++)
		place(w, &w->groups[from]);
}
