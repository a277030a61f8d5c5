// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/shape.h"

#define SHAPES 32768		/* more are not kept: a compiler has 24,000 */
#define SLOTS 8192		/* at first */
#define HEADER_MAX 8		/* bytes */

/* What the immediate value is for. */
enum {
	IMM_ALONE = 1,		/* nothing else depends on it, or there is none */
	IMM_TARGET = 2,		/* a branch goes there */
	IMM_ADD = 4,
	IMM_SUBTRACT = 8,
	IMM_COMPARE = 16,
};

struct shape {
	uint64_t header;	/* its first byte is the lowest */
	uint64_t imm;		/* without IMM_ALONE the value must be this one */
	uint8_t header_len, disp_len, imm_len;
	uint8_t imm_signed, uses;
	uint8_t lea;		/* the displacement is added to a register */
	/* Of struct insn. */
	uint8_t reg;
	int8_t compare_a, compare_b, compare_add;
	uint8_t compare_size;
	uint16_t pop;
	struct x86_insn what;	/* without the accesses that it has not */
};

static struct shape **slots;	/* by hash */
static size_t room, count;
/* By map and opcode: does a ModRM byte follow? 0: not known. */
static uint8_t modrms[4][256];
#define MODRM_NONE 1
#define MODRM_FOLLOWS 2

static int is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x66:
	case 0xf2:
	case 0xf3:
	case 0xf0:
	case 0x64:
	case 0x65:
	case 0x2e:
	case 0x3e:
		return 1;
	default:
		return 0;
	}
}

/* Where modrms tells of the instruction at p; *behind: the byte after its opcode. */
static uint8_t *modrm_of(const uint8_t *p, const uint8_t **behind)
{
	const uint8_t *limit = p + 4;
	int map = 0;

	while (p < limit && is_prefix(*p))
		p++;
	if ((*p & 0xf0) == 0x40) {
		p++;
	} else if (*p == 0xc4 || *p == 0xc5) {	/* VEX */
		p += *p == 0xc4 ? 3 : 2;
		map = 2;
	}
	if (!map && *p == 0x0f) {
		p++;
		map = 1;
		if (*p == 0x38 || *p == 0x3a) {
			p++;
			map = 3;
		}
	}
	*behind = p + 1;
	return &modrms[map][*p];
}

/* Bytes of the header at p; 0: not known, or too many. */
static unsigned int length_of(const uint8_t *p)
{
	const uint8_t *end;
	uint8_t modrm = *modrm_of(p, &end);

	if (!modrm)
		return 0;
	if (modrm == MODRM_FOLLOWS)
		end += (*end & 7) == 4 && *end < 0xc0 ? 2 : 1;
	return end - p <= HEADER_MAX ? (unsigned int)(end - p) : 0;
}

static uint64_t first_bytes(uint64_t bytes, unsigned int n)
{
	return bytes & ~0ull >> (64 - 8 * n);
}

/* The shape's, or where it is to be put. */
static struct shape **slot_of(uint64_t header, unsigned int len)
{
	uint64_t i = (header ^ len) * 0x9e3779b97f4a7c15ull >> 40;

	for (;; i++) {
		struct shape **s = &slots[i & (room - 1)];

		if (!*s || ((*s)->header == header && (*s)->header_len == len))
			return s;
	}
}

static void grow(void)
{
	struct shape **old = slots;
	size_t n = room;

	room = n ? 2 * n : SLOTS;
	slots = moca_exact_map(room * sizeof(struct shape *));
	moca_exact_touch(slots, room * sizeof(struct shape *));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			*slot_of(old[i]->header, old[i]->header_len) = old[i];
	if (n)
		moca_exact_unmap(old, n * sizeof(struct shape *));
}

static uint64_t number(const uint8_t *p, unsigned int size, int is_signed)
{
	uint16_t half;
	uint32_t word;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*p : *p;
	case 2:
		memcpy(&half, p, 2);
		return is_signed ? (uint64_t)(int16_t)half : half;
	case 4:
		memcpy(&word, p, 4);
		return is_signed ? (uint64_t)(int32_t)word : word;
	default:
		return 0;
	}
}

static void put_disp(struct insn *x, const struct shape *s, uint64_t v)
{
	struct x86_insn *what = &x->what;

	if (what->mem.rip)
		v += x->pc + what->len;
	what->mem.disp = (int64_t)v;
	for (int i = 0; i < what->accesses; i++)
		if (!what->access[i].hidden)
			what->access[i].disp =
				(int64_t)v + what->access[i].popped;
	if (s->lea)
		what->move_add = (int64_t)v;
}

static void put_imm(struct insn *x, const struct shape *s, uint64_t v)
{
	if (s->uses & IMM_TARGET)
		x->what.target = x->pc + x->what.len + v;
	if (s->uses & IMM_COMPARE && x->compare.a >= 0)
		x->compare.imm = (int64_t)v;
	if (!(s->uses & (IMM_ADD | IMM_SUBTRACT)))
		return;
	if (s->uses & IMM_SUBTRACT)
		v = -v;
	if (x->what.move_to >= 0)
		x->what.move_add = (int64_t)v;
	if (x->compare.a >= 0)
		x->compare.add = (int64_t)v;
}

