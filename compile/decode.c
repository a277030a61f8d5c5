// SPDX-License-Identifier: GPL-2.0-or-later
/* What each instruction does to registers, flags and memory, from its bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "compile/asm.h"
#include "include/abi/count.h"

static int reg_number(ZydisRegister reg)
{
	ZydisRegister big;

	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
		return RIP;
	big = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (big < ZYDIS_REGISTER_RAX || big > ZYDIS_REGISTER_R15)
		return ASM_NO_REG;
	return big - ZYDIS_REGISTER_RAX;
}

static uint32_t reg_bit(ZydisRegister reg)
{
	int n = reg_number(reg);

	return n >= 0 && n < 16 ? 1u << n : 0;
}

static uint32_t flag_bits(ZyanU32 mask)
{
	static const ZyanU32 flags[6] = {
		ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF, ZYDIS_CPUFLAG_AF,
		ZYDIS_CPUFLAG_ZF, ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF
	};
	uint32_t bits = 0;
	int i;

	for (i = 0; i < 6; i++)
		if (mask & flags[i])
			bits |= 1u << (16 + i);
	return bits;
}

static void be_unknown(struct asm_stmt *s, enum asm_gap gap)
{
	s->known = false;
	s->gap = (uint8_t)gap;
	s->read = s->write = ASM_ALL;
	s->kill = 0;
	s->push = 0;
	s->effect = EFFECT_NONE;
}

/* Which do not touch the memory that they name. */
static bool touches_nothing(const ZydisDecodedInstruction *i)
{
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_LEA:
		return true;
	default:
		break;
	}
	return i->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	       i->meta.category == ZYDIS_CATEGORY_PREFETCHWT1 ||
	       i->meta.category == ZYDIS_CATEGORY_NOP ||
	       i->meta.category == ZYDIS_CATEGORY_WIDENOP;
}

static void flags_of(struct asm_stmt *s, const ZydisDecodedInstruction *i,
		     const ZydisDecodedOperand *op)
{
	const ZydisAccessedFlags *a = i->cpu_flags;
	uint32_t written = 0;

	if (a) {
		s->read |= flag_bits(a->tested);
		written = flag_bits(a->modified | a->set_0 | a->set_1 |
				    a->undefined);
	}
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_LAHF:
		s->read |= ASM_FLAGS;
		break;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
		written = ASM_FLAGS;
		break;
	default:
		break;
	}
	s->write |= written;
	/* A count of 0 leaves them as they were. */
	if (i->meta.category == ZYDIS_CATEGORY_SHIFT ||
	    i->meta.category == ZYDIS_CATEGORY_ROTATE) {
		int n = i->operand_count_visible;

		if (n < 2 || op[n - 1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		    !(op[n - 1].imm.value.u & 31))
			return;
	}
	if (i->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
			     ZYDIS_ATTRIB_HAS_REPNE))
		return;
	s->kill |= written;
}

static void registers_of(struct asm_stmt *s, const ZydisDecodedInstruction *i,
			 const ZydisDecodedOperand *op)
{
	bool zeroes = (i->mnemonic == ZYDIS_MNEMONIC_XOR ||
		       i->mnemonic == ZYDIS_MNEMONIC_SUB) &&
		      op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		      op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		      op[0].reg.value == op[1].reg.value && op[0].size >= 32;
	int k;

	for (k = 0; k < i->operand_count; k++) {
		const ZydisDecodedOperand *o = &op[k];
		uint32_t bit;

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			s->read |= reg_bit(o->mem.base) | reg_bit(o->mem.index);
			continue;
		}
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		bit = reg_bit(o->reg.value);
		if (!bit)
			continue;
		if ((o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) && !zeroes)
			s->read |= bit;
		if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		s->write |= bit;
		if ((o->actions & ZYDIS_OPERAND_ACTION_WRITE) &&
		    ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64,
					  o->reg.value) >= 32 &&
		    i->mnemonic != ZYDIS_MNEMONIC_BSF &&
		    i->mnemonic != ZYDIS_MNEMONIC_BSR)
			s->kill |= bit;
		else
			s->read |= bit;
	}
	/* What is left of a repeated one depends on the count. */
	if (s->string) {
		s->read |= s->write & ASM_GPRS;
		s->kill &= ~ASM_GPRS;
	}
}

