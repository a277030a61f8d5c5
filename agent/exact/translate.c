// SPDX-License-Identifier: LGPL-2.1-or-later
/* Writing a region's translation: its instructions, and their counting. */
#include "agent/exact/chart.h"
#include "agent/exact/cold.h"
#include "agent/exact/emit.h"
#include "agent/exact/help.h"
#include "agent/exact/keep.h"
#include "agent/exact/straddle.h"

#define CC_NOT_EQUAL 5
#define CC_EQUAL 4
#define CC_ABOVE 7
#define CC_NOT_LESS 13
#define CC_NOT_GREATER 14

#define LOOP_ALIGNED 32		/* its time is not to depend on what is ahead */

/* Twice: loops may have a second translation. */
#define FIXES (REGION_INSNS * 2 * 2)
#define COLDS (REGION_INSNS * X86_ACCESSES * 2 * 2)
#define SLOWS (REGION_INSNS * X86_ACCESSES * 2)

/* What is written behind the code proper: of a group that straddles. */
struct slow {
	uint8_t *from;
	uint32_t helped;
	struct straddle *straddle;
};
enum fix_kind {
	FIX_HOST, FIX_BODY, FIX_FAST,	/* where of an instruction: struct insn */
	FIX_CHOICE,		/* to is a loop: where it is entered */
	FIX_LITERAL,		/* of a jmp through one, to target */
	FIX_STUB,		/* of a jcc, the same */
};
struct fix {
	uint8_t *at;		/* of a 32-bit displacement */
	enum fix_kind kind;
	int to;
	uint64_t target;
};

static struct out {
	uint8_t *p;
	struct cache *k;
	struct cold colds[COLDS];
	struct slow slows[SLOWS];
	struct fix fixes[FIXES];
	int cold_count, slow_count, fix_count;
	int failed;
	const struct loop *loop;	/* whose second translation it is */
	uint8_t *enter[REGION_LOOPS];	/* where a loop's stretches begin */
	uint8_t *own;		/* what can fault as the instruction would */
	uint32_t away;		/* registers: keep.h */
	/* Of all instructions, and then of those of loops' second translations. */
	struct kept_mark kept[REGION_INSNS * 2];
	struct kept_mark *mark;	/* of the one that is written */
} o;

static const uint64_t *exit_to(enum exit_literal which)
{
	return (const uint64_t *)o.k->base + which;
}

/* From there on it is the program's instruction. */
static void own_code(const uint8_t *from)
{
	moca_exact_chart_tell(from, o.p, MOCA_EXACT_CODE_OWN);
}

/* --- counting ------------------------------------------------------------------- */

static void save_flags(int rax_dead)
{
	static const uint8_t take[] = { 0x9f, 0x0f, 0x90, 0xc0 };

	if (!rax_dead)
		emit_gs_store(&o.p, RAX, SPILL(SPILL_RAX));
	emit_bytes(&o.p, take, sizeof(take));	/* lahf; seto %al */
	emit_gs_store(&o.p, RAX, SPILL(SPILL_FLAGS));
	if (!rax_dead)
		emit_gs_load(&o.p, RAX, SPILL(SPILL_RAX));
}

static void restore_flags(int rax_dead)
{
	static const uint8_t give[] = { 0x04, 0x7f, 0x9e };

	if (!rax_dead)
		emit_gs_store(&o.p, RAX, SPILL(SPILL_RAX));
	emit_gs_load(&o.p, RAX, SPILL(SPILL_FLAGS));
	emit_bytes(&o.p, give, sizeof(give));	/* add $127, %al; sahf */
	if (!rax_dead)
		emit_gs_load(&o.p, RAX, SPILL(SPILL_RAX));
}

static void call_helper(uint32_t number)
{
	uint8_t *at;

	emit_store_imm(&o.p, GS(C_HELPER), (int32_t)number);
	at = o.p;
	emit_store_64(&o.p, GS(C_COLD_BACK), 0);
	emit_jump_literal(&o.p, exit_to(LIT_HELPER));
	emit_store_64(&at, GS(C_COLD_BACK), (uint64_t)o.p);
}

static void cold_here(int scratch, int store, uint64_t granule)
{
	const uint8_t *from = o.p;

	if (o.cold_count == COLDS) {
		o.failed = 1;
		return;
	}
	moca_exact_cold_begin(&o.colds[o.cold_count++], &o.p, scratch, store,
			      granule);
	moca_exact_chart_tell(from, o.p, MOCA_EXACT_CODE_UPDATED);
}

