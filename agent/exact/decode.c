// SPDX-License-Identifier: LGPL-2.1-or-later
/* One instruction: what it reads, writes, accesses, and where it goes. */
#include <Zydis/Zydis.h>

#include "agent/exact/translate.h"
#include "lib/code/link.h"

static ZydisDecoder decoder;
static ZyanStatus (*decode_full)(const ZydisDecoder *, const void *, ZyanUSize,
				 ZydisDecodedInstruction *,
				 ZydisDecodedOperand *);
static ZydisRegister (*enclosing)(ZydisMachineMode, ZydisRegister);

static void failed(void)
{
	moca_exact_die("the decoder, libZydis, found an error in itself", 0);
}

int moca_exact_decode_init(uint64_t zydis)
{
	struct moca_linked l;
	ZyanStatus (*init)(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);
	ZyanStatus ok;

	if (moca_link(&l, zydis, failed))
		return -1;
	init = moca_link_find(&l, "ZydisDecoderInit");
	decode_full = moca_link_find(&l, "ZydisDecoderDecodeFull");
	enclosing = moca_link_find(&l, "ZydisRegisterGetLargestEnclosing");
	if (!init || !decode_full || !enclosing)
		return -1;
	ok = init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ok) ? 0 : -1;
}

/* Number of a general register, or -1. */
static int gpr(ZydisRegister r)
{
	if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_BL)
		return r - ZYDIS_REGISTER_AL;
	if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
		return r - ZYDIS_REGISTER_AH;
	if (r >= ZYDIS_REGISTER_SPL && r <= ZYDIS_REGISTER_R15B)
		return r - ZYDIS_REGISTER_SPL + 4;
	if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
		return r - ZYDIS_REGISTER_AX;
	if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
		return r - ZYDIS_REGISTER_EAX;
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return r - ZYDIS_REGISTER_RAX;
	return -1;
}

static struct operand operand_of(const ZydisDecodedInstruction *d,
				 const ZydisDecodedOperand *o, uint64_t pc)
{
	struct operand a = { .base = (int8_t)gpr(o->mem.base),
			     .index = (int8_t)gpr(o->mem.index) };

	a.scale = o->mem.scale ? o->mem.scale : 1;
	a.disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
	a.seg = o->mem.segment == ZYDIS_REGISTER_FS ? SEG_FS :
		o->mem.segment == ZYDIS_REGISTER_GS ? SEG_GS : 0;
	a.rip = o->mem.base == ZYDIS_REGISTER_RIP ||
		o->mem.base == ZYDIS_REGISTER_EIP;
	a.narrow = d->address_width == 32;
	a.load = !!(o->actions & ZYDIS_OPERAND_ACTION_MASK_READ);
	a.store = !!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
	if (a.rip)
		a.disp += (int64_t)(pc + d->length);
	return a;
}

/* Instructions whose memory operand is not accessed. */
static int no_access(const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *o)
{
	if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM &&
	    o->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		return 1;
	switch (d->meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_CLDEMOTE:
		return 1;
	default:
		break;
	}
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
		return 1;
	default:
		return 0;
	}
}

static void add_access(struct insn *x, const struct operand *a)
{
	if ((a->load || a->store) && x->accesses < INSN_ACCESSES)
		x->access[x->accesses++] = *a;
}

