// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is written anew as %gs is ours, and what C sees by it. */
#include "agent/exact/emit.h"

/* With the base of %gs added to the register that the instruction implies. */
static void write_gs_base(uint8_t **p, const struct insn *x, int spare)
{
	const uint8_t *from = (const uint8_t *)x->pc;

	emit_gs_store(p, x->gs_base, SPILL(SPILL_SCRATCH));
	emit_gs_store(p, spare, SPILL(SPILL_SECOND));
	emit_gs_load(p, spare, GS(C_GS));
	emit_lea_sum(p, x->gs_base, x->gs_base, spare);
	emit_gs_load(p, spare, SPILL(SPILL_SECOND));
	emit_bytes(p, from, x->gs_at);
	emit_bytes(p, from + x->gs_at + 1, x->what.len - x->gs_at - 1u);
	emit_gs_load(p, x->gs_base, SPILL(SPILL_SCRATCH));
}

/* Two registers that x has no use for. 0, or -1. */
static int choose(const struct insn *x, int *r, int *second)
{
	static const int8_t simple[] = { RAX, RCX, RDX, RBX, RSI, RDI };
	uint32_t used = x->what.reads | x->what.writes;

	*r = *second = -1;
	for (unsigned int i = 0; i < sizeof(simple); i++) {
		if (used & X86_BIT(simple[i]))
			continue;
		if (*r < 0)
			*r = simple[i];
		else if (*second < 0)
			*second = simple[i];
	}
	return *second < 0 ? -1 : 0;
}

/* x has faulted amid what was written for it: what its registers are. */
int moca_exact_gs_faulted(const struct context *c, uint64_t pc, uint64_t *regs)
{
	int r, second;
	struct insn x;

	if (moca_exact_decode_cold(pc, &x) || x.kind != K_GS ||
	    choose(&x, &r, &second))
		return -1;
	if (x.gs_base >= 0)
		r = x.gs_base;
	else
		regs[second] = c->spill[SPILL_SECOND];
	regs[r] = c->spill[SPILL_SCRATCH];
	return 0;
}

/* Its address by our own means, then the instruction with that alone. */
int moca_exact_write_gs(uint8_t **p, const struct insn *x)
{
	const uint8_t *from = (const uint8_t *)x->pc;
	struct x86_mem m = x->what.mem;
	int r, second;

	if (choose(x, &r, &second))
		return -1;
	if (x->gs_base >= 0) {
		write_gs_base(p, x, r);
		return 0;
	}
	m.seg = 0;
	emit_gs_store(p, r, SPILL(SPILL_SCRATCH));
	emit_gs_store(p, second, SPILL(SPILL_SECOND));
	emit_address(p, r, &m, m.disp);
	emit_gs_load(p, second, GS(C_GS));
	emit_lea_sum(p, r, r, second);
	for (int i = 0; i < x->modrm_at; i++) {
		uint8_t b = from[i];

		if (i == x->gs_at)
			continue;
		if (i == x->rex_at && (b & 0xf0) == 0x40)
			b &= (uint8_t)~3;
		*(*p)++ = b;
	}
	*(*p)++ = (uint8_t)((from[x->modrm_at] & 0x38) | r);
	emit_bytes(p, from + x->what.len - x->imm_len, x->imm_len);
	emit_gs_load(p, r, SPILL(SPILL_SCRATCH));
	emit_gs_load(p, second, SPILL(SPILL_SECOND));
	return 0;
}

void moca_exact_show_vectors(uint8_t **p, const struct helped *h)
{
	uint8_t m = h->mask, v = h->vector;

	if (h->wide_mask) {	/* vmovdqu %ymm, %gs: */
		uint8_t a[] = { 0x65, 0xc5, v < 8 ? 0xfe : 0x7e, 0x7f,
				(uint8_t)((v & 7) << 3 | 4), 0x25 };
		uint8_t b[] = { 0x65, 0xc5, m < 8 ? 0xfe : 0x7e, 0x7f,
				(uint8_t)((m & 7) << 3 | 4), 0x25 };

		emit_bytes(p, a, sizeof(a));
		emit_32(p, (uint32_t)GS(C_WIDE));
		emit_bytes(p, b, sizeof(b));
		emit_32(p, (uint32_t)GS(C_WIDE + 64));
	} else {		/* vmovdqu64 %zmm, %gs:; kmovw %k, %gs: */
		uint8_t a[] = { 0x65, 0x62,
				(uint8_t)(0x61 | (v & 8 ? 0 : 0x80) |
					  (v & 16 ? 0 : 0x10)),
				0xfe, 0x48, 0x7f,
				(uint8_t)((v & 7) << 3 | 4), 0x25 };
		uint8_t b[] = { 0x65, 0xc5, 0xf8, 0x91,
				(uint8_t)((m & 7) << 3 | 4), 0x25 };

		emit_bytes(p, a, sizeof(a));
		emit_32(p, (uint32_t)GS(C_WIDE));
		emit_bytes(p, b, sizeof(b));
		emit_32(p, (uint32_t)GS(C_WIDE + 64));
	}
}