static void sums(const struct group *g, uint32_t *load, uint32_t *store)
{
	*load = *store = 0;
	for (int i = 0; i < g->what.count; i++) {
		*load += g->what.members[i].load;
		*store += g->what.members[i].store;
	}
}

static void count_known(const struct group *g)
{
	uint64_t granule = (uint64_t)g->what.low >> moca_exact.shift;
	uint32_t n[2];

	sums(g, &n[0], &n[1]);
	for (int store = 0; store < 2; store++)
		if (n[store]) {
			emit_count_cell(&o.p, granule & (MOCA_EXACT_CELLS - 1),
					store, n[store]);
			cold_here(-1, store, granule);
		}
}

/* Are they all in one granule? If not, scratch has the offset of the first. */
static struct slow *check_span(const struct group *g, int scratch)
{
	uint32_t size = 1u << moca_exact.shift;
	struct slow *s;

	emit_address(&o.p, scratch, &g->what.mem, g->what.low);
	emit_and(&o.p, scratch, size - 1);
	emit_compare(&o.p, scratch, size - 1 - (uint32_t)(g->what.high - g->what.low));
	s = &o.slows[o.slow_count++];
	s->from = emit_jcc(&o.p, CC_ABOVE, NULL);
	s->helped = moca_exact_help_group(g, scratch, &s->straddle);
	return s;
}

static void count_group(const struct group *g, int scratch)
{
	struct slow *s = NULL;
	uint32_t n[2];

	if (g->what.mem.rip) {
		count_known(g);
		return;
	}
	if (g->what.high > g->what.low) {
		if (o.slow_count == SLOWS) {
			o.failed = 1;
			return;
		}
		s = check_span(g, scratch);
	}
	emit_address(&o.p, scratch, &g->what.mem, g->what.low);
	emit_shift_right(&o.p, scratch, (int)moca_exact.shift);
	sums(g, &n[0], &n[1]);
	for (int store = 0; store < 2; store++)
		if (n[store]) {
			emit_count(&o.p, scratch, store, n[store]);
			cold_here(scratch, store, 0);
		}
	if (s)
		s->straddle->back = o.p;
}

static int borrow_for(const struct insn *x, const struct work *w)
{
	uint32_t used = X86_BIT(RSP);

	for (int i = x->groups; i >= 0; i = w->groups[i].next) {
		if (w->groups[i].what.mem.base >= 0)
			used |= X86_BIT(w->groups[i].what.mem.base);
		if (w->groups[i].what.mem.index >= 0)
			used |= X86_BIT(w->groups[i].what.mem.index);
	}
	for (int r = 0; r < 16; r++)
		if (!(used & X86_BIT(r)))
			return r;
	return -1;
}

/* Those with many registers at one place take turns to borrow one. */
static int borrow_alone(const struct x86_mem *m)
{
	int r = RCX;

	while (r == m->base || r == m->index || r == RSP)
		r++;
	return r;
}

/* Is it counted here? */
static int counts(const struct group *g)
{
	return !o.loop || !g->deferred;
}

/* Registers of operands of what is counted ahead of x, and whether flags are needed. */
static uint32_t operands(const struct work *w, const struct insn *x, int *keep)
{
	uint32_t used = X86_BIT(RSP);

	*keep = 0;
	for (int i = x->groups; i >= 0; i = w->groups[i].next) {
		const struct group *g = &w->groups[i];

		if (!counts(g))
			continue;
		*keep |= !g->flags_dead;
		if (g->what.mem.base >= 0)
			used |= X86_BIT(g->what.mem.base);
		if (g->what.mem.index >= 0)
			used |= X86_BIT(g->what.mem.index);
	}
	return used;
}

/* Ahead of x, to count with. Nobody sees what a dead one has, but handlers of faults. */
static void take(const struct work *w, const struct insn *x, int r)
{
	if (w->kept || x->live & X86_BIT(r))
		moca_exact_keep_take(&o.p, &o.away, r);
}

static void count_one(const struct group *g, int r)
{
	if (g->what.mem.rip || r >= 0) {
		count_group(g, r);
		return;
	}
	/* All registers are operands of groups here: they take turns. */
	r = borrow_alone(&g->what.mem);
	emit_gs_store(&o.p, r, SPILL(SPILL_SCRATCH));
	count_group(g, r);
	emit_gs_load(&o.p, r, SPILL(SPILL_SCRATCH));
}