/* All that decoding tells; the rest of x is written before it is read. */
static void fill(struct insn *x, const struct shape *s)
{
	memcpy(&x->what, &s->what, offsetof(struct x86_insn, access));
	for (int i = 0; i < s->what.accesses; i++)
		x->what.access[i] = s->what.access[i];
	x->kind = s->what.kind;
	x->leader = 0;
	x->reg = s->reg;
	x->gs_base = -1;
	x->pop = s->pop;
	x->live = 0;
	x->compare.a = s->compare_a;
	x->compare.b = s->compare_b;
	x->compare.size = s->compare_size;
	x->compare.imm = 0;
	x->compare.add = s->compare_add;
	x->helped = NULL;
	x->groups = -1;
}

int moca_exact_shape_find(uint64_t pc, struct insn *x)
{
	const uint8_t *at = (const uint8_t *)pc, *behind;
	unsigned int len = length_of(at);
	const struct shape *s;
	uint64_t bytes, imm;

	if (!len || !count)
		return -1;
	memcpy(&bytes, at, sizeof(bytes));
	s = *slot_of(first_bytes(bytes, len), len);
	if (!s)
		return -1;
	behind = at + s->header_len;
	imm = number(behind + s->disp_len, s->imm_len, s->imm_signed);
	if (!(s->uses & IMM_ALONE) && imm != s->imm)
		return -1;
	fill(x, s);
	x->pc = pc;
	if (s->disp_len)
		put_disp(x, s, number(behind, s->disp_len, 1));
	if (s->imm_len)
		put_imm(x, s, imm);
	return 0;
}

static unsigned int uses_of(const ZydisDecodedInstruction *d)
{
	if (!d->raw.imm[0].size)
		return IMM_ALONE;
	if (d->raw.imm[0].is_relative)
		return IMM_ALONE | IMM_TARGET;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		return IMM_ALONE | IMM_ADD;
	case ZYDIS_MNEMONIC_SUB:
		return IMM_ALONE | IMM_SUBTRACT;
	case ZYDIS_MNEMONIC_CMP:
		return IMM_ALONE | IMM_COMPARE;
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_PUSH:
		return IMM_ALONE;
	default:
		return 0;
	}
}

/* 0: it is not made of such parts alone. */
static unsigned int header_of(const ZydisDecodedInstruction *d,
			      const uint8_t *at)
{
	unsigned int disp = d->raw.disp.size / 8u, imm = d->raw.imm[0].size / 8u;
	unsigned int len = d->length - disp - imm;
	const uint8_t *end;
	uint8_t *modrm = modrm_of(at, &end);
	int follows = !!(d->attributes & ZYDIS_ATTRIB_HAS_MODRM);

	if ((d->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	     d->encoding != ZYDIS_INSTRUCTION_ENCODING_VEX) ||
	    d->address_width != 64 || d->raw.imm[1].size || disp > 4 ||
	    imm > 4 || (disp && d->raw.disp.offset != len) ||
	    (imm && d->raw.imm[0].offset != len + disp) ||
	    (follows && at + d->raw.modrm.offset != end))
		return 0;
	*modrm = follows ? MODRM_FOLLOWS : MODRM_NONE;
	return length_of(at) == len ? len : 0;
}

static void describe(struct shape *s, const struct insn *x,
		     const ZydisDecodedInstruction *d)
{
	unsigned int disp = d->raw.disp.size / 8u, imm = d->raw.imm[0].size / 8u;

	s->disp_len = (uint8_t)disp;
	s->imm_len = (uint8_t)imm;
	s->imm_signed = d->raw.imm[0].is_signed;
	s->imm = number((const uint8_t *)x->pc + d->length - imm, imm,
			s->imm_signed);
	s->uses = (uint8_t)uses_of(d);
	s->lea = d->mnemonic == ZYDIS_MNEMONIC_LEA && x->what.move_to >= 0;
	s->reg = x->reg;
	s->compare_a = x->compare.a;
	s->compare_b = x->compare.b;
	s->compare_size = x->compare.size;
	s->compare_add = imm ? 0 : (int8_t)x->compare.add;
	s->pop = x->pop;
	memcpy(&s->what, &x->what, offsetof(struct x86_insn, access));
	for (int i = 0; i < x->what.accesses; i++)
		s->what.access[i] = x->what.access[i];
}

void moca_exact_shape_keep(const struct insn *x,
			   const ZydisDecodedInstruction *d)
{
	unsigned int len = header_of(d, (const uint8_t *)x->pc);
	uint64_t header;
	struct shape **s;

	if (!len || x->helped || x->kind != x->what.kind ||
	    (d->raw.disp.size && !x->what.mem.scale))
		return;
	memcpy(&header, (const void *)x->pc, sizeof(header));
	header = first_bytes(header, len);
	if (count * 4 >= room * 3)
		grow();
	s = slot_of(header, len);
	if (*s) {
		/* It was of another value: the last one is kept, where it fits. */
		if (x->what.accesses <= (*s)->what.accesses)
			describe(*s, x, d);
		return;
	}
	if (count == SHAPES)
		return;
	count++;
	*s = moca_exact_alloc(offsetof(struct shape, what.access) +
			      x->what.accesses * sizeof(x->what.access[0]));
	(*s)->header = header;
	(*s)->header_len = (uint8_t)len;
	describe(*s, x, d);
}
