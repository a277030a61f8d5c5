// SPDX-License-Identifier: LGPL-2.1-or-later
/* Accesses that are counted in C, with all registers at hand. */
#include <asm/sigcontext.h>

#include "agent/exact/help.h"
#include "agent/exact/straddle.h"

#define HELPED_MAX (1u << 22)
#define AFTER 1ul		/* in the low bits of a pointer */
#define GROUP 2ul		/* it is a struct straddle */

static uintptr_t *table;
static uint32_t count;

static uint32_t add(uintptr_t h)
{
	if (!table)
		table = moca_exact_map(HELPED_MAX * sizeof(*table));
	if (count == HELPED_MAX)
		moca_exact_die("too many helpers", count);
	table[count] = h;
	return count++;
}

uint32_t moca_exact_help_add(struct helped *h)
{
	return add((uintptr_t)h);
}

uint32_t moca_exact_help_after(struct helped *h)
{
	return add((uintptr_t)h | AFTER);
}

uint32_t moca_exact_help_group(const struct group *g, int scratch,
			       struct straddle **out)
{
	*out = moca_exact_straddle(g, scratch);
	return add((uintptr_t)*out | GROUP);
}

static uint64_t segment(const struct context *c, const struct x86_mem *m)
{
	return m->seg == X86_FS ? c->fs : m->seg == X86_GS ? c->gs : 0;
}

/* With disp in place of m's. */
static uint64_t address(const struct context *c, const uint64_t *regs,
			const struct x86_mem *m, int64_t disp)
{
	uint64_t a = (uint64_t)disp;

	if (m->base >= 0)
		a += regs[m->base];
	if (m->index >= 0)
		a += regs[m->index] * m->scale;
	if (m->narrow)
		a = (uint32_t)a;
	return a + segment(c, m);
}

uint64_t moca_exact_help_address(const struct context *c, const uint64_t *regs,
				 const struct x86_mem *m)
{
	return m->rip ? (uint64_t)m->disp : address(c, regs, m, m->disp);
}

/* Of one element. */
static uint64_t accesses_of(const struct helped *h)
{
	return h->op == 'm' || h->op == 'c' ? 2 : 1;
}

/* n elements from where the registers are now; back: that is where they ended. */
static void count_string(struct context *c, const struct helped *h,
			 const uint64_t *regs, uint64_t flags, uint64_t n,
			 int back)
{
	int64_t step = flags & 0x400 ? -(int64_t)h->size : h->size;
	uint64_t from = regs[RSI], to = regs[RDI];

	if (h->mem.narrow) {
		from = (uint32_t)from;
		to = (uint32_t)to;
	}
	if (back) {
		from -= (uint64_t)step * n;
		to -= (uint64_t)step * n;
	}
	from += segment(c, &h->mem);
	if (h->op == 'l' || h->op == 'm' || h->op == 'c')
		moca_exact_count_range(c, from, step, 0, n);
	if (h->op == 's' || h->op == 'm')
		moca_exact_count_range(c, to, step, 1, n);
	if (h->op == 'c' || h->op == 'a')
		moca_exact_count_range(c, to, step, 0, n);
	c->slot->apart.strings += n * accesses_of(h);
}

static uint64_t times(const struct helped *h, const uint64_t *regs)
{
	if (!h->rep)
		return 1;
	return h->mem.narrow ? (uint32_t)regs[RCX] : regs[RCX];
}

static int by_result(const struct helped *h)
{
	return h->op == 'c' || h->op == 'a';
}

/* How far a cmps or scas goes is known when it is over. */
#define STRING_TIMES 6		/* its spill slot */

static void help_string(struct context *c, const struct helped *h)
{
	if (by_result(h))
		c->spill[STRING_TIMES] = times(h, c->gpr);
	else
		count_string(c, h, c->gpr, c->flags, times(h, c->gpr), 0);
}

static void help_string_after(struct context *c, const struct helped *h)
{
	uint64_t n = 1;

	if (h->rep)
		n = c->spill[STRING_TIMES] - times(h, c->gpr);
	count_string(c, h, c->gpr, c->flags, n, 1);
}

