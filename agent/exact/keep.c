// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/keep.h"

#include "agent/exact/emit.h"
#include "agent/exact/help.h"

#define NOT_COUNTED 255
_Static_assert(BLOCK_INSNS < NOT_COUNTED, "");

/* --- writing code --------------------------------------------------------------- */

void moca_exact_keep_take(uint8_t **p, uint32_t *away, int r)
{
	if (*away & X86_BIT(r))
		return;
	emit_gs_store(p, r, GS(C_KEPT + 8 * r));
	*away |= X86_BIT(r);
}

void moca_exact_keep_back(uint8_t **p, uint32_t *away, uint32_t regs)
{
	for (uint32_t back = *away & regs; back; back &= back - 1) {
		int r = __builtin_ctz(back);

		emit_gs_load(p, r, GS(C_KEPT + 8 * r));
	}
	*away &= ~regs;
}

uint32_t moca_exact_keep_needed(const struct insn *x)
{
	if (x->kind != X86_PLAIN || x->helped)
		return X86_GPRS;
	return x->what.reads | (x->what.writes & ~x->what.kills);
}

/* Those that need no REX prefix first. -1: the set is empty. */
static int first_of(uint32_t set)
{
	static const int8_t order[] = { RAX, RCX, RDX, RSI, RDI, RBX, RBP,
					8, 9, 10, 11, 12, 13, 14, 15 };

	for (unsigned int k = 0; k < sizeof(order); k++)
		if (set & X86_BIT(order[k]))
			return order[k];
	return -1;
}

/* The best registers so far are worth most. So are these, or more, or less. */
static void consider(uint32_t *best, int *most, uint32_t set, int value)
{
	if (!set || value < *most)
		return;
	*best = value > *most ? set : *best | set;
	*most = value;
}

/*
 * A register is worth twice the places to count at that it would do for, from i
 * on, until something needs it, and one more if it need not be given back.
 */
int moca_exact_keep_choose(const struct work *w, int i, uint32_t used,
			   uint32_t away)
{
	uint32_t left = X86_GPRS & ~used, best = 0;
	uint32_t free = w->kept ? away : away | ~w->insns[i].live;
	int places = 0, most = 0;

	if (left & free)
		return first_of(left & free);
	for (; left; i++) {
		const struct insn *x = &w->insns[i];
		uint32_t needed = left & moca_exact_keep_needed(x);
		uint32_t killed = left & ~needed & x->what.kills;

		places += x->groups >= 0;
		left &= ~(needed | killed);
		consider(&best, &most, needed, 2 * places);
		consider(&best, &most, killed, 2 * places + 1);
		if (moca_exact_ends_block(w, i + 1)) {
			consider(&best, &most, left, 2 * places);
			break;
		}
	}
	return first_of(best);
}

void moca_exact_keep_mark(struct kept_mark *m, const struct work *w, int i)
{
	const struct insn *x = &w->insns[i];

	memset(m, 0, sizeof(*m));
	m->last = !!moca_exact_ends_block(w, i + 1);
	for (int k = 0; k < X86_ACCESSES; k++) {
		const struct group *g;

		m->ahead[k] = NOT_COUNTED;
		if (k >= x->what.accesses || x->group_of[k] < 0)
			continue;
		g = &w->groups[x->group_of[k]];
		m->ahead[k] = (uint8_t)(i - g->place);
		m->deferred |= (uint8_t)((unsigned int)g->deferred << k);
	}
}

/* --- what faults again and again --------------------------------------------------- */

#define FAULTS 16		/* of an instruction, until its region is precise */
#define FAULTING 4096		/* instructions that are remembered */
#define FAULTING_MAX (FAULTING / 4 * 3)

static struct faulting {
	uint64_t pc;
	uint32_t times;
} faulting[FAULTING];
static uint32_t faulting_count;

static struct faulting *faulting_at(uint64_t pc)
{
	uint64_t i = pc * 0x9e3779b97f4a7c15ull >> 40;