static void count_groups(const struct work *w, const struct insn *x)
{
	int keep, rax_away, r = -1;
	uint32_t used = operands(w, x, &keep);

	moca_exact_keep_back(&o.p, &o.away, used);
	rax_away = keep && !(used & X86_BIT(RAX));
	if (rax_away)
		take(w, x, RAX);
	if (keep)
		save_flags(rax_away);
	for (int i = x->groups; i >= 0; i = w->groups[i].next) {
		const struct group *g = &w->groups[i];

		if (!counts(g))
			continue;
		if (r < 0 && !g->what.mem.rip)
			r = moca_exact_keep_choose(w, (int)(x - w->insns), used,
						   o.away);
		if (r >= 0)
			take(w, x, r);
		count_one(g, r);
	}
	if (keep)
		restore_flags(rax_away);
}

/* Where no register may be away: each group borrows what it needs. */
static void count_precise(const struct work *w, const struct insn *x)
{
	int keep = 0, borrows = 0, shared = -1;

	for (int i = x->groups; i >= 0; i = w->groups[i].next) {
		keep |= !w->groups[i].flags_dead;
		borrows += !w->groups[i].what.mem.rip;
	}
	if (keep)
		save_flags(0);
	if (borrows)
		shared = borrow_for(x, w);
	if (shared >= 0)
		emit_gs_store(&o.p, shared, SPILL(SPILL_SCRATCH));
	for (int i = x->groups; i >= 0; i = w->groups[i].next)
		count_one(&w->groups[i], shared);
	if (shared >= 0)
		emit_gs_load(&o.p, shared, SPILL(SPILL_SCRATCH));
	if (keep)
		restore_flags(0);
}

/* --- where it goes ---------------------------------------------------------------- */

static void fix_later(uint8_t *at, enum fix_kind kind, int to, uint64_t target)
{
	if (o.fix_count == FIXES) {
		o.failed = 1;
		return;
	}
	o.fixes[o.fix_count++] = (struct fix){ at, kind, to, target };
}

/* Of a jump at instruction `from`: where of instruction `to` it leads. */
static enum fix_kind way_to(const struct work *w, const struct insn *from,
			    int to)
{
	int at = (int)(from - w->insns);

	if (o.loop)
		return to >= o.loop->head && to <= o.loop->last ? FIX_FAST :
								  FIX_HOST;
	for (int i = 0; i < w->loop_count; i++)
		if (w->loops[i].head == to && w->loops[i].last == at)
			return FIX_BODY;
	return FIX_HOST;
}

static void jump_to(int to, uint64_t target)
{
	if (to >= 0) {
		fix_later(emit_jump_open(&o.p), FIX_HOST, to, 0);
		return;
	}
	*o.p++ = 0xff;		/* jmp *literal(%rip) */
	*o.p++ = 0x25;
	o.p += 4;
	fix_later(o.p - 4, FIX_LITERAL, -1, target);
}

/* rax: where to; both rax and rcx are in the spill slots. */
static void jump_by_table(void)
{
	static const uint8_t low_bits[] = { 0x0f, 0xb7, 0xc8 };
	static const uint8_t jump[] = { 0xff, 0x24, 0xcd };

	emit_bytes(&o.p, low_bits, sizeof(low_bits)); /* movzwl %ax, %ecx */
	emit_bytes(&o.p, jump, sizeof(jump));	/* jmp *jumps(, %rcx, 8) */
	emit_32(&o.p, (uint32_t)(uint64_t)moca_exact.jumps);
}

static void push_return(const struct insn *x)
{
	uint64_t *lit = moca_exact_literal(o.k, x->pc + x->what.len);

	if (!lit)
		o.failed = 1;
	else
		emit_push_literal(&o.p, lit);
}

static void write_return(const struct insn *x)
{
	emit_gs_store(&o.p, RAX, SPILL(0));
	emit_gs_store(&o.p, RCX, SPILL(1));
	o.own = o.p;
	*o.p++ = 0x58;		/* pop %rax */
	if (x->pop) {
		static const uint8_t lea[] = { 0x48, 0x8d, 0xa4, 0x24 };

		emit_bytes(&o.p, lea, sizeof(lea));
		emit_32(&o.p, x->pop);
	}
	own_code(o.own);
	jump_by_table();
}

