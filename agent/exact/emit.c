// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The functions of this file alone return the place behind what they wrote: a
 * place in memory, *p, would be read and written for each byte, as bytes may be it.
 */
#include "agent/exact/emit.h"

static uint8_t *put(uint8_t *p, unsigned int v)
{
	*p = (uint8_t)v;
	return p + 1;
}

static uint8_t *put_32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
	return p + 4;
}

static uint8_t *put_64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
	return p + 8;
}

void emit_bytes(uint8_t **p, const void *bytes, size_t n)
{
	memcpy(*p, bytes, n);
	*p += n;
}

void emit_32(uint8_t **p, uint32_t v)
{
	*p = put_32(*p, v);
}

static uint8_t *rex(uint8_t *p, int wide, int reg, int base, int index)
{
	return put(p, 0x40u | (unsigned int)wide << 3 | (reg >= 8) << 2 |
			      (index >= 8) << 1 | (base >= 8));
}

/* ModRM, SIB and displacement; -1: no base, no index. */
static uint8_t *modrm(uint8_t *p, int reg, int base, int index, int scale,
		      int64_t disp)
{
	unsigned int r = ((unsigned int)reg & 7) << 3, ss, mod;

	ss = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
	if (base < 0) {
		p = put(p, r | 4);
		p = put(p, index < 0 ? 0x25 :
				       ss << 6 | ((unsigned int)index & 7) << 3 |
					       5);
		return put_32(p, (uint32_t)disp);
	}
	mod = !disp && (base & 7) != RBP ? 0 :
	      disp >= -128 && disp < 128 ? 1 : 2;
	if (index >= 0 || (base & 7) == RSP) {
		p = put(p, mod << 6 | r | 4);
		p = put(p, ss << 6 |
				   (index < 0 ? 4 : (unsigned int)index & 7) << 3 |
				   ((unsigned int)base & 7));
	} else {
		p = put(p, mod << 6 | r | ((unsigned int)base & 7));
	}
	if (mod == 1)
		return put(p, (unsigned int)disp & 0xff);
	return mod == 2 ? put_32(p, (uint32_t)disp) : p;
}

static uint8_t *gs_move(uint8_t *p, unsigned int opcode, int r, int32_t off)
{
	p = put(p, 0x65);
	p = rex(p, 1, r, -1, -1);
	p = put(p, opcode);
	return modrm(p, r, -1, -1, 1, off);
}

void emit_gs_store(uint8_t **p, int r, int32_t off)
{
	*p = gs_move(*p, 0x89, r, off);
}

void emit_gs_load(uint8_t **p, int r, int32_t off)
{
	*p = gs_move(*p, 0x8b, r, off);
}

void emit_gs_compare(uint8_t **p, int r, int32_t off)
{
	*p = gs_move(*p, 0x39, r, off);
}

void emit_store_imm(uint8_t **p, int32_t off, int32_t imm)
{
	*p = put_32(gs_move(*p, 0xc7, 0, off), (uint32_t)imm);
}

static uint8_t *store_imm32(uint8_t *p, int32_t off, uint32_t imm)
{
	p = put(p, 0x65);
	p = put(p, 0xc7);
	return put_32(modrm(p, 0, -1, -1, 1, off), imm);
}

void emit_store_64(uint8_t **p, int32_t off, uint64_t v)
{
	*p = store_imm32(store_imm32(*p, off, (uint32_t)v), off + 4,
			 (uint32_t)(v >> 32));
}

static uint8_t *rip_operand(uint8_t *p, int reg, const void *to)
{
	int64_t d;

	p = put(p, ((unsigned int)reg & 7) << 3 | 5);
	d = (const uint8_t *)to - (p + 4);
	if (d != (int32_t)d)
		moca_exact_die("code out of reach", (uint64_t)to);
	return put_32(p, (uint32_t)d);
}

void emit_load_literal(uint8_t **p, int r, const uint64_t *lit)
{
	*p = rip_operand(put(rex(*p, 1, r, -1, -1), 0x8b), r, lit);
}

void emit_jump_literal(uint8_t **p, const uint64_t *lit)
{
	*p = rip_operand(put(*p, 0xff), 4, lit);
}

void emit_push_literal(uint8_t **p, const uint64_t *lit)
{
	*p = rip_operand(put(*p, 0xff), 6, lit);
}

static uint8_t *lea(uint8_t *p, int r, int base, int index, int scale,
		    int64_t disp)
{
	p = put(rex(p, 1, r, base, index), 0x8d);
	return modrm(p, r, base, index, scale, disp);
}

void emit_lea_sum(uint8_t **p, int r, int a, int b)
{
	*p = lea(*p, r, a, b, 1, 0);
}

/* An instruction of two registers; or of one: reg is a part of its opcode then. */
static uint8_t *two(uint8_t *p, int wide, unsigned int opcode, int reg, int rm)
{
	p = put(rex(p, wide, reg, rm, -1), opcode);
	return put(p, 0xc0u | ((unsigned int)reg & 7) << 3 |
			      ((unsigned int)rm & 7));
}

