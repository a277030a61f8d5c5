// SPDX-License-Identifier: LGPL-2.1-or-later
/* Walking a call stack; each read lies between the stack pointer and its end. */
#include <ucontext.h>

#include "agent/alloc/cfi.h"
#include "agent/alloc/stack.h"

struct cursor {
	uint64_t ip, sp, rbp;
	uint64_t high;		/* end of the stack that sp is on */
	uint64_t rbp_at;	/* slot that rbp is from; 0: the register */
	int rbp_known;
	int rbp_noted;		/* that the walk depends on rbp */
	int exact;		/* ip is of an instruction, not a return */
};

static void depend(struct alloc_walk *w, uint64_t addr, uint64_t value)
{
	if (w->slots == ALLOC_SLOTS) {
		w->cacheable = 0;
		return;
	}
	w->addr[w->slots] = addr;
	w->value[w->slots++] = value;
}

static int read_word(const struct cursor *c, uint64_t addr, uint64_t *value)
{
	if ((addr & 7) || addr < c->sp || addr > c->high - 8)
		return 0;
	*value = *(const uint64_t *)addr;
	return 1;
}

static int use_rbp(struct alloc_walk *w, struct cursor *c)
{
	if (!c->rbp_known)
		return 0;
	if (!c->rbp_noted && c->rbp_at)
		depend(w, c->rbp_at, c->rbp);
	else if (!c->rbp_noted)
		w->uses_rbp = 1;
	c->rbp_noted = 1;
	return 1;
}

static int load_rbp(struct cursor *c, uint64_t at)
{
	uint64_t value;

	if (!read_word(c, at, &value)) {
		c->rbp_known = 0;
		return 0;
	}
	c->rbp = value;
	c->rbp_at = at;
	c->rbp_known = 1;
	c->rbp_noted = 0;
	return 1;
}

/* The interrupted code may have been on another stack: the thread's own. */
static int step_signal(struct alloc_walk *w, struct cursor *c,
		       uint64_t own_low, uint64_t own_high)
{
	const ucontext_t *uc = (const ucontext_t *)c->sp;
	const greg_t *regs = uc->uc_mcontext.gregs;
	uint64_t sp, ip;

	if ((c->sp & 7) || c->sp + sizeof(*uc) > c->high)
		return 0;
	ip = regs[REG_RIP];
	sp = regs[REG_RSP];
	if (sp <= c->sp || sp >= c->high) {
		if (sp < own_low || sp >= own_high || own_high == c->high)
			return 0;
		c->high = own_high;
	}
	/* Within reach of the cache's offsets? */
	depend(w, (uint64_t)&regs[REG_RIP], ip);
	depend(w, (uint64_t)&regs[REG_RSP], sp);
	c->rbp = regs[REG_RBP];
	c->rbp_at = (uint64_t)&regs[REG_RBP];
	c->rbp_known = 1;
	c->rbp_noted = 0;
	c->ip = ip;
	c->sp = sp;
	c->exact = 1;
	return ip != 0;
}

static int step(struct alloc_walk *w, struct cursor *c, uint64_t own_low,
		uint64_t own_high)
{
	struct alloc_rule r = alloc_cfi_rule(c->exact ? c->ip : c->ip - 1);
	uint64_t cfa, ra;

	switch (r.cfa) {
	case MOCA_CFA_RSP:
		cfa = c->sp + r.cfa_off;
		break;
	case MOCA_CFA_RBP:
		if (!use_rbp(w, c))
			return 0;
		cfa = c->rbp + r.cfa_off;
		break;
	case MOCA_CFA_AT_RBP:
		if (!use_rbp(w, c) || !read_word(c, c->rbp + r.cfa_off, &cfa))
			return 0;
		depend(w, c->rbp + r.cfa_off, cfa);
		break;
	case MOCA_CFA_SIGNAL:
		return step_signal(w, c, own_low, own_high);
	default:
		return 0;
	}
	if (cfa <= c->sp || !read_word(c, cfa - 8, &ra) || !ra)
		return 0;
	depend(w, cfa - 8, ra);
	if (r.rbp == MOCA_RBP_AT_CFA)
		load_rbp(c, cfa + r.rbp_off);
	else if (r.rbp == MOCA_RBP_AT_RBP && use_rbp(w, c))
		load_rbp(c, c->rbp + r.rbp_off);
	else if (r.rbp != MOCA_RBP_KEPT)
		c->rbp_known = 0;
	c->ip = ra;
	c->sp = cfa;
	c->exact = 0;
	return 1;
}

void alloc_walk(struct alloc_walk *w, const struct alloc_frame *f,
		uint64_t high, uint64_t own_low, uint64_t own_high)
{
	struct cursor c = {
		.ip = f->ret,
		.sp = (uint64_t)(f + 1),
		.rbp = f->rbp,
		.high = high,
		.rbp_known = 1,
	};

	w->cacheable = 1;
	w->slots = 0;
	w->uses_rbp = 0;
	w->frames[0] = c.ip;
	w->n = 1;
	if (high < 8)
		return;
	while (w->n < MOCA_ALLOC_FRAMES && step(w, &c, own_low, own_high))
		w->frames[w->n++] = c.ip;
}