static void effect(struct asm_stmt *s, int dst, int src, int64_t amount)
{
	s->effect = EFFECT_ADD;
	s->dst = (int8_t)dst;
	s->src = (int8_t)src;
	s->amount = amount;
}

static void effects_of(struct asm_stmt *s, const ZydisDecodedInstruction *i,
		       const ZydisDecodedOperand *op)
{
	int dst;

	if (op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || op[0].size != 64)
		return;
	dst = reg_number(op[0].reg.value);
	if (dst < 0 || dst > 15)
		return;
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    !strpbrk(s->text, "@") && s->text[strcspn(s->text, "$")] &&
		    strchr("-0123456789", strchr(s->text, '$')[1]))
			effect(s, dst, dst,
			       i->mnemonic == ZYDIS_MNEMONIC_ADD ?
				       op[1].imm.value.s : -op[1].imm.value.s);
		break;
	case ZYDIS_MNEMONIC_INC:
		effect(s, dst, dst, 1);
		break;
	case ZYDIS_MNEMONIC_DEC:
		effect(s, dst, dst, -1);
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    reg_bit(op[1].reg.value))
			effect(s, dst, reg_number(op[1].reg.value), 0);
		break;
	case ZYDIS_MNEMONIC_LEA: {
		char *text = moca_asm_operand(s->text);
		struct asm_mem m;

		if (text && !moca_asm_mem_parse(&m, text)) {
			if (!*m.sym && m.index == ASM_NO_REG && !m.narrow &&
			    m.base >= 0 && m.base < 16)
				effect(s, dst, m.base, m.num);
			free(m.sym);
		}
		free(text);
		break;
	}
	default:
		break;
	}
}

static void flow_of(struct asm_stmt *s, const ZydisDecodedInstruction *i,
		    const ZydisDecodedOperand *op)
{
	bool direct = op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	const char *t;

	switch (i->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		s->flow = FLOW_BRANCH;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		s->flow = direct ? FLOW_JUMP : FLOW_INDIRECT;
		break;
	case ZYDIS_CATEGORY_CALL:
		s->flow = FLOW_CALL;
		break;
	case ZYDIS_CATEGORY_RET:
		s->flow = FLOW_RET;
		break;
	default:
		if (i->mnemonic == ZYDIS_MNEMONIC_UD2 ||
		    i->mnemonic == ZYDIS_MNEMONIC_HLT)
			s->flow = FLOW_STOP;
		return;
	}
	if (direct) {
		t = s->text + strlen(s->text);
		while (t > s->text && t[-1] != ' ' && t[-1] != '\t')
			t--;
		s->target = strdup(t);
	}
}

static bool is_link_time(const char *sym)
{
	return strcasestr(sym, "@gottpoff") || strcasestr(sym, "@tls") ||
	       strcasestr(sym, "@indntpoff");
}

/* The explicit memory operand, in the source's words. enum asm_gap. */
static enum asm_gap explicit_mem(struct asm_stmt *s, struct asm_mem *m,
				 const ZydisDecodedInstruction *i,
				 const ZydisDecodedOperand *o)
{
	int base = reg_number(o->mem.base), index = reg_number(o->mem.index);
	char *text = moca_asm_operand(s->text);
	int err;

	if (!text)
		return ASM_GAP_OPERAND;
	err = moca_asm_mem_parse(m, text);
	free(text);
	if (err)
		return ASM_GAP_OPERAND;
	if (is_link_time(m->sym)) {
		free(m->sym);
		return ASM_GAP_TLS;
	}
	if ((m->base == base && m->index == index) ||
	    (m->base == index && m->index == base && m->scale == 1)) {
		if (m->seg != 'g' && !(m->seg && (base == RIP || m->narrow)) &&
		    !(i->mnemonic == ZYDIS_MNEMONIC_MOV && base < 0 &&
		      index < 0 && !strncmp(s->text, "movabs", 6)))
			return ASM_GAP_NONE;
	}
	free(m->sym);
	return ASM_GAP_OPERAND;
}

