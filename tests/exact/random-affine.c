// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loops over arrays, as compilers make them and as they never would: 1 to 3
 * streams with their own strides, pointers moved before, amid or after the
 * accesses, counted by any of several idioms, nested, left early, with parts that
 * are left out in some iterations; and loops that look affine but are not (strides
 * that change, indices that alternate).
 *
 * A loop is a list of steps, emitted as instructions and run here by an
 * interpreter, which knows each address.
 */
#include "random.h"

#include <string.h>

enum step_kind { ACCESS, ADD_IMM, ADD_REG, XOR_IMM, SKIP };
enum { LOAD = 1, STORE = 2 };

struct step {
	uint8_t kind;
	uint8_t op;	/* of ACCESS: index into accesses[]; of ADD_IMM: form */
	uint8_t reg;	/* data register, or the one that changes */
	int8_t base, index;
	uint8_t scale;	/* log2 */
	int32_t value;	/* displacement or immediate */
	uint8_t other;	/* ADD_REG; of SKIP: so many steps, if no bit of */
			/* value is set in the counter */
};

/* Opcodes with a memory operand: prefix, REX.W, opcode bytes, what they do. */
static const struct {
	const char *prefix, *opcode;
	uint8_t w, does;
} accesses[] = {
	{ "", "\x8b", 1, LOAD },	{ "", "\x89", 1, STORE },
	{ "", "\x8b", 0, LOAD },	{ "", "\x89", 0, STORE },
	{ "\x66", "\x89", 0, STORE },	{ "", "\x88", 1, STORE },
	{ "", "\x01", 1, LOAD | STORE }, { "", "\x03", 1, LOAD },
	{ "", "\x31", 0, LOAD | STORE }, { "", "\x0f\xb6", 0, LOAD },
	{ "", "\x63", 1, LOAD },	{ "", "\x3b", 1, LOAD },
	{ "\xf2", "\x0f\x58", 0, LOAD }, { "", "\x0f\x10", 0, LOAD },
	{ "", "\x0f\x11", 0, STORE },	{ "\xf3", "\x0f\x7f", 0, STORE },
	{ "\xf0", "\x01", 1, LOAD | STORE }, { "\xf2", "\x0f\x11", 0, STORE },
};
#define N_ACCESSES (sizeof(accesses) / sizeof(accesses[0]))

struct loop {
	struct step steps[24];
	unsigned int count;
	unsigned int trips, outer, leave; /* leave: after so many, 0 = never */
	uint8_t way;	/* how it is counted */
	uint8_t counter, outer_counter;
	uint64_t start[16];
	uint16_t used;	/* registers that start somewhere */
};

static int32_t any_stride(struct rng *r)
{
	static const int32_t strides[] = {
		8, 8, 8, 4, 16, 1, 2, 24, 32, 64, 72, 128, 4096, 4104, 8192,
		5000, -8, -4, -1, -16, -64, -4096, -12, 0,
	};

	return strides[rng_below(r, sizeof(strides) / sizeof(strides[0]))];
}

/* add, sub, lea, or inc/dec: what moves a pointer. */
static void put_add(struct sequence *s, const struct step *t)
{
	unsigned int reg = t->reg, rex = 0x48 + (reg > 7);
	int form = t->op;

	if (form == 3 && t->value != 1 && t->value != -1)
		form = 0;
	switch (form) {
	case 0:
	case 1:
		put8(s, rex), put8(s, 0x81);
		put8(s, (form ? 0xe8 : 0xc0) + (reg & 7));
		put32(s, form ? -(uint32_t)t->value : (uint32_t)t->value);
		break;
	case 2: /* lea reg,[reg+imm] */
		put8(s, 0x48 + (reg > 7 ? 5 : 0)), put8(s, 0x8d);
		put8(s, 0x80 + (reg & 7) * 9);
		if ((reg & 7) == RSP)
			put8(s, 0x24);
		put32(s, t->value);
		break;
	default:
		put8(s, rex), put8(s, 0xff);
		put8(s, (t->value == 1 ? 0xc0 : 0xc8) + (reg & 7));
	}
}