static void write_indirect(const struct insn *x)
{
	const uint8_t *from;

	emit_gs_store(&o.p, RAX, SPILL(0));
	o.own = o.p;
	if (x->reg == 0xff)
		emit_load(&o.p, RAX, &x->what.mem);
	else if (x->reg != RAX)
		emit_move(&o.p, RAX, x->reg);
	own_code(o.own);
	emit_gs_store(&o.p, RCX, SPILL(1));
	from = o.p;
	if (x->kind == X86_CALL_IND)
		push_return(x);
	own_code(from);
	jump_by_table();
}

static void leave(enum exit_literal how, uint64_t pc)
{
	emit_store_64(&o.p, GS(C_PC), pc);
	emit_jump_literal(&o.p, exit_to(how));
}

/* loop and jrcxz reach 127 bytes only. */
static void write_loop(const struct insn *x)
{
	emit_bytes(&o.p, (const void *)x->pc, x->what.len - 1u);
	*o.p++ = 2;
	*o.p++ = 0xeb;
	*o.p++ = x->jump >= 0 ? 5 : 6;
	jump_to(x->jump, x->what.target);
}

/* --- instructions ------------------------------------------------------------------ */

static void copy(const struct insn *x)
{
	uint8_t *at = o.p;

	emit_bytes(&o.p, (const void *)x->pc, x->what.len);
	if (x->what.rip_at) {
		int64_t d = x->what.mem.disp - (int64_t)o.p;
		int32_t v = (int32_t)d;

		if (d != v)
			o.failed = 1;
		memcpy(at + x->what.rip_at, &v, 4);
	}
}

static void help_before(const struct work *w, const struct insn *x)
{
	if (!x->helped || w->uncounted)
		return;
	if (x->helped->kind == H_VSIB)
		moca_exact_show_vectors(&o.p, x->helped);
	call_helper(moca_exact_help_add(x->helped));
}

static void write_string(const struct work *w, const struct insn *x)
{
	const uint8_t *from = o.p;

	copy(x);
	moca_exact_chart_tell(from, o.p, MOCA_EXACT_CODE_STRING);
	if (!w->uncounted && (x->helped->op == 'c' || x->helped->op == 'a'))
		call_helper(moca_exact_help_after(x->helped));
}

static void write_insn(const struct work *w, const struct insn *x)
{
	static const uint8_t clear_eax[] = { 0xb8, 0, 0, 0, 0 };
	const uint8_t *from = o.p;

	switch (x->kind) {
	case X86_JCC:
		if (x->jump >= 0)
			fix_later(emit_jcc(&o.p, x->what.cc, NULL),
				  way_to(w, x, x->jump), x->jump, 0);
		else
			fix_later(emit_jcc(&o.p, x->what.cc, NULL), FIX_STUB, -1,
				  x->what.target);
		break;
	case X86_LOOP:
		write_loop(x);
		break;
	case X86_JUMP:
		jump_to(x->jump, x->what.target);
		break;
	case X86_CALL:
		push_return(x);
		jump_to(-1, x->what.target);
		break;
	case X86_RET:
		write_return(x);
		return;
	case X86_JUMP_IND:
	case X86_CALL_IND:
		write_indirect(x);
		return;
	case X86_SYSCALL:
		leave(LIT_SYSCALL, x->pc + x->what.len);
		return;
	case K_NATIVE:
		leave(LIT_NATIVE, x->pc);
		return;
	case X86_STRING:
		write_string(w, x);
		return;
	case K_GS:
		if (moca_exact_write_gs(&o.p, x))
			leave(LIT_NATIVE, x->pc);
		return;
	case K_RDGS:
		emit_gs_load(&o.p, x->reg, GS(C_GS));
		break;
	case K_WRGS:
		emit_gs_store(&o.p, x->reg, GS(C_GS));
		break;
	case K_WRFS:
		copy(x);
		emit_gs_store(&o.p, x->reg, GS(C_FS));
		break;
	case X86_XBEGIN:
		emit_bytes(&o.p, clear_eax, sizeof(clear_eax));
		jump_to(x->jump, x->what.target);
		break;
	default:
		copy(x);
	}
	own_code(from);
}

/* --- source that may change unseen -------------------------------------------------- */

