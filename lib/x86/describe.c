// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/x86/describe.h"

#include <stdbool.h>

int moca_x86_register(ZydisRegister r)
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

/* --- memory ----------------------------------------------------------------------- */

/* Instructions whose memory operand is not accessed. */
static bool no_access(const ZydisDecodedInstruction *d,
		      const ZydisDecodedOperand *o)
{
	if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM &&
	    o->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		return true;	/* lea, and bounds that no CPU has */
	switch (d->meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_CLDEMOTE:
		return true;
	default:
		break;
	}
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
		return true;
	default:
		return false;
	}
}

static struct x86_mem mem_of(const struct x86_insn *x, uint64_t pc,
			     const ZydisDecodedInstruction *d,
			     const ZydisDecodedOperand *o)
{
	struct x86_mem m = {
		.base = (int8_t)moca_x86_register(o->mem.base),
		.index = (int8_t)moca_x86_register(o->mem.index),
		.scale = o->mem.scale ? o->mem.scale : 1,
		.disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0,
		.seg = o->mem.segment == ZYDIS_REGISTER_FS ? X86_FS :
		       o->mem.segment == ZYDIS_REGISTER_GS ? X86_GS : X86_DS,
		.rip = o->mem.base == ZYDIS_REGISTER_RIP ||
		       o->mem.base == ZYDIS_REGISTER_EIP,
		.narrow = d->address_width == 32,
		.load = !!(o->actions & ZYDIS_OPERAND_ACTION_MASK_READ),
		.store = !!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE),
		.hidden = o->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT,
	};

	if (m.rip)
		m.disp += (int64_t)(pc + x->len);
	return m;
}

