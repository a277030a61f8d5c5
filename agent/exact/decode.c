// SPDX-License-Identifier: LGPL-2.1-or-later
/* One instruction: what it reads, writes, accesses, and where it goes. */
#include "agent/exact/shape.h"
#include "lib/code/link.h"

/* Of those that are looked at by number: op[0] to op[2]. */
#define OPERANDS_SEEN 3

static ZydisDecoder decoder;
static ZyanStatus (*decode_insn)(const ZydisDecoder *, ZydisDecoderContext *,
				 const void *, ZyanUSize,
				 ZydisDecodedInstruction *);
static ZyanStatus (*decode_operands)(const ZydisDecoder *,
				     const ZydisDecoderContext *,
				     const ZydisDecodedInstruction *,
				     ZydisDecodedOperand *, ZyanU8);

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
	decode_insn = moca_link_find(&l, "ZydisDecoderDecodeInstruction");
	decode_operands = moca_link_find(&l, "ZydisDecoderDecodeOperands");
	if (!init || !decode_insn || !decode_operands)
		return -1;
	ok = init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ok) ? 0 : -1;
}

/* Has it counted by a helper, where it does not leave translated code. */
static struct helped *help(struct insn *x, enum helped_kind what)
{
	struct helped *h = moca_exact_alloc(sizeof(*h));

	h->kind = what;
	h->mem = x->what.mem;
	if (x->kind != K_NATIVE && x->kind != K_GS && x->kind != X86_STRING)
		x->kind = K_HELPED;
	x->what.accesses = 0;
	x->helped = h;
	return h;
}

static void string(struct insn *x)
{
	const struct x86_mem *m = x->what.access;
	uint8_t seg = X86_DS, narrow = m->narrow;
	struct helped *h;

	for (int i = 0; i < x->what.accesses; i++)
		seg |= m[i].seg;
	h = help(x, H_STRING);
	h->op = x->what.op;
	h->size = x->what.size;
	h->rep = x->what.rep;
	h->mem.narrow = narrow;
	h->mem.seg = seg;
}

/* A gather or a scatter. */
static void vsib(struct insn *x, const ZydisDecodedInstruction *d,
		 const ZydisDecodedOperand *op)
{
	struct helped *h;
	int evex = d->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	ZydisRegister v = ZYDIS_REGISTER_XMM0;

	for (int i = 0; i < d->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			v = op[i].mem.index;
	h = help(x, H_VSIB);
	h->store = h->mem.store;
	h->vector = (uint8_t)(v - (v >= ZYDIS_REGISTER_ZMM0 ? ZYDIS_REGISTER_ZMM0 :
				   v >= ZYDIS_REGISTER_YMM0 ? ZYDIS_REGISTER_YMM0 :
							      ZYDIS_REGISTER_XMM0));
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
		x->kind = X86_PLAIN;
		x->helped = NULL;
		return;
	}
	{
		int widest = h->index_size > h->mask_size ? h->index_size :
							    h->mask_size;

		h->elements = (uint8_t)(d->avx.vector_length / 8 / widest);
	}
}