static void read_registers(struct insn *x, const ZydisDecodedOperand *o)
{
	int r = gpr(o->reg.value);

	if (r < 0)
		return;
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		x->reads |= REG_BIT(r);
	if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	x->writes |= REG_BIT(r);
	if (o->size >= 32 && !(o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
		x->kills |= REG_BIT(r);
	else
		x->reads |= REG_BIT(r);
}

/* Below %rsp, or at it: where push, call and their like access memory. */
static void stack_access(struct insn *x, const ZydisDecodedInstruction *d,
			 const ZydisDecodedOperand *o, struct operand a)
{
	a.index = -1;
	a.seg = 0;
	a.narrow = 0;
	a.disp = 0;
	if (a.store)
		a.disp = -(int64_t)(o->size / 8);
	if (d->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		a.base = RBP;
	add_access(x, &a);
}

static void read_memory(struct insn *x, const ZydisDecodedInstruction *d,
			const ZydisDecodedOperand *o)
{
	struct operand a = operand_of(d, o, x->pc);
	int hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

	if (a.base >= 0)
		x->reads |= REG_BIT(a.base);
	if (a.index >= 0)
		x->reads |= REG_BIT(a.index);
	if (a.rip)
		x->rip_at = d->raw.disp.offset;
	if (!hidden)
		x->mem = a;
	if (no_access(d, o))
		return;
	if (hidden && (a.base == RSP || d->mnemonic == ZYDIS_MNEMONIC_LEAVE)) {
		stack_access(x, d, o, a);
		return;
	}
	if (d->meta.isa_ext == ZYDIS_ISA_EXT_AMX_TILE)
		a.index = -1;	/* the distance of rows */
	/* The address is told after the stack pointer has moved. */
	if (d->mnemonic == ZYDIS_MNEMONIC_POP && a.base == RSP)
		a.disp += d->operand_width / 8;
	if (a.seg == SEG_GS)
		x->kind = K_GS;
	add_access(x, &a);
}

static void read_flags(struct insn *x, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op)
{
	const ZydisAccessedFlags *f = d->cpu_flags;

	if (!f)
		return;
	x->flags_read = f->tested & ALL_FLAGS;
	x->flags_kill = (f->modified | f->set_0 | f->set_1 | f->undefined) &
			ALL_FLAGS;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		break;
	default:
		return;
	}
	/* By 0 they leave the flags alone. */
	for (int i = 0; i < d->operand_count_visible; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    op[i].imm.value.u & 31)
			return;
	x->flags_kill = 0;
}

static int string_op(const ZydisDecodedInstruction *d)
{
	if (d->meta.category != ZYDIS_CATEGORY_STRINGOP)
		return 0;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_LODSD:
	case ZYDIS_MNEMONIC_LODSQ:
		return 'l';
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
		return 's';
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
		return 'm';
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ:
		return 'c';
	case ZYDIS_MNEMONIC_SCASB:
	case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_SCASD:
	case ZYDIS_MNEMONIC_SCASQ:
		return 'a';
	default:
		return 0;
	}
}

static struct helped *help(struct insn *x, enum insn_kind kind,
			   enum helped_kind what)
{
	struct helped *h = moca_exact_alloc(sizeof(*h));

	h->kind = what;
	h->pc = x->pc;
	h->mem = x->mem;
	x->kind = (uint8_t)kind;
	x->accesses = 0;
	x->helped = h;
	return h;
}

static void string(struct insn *x, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op, int which)
{
	struct helped *h = help(x, K_STRING, H_STRING);

	h->op = (uint8_t)which;
	h->rep = d->attributes & ZYDIS_ATTRIB_HAS_REPNE ? 2 :
		 d->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE) ?
			1 : 0;
	h->mem.narrow = d->address_width == 32;
	for (int i = 0; i < d->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			h->size = (uint8_t)(op[i].size / 8);
			if (op[i].mem.segment == ZYDIS_REGISTER_FS)
				h->mem.seg = SEG_FS;
			if (op[i].mem.segment == ZYDIS_REGISTER_GS)
				x->kind = K_NATIVE;
		}
	if (h->rep)
		x->flags_kill = 0;
	/* Without rep, too, registers move on: nothing is known of them. */
	x->kills = 0;
	x->reads |= x->writes;
}