/* Below %rsp, or at it: where push, call and their like access memory. */
static void be_stack(struct x86_mem *m, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *o)
{
	m->index = -1;
	m->seg = X86_DS;
	m->narrow = 0;
	m->disp = m->store ? -(int64_t)(o->size / 8) : 0;
	if (d->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		m->base = RBP;
}

static void read_memory(struct x86_insn *x, uint64_t pc,
			const ZydisDecodedInstruction *d,
			const ZydisDecodedOperand *o)
{
	struct x86_mem m = mem_of(x, pc, d, o);

	x->reads |= X86_BIT(m.base) | X86_BIT(m.index);
	if (m.rip)
		x->rip_at = d->raw.disp.offset;
	if (!m.hidden)
		x->mem = m;
	if (no_access(d, o) || !(m.load || m.store) ||
	    x->accesses == X86_ACCESSES)
		return;
	if (m.hidden && (m.base == RSP || d->mnemonic == ZYDIS_MNEMONIC_LEAVE)) {
		be_stack(&m, d, o);
	} else if (d->meta.isa_ext == ZYDIS_ISA_EXT_AMX_TILE) {
		m.index = -1;	/* the distance of rows */
	} else if (d->mnemonic == ZYDIS_MNEMONIC_POP && m.base == RSP) {
		/* The address is told after the stack pointer has moved. */
		m.popped = (uint8_t)(d->operand_width / 8);
		m.disp += m.popped;
	}
	x->access[x->accesses++] = m;
}

/* --- registers and flags ---------------------------------------------------------- */

static void read_registers(struct x86_insn *x, const ZydisDecodedOperand *o)
{
	uint32_t bit = X86_BIT(moca_x86_register(o->reg.value));

	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		x->reads |= bit;
	if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	x->writes |= bit;
	if (o->size >= 32 && !(o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
		x->kills |= bit;
	else
		x->reads |= bit;
}

static void read_flags(struct x86_insn *x, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op)
{
	const ZydisAccessedFlags *f = d->cpu_flags;
	uint32_t written;

	if (!f)
		return;
	written = (f->modified | f->set_0 | f->set_1 | f->undefined)
			  << X86_FLAG_SHIFT & X86_FLAGS;
	x->reads |= f->tested << X86_FLAG_SHIFT & X86_FLAGS;
	x->writes |= written;
	if (d->meta.category == ZYDIS_CATEGORY_SHIFT ||
	    d->meta.category == ZYDIS_CATEGORY_ROTATE) {
		int n = d->operand_count_visible;

		/* By 0 they leave the flags alone. */
		if (n < 2 || op[n - 1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		    !(op[n - 1].imm.value.u & 31))
			return;
	}
	x->kills |= written;
}

/* rsp + 8, rbp = rsp, and so on: what is known of a register by another. */
static void moves(struct x86_insn *x, const ZydisDecodedInstruction *d,
		  const ZydisDecodedOperand *op)
{
	int reg = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ?
			  moca_x86_register(op[0].reg.value) : -1;
	int to = op[0].size == 64 ? reg : -1, from = -1;
	int64_t add = 0;

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return;
		from = to;
		add = d->mnemonic == ZYDIS_MNEMONIC_ADD ? op[1].imm.value.s :
							  -op[1].imm.value.s;
		break;
	case ZYDIS_MNEMONIC_INC:
		from = to, add = 1;
		break;
	case ZYDIS_MNEMONIC_DEC:
		from = to, add = -1;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (x->mem.index >= 0 || x->mem.narrow || x->mem.seg)
			return;
		from = x->mem.base;
		add = x->mem.disp;
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			from = moca_x86_register(op[1].reg.value);
		break;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		to = from = RSP;
		add = -(int64_t)(d->operand_width / 8);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (reg == RSP)
			return;
		/* fallthrough */
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		to = from = RSP;
		add = d->operand_width / 8;
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

/* --- kinds ------------------------------------------------------------------------ */

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

static void string(struct x86_insn *x, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op)
{
	uint32_t moved = 0;

	x->op = (uint8_t)string_op(d);
	if (!x->op)
		return;
	x->kind = X86_STRING;
	x->rep = d->attributes & ZYDIS_ATTRIB_HAS_REPNE ? 2 :
		 d->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE) ?
			1 : 0;
	for (int i = 0; i < d->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			x->size = (uint8_t)(op[i].size / 8);
	/* Zydis does not tell of cmps that it moves both. */
	if (x->op != 's' && x->op != 'a')
		moved |= X86_BIT(RSI);
	if (x->op != 'l')
		moved |= X86_BIT(RDI);
	x->reads |= moved;
	x->writes |= moved;
	/* By a count of 0 it does nothing. */
	if (x->rep) {
		x->reads |= x->writes & X86_GPRS;
		x->kills = 0;
	}
}

static enum x86_kind branch_kind(const ZydisDecodedInstruction *d,
				 const ZydisDecodedOperand *op)
{
	bool direct = op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (d->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return X86_FAR;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
		return X86_XBEGIN;
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return X86_LOOP;
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
		break;
	default:
		return d->meta.category == ZYDIS_CATEGORY_COND_BR ? X86_JCC :
								    X86_PLAIN;
	}
	/* 16-bit operands cut the instruction pointer. */
	if (d->operand_width == 16)
		return X86_FAR;
	if (d->mnemonic == ZYDIS_MNEMONIC_RET)
		return X86_RET;
	if (d->mnemonic == ZYDIS_MNEMONIC_JMP)
		return direct ? X86_JUMP : X86_JUMP_IND;
	return direct ? X86_CALL : X86_CALL_IND;
}

/* Those that need more than their operands tell. */
static void special(struct x86_insn *x, const ZydisDecodedInstruction *d,
		    const ZydisDecodedOperand *op)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
		x->kind = X86_SYSCALL;
		x->reads = X86_ALL;
		x->kills = 0;
		break;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
		x->kind = X86_STOP;
		x->accesses = 0;
		break;
	case ZYDIS_MNEMONIC_INT:
		/* All but a 32-bit program's system call raise a signal. */
		x->kind = d->raw.imm[0].value.u == 0x80 ? X86_FAR : X86_STOP;
		x->accesses = 0;
		break;
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		x->kind = X86_FAR;
		break;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
		/* Of 0: the register keeps its value. */
		x->reads |= x->writes & X86_GPRS;
		x->kills &= ~X86_GPRS;
		break;
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		/* Of a register with itself: it does not matter what it was. */
		if (x->kills & X86_GPRS &&
		    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[0].reg.value == op[1].reg.value)
			x->reads = 0;
		break;
	case ZYDIS_MNEMONIC_PAUSE:
		/* With REX.B, CPUs (AMD's) exchange rax and r8. */
		if (!d->raw.rex.B)
			break;
		x->reads |= X86_BIT(RAX) | X86_BIT(R8);
		x->writes |= X86_BIT(RAX) | X86_BIT(R8);
		break;
	case ZYDIS_MNEMONIC_XLAT:
		x->kind = X86_XLAT;
		break;
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		if (op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			x->kind = X86_BIT_STRING;
		break;
	case ZYDIS_MNEMONIC_ENTER:
		x->kind = X86_ENTER;
		break;
	default:
		break;
	}
}

void moca_x86_describe(struct x86_insn *x, uint64_t pc,
		       const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op)
{
	*x = (struct x86_insn){ .len = d->length, .move_to = -1,
				.mem = { .base = -1, .index = -1 } };
	x->kind = (uint8_t)branch_kind(d, op);
	if (x->kind == X86_JCC)
		x->cc = d->opcode & 15;
	read_flags(x, d, op);
	for (int i = 0; i < d->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			read_registers(x, o);
		} else if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			if (o->imm.is_relative)
				x->target = pc + d->length +
					    (uint64_t)o->imm.value.s;
		} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			read_memory(x, pc, d, o);
			if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
				x->kind = X86_VSIB;
		}
	}
	moves(x, d, op);
	string(x, d, op);
	special(x, d, op);
}