static void compare_source(const struct work *w, uint8_t **differs, int *n)
{
	uint64_t at = w->low;

	while (at < w->high) {
		uint64_t left = w->high - at, v = 0;
		int size = 8;
		int64_t d;

		/* Aligned, as the program may have set AC. */
		while ((uint64_t)size > left || at % (uint64_t)size)
			size /= 2;

		memcpy(&v, (const void *)at, (size_t)size);
		if (size == 8) {
			emit_move_64(&o.p, RAX, v);
			*o.p++ = 0x48;
			*o.p++ = 0x3b;	/* cmp at(%rip), %rax */
			*o.p++ = 0x05;
			d = (int64_t)at - (int64_t)(o.p + 4);
			emit_32(&o.p, (uint32_t)d);
		} else {
			if (size == 2)
				*o.p++ = 0x66;
			*o.p++ = size == 1 ? 0x80 : 0x81; /* cmp $v, at(%rip) */
			*o.p++ = 0x3d;
			d = (int64_t)at - (int64_t)(o.p + 4 + size);
			emit_32(&o.p, (uint32_t)d);
			emit_bytes(&o.p, &v, (size_t)size);
		}
		differs[(*n)++] = emit_jcc(&o.p, CC_NOT_EQUAL, NULL);
		at += (uint64_t)size;
	}
}

static void verify(const struct work *w)
{
	static uint8_t *differs[BLOCK_INSNS * 4];
	uint8_t *over;
	int n = 0;

	save_flags(0);
	emit_gs_store(&o.p, RAX, SPILL(SPILL_SCRATCH));
	compare_source(w, differs, &n);
	emit_gs_load(&o.p, RAX, SPILL(SPILL_SCRATCH));
	restore_flags(0);
	over = emit_jump_open(&o.p);
	for (int i = 0; i < n; i++)
		emit_patch(differs[i], o.p);
	emit_gs_load(&o.p, RAX, SPILL(SPILL_SCRATCH));
	restore_flags(0);
	leave(LIT_STALE, w->entry);
	emit_patch(over, o.p);
}

/* --- one instruction after the other -------------------------------------------------- */

/* What is written next is the instruction at this mark. */
static void mark_kept(const struct work *w, int i, int mark)
{
	o.mark = &o.kept[mark];
	if (w->precise)
		return;
	moca_exact_keep_mark(o.mark, w, i);
	o.mark->start = (uint16_t)o.away;
}

static void count_ahead(const struct work *w, const struct insn *x)
{
	if (w->precise) {
		count_precise(w, x);
		return;
	}
	count_groups(w, x);
	moca_exact_keep_back(&o.p, &o.away, moca_exact_keep_needed(x));
	o.mark->own = (uint16_t)o.away;
}

/* Registers that it overwrites are the program's; and where a block ends, all. */
static void behind(const struct work *w, int i)
{
	o.away &= ~w->insns[i].what.kills;
	if (moca_exact_ends_block(w, i + 1))
		moca_exact_keep_back(&o.p, &o.away, X86_GPRS);
}

/* --- loops that are counted when they are left ---------------------------------------- */

static struct mark fast_marks[REGION_INSNS];
static uint32_t fast_count;

/*
 * A register to compare with, of those that are neither from nor to: one that is dead at
 * the head, else one that the loop does not use, else any. *dead: it need not be kept.
 */
static int spare_register(const struct work *w, const struct loop *l, int *dead)
{
	uint32_t taken = X86_BIT(RSP) | X86_BIT(l->from) | X86_BIT(l->to);
	uint32_t used = taken, live = w->insns[l->head].live;
	int r = 15;

	for (int i = l->head; i <= l->last; i++)
		used |= w->insns[i].what.reads | w->insns[i].what.writes;
	if ((X86_GPRS & ~(taken | live)))
		taken |= live;
	else if ((X86_GPRS & ~used))
		taken = used;
	while (taken & X86_BIT(r))
		r--;
	*dead = !w->kept && !(live & X86_BIT(r));
	return r;
}

/* Will it be long? Flags are dead; they become those of a jcc to be taken if so. */
static int compare_length(const struct work *w, const struct loop *l)
{
	int32_t imm = (int32_t)l->imm;
	int dead, r;

	if (l->from < 0) {
		emit_compare_imm(&o.p, l->to, imm + l->enough, l->size);
		return CC_NOT_LESS;
	}
	if (l->to < 0) {
		emit_compare_imm(&o.p, l->from, imm - l->enough, l->size);
		return CC_NOT_GREATER;
	}
	r = spare_register(w, l, &dead);
	if (!dead)
		emit_gs_store(&o.p, r, SPILL(SPILL_SCRATCH));
	emit_move(&o.p, r, l->to);
	emit_subtract(&o.p, r, l->from, l->size);
	emit_compare_imm(&o.p, r, l->enough, l->size);
	if (!dead)
		emit_gs_load(&o.p, r, SPILL(SPILL_SCRATCH));
	return CC_NOT_LESS;
}

