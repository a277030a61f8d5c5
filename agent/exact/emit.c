// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/emit.h"

static void put(uint8_t **p, unsigned int v)
{
	*(*p)++ = (uint8_t)v;
}

void emit_bytes(uint8_t **p, const void *bytes, size_t n)
{
	memcpy(*p, bytes, n);
	*p += n;
}

void emit_32(uint8_t **p, uint32_t v)
{
	memcpy(*p, &v, 4);
	*p += 4;
}

void emit_64(uint8_t **p, uint64_t v)
{
	memcpy(*p, &v, 8);
	*p += 8;
}

static void rex(uint8_t **p, int wide, int reg, int base, int index)
{
	put(p, 0x40u | (unsigned int)wide << 3 | (reg >= 8) << 2 |
		       (index >= 8) << 1 | (base >= 8));
}

/* ModRM, SIB and displacement; -1: no base, no index. */
static void modrm(uint8_t **p, int reg, int base, int index, int scale,
		  int64_t disp)
{
	unsigned int r = ((unsigned int)reg & 7) << 3, ss, mod;

	ss = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
	if (base < 0) {
		put(p, r | 4);
		put(p, index < 0 ? 0x25 :
				   ss << 6 | ((unsigned int)index & 7) << 3 | 5);
		emit_32(p, (uint32_t)disp);
		return;
	}
	mod = !disp && (base & 7) != RBP ? 0 :
	      disp >= -128 && disp < 128 ? 1 : 2;
	if (index >= 0 || (base & 7) == RSP) {
		put(p, mod << 6 | r | 4);
		put(p, ss << 6 |
			       (index < 0 ? 4 : (unsigned int)index & 7) << 3 |
			       ((unsigned int)base & 7));
	} else {
		put(p, mod << 6 | r | ((unsigned int)base & 7));
	}
	if (mod == 1)
		put(p, (unsigned int)disp & 0xff);
	else if (mod == 2)
		emit_32(p, (uint32_t)disp);
}

static void gs_move(uint8_t **p, int opcode, int r, int32_t off)
{
	put(p, 0x65);
	rex(p, 1, r, -1, -1);
	put(p, (unsigned int)opcode);
	modrm(p, r, -1, -1, 1, off);
}

void emit_gs_store(uint8_t **p, int r, int32_t off)
{
	gs_move(p, 0x89, r, off);
}

void emit_gs_load(uint8_t **p, int r, int32_t off)
{
	gs_move(p, 0x8b, r, off);
}

void emit_gs_compare(uint8_t **p, int r, int32_t off)
{
	gs_move(p, 0x39, r, off);
}

void emit_store_imm(uint8_t **p, int32_t off, int32_t imm)
{
	put(p, 0x65);
	rex(p, 1, 0, -1, -1);
	put(p, 0xc7);
	modrm(p, 0, -1, -1, 1, off);
	emit_32(p, (uint32_t)imm);
}

static void store_imm32(uint8_t **p, int32_t off, uint32_t imm)
{
	put(p, 0x65);
	put(p, 0xc7);
	modrm(p, 0, -1, -1, 1, off);
	emit_32(p, imm);
}

void emit_store_64(uint8_t **p, int32_t off, uint64_t v)
{
	store_imm32(p, off, (uint32_t)v);
	store_imm32(p, off + 4, (uint32_t)(v >> 32));
}

static void rip_operand(uint8_t **p, int reg, const void *to)
{
	int64_t d;

	put(p, ((unsigned int)reg & 7) << 3 | 5);
	d = (const uint8_t *)to - (*p + 4);
	if (d != (int32_t)d)
		moca_exact_die("code out of reach", (uint64_t)to);
	emit_32(p, (uint32_t)d);
}

void emit_load_literal(uint8_t **p, int r, const uint64_t *lit)
{
	rex(p, 1, r, -1, -1);
	put(p, 0x8b);
	rip_operand(p, r, lit);
}

void emit_jump_literal(uint8_t **p, const uint64_t *lit)
{
	put(p, 0xff);
	rip_operand(p, 4, lit);
}

void emit_push_literal(uint8_t **p, const uint64_t *lit)
{
	put(p, 0xff);
	rip_operand(p, 6, lit);
}

static void lea(uint8_t **p, int r, int base, int index, int scale,
		int64_t disp)
{
	rex(p, 1, r, base, index);
	put(p, 0x8d);
	modrm(p, r, base, index, scale, disp);
}

void emit_lea_sum(uint8_t **p, int r, int a, int b)
{
	lea(p, r, a, b, 1, 0);
}

void emit_lea_rip(uint8_t **p, int r, const uint8_t *to)
{
	rex(p, 1, r, -1, -1);
	put(p, 0x8d);
	rip_operand(p, r, to);
}