static enum asm_gap add_access(struct asm_stmt *s, struct asm_mem *m, int loads,
			       int stores)
{
	struct asm_access *a;

	if (s->naccess == 3) {
		free(m->sym);
		return ASM_GAP_OPERAND;
	}
	a = &s->access[s->naccess++];
	a->mem = *m;
	a->loads = (uint8_t)loads;
	a->stores = (uint8_t)stores;
	return ASM_GAP_NONE;
}

/* Memory that the instruction does not name: the stack, %rsi, %rdi. */
static enum asm_gap hidden_mem(struct asm_stmt *s,
			       const ZydisDecodedInstruction *i,
			       const ZydisDecodedOperand *o)
{
	struct asm_mem m = { .base = (int8_t)reg_number(o->mem.base),
			     .index = ASM_NO_REG, .scale = 1 };
	bool write = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	bool read = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;

	if (m.base < 0 || m.base > 15 || o->mem.index != ZYDIS_REGISTER_NONE ||
	    i->address_width != 64)
		return ASM_GAP_OPERAND;
	if (m.base == RSP && write)
		m.num = -(int64_t)(o->size / 8);
	if (m.base == RSP && i->meta.category != ZYDIS_CATEGORY_CALL &&
	    i->meta.category != ZYDIS_CATEGORY_RET)
		s->push += write ? -(int64_t)(o->size / 8) : o->size / 8;
	m.sym = strdup("");
	if (!m.sym)
		return ASM_GAP_OPERAND;
	return add_access(s, &m, read, write);
}

static uint32_t string_of(const ZydisDecodedInstruction *i,
			  const ZydisDecodedOperand *op)
{
	uint32_t size = 0, what;
	int k;

	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB: case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSD: case ZYDIS_MNEMONIC_MOVSQ:
		what = MOCA_COUNT_STRING_RSI | MOCA_COUNT_STRING_TO_RDI;
		break;
	case ZYDIS_MNEMONIC_STOSB: case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD: case ZYDIS_MNEMONIC_STOSQ:
		what = MOCA_COUNT_STRING_TO_RDI;
		break;
	case ZYDIS_MNEMONIC_LODSB: case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_LODSD: case ZYDIS_MNEMONIC_LODSQ:
		what = MOCA_COUNT_STRING_RSI;
		break;
	case ZYDIS_MNEMONIC_CMPSB: case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPSD: case ZYDIS_MNEMONIC_CMPSQ:
		what = MOCA_COUNT_STRING_RSI | MOCA_COUNT_STRING_RDI |
		       MOCA_COUNT_STRING_AFTER;
		break;
	case ZYDIS_MNEMONIC_SCASB: case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_SCASD: case ZYDIS_MNEMONIC_SCASQ:
		what = MOCA_COUNT_STRING_RDI | MOCA_COUNT_STRING_AFTER;
		break;
	default:
		return 0;
	}
	for (k = 0; k < i->operand_count; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
			size = op[k].size / 8;
	return what | size << MOCA_COUNT_STRING_SIZE_SHIFT;
}

static bool is_odd(const ZydisDecodedInstruction *i)
{
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_XLAT:
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_MOVDIR64B:
	case ZYDIS_MNEMONIC_ENQCMD:
	case ZYDIS_MNEMONIC_ENQCMDS:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		break;
	}
	return i->meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
	       i->meta.category == ZYDIS_CATEGORY_AMX_TILE ||
	       i->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
}