static void choose(const struct work *w, int number)
{
	const struct loop *l = &w->loops[number];

	fix_later(l->size ? emit_jcc(&o.p, compare_length(w, l), NULL) :
			    emit_jump_open(&o.p), FIX_CHOICE, number, 0);
}

static int loop_at(const struct work *w, int head)
{
	for (int i = 0; i < w->loop_count; i++)
		if (w->loops[i].head == head)
			return i;
	return -1;
}

static void mark_fast(const struct work *w, const struct insn *x, int head)
{
	fast_marks[fast_count++] = (struct mark){
		.host = x->fast, .balanced = head, .loop = 1,
		.pc = x->pc - w->low,
	};
}

static void write_loop_body(struct work *w, const struct loop *l,
			    const uint8_t *code)
{
	for (int i = l->head; i <= l->last; i++) {
		struct insn *x = &w->insns[i];

		if (i > l->head) {
			x->fast = (uint32_t)(o.p - code);
			mark_fast(w, x, 0);
		}
		mark_kept(w, i, w->count + (int)fast_count - 1);
		o.mark->leaves = i == l->last;
		count_ahead(w, x);
		o.own = o.p;
		write_insn(w, x);
		behind(w, i);
		fast_marks[fast_count - 1].own =
			((uint32_t)(o.own - code) - x->fast) & 0xffff;
	}
}

/* A stretch begins; and behind that, its iterations, and its end. */
static void write_fast_loop(struct work *w, int number, const uint8_t *code)
{
	const struct loop *l = &w->loops[number];
	struct insn *x = &w->insns[l->head];
	const struct insn *last = &w->insns[l->last];
	uint8_t *enter, *over;

	o.loop = l;
	o.enter[number] = o.p;
	for (int r = 0; r < 16; r++)
		if (l->needed & X86_BIT(r))
			emit_gs_store(&o.p, r, GS(C_GPR + 8 * r));
	emit_store_imm(&o.p, GS(C_COLD_KEY), (int32_t)l->number);
	emit_jump_literal(&o.p, exit_to(LIT_ENTER_LOOP));
	while ((uint64_t)o.p % LOOP_ALIGNED)
		*o.p++ = 0xcc;
	x->fast = (uint32_t)(o.p - code);
	mark_fast(w, x, 1);
	emit_gs_compare(&o.p, l->progress, GS(C_LOOP_LIMIT));
	over = emit_jcc(&o.p, CC_EQUAL, NULL);
	emit_patch(over, o.enter[number]);
	enter = o.p;
	emit_gs_store(&o.p, l->progress, GS(C_LOOP_NOW));
	write_loop_body(w, l, code);
	emit_jump_literal(&o.p, exit_to(last->next >= 0 &&
						!(w->insns[last->next].live &
						  X86_FLAGS) ?
						LIT_LEAVE_LOOP :
						LIT_LEAVE_LOOP_FLAGS));
	moca_exact_loop_places(l, enter, o.p);
	o.loop = NULL;
	jump_to(last->next, last->pc + last->what.len);
}

/* --- the rest, and all of it ---------------------------------------------------------- */

/* Through a literal: to C at first, and where it comes often to code: straddle.h */
static void write_slow(const struct slow *w)
{
	struct straddle *s = w->straddle;

	s->slot = moca_exact_literal(o.k, 0);
	if (!s->slot) {
		o.failed = 1;
		return;
	}
	emit_patch(w->from, o.p);
	emit_jump_literal(&o.p, s->slot);
	*s->slot = (uint64_t)o.p;
	call_helper(w->helped);
	emit_jump(&o.p, s->back);
}

static void write_colds(void)
{
	for (int i = 0; i < o.cold_count; i++)
		moca_exact_cold_write(&o.colds[i], &o.p, o.k);
	for (int i = 0; i < o.slow_count; i++)
		write_slow(&o.slows[i]);
}