	while (faulting[i % FAULTING].pc && faulting[i % FAULTING].pc != pc)
		i++;
	return &faulting[i % FAULTING];
}

int moca_exact_keep_faulty(const struct work *w)
{
	if (!faulting_count)
		return 0;
	for (int i = 0; i < w->count; i++)
		if (faulting_at(w->insns[i].pc)->times >= FAULTS)
			return 1;
	return 0;
}

/* Beyond those that are remembered, regions stay as they are: that is right, too. */
static void faulted(struct region *r, uint64_t pc)
{
	struct faulting *f = faulting_at(pc);

	if (!f->pc && faulting_count == FAULTING_MAX)
		return;
	if (!f->pc) {
		f->pc = pc;
		faulting_count++;
	}
	if (f->times < FAULTS)
		f->times++;
	if (f->times >= FAULTS && !r->dead && !r->precise)
		moca_exact_forget(r);
}

/* --- at a fault ------------------------------------------------------------------- */

/* Registers ahead of a later instruction, by those at the fault. 0: not known. */
static int later(const struct x86_values *v, const uint64_t *regs, int r,
		 uint64_t *to)
{
	if (r < 0)
		return 1;
	if (v->version[r] > 16)
		return 0;
	to[r] = regs[v->version[r] - 1] + (uint64_t)v->plus[r];
	return 1;
}

/* One of the instruction at mark i, which is at or behind the one that faulted. */
static int is_counted(const struct place *p, uint32_t i, int k)
{
	const struct kept_mark *m = &p->region->kept[i];

	if (m->ahead[k] == NOT_COUNTED)
		return 0;
	if (p->loop && m->deferred >> k & 1)
		return 1;
	return i - m->ahead[k] <= p->mark;
}

/* 0, or -1: an address is not known. */
static int take_back(struct context *c, const struct place *p, uint32_t i,
		     const struct insn *x, const struct x86_values *v,
		     const uint64_t *regs)
{
	for (int k = 0; k < x->what.accesses; k++) {
		const struct x86_mem *m = &x->what.access[k];
		uint64_t there[16], a;

		if (!is_counted(p, i, k))
			continue;
		if (!later(v, regs, m->base, there) ||
		    !later(v, regs, m->index, there))
			return -1;
		a = moca_exact_help_address(c, there, m);
		if (m->load)
			moca_exact_uncount(c, a, 0);
		if (m->store)
			moca_exact_uncount(c, a, 1);
	}
	return 0;
}

/* From the faulting instruction on to the last that is counted ahead of it. */
static int take_all_back(struct context *c, const struct place *p,
			 const uint64_t *regs, uint64_t flags)
{
	const struct region *r = p->region;
	struct x86_values v;
	uint32_t last = 0;
	struct insn x;

	moca_x86_values_new(&v, X86_GPRS, &last);
	for (uint32_t i = p->mark;; i++) {
		uint64_t pc = moca_exact_mark_pc(r, i);

		if (moca_exact_decode(pc, 15, &x))
			return -1;
		if (i == p->mark && x.helped)
			moca_exact_uncount_helped(c, &x, regs, flags);
		if (take_back(c, p, i, &x, &v, regs))
			return -1;
		if (p->loop ? r->kept[i].leaves : r->kept[i].last)
			return 0;
		/* Else it is not what was translated. */
		if (i + 1 == r->count ||
		    moca_exact_mark_pc(r, i + 1) != pc + x.what.len)
			return -1;
		moca_x86_values_step(&v, &x.what, &last);
	}
}

void moca_exact_uncount_ahead(struct context *c, const struct place *p,
			      const uint64_t *regs, uint64_t flags)
{
	int ret;

	moca_exact_lock();
	moca_exact_save_vectors(c);
	ret = take_all_back(c, p, regs, flags);
	moca_exact_restore_vectors(c);
	faulted(p->region, p->pc);
	moca_exact_unlock();
	if (ret)
		moca_exact_gap(c, MOCA_EXACT_GAP_FAULT, p->pc);
}