/* A gather or a scatter. */
static void vsib(struct insn *x, const ZydisDecodedInstruction *d,
		 const ZydisDecodedOperand *op)
{
	struct helped *h = help(x, K_HELPED, H_VSIB);
	int evex = d->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;

	for (int i = 0; i < d->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
			ZydisRegister v = o->mem.index;

			h->mem = operand_of(d, o, x->pc);
			h->mem.index = -1;
			h->store = h->mem.store;
			if (v >= ZYDIS_REGISTER_ZMM0)
				h->vector = (uint8_t)(v - ZYDIS_REGISTER_ZMM0);
			else if (v >= ZYDIS_REGISTER_YMM0)
				h->vector = (uint8_t)(v - ZYDIS_REGISTER_YMM0);
			else
				h->vector = (uint8_t)(v - ZYDIS_REGISTER_XMM0);
		}
	}
	h->wide_mask = !evex;
	if (evex) {
		h->mask = (uint8_t)(d->avx.mask.reg - ZYDIS_REGISTER_K0);
	} else {
		ZydisRegister m = op[2].reg.value;

		h->mask = (uint8_t)(m >= ZYDIS_REGISTER_YMM0 ?
					    m - ZYDIS_REGISTER_YMM0 :
					    m - ZYDIS_REGISTER_XMM0);
	}
	/* v(p)gather/scatter + D or Q (index) + D, Q, PS or PD (element). */
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_VGATHERDPS:
	case ZYDIS_MNEMONIC_VPGATHERDD:
	case ZYDIS_MNEMONIC_VSCATTERDPS:
	case ZYDIS_MNEMONIC_VPSCATTERDD:
		h->index_size = 4, h->mask_size = 4;
		break;
	case ZYDIS_MNEMONIC_VGATHERDPD:
	case ZYDIS_MNEMONIC_VPGATHERDQ:
	case ZYDIS_MNEMONIC_VSCATTERDPD:
	case ZYDIS_MNEMONIC_VPSCATTERDQ:
		h->index_size = 4, h->mask_size = 8;
		break;
	case ZYDIS_MNEMONIC_VGATHERQPS:
	case ZYDIS_MNEMONIC_VPGATHERQD:
	case ZYDIS_MNEMONIC_VSCATTERQPS:
	case ZYDIS_MNEMONIC_VPSCATTERQD:
		h->index_size = 8, h->mask_size = 4;
		break;
	case ZYDIS_MNEMONIC_VGATHERQPD:
	case ZYDIS_MNEMONIC_VPGATHERQQ:
	case ZYDIS_MNEMONIC_VSCATTERQPD:
	case ZYDIS_MNEMONIC_VPSCATTERQQ:
		h->index_size = 8, h->mask_size = 8;
		break;
	default:		/* prefetches by masks access nothing */
		x->kind = K_PLAIN;
		x->helped = NULL;
		return;
	}
	{
		int widest = h->index_size > h->mask_size ? h->index_size :
							    h->mask_size;

		h->elements = (uint8_t)(d->avx.vector_length / 8 / widest);
	}
}

static void branch(struct insn *x, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op)
{
	for (int i = 0; i < d->operand_count_visible; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    op[i].imm.is_relative)
			x->target = x->pc + d->length +
				    (uint64_t)op[i].imm.value.s;
	if (d->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
		x->kind = K_NATIVE;
		return;
	}
	x->reg = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ?
			 (uint8_t)gpr(op[0].reg.value) : 0xff;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
		x->kind = x->target ? K_JUMP : K_JUMP_IND;
		break;
	case ZYDIS_MNEMONIC_CALL:
		x->kind = x->target ? K_CALL : K_CALL_IND;
		break;
	case ZYDIS_MNEMONIC_RET:
		x->kind = K_RET;
		x->pop = d->raw.imm[0].size ? (uint16_t)d->raw.imm[0].value.u : 0;
		break;
	case ZYDIS_MNEMONIC_XBEGIN:
		x->kind = K_XBEGIN;
		break;
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		x->kind = K_LOOP;
		break;
	default:
		if (d->meta.category == ZYDIS_CATEGORY_COND_BR) {
			x->kind = K_JCC;
			x->cc = d->opcode & 15;
		}
	}
	/* 16-bit operands cut the instruction pointer. */
	if (d->operand_width == 16 &&
	    (x->kind == K_JUMP || x->kind == K_CALL || x->kind == K_RET ||
	     x->kind == K_JUMP_IND || x->kind == K_CALL_IND))
		x->kind = K_NATIVE;
	if ((x->kind == K_CALL_IND || x->kind == K_JUMP_IND) &&
	    x->mem.seg == SEG_GS)
		x->kind = K_NATIVE;
	if (x->kind == K_CALL || x->kind == K_CALL_IND || x->kind == K_RET ||
	    x->kind == K_JUMP_IND) {
		x->kills = 0;
		x->flags_kill = 0;
	}
}