/* bt and its kind reach beyond what they name when the bit is in a register. */
static bool is_bit_string(const ZydisDecodedInstruction *i,
			  const ZydisDecodedOperand *op)
{
	return (i->mnemonic == ZYDIS_MNEMONIC_BT ||
		i->mnemonic == ZYDIS_MNEMONIC_BTS ||
		i->mnemonic == ZYDIS_MNEMONIC_BTR ||
		i->mnemonic == ZYDIS_MNEMONIC_BTC) &&
	       op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static enum asm_gap accesses_of(struct asm_stmt *s,
				const ZydisDecodedInstruction *i,
				const ZydisDecodedOperand *op)
{
	enum asm_gap gap = ASM_GAP_NONE, one;
	struct asm_mem m;
	int k;

	if (touches_nothing(i))
		return gap;
	if (is_odd(i) || is_bit_string(i, op))
		return ASM_GAP_INSN;
	if (s->string)
		return i->address_width == 64 ? gap : ASM_GAP_INSN;
	for (k = 0; k < i->operand_count; k++) {
		const ZydisDecodedOperand *o = &op[k];
		bool read = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		bool write = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    o->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    o->mem.type == ZYDIS_MEMOP_TYPE_MIB || (!read && !write))
			continue;
		if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
			gap = ASM_GAP_GATHER;
			continue;
		}
		if (o->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT) {
			one = hidden_mem(s, i, o);
		} else {
			one = s->intel ? ASM_GAP_INTEL :
					 explicit_mem(s, &m, i, o);
			/* A masked store does not read what it leaves. */
			if (write && i->avx.mask.mode != ZYDIS_MASK_MODE_INVALID &&
			    i->avx.mask.mode != ZYDIS_MASK_MODE_DISABLED)
				read = false;
			if (!one)
				one = add_access(s, &m, read, write);
		}
		if (one)
			gap = one;
	}
	/* pop's own operand: with %rsp as it is after. */
	if (i->mnemonic == ZYDIS_MNEMONIC_POP)
		for (k = 0; k < s->naccess; k++)
			if (s->access[k].stores && s->access[k].mem.base == RSP)
				s->access[k].mem.num += 8;
	return gap;
}

static bool is_macro(const struct asm_file *f, const char *text)
{
	size_t n = strcspn(text, " \t"), i;

	for (i = 0; i < f->nmacros; i++)
		if (strlen(f->macros[i]) == n &&
		    !strncmp(f->macros[i], text, n))
			return true;
	return false;
}

static void decode(struct asm_file *f, struct asm_stmt *s,
		   const ZydisDecoder *d)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	enum asm_gap gap;

	memset(op, 0, sizeof(op));
	if (is_macro(f, s->text)) {
		be_unknown(s, ASM_GAP_MACRO);
		return;
	}
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, s->bytes, s->size, &i, op)) ||
	    i.length != s->size) {
		be_unknown(s, strncmp(s->text, "rex", 3) ? ASM_GAP_INSN : 0);
		return;
	}
	s->known = true;
	if (i.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
			    ZYDIS_ATTRIB_HAS_REPNE))
		s->string = string_of(&i, op);
	registers_of(s, &i, op);
	flags_of(s, &i, op);
	flow_of(s, &i, op);
	effects_of(s, &i, op);
	gap = accesses_of(s, &i, op);
	s->gap = (uint8_t)gap;
	s->glued = i.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	if (i.meta.category == ZYDIS_CATEGORY_SYSCALL ||
	    i.meta.category == ZYDIS_CATEGORY_INTERRUPT ||
	    i.meta.category == ZYDIS_CATEGORY_SYSTEM ||
	    i.meta.category == ZYDIS_CATEGORY_RDWRFSGS ||
	    i.mnemonic == ZYDIS_MNEMONIC_XBEGIN)
		be_unknown(s, gap);
	if (s->flow == FLOW_CALL && strcasestr(s->text, "@tls"))
		be_unknown(s, gap);
}

/* The linker knows these sequences by their bytes. */
static void glue(struct asm_file *f)
{
	bool on = false;
	size_t i;

	for (i = 0; i < f->count; i++) {
		struct asm_stmt *s = &f->stmts[i];

		if (s->kind == ASM_LABEL)
			on = false;
		if (on)
			s->glued = true;
		if (s->kind != ASM_INSN)
			continue;
		if (strcasestr(s->text, "@tlsgd") || strcasestr(s->text, "@tlsld"))
			on = true;
		else if (on && s->flow == FLOW_CALL) {
			/* In a program the linker makes it something else. */
			on = false;
			while (s->naccess)
				free(s->access[--s->naccess].mem.sym);
			s->gap = ASM_GAP_TLS;
		}
	}
}

void moca_asm_decode(struct asm_file *f)
{
	ZydisDecoder d;
	size_t i;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (i = 0; i < f->count; i++)
		if (f->stmts[i].kind == ASM_INSN && f->stmts[i].size)
			decode(f, &f->stmts[i], &d);
	glue(f);
}