static void put_access(struct sequence *s, const struct step *t)
{
	const char *p = accesses[t->op].prefix, *o = accesses[t->op].opcode;
	unsigned int rex = 0x40 | accesses[t->op].w << 3 | (t->reg > 7) << 2;

	put(s, p, strlen(p));
	if (t->index >= 0)
		rex |= (t->index > 7) << 1;
	rex |= t->base > 7;
	put8(s, rex);
	put(s, o, strlen(o));
	if (t->index >= 0) {
		put8(s, 0x84 | (t->reg & 7) << 3);
		put8(s, t->scale << 6 | (t->index & 7) << 3 | (t->base & 7));
	} else {
		put8(s, 0x80 | (t->reg & 7) << 3 | (t->base & 7));
		if ((t->base & 7) == RSP)
			put8(s, 0x24);
	}
	put32(s, t->value);
}

static void put_step(struct sequence *s, const struct step *t)
{
	unsigned int rex = 0x48 + (t->reg > 7);

	switch (t->kind) {
	case SKIP: /* test value, counter; jz over what put_steps() says */
		put8(s, rex), put8(s, 0xf7), put8(s, 0xc0 + (t->reg & 7));
		put32(s, t->value);
		put8(s, 0x0f), put8(s, 0x84), put32(s, 0);
		break;
	case ACCESS:
		put_access(s, t);
		break;
	case ADD_IMM:
		put_add(s, t);
		break;
	case ADD_REG:
		put8(s, rex | (t->other > 7) << 2), put8(s, 0x01);
		put8(s, 0xc0 | (t->other & 7) << 3 | (t->reg & 7));
		break;
	default:
		put8(s, rex), put8(s, 0x81), put8(s, 0xf0 + (t->reg & 7));
		put32(s, t->value);
	}
}

static void put_steps(struct sequence *s, const struct loop *l)
{
	uint32_t behind[24] = { 0 };

	for (unsigned int i = 0; i < l->count; i++) {
		put_step(s, &l->steps[i]);
		behind[i] = s->len;
		for (unsigned int k = 0; k < i; k++) {
			int32_t rel = (int32_t)(s->len - behind[k]);

			if (l->steps[k].kind == SKIP &&
			    k + l->steps[k].other == i)
				memcpy(s->code + behind[k] - 4, &rel, 4);
		}
	}
}

/* What its counter holds in iteration n, from 1. */
static uint64_t counter_at(const struct loop *l, unsigned int n)
{
	return l->way < 2 ? l->trips - n + 1 :
	       l->way < 5 ? n - 1 : (uint64_t)n - 1 - l->trips;
}

/* Runs it; -1 when an access would leave the array. With counting, expects. */
static int interpret(const struct loop *l, int counting)
{
	for (unsigned int o = 0; o < l->outer; o++) {
		uint64_t reg[16];

		memcpy(reg, l->start, sizeof(reg));
		for (unsigned int n = 1; n <= l->trips; n++) {
			for (unsigned int i = 0; i < l->count; i++) {
				const struct step *t = &l->steps[i];
				uint64_t a;

				switch (t->kind) {
				case SKIP:
					if (!(counter_at(l, n) &
					      (uint64_t)(int64_t)t->value))
						i += t->other;
					continue;
				case ADD_IMM:
					reg[t->reg] += (int64_t)t->value;
					continue;
				case ADD_REG:
					reg[t->reg] += reg[t->other];
					continue;
				case XOR_IMM:
					reg[t->reg] ^= (int64_t)t->value;
					continue;
				default:
					break;
				}
				a = reg[t->base] + (int64_t)t->value;
				if (t->index >= 0)
					a += reg[t->index] << t->scale;
				if (a < AFFINE || a > ARENA_END - 16)
					return -1;
				if (counting)
					expect(a, accesses[t->op].does & LOAD,
					       accesses[t->op].does / STORE);
			}
			if (n == l->leave)
				break;
		}
	}
	return 0;
}

/* rax, rdx and r8 are data, rsp is left alone; of the others each once. */
static uint8_t take(struct rng *r, uint16_t *free)
{
	unsigned int n;

	do
		n = rng_below(r, 16);
	while (!(*free >> n & 1));
	*free &= ~(1u << n);
	return n;
}