/* NULL: it is not in this region. */
static const uint8_t *place_of(const struct work *w, const struct fix *f,
			       const uint8_t *code)
{
	switch (f->kind) {
	case FIX_HOST:
		return code + w->insns[f->to].host;
	case FIX_BODY:
		return code + w->insns[f->to].body;
	case FIX_FAST:
		return code + w->insns[f->to].fast;
	case FIX_CHOICE:
		return o.enter[f->to];
	default:
		return NULL;
	}
}

static void write_fixes(const struct work *w, const uint8_t *code)
{
	for (int i = 0; i < o.fix_count; i++) {
		const struct fix *f = &o.fixes[i];
		const uint8_t *to = place_of(w, f, code);
		uint64_t *slot;
		uint8_t *stub;

		if (to) {
			emit_patch(f->at, to);
			continue;
		}
		if (f->kind == FIX_LITERAL) {
			slot = moca_exact_link_to(o.k, &o.p, f->target);
			if (slot)
				emit_patch(f->at, (uint8_t *)slot);
		} else {
			stub = o.p;
			emit_patch(f->at, stub);
			o.p += 6;
			slot = moca_exact_link_to(o.k, &o.p, f->target);
			if (slot)
				emit_jump_literal(&stub, slot);
		}
		o.failed |= !slot;
	}
}

static struct region *finish(struct work *w, uint8_t *code)
{
	struct region *r = moca_exact_alloc(sizeof(*r));

	r->low = w->low;
	r->high = w->high;
	r->code = code;
	r->size = (uint32_t)(o.p - code);
	r->count = (uint32_t)w->count + fast_count;
	r->marks = moca_exact_alloc((size_t)r->count * sizeof(*r->marks));
	for (int i = 0; i < w->count; i++) {
		const struct insn *x = &w->insns[i];

		r->marks[i] = (struct mark){
			.host = x->host, .own = (x->own - x->host) & 0xffff,
			.balanced = x->balanced,
			.quiet = x->balanced && x->groups < 0 && !x->helped,
			.transfer = x->kind == X86_RET ||
				    x->kind == X86_JUMP_IND ||
				    x->kind == X86_CALL_IND,
			.pc = x->pc - w->low,
		};
	}
	memcpy(r->marks + w->count, fast_marks,
	       fast_count * sizeof(*fast_marks));
	r->precise = w->precise;
	if (!w->precise) {
		r->kept = moca_exact_alloc((size_t)r->count * sizeof(*r->kept));
		memcpy(r->kept, o.kept, (size_t)r->count * sizeof(*r->kept));
	}
	o.k->at = o.p;
	if (!w->uncounted)
		moca_exact_chart_put(o.k);
	moca_exact_cache_add(o.k, r, w);
	if (moca_exact.setup.debug & DEBUG_STRADDLES)
		for (int i = 0; i < o.slow_count; i++)
			moca_exact_straddle_write(o.slows[i].straddle);
	return r;
}

_Static_assert(REGION_ROOM < 1 << 22, "host of struct mark");
_Static_assert(sizeof(struct mark) == 8 && sizeof(struct kept_mark) == 8,
	       "there are as many as instructions");

struct region *moca_exact_translate(struct work *w)
{
	uint8_t *code;

	moca_exact_group(w);
	moca_exact_loops(w);
	o.k = w->cache;
	o.p = code = o.k->at;
	o.cold_count = o.slow_count = o.fix_count = o.failed = 0;
	o.loop = NULL;
	o.away = 0;
	fast_count = 0;
	moca_exact_chart_new();
	for (int i = 0; i < w->count; i++) {
		struct insn *x = &w->insns[i];
		int loop = loop_at(w, i);

		x->host = (uint32_t)(o.p - code);
		if (!i && w->writable)
			verify(w);
		if (loop >= 0)
			choose(w, loop);
		x->body = (uint32_t)(o.p - code);
		mark_kept(w, i, i);
		count_ahead(w, x);
		help_before(w, x);
		o.own = o.p;
		write_insn(w, x);
		behind(w, i);
		x->own = (uint32_t)(o.own - code);
		if (moca_exact_falls_through(x) && (x->next < 0 || x->next != i + 1))
			jump_to(x->next, x->pc + x->what.len);
	}
	for (int i = 0; i < w->loop_count; i++)
		write_fast_loop(w, i, code);
	write_colds();
	write_fixes(w, code);
	if (o.failed)
		return NULL;
	return finish(w, code);
}