void emit_move(uint8_t **p, int to, int from)
{
	*p = two(*p, 1, 0x89, from, to);
}

static uint8_t *move_64(uint8_t *p, int r, uint64_t v)
{
	if (v <= UINT32_MAX) {
		if (r >= 8)
			p = put(p, 0x41);
		p = put(p, 0xb8u | ((unsigned int)r & 7));
		return put_32(p, (uint32_t)v);
	}
	p = put(p, 0x48u | (r >= 8));
	p = put(p, 0xb8u | ((unsigned int)r & 7));
	return put_64(p, v);
}

void emit_move_64(uint8_t **p, int r, uint64_t v)
{
	*p = move_64(*p, r, v);
}

void emit_address(uint8_t **p, int r, const struct x86_mem *m, int64_t disp)
{
	uint8_t *q = *p;

	if (m->rip) {
		q = move_64(q, r, (uint64_t)disp);
	} else if (m->narrow) {
		q = put(q, 0x67);
		q = put(rex(q, 0, r, m->base, m->index), 0x8d);
		q = modrm(q, r, m->base, m->index, m->scale, disp);
	} else if (m->base < 0 && m->index < 0) {
		q = put_32(two(q, 1, 0xc7, 0, r), (uint32_t)disp);
	} else if (m->index < 0 && !disp) {
		q = two(q, 1, 0x89, m->base, r);
	} else {
		q = lea(q, r, m->base, m->index, m->scale, disp);
	}
	if (m->seg)		/* add %gs:..., %r */
		q = gs_move(q, 0x03, r,
			    GS(m->seg == X86_FS ? C_FS : C_GS));
	*p = q;
}

void emit_load(uint8_t **p, int r, const struct x86_mem *m)
{
	uint8_t *q = *p;

	if (m->seg)
		q = put(q, 0x64);
	if (m->narrow)
		q = put(q, 0x67);
	q = put(rex(q, 1, r, m->base, m->index), 0x8b);
	*p = m->rip ? rip_operand(q, r, (const void *)m->disp) :
		      modrm(q, r, m->base, m->index, m->scale, m->disp);
}

void emit_patch(uint8_t *at, const uint8_t *to)
{
	int64_t d = to - (at + 4);
	int32_t v = (int32_t)d;

	if (d != v)
		moca_exact_die("code out of reach", (uint64_t)to);
	memcpy(at, &v, 4);
}

uint8_t *emit_jump_open(uint8_t **p)
{
	*p = put_32(put(*p, 0xe9), 0);
	return *p - 4;
}

void emit_jump(uint8_t **p, const uint8_t *to)
{
	emit_patch(emit_jump_open(p), to);
}

uint8_t *emit_jcc(uint8_t **p, int cc, const uint8_t *to)
{
	*p = put_32(put(put(*p, 0x0f), 0x80u | (unsigned int)cc), 0);
	if (to)
		emit_patch(*p - 4, to);
	return *p - 4;
}

/* subl $n, with the shorter form of a small n */
static uint8_t *subtract(uint8_t *p, int base, int index, int64_t disp,
			 uint32_t n)
{
	p = put(p, 0x67);
	p = put(p, 0x65);
	if (index >= 8)
		p = rex(p, 0, 0, base, index);
	p = put(p, n < 128 ? 0x83 : 0x81);
	p = modrm(p, 5, base, index, 8, disp);
	return n < 128 ? put(p, n) : put_32(p, n);
}

void emit_count(uint8_t **p, int r, int store, uint32_t n)
{
	*p = subtract(*p, -1, r, 4 * store, n);
}

void emit_count_cell(uint8_t **p, uint64_t cell, int store, uint32_t n)
{
	*p = subtract(*p, -1, -1, (int64_t)(cell * 8 + 4 * (uint64_t)store), n);
}

void emit_shift_right(uint8_t **p, int r, int n)
{
	*p = put(two(*p, 1, 0xc1, 5, r), (unsigned int)n);
}

void emit_increment(uint8_t **p, int r)
{
	*p = two(*p, 1, 0xff, 0, r);
}

/* With a 32-bit register, and without a prefix that it does not need. */
static uint8_t *with_32(uint8_t *p, unsigned int modrm, int r, uint32_t v)
{
	if (r >= 8)
		p = put(p, 0x41);
	p = put(put(p, 0x81), modrm | ((unsigned int)r & 7));
	return put_32(p, v);
}

void emit_and(uint8_t **p, int r, uint32_t mask)
{
	*p = with_32(*p, 0xe0, r, mask);
}

void emit_compare(uint8_t **p, int r, uint32_t v)
{
	*p = with_32(*p, 0xf8, r, v);
}

void emit_subtract(uint8_t **p, int to, int from, int size)
{
	*p = two(*p, size == 8, 0x29, from, to);
}

void emit_compare_imm(uint8_t **p, int r, int32_t v, int size)
{
	*p = put_32(two(*p, size == 8, 0x81, 7, r), (uint32_t)v);
}