static void add_access(struct loop *l, struct rng *r, uint8_t base, int index)
{
	static const uint8_t data[] = { RAX, RDX, 8 };
	struct step *t = &l->steps[l->count++];

	*t = (struct step){ .kind = ACCESS,
			    .op = rng_below(r, N_ACCESSES),
			    .reg = data[rng_below(r, 3)], .base = base,
			    .index = index,
			    .scale = index >= 0 ? rng_below(r, 4) : 0,
			    .value = (int)rng_below(r, 5) * 8 - 16 };
	if (!rng_below(r, 8))
		t->value = (int)rng_below(r, 20001) - 10000;
}

/* One stream: one to three accesses by a register, and what moves it. */
static void add_stream(struct loop *l, struct rng *r, uint16_t *free)
{
	uint8_t p = take(r, free), q;
	unsigned int n = 1 + rng_below(r, 3), move = rng_below(r, n + 1);
	unsigned int kind = rng_below(r, 12);

	l->start[p] = AFFINE + AFFINE_SIZE / 4 + rng_below(r, AFFINE_SIZE / 2);
	if (rng_below(r, 3))
		l->start[p] &= ~63ul;
	l->used |= 1u << p;
	for (unsigned int i = 0; i <= n; i++) {
		if (i == move) {
			struct step *t = &l->steps[l->count++];

			*t = (struct step){ .kind = ADD_IMM, .reg = p,
					    .op = rng_below(r, 4),
					    .value = any_stride(r) };
			if (kind == 0) { /* alternates */
				t->kind = XOR_IMM;
				t->value = 64 << rng_below(r, 8);
			} else if (kind <= 2) { /* by a register, which
						 * may itself grow */
				q = take(r, free);
				t->kind = ADD_REG;
				t->other = q;
				l->start[q] = (uint64_t)(int64_t)t->value;
				l->used |= 1u << q;
				if (kind == 2) {
					l->steps[l->count++] = (struct step){
						.kind = ADD_IMM, .reg = q,
						.value = 8 };
				}
			}
		}
		if (i < n)
			add_access(l, r, p, -1);
	}
}

/* base + index * scale, where both may move. */
static void add_indexed(struct loop *l, struct rng *r, uint16_t *free)
{
	uint8_t p = take(r, free), q = take(r, free);
	unsigned int n = 1 + rng_below(r, 3);

	l->start[p] = AFFINE + AFFINE_SIZE / 2;
	l->start[q] = rng_below(r, 2) ? 0 : (uint64_t)rng_below(r, 2000) - 1000;
	l->used |= 1u << p | 1u << q;
	for (unsigned int i = 0; i < n; i++)
		add_access(l, r, p, q);
	l->steps[l->count++] = (struct step){
		.kind = ADD_IMM, .reg = q, .op = rng_below(r, 4),
		.value = rng_below(r, 3) ? 1 : (int)rng_below(r, 65) - 32 };
	if (!rng_below(r, 3)) {
		l->steps[l->count++] = (struct step){
			.kind = ADD_IMM, .reg = p, .op = rng_below(r, 3),
			.value = any_stride(r) };
	}
	if (rng_below(r, 2))
		add_access(l, r, p, q);
}

/* Anywhere; what it leaves out may be accesses, moves, or both. */
static void add_skip(struct loop *l, struct rng *r)
{
	unsigned int at = rng_below(r, l->count), n = l->count - at;

	if (l->count == sizeof(l->steps) / sizeof(l->steps[0]))
		return;
	memmove(&l->steps[at + 1], &l->steps[at], n * sizeof(l->steps[0]));
	l->count++;
	l->steps[at] = (struct step){ .kind = SKIP, .reg = l->counter,
				      .value = (int)rng_below(r, 4) + 1,
				      .other = (uint8_t)(1 + rng_below(r, n)) };
}