/* Counts one access, or takes it back. */
typedef void tell(struct context *c, uint64_t addr, int store);

static void count_one(struct context *c, uint64_t addr, int store)
{
	moca_exact_count(c, addr, store, 1);
}

/* By indices and mask as c->wide has them. */
static void tell_vsib(struct context *c, const struct helped *h,
		      const uint64_t *regs, tell *f)
{
	const uint8_t *mask = c->wide + 64;
	uint64_t base = address(c, regs, &h->mem, h->mem.disp);

	for (int i = 0; i < h->elements; i++) {
		int64_t index;

		if (h->wide_mask ?
			    !(mask[i * h->mask_size + h->mask_size - 1] & 0x80) :
			    !(mask[i / 8] >> i % 8 & 1))
			continue;
		index = h->index_size == 4 ? ((const int32_t *)c->wide)[i] :
					     ((const int64_t *)c->wide)[i];
		f(c, base + (uint64_t)(index * h->mem.scale), h->store);
	}
}

static void tell_xlat(struct context *c, const struct helped *h,
		      const uint64_t *regs, tell *f)
{
	f(c, regs[RBX] + (uint8_t)regs[RAX] + segment(c, &h->mem), 0);
}

static void tell_bit(struct context *c, const struct helped *h,
		     const uint64_t *regs, tell *f)
{
	uint64_t bit = regs[h->reg], a;
	int64_t at = h->reg_size == 8 ? (int64_t)bit :
		     h->reg_size == 4 ? (int32_t)bit : (int16_t)bit;

	/* In units of the operand's size, towards minus infinity. */
	at = at >> (h->reg_size == 8 ? 6 : h->reg_size == 4 ? 5 : 4);
	a = address(c, regs, &h->mem, h->mem.disp + at * h->reg_size);
	f(c, a, 0);
	if (h->mem.store)
		f(c, a, 1);
}

/* enter n: pushes rbp, n - 1 pointers of frames around, and its own. */
static void tell_enter(struct context *c, const struct helped *h,
		       const uint64_t *regs, tell *f)
{
	uint64_t sp = regs[RSP] - 8, bp = regs[RBP];

	f(c, sp, 1);
	for (int i = 1; i < h->count; i++) {
		f(c, bp -= 8, 0);
		f(c, sp -= 8, 1);
	}
	if (h->count)
		f(c, sp - 8, 1);
}

static void help_group(struct context *c, struct straddle *s)
{
	for (int i = 0; i < s->count; i++) {
		const struct x86_member *m = &s->members[i];
		uint64_t a = address(c, c->gpr, &s->mem, m->disp);

		moca_exact_count(c, a, 0, m->load);
		moca_exact_count(c, a, 1, m->store);
	}
	moca_exact_straddled(s);
}

void moca_exact_help(struct context *c);
void moca_exact_help(struct context *c)
{
	uintptr_t p = table[(uint32_t)c->helper];
	const struct helped *h = (const struct helped *)(p & ~AFTER);

	c->slot->apart.helped++;
	if (p & AFTER) {
		help_string_after(c, h);
		return;
	}
	if (p & GROUP) {
		help_group(c, (struct straddle *)(p & ~GROUP));
		return;
	}
	switch (h->kind) {
	case H_STRING:
		help_string(c, h);
		break;
	case H_VSIB:
		tell_vsib(c, h, c->gpr, count_one);
		break;
	case H_XLAT:
		tell_xlat(c, h, c->gpr, count_one);
		break;
	case H_BIT:
		tell_bit(c, h, c->gpr, count_one);
		break;
	case H_ENTER:
		tell_enter(c, h, c->gpr, count_one);
		break;
	}
}

/* --- what did not happen ---------------------------------------------------------- */

/* A cold use: the lock is free, as the thread is in translated code. */
int moca_exact_decode_cold(uint64_t pc, struct insn *x)
{
	struct context *c = current();
	int ret;

	moca_exact_lock();
	moca_exact_save_vectors(c);
	ret = moca_exact_decode(pc, 15, x);
	moca_exact_restore_vectors(c);
	moca_exact_unlock();
	return ret;
}