/* What a loop's end may compare: two registers, or one with a constant. */
static void compares(struct insn *x, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *op)
{
	int a = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ?
			gpr(op[0].reg.value) : -1;

	x->compare.a = x->compare.b = -1;
	if (a < 0 || op[0].size < 32)
		return;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
		if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			x->compare.imm = op[1].imm.value.s;
		else if (op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			x->compare.b = (int8_t)gpr(op[1].reg.value);
		else
			return;
		break;
	case ZYDIS_MNEMONIC_TEST:
		if (op[1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    op[1].reg.value != op[0].reg.value)
			return;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return;
		x->compare.add = d->mnemonic == ZYDIS_MNEMONIC_ADD ?
					 op[1].imm.value.s : -op[1].imm.value.s;
		break;
	case ZYDIS_MNEMONIC_INC:
		x->compare.add = 1;
		break;
	case ZYDIS_MNEMONIC_DEC:
		x->compare.add = -1;
		break;
	default:
		return;
	}
	x->compare.a = (int8_t)a;
	x->compare.size = (uint8_t)(op[0].size / 8);
}

/* rsp + 8, rbp = rsp, and so on: what is known of a register by another. */
static void moves(struct insn *x, const ZydisDecodedInstruction *d,
		  const ZydisDecodedOperand *op)
{
	int to = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].size == 64 ?
			 gpr(op[0].reg.value) : -1;
	int from = -1;
	int64_t add = 0;

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			from = to;
			add = op[1].imm.value.s;
			if (d->mnemonic == ZYDIS_MNEMONIC_SUB)
				add = -add;
		}
		break;
	case ZYDIS_MNEMONIC_INC:
		from = to, add = 1;
		break;
	case ZYDIS_MNEMONIC_DEC:
		from = to, add = -1;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (op[1].mem.index == ZYDIS_REGISTER_NONE &&
		    d->address_width == 64 && !x->mem.seg) {
			from = gpr(op[1].mem.base);
			add = op[1].mem.disp.value;
		}
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			from = gpr(op[1].reg.value);
		break;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		to = from = RSP;
		add = -(int64_t)(d->operand_width / 8);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (to == RSP || (op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				  gpr(op[0].reg.value) == RSP))
			return;
		to = from = RSP;
		add = d->operand_width / 8;
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		to = from = RSP;
		add = 8;
		break;
	default:
		return;
	}
	if (to < 0 || from < 0)
		return;
	x->move_to = (int8_t)to;
	x->move_from = (int8_t)from;
	x->move_add = add;
}