static void make(struct loop *l, struct rng *r)
{
	static const uint16_t trips[] = { 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63,
					  64, 65, 100, 127, 128, 129, 500 };
	uint16_t free = 0xffff & ~(1u << RAX | 1u << RDX | 1u << RSP |
				   1u << 8);
	unsigned int streams = 1 + rng_below(r, 3);

	memset(l, 0, sizeof(*l));
	l->counter = take(r, &free);
	l->outer_counter = take(r, &free);
	l->way = rng_below(r, 6);
	l->trips = trips[rng_below(r, sizeof(trips) / sizeof(trips[0]))];
	if (!rng_below(r, 60))
		l->trips = 1000 + rng_below(r, 2000);
	l->outer = rng_below(r, 4) ? 1 : 1 + rng_below(r, 4);
	if (!rng_below(r, 5))
		l->leave = 1 + rng_below(r, l->trips);
	while (streams--)
		if (rng_below(r, 3))
			add_stream(l, r, &free);
		else
			add_indexed(l, r, &free);
	if (!rng_below(r, 4))
		add_skip(l, r);
}

/* The last instructions of the body: count and branch back to head. */
static void put_back(struct sequence *s, const struct loop *l, uint32_t head)
{
	unsigned int c = l->counter, cc = 0x85, b = c > 7;
	int32_t back;

	switch (l->way) {
	case 0: /* dec; jnz */
		put8(s, 0x48 + b), put8(s, 0xff), put8(s, 0xc8 + (c & 7));
		break;
	case 1: /* sub 1; ja */
		put8(s, 0x48 + b), put8(s, 0x83), put8(s, 0xe8 + (c & 7));
		put8(s, 1);
		cc = 0x87;
		break;
	case 2: /* inc; cmp trips; jne */
	case 3: /* add 1; cmp trips; jl */
	case 4: /* add 1; cmp trips; jb */
		put8(s, 0x48 + b), put8(s, 0x83), put8(s, 0xc0 + (c & 7));
		put8(s, 1);
		put8(s, 0x48 + b), put8(s, 0x81), put8(s, 0xf8 + (c & 7));
		put32(s, l->trips);
		cc = l->way == 2 ? 0x85 : l->way == 3 ? 0x8c : 0x82;
		break;
	default: /* add 1; jnz, from -trips */
		put8(s, 0x48 + b), put8(s, 0x83), put8(s, 0xc0 + (c & 7));
		put8(s, 1);
	}
	put8(s, 0x0f), put8(s, cc);
	back = (int32_t)(head - s->len - 4);
	put(s, &back, 4);
}

void build_affine(struct sequence *s, struct rng *r)
{
	struct loop l;
	uint32_t outer, head, exit_at = 0;
	int32_t rel;

	do
		make(&l, r);
	while (interpret(&l, 0));
	if (s->counting)
		interpret(&l, 1);
	put_mov(s, l.outer_counter, l.outer);
	outer = s->len;
	for (unsigned int i = 0; i < 16; i++)
		if (l.used >> i & 1)
			put_mov(s, i, l.start[i]);
	put_mov(s, l.counter,
		l.way < 2 ? l.trips : l.way < 5 ? 0 : -(uint64_t)l.trips);
	head = s->len;
	put_steps(s, &l);
	/* Where it may be left: before the count, behind all accesses. */
	if (l.leave) { /* cmp counter, what it is then; je out */
		uint32_t then = l.way < 2 ? l.trips - l.leave + 1
			      : l.way < 5 ? l.leave - 1
					  : l.leave - 1 - l.trips;

		put8(s, 0x48 + (l.counter > 7)), put8(s, 0x81);
		put8(s, 0xf8 + (l.counter & 7)), put32(s, then);
		put8(s, 0x0f), put8(s, 0x84), put32(s, 0);
		exit_at = s->len;
	}
	put_back(s, &l, head);
	if (l.leave) {
		rel = (int32_t)(s->len - exit_at);
		memcpy(s->code + exit_at - 4, &rel, 4);
	}
	put8(s, 0x48 + (l.outer_counter > 7)), put8(s, 0xff);
	put8(s, 0xc8 + (l.outer_counter & 7));
	put8(s, 0x0f), put8(s, 0x85);
	rel = (int32_t)(outer - s->len - 4);
	put(s, &rel, 4);
}