/* What a loop's end may compare: two registers, or one with a constant. */
static void compares(struct insn *x, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *op)
{
	int a = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ?
			moca_x86_register(op[0].reg.value) : -1;

	x->compare.a = x->compare.b = -1;
	if (a < 0 || op[0].size < 32)
		return;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
		if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			x->compare.imm = op[1].imm.value.s;
		else if (op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			x->compare.b = (int8_t)moca_x86_register(op[1].reg.value);
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

/* bt and its kind, where the bit is in a register. */
static void bit_string(struct insn *x, const ZydisDecodedOperand *op)
{
	struct helped *h = help(x, H_BIT);

	h->reg = (int8_t)moca_x86_register(op[1].reg.value);
	h->reg_size = (uint8_t)(op[1].size / 8);
}

/* What reads or writes the segments' bases, or accesses memory by %gs. */
static void segments(struct insn *x, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *op)
{
	x->gs_base = -1;
	for (int i = 0; i < x->what.accesses; i++) {
		const struct x86_mem *m = &x->what.access[i];

		if (m->seg != X86_GS)
			continue;
		x->kind = (x->kind == X86_PLAIN || x->kind == X86_XLAT) &&
			  !(m->hidden && m->narrow) ? K_GS : K_NATIVE;
		if (m->hidden)
			x->gs_base = m->base;
	}
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_POP:
		if (op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[0].reg.value == ZYDIS_REGISTER_GS)
			x->kind = K_NATIVE;
		break;
	case ZYDIS_MNEMONIC_LGS:
		x->kind = K_NATIVE;
		break;
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_WRFSBASE:
		x->kind = op[0].size != 64 ? K_NATIVE :
			  d->mnemonic == ZYDIS_MNEMONIC_RDGSBASE ? K_RDGS :
			  d->mnemonic == ZYDIS_MNEMONIC_WRGSBASE ? K_WRGS :
								   K_WRFS;
		break;
	default:
		break;
	}
}

/* What those of its kind need. */
static void details(struct insn *x, const ZydisDecodedInstruction *d,
		    const ZydisDecodedOperand *op)
{
	switch (x->what.kind) {
	case X86_STRING:
		string(x);
		break;
	case X86_VSIB:
		vsib(x, d, op);
		break;
	case X86_XLAT:
		help(x, H_XLAT)->mem = x->what.access[0];
		break;
	case X86_BIT_STRING:
		bit_string(x, op);
		break;
	case X86_ENTER:
		help(x, H_ENTER)->count =
			(uint8_t)(d->raw.imm[1].value.u & 31);
		break;
	case X86_RET:
		x->pop = d->raw.imm[0].size ? (uint16_t)d->raw.imm[0].value.u : 0;
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
	if (x->gs_at == 0xff ||
	    (x->gs_base < 0 && (!x->modrm_at ||
				d->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)))
		x->kind = K_NATIVE;
}

/*
 * 0, or -1: not known, or longer than max bytes. ZydisDecoderDecodeFull() does
 * the same, and clears all of the ten operands that are left, 800 bytes.
 */
static int decode_all(uint64_t pc, uint64_t max, ZydisDecodedInstruction *d,
		      ZydisDecodedOperand *op)
{
	ZydisDecoderContext context;

	if (!ZYAN_SUCCESS(decode_insn(&decoder, &context, (const void *)pc,
				      max < 15 ? max : 15, d)))
		return -1;
	for (int i = d->operand_count; i < OPERANDS_SEEN; i++)
		memset(&op[i], 0, sizeof(op[i]));
	if (!ZYAN_SUCCESS(decode_operands(&decoder, &context, d, op,
					  d->operand_count)))
		return -1;
	return 0;
}

static int decode_anew(uint64_t pc, uint64_t max, struct insn *x,
		       ZydisDecodedInstruction *d)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	memset(x, 0, sizeof(*x));
	x->pc = pc;
	x->groups = -1;
	x->compare.a = -1;
	if (decode_all(pc, max, d, op)) {
		/* The CPU may know it, or not: it shall decide. */
		x->kind = K_NATIVE;
		x->what.len = 1;
		x->what.move_to = -1;
		return -1;
	}
	moca_x86_describe(&x->what, pc, d, op);
	x->reg = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ?
			 (uint8_t)moca_x86_register(op[0].reg.value) : 0xff;
	x->kind = x->what.kind == X86_FAR ? K_NATIVE : x->what.kind;
	segments(x, d, op);
	details(x, d, op);
	compares(x, d, op);
	encoding(x, d);
	return 0;
}

int moca_exact_decode(uint64_t pc, uint64_t max, struct insn *x)
{
	ZydisDecodedInstruction d;
	int by_shape = moca_exact_shape_may(pc);

	if (by_shape && !moca_exact_shape_find(pc, x))
		return 0;
	if (decode_anew(pc, max, x, &d))
		return -1;
	if (by_shape)
		moca_exact_shape_keep(x, &d);
	return 0;
}