/* Those that need more than their operands tell. */
static void special(struct insn *x, const ZydisDecodedInstruction *d,
		    const ZydisDecodedOperand *op)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
		x->kind = K_SYSCALL;
		x->reads = ALL_REGS;
		x->kills = 0;
		x->flags_kill = 0;
		x->flags_read = ALL_FLAGS;
		break;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
		x->kind = K_STOP;
		x->accesses = 0;
		break;
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		x->kind = K_NATIVE;
		break;
	case ZYDIS_MNEMONIC_INT:
		/* All but a 32-bit program's system call raise a signal. */
		x->kind = d->raw.imm[0].value.u == 0x80 ? K_NATIVE : K_STOP;
		x->accesses = 0;
		break;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_LGS:
		if (op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[0].reg.value == ZYDIS_REGISTER_GS)
			x->kind = K_NATIVE;
		if (d->mnemonic == ZYDIS_MNEMONIC_LGS)
			x->kind = K_NATIVE;
		break;
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_WRFSBASE:
		x->kind = d->mnemonic == ZYDIS_MNEMONIC_RDGSBASE ? K_RDGS :
			  d->mnemonic == ZYDIS_MNEMONIC_WRGSBASE ? K_WRGS :
								   K_WRFS;
		x->reg = (uint8_t)gpr(op[0].reg.value);
		if (op[0].size != 64)
			x->kind = K_NATIVE;
		break;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
		/* Of 0: the register keeps its value. */
		x->reads |= x->writes;
		x->kills = 0;
		break;
	case ZYDIS_MNEMONIC_PAUSE:
		/* With REX.B, CPUs (AMD's) exchange rax and r8. */
		if (!d->raw.rex.B)
			break;
		x->reads |= REG_BIT(RAX) | REG_BIT(8);
		x->writes |= REG_BIT(RAX) | REG_BIT(8);
		break;
	case ZYDIS_MNEMONIC_XLAT:
		help(x, K_HELPED, H_XLAT)->mem.seg = op[0].mem.segment ==
			ZYDIS_REGISTER_FS ? SEG_FS : 0;
		break;
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		if (op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			struct helped *h;

			if (x->kind == K_GS) {
				x->kind = K_NATIVE;
				break;
			}
			h = help(x, K_HELPED, H_BIT);
			h->reg = (int8_t)gpr(op[1].reg.value);
			h->reg_size = (uint8_t)(op[1].size / 8);
		}
		break;
	case ZYDIS_MNEMONIC_ENTER:
		help(x, K_HELPED, H_ENTER)->count =
			(uint8_t)(d->raw.imm[1].value.u & 31);
		break;
	default:
		break;
	}
}

/* Where the parts of its encoding are, for those that are written anew. */
static void encoding(struct insn *x, const ZydisDecodedInstruction *d)
{
	if (x->kind != K_GS)
		return;
	x->modrm_at = d->raw.modrm.offset;
	x->rex_at = d->raw.rex.offset;
	x->imm_len = (uint8_t)((d->raw.imm[0].size + d->raw.imm[1].size) / 8);
	x->gs_at = 0xff;
	for (int i = 0; i < d->raw.prefix_count; i++)
		if (d->raw.prefixes[i].value == 0x65)
			x->gs_at = (uint8_t)i;
	if (d->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
	    !x->modrm_at || x->gs_at == 0xff)
		x->kind = K_NATIVE;
}

int moca_exact_decode(uint64_t pc, uint64_t max, struct insn *x)
{
	ZydisDecodedInstruction d;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	int which, is_vsib = 0;

	memset(x, 0, sizeof(*x));
	x->pc = pc;
	x->move_to = -1;
	x->groups = -1;
	x->mem.base = x->mem.index = -1;
	x->compare.a = -1;
	if (!ZYAN_SUCCESS(decode_full(&decoder, (const void *)pc,
				      max < 15 ? max : 15, &d, op))) {
		/* The CPU may know it, or not: it shall decide. */
		x->kind = K_NATIVE;
		x->len = 1;
		return -1;
	}
	x->len = d.length;
	read_flags(x, &d, op);
	for (int i = 0; i < d.operand_count; i++) {
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			read_registers(x, &op[i]);
		else if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			read_memory(x, &d, &op[i]);
			is_vsib |= op[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB;
		}
	}
	which = string_op(&d);
	if (which)
		string(x, &d, op, which);
	else if (is_vsib)
		vsib(x, &d, op);
	branch(x, &d, op);
	moves(x, &d, op);
	compares(x, &d, op);
	special(x, &d, op);
	encoding(x, &d);
	if ((d.mnemonic == ZYDIS_MNEMONIC_XOR ||
	     d.mnemonic == ZYDIS_MNEMONIC_SUB) && x->kills &&
	    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    op[0].reg.value == op[1].reg.value)
		x->reads = 0;
	return 0;
}