void emit_move(uint8_t **p, int to, int from)
{
	put(p, 0x48u | (from >= 8) << 2 | (to >= 8));
	put(p, 0x89);
	put(p, 0xc0u | ((unsigned int)from & 7) << 3 | ((unsigned int)to & 7));
}

void emit_move_64(uint8_t **p, int r, uint64_t v)
{
	if (v <= UINT32_MAX) {
		if (r >= 8)
			put(p, 0x41);
		put(p, 0xb8u | ((unsigned int)r & 7));
		emit_32(p, (uint32_t)v);
		return;
	}
	put(p, 0x48u | (r >= 8));
	put(p, 0xb8u | ((unsigned int)r & 7));
	emit_64(p, v);
}

void emit_address(uint8_t **p, int r, const struct x86_mem *m, int64_t disp)
{
	if (m->rip) {
		emit_move_64(p, r, (uint64_t)disp);
	} else if (m->narrow) {
		put(p, 0x67);
		rex(p, 0, r, m->base, m->index);
		put(p, 0x8d);
		modrm(p, r, m->base, m->index, m->scale, disp);
	} else if (m->base < 0 && m->index < 0) {
		put(p, 0x48u | (r >= 8));
		put(p, 0xc7);
		put(p, 0xc0u | ((unsigned int)r & 7));
		emit_32(p, (uint32_t)disp);
	} else if (m->index < 0 && !disp) {
		emit_move(p, r, m->base);
	} else {
		lea(p, r, m->base, m->index, m->scale, disp);
	}
	if (m->seg) {		/* add %gs:..., %r */
		put(p, 0x65);
		rex(p, 1, r, -1, -1);
		put(p, 0x03);
		modrm(p, r, -1, -1, 1, GS(m->seg == X86_FS ? C_FS : C_GS));
	}
}

void emit_load(uint8_t **p, int r, const struct x86_mem *m)
{
	if (m->seg)
		put(p, 0x64);
	if (m->narrow)
		put(p, 0x67);
	rex(p, 1, r, m->base, m->index);
	put(p, 0x8b);
	if (m->rip)
		rip_operand(p, r, (const void *)m->disp);
	else
		modrm(p, r, m->base, m->index, m->scale, m->disp);
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
	put(p, 0xe9);
	emit_32(p, 0);
	return *p - 4;
}

void emit_jump(uint8_t **p, const uint8_t *to)
{
	emit_patch(emit_jump_open(p), to);
}

uint8_t *emit_jcc(uint8_t **p, int cc, const uint8_t *to)
{
	put(p, 0x0f);
	put(p, 0x80u | (unsigned int)cc);
	emit_32(p, 0);
	if (to)
		emit_patch(*p - 4, to);
	return *p - 4;
}

/* subl $n, with the shorter form of a small n */
static void subtract(uint8_t **p, int base, int index, int64_t disp, uint32_t n)
{
	put(p, 0x67);
	put(p, 0x65);
	if (index >= 8)
		rex(p, 0, 0, base, index);
	put(p, n < 128 ? 0x83 : 0x81);
	modrm(p, 5, base, index, 8, disp);
	if (n < 128)
		put(p, n);
	else
		emit_32(p, n);
}

void emit_count(uint8_t **p, int r, int store, uint32_t n)
{
	subtract(p, -1, r, 4 * store, n);
}

void emit_count_cell(uint8_t **p, uint64_t cell, int store, uint32_t n)
{
	subtract(p, -1, -1, (int64_t)(cell * 8 + 4 * (uint64_t)store), n);
}

void emit_shift_right(uint8_t **p, int r, int n)
{
	put(p, 0x48u | (r >= 8));
	put(p, 0xc1);
	put(p, 0xe8u | ((unsigned int)r & 7));
	put(p, (unsigned int)n);
}

void emit_increment(uint8_t **p, int r)
{
	put(p, 0x48u | (r >= 8));
	put(p, 0xff);
	put(p, 0xc0u | ((unsigned int)r & 7));
}

void emit_and(uint8_t **p, int r, uint32_t mask)
{
	if (r >= 8)
		put(p, 0x41);
	put(p, 0x81);
	put(p, 0xe0u | ((unsigned int)r & 7));
	emit_32(p, mask);
}

void emit_compare(uint8_t **p, int r, uint32_t v)
{
	if (r >= 8)
		put(p, 0x41);
	put(p, 0x81);
	put(p, 0xf8u | ((unsigned int)r & 7));
	emit_32(p, v);
}

void emit_subtract(uint8_t **p, int to, int from, int size)
{
	rex(p, size == 8, from, to, -1);
	put(p, 0x29);
	put(p, 0xc0u | ((unsigned int)from & 7) << 3 | ((unsigned int)to & 7));
}

void emit_compare_imm(uint8_t **p, int r, int32_t v, int size)
{
	rex(p, size == 8, 0, r, -1);
	put(p, 0x81);
	put(p, 0xf8u | ((unsigned int)r & 7));
	emit_32(p, (uint32_t)v);
}