static void uncount_string(struct context *c, const struct helped *h,
			   const uint64_t *regs, uint64_t flags)
{
	int64_t step = flags & 0x400 ? -(int64_t)h->size : h->size;
	uint64_t n = times(h, regs), from = regs[RSI], to = regs[RDI];

	if (by_result(h)) {
		if (h->rep)
			count_string(c, h, regs, flags,
				     c->spill[STRING_TIMES] - n, 1);
		return;
	}
	if (h->mem.narrow) {
		from = (uint32_t)from;
		to = (uint32_t)to;
	}
	if (h->op != 's')
		moca_exact_uncount_range(c, from + segment(c, &h->mem), step, 0, n);
	if (h->op != 'l')
		moca_exact_uncount_range(c, to, step, 1, n);
	c->slot->apart.strings -= n * accesses_of(h);
}

/* Bytes of a component of the kernel's frame; NULL: all are 0, as in the beginning. */
static const uint8_t *component(const struct _fpstate_64 *fp, uint32_t number)
{
	const struct _header *header = (const struct _header *)(fp + 1);
	uint32_t a = 0xd, b = 0, c = number, d = 0;

	if (fp->sw_reserved.magic1 != FP_XSTATE_MAGIC1 ||
	    !(header->xfeatures >> number & 1))
		return NULL;
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	if (b + a > fp->sw_reserved.xstate_size)
		return NULL;
	return (const uint8_t *)fp + b;
}

#define YMM_HIGH 2
#define OPMASK 5

/* What a gather that has faulted has yet to do: its mask, which goes to c->wide. */
static void show_mask(struct context *c, const struct helped *h)
{
	const struct _fpstate_64 *fp = (const void *)c->signal.state;
	uint8_t *mask = c->wide + 64;
	const uint8_t *more;

	memset(mask, 0, 64);
	if (!h->wide_mask) {
		more = component(fp, OPMASK);
		if (more)
			memcpy(mask, more + 8 * h->mask, 8);
		return;
	}
	memcpy(mask, (const uint8_t *)fp->xmm_space + 16 * h->mask, 16);
	more = component(fp, YMM_HIGH);
	if (more)
		memcpy(mask + 16, more + 16 * h->mask, 16);
}

void moca_exact_uncount_helped(struct context *c, const struct insn *x,
			       const uint64_t *regs, uint64_t flags)
{
	switch (x->helped->kind) {
	case H_STRING:
		uncount_string(c, x->helped, regs, flags);
		break;
	case H_XLAT:
		tell_xlat(c, x->helped, regs, moca_exact_uncount);
		break;
	case H_BIT:
		tell_bit(c, x->helped, regs, moca_exact_uncount);
		break;
	case H_ENTER:
		tell_enter(c, x->helped, regs, moca_exact_uncount);
		break;
	case H_VSIB:
		show_mask(c, x->helped);
		tell_vsib(c, x->helped, regs, moca_exact_uncount);
		break;
	}
}

void moca_exact_uncount_insn(struct context *c, uint64_t pc,
			     const uint64_t *regs, uint64_t flags)
{
	struct insn x;

	if (moca_exact_decode_cold(pc, &x))
		return;
	if (x.helped)
		moca_exact_uncount_helped(c, &x, regs, flags);
	for (int i = 0; i < x.what.accesses; i++) {
		const struct x86_mem *m = &x.what.access[i];
		uint64_t a = moca_exact_help_address(c, regs, m);

		if (m->load)
			moca_exact_uncount(c, a, 0);
		if (m->store)
			moca_exact_uncount(c, a, 1);
	}
}

void moca_exact_uncount_rest(struct context *c, uint64_t pc,
			     const uint64_t *regs, uint64_t flags)
{
	struct insn x;

	if (!moca_exact_decode_cold(pc, &x) && x.kind == X86_STRING)
		uncount_string(c, x.helped, regs, flags);
}
