// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Templates by hand: strings, stack, calls, branches, divisions, and what saves
 * or loads state. Each leaves rsp and DF as they were; what it accesses is
 * computed here, from the values that it sets its registers to.
 */
#include "pool.h"

#include <string.h>

static struct draft d;

static void begin(int family)
{
	memset(&d, 0, sizeof(d));
	d.t.family = family;
	d.t.high = 1;
}

static void finish(unsigned int mnemonic)
{
	d.t.mnemonic = mnemonic;
	keep(&d);
}

/* A register that is neither rsp nor one of these. */
static unsigned int other(unsigned int not)
{
	unsigned int r;

	do
		r = below(16);
	while (r == RSP || not >> r & 1);
	return r;
}

static void push(unsigned int r)
{
	if (r > 7)
		emit8(&d, 0x41);
	emit8(&d, 0x50 + (r & 7));
}

static void pop(unsigned int r)
{
	if (r > 7)
		emit8(&d, 0x41);
	emit8(&d, 0x58 + (r & 7));
	if (r != RSP)
		d.t.writes |= 1u << r;
}

/* Of one element of a string instruction. */
struct string {
	unsigned int op; /* 0xa4 ... 0xae, of bytes */
	unsigned int size, rep, down;
	uint64_t src, dst, acc;
};

static uint64_t element(uint64_t addr, unsigned int size)
{
	uint64_t v = 0;

	memcpy(&v, (void *)addr, size);
	return v;
}

/* Counts one element at distance n; 1 when repe or repne ends with it. */
static int string_element(const struct string *s, unsigned int n)
{
	long step = (s->down ? -1L : 1L) * (long)(n * s->size);
	uint64_t a, b;

	switch (s->op) {
	case 0xa4:
		count(&d, s->src + step, 1, 0);
		count(&d, s->dst + step, 0, 1);
		return 0;
	case 0xaa:
		count(&d, s->dst + step, 0, 1);
		return 0;
	case 0xac:
		count(&d, s->src + step, 1, 0);
		return 0;
	case 0xa6:
		count(&d, s->src + step, 1, 0);
		count(&d, s->dst + step, 1, 0);
		a = element(s->src + step, s->size);
		break;
	default:
		count(&d, s->dst + step, 1, 0);
		a = s->acc & (~0ul >> (64 - 8 * s->size));
	}
	b = element(s->dst + step, s->size);
	return s->rep && (a == b) != (s->rep == 0xf3);
}

static void string(void)
{
	static const uint8_t ops[] = { 0xa4, 0xa6, 0xaa, 0xac, 0xae };
	struct string s = { .op = ops[below(5)], .size = 1u << below(4),
			    .rep = below(4) ? 0xf3 : 0, .down = !below(4) };
	int compares = s.op == 0xa6 || s.op == 0xae;
	int source = s.op == 0xa4 || s.op == 0xa6 || s.op == 0xac;
	int addr32 = !below(6), fs = source && !addr32 && !below(6), wide = 0;
	unsigned int n = below(3) ? below(40) : below(4), i;
	uint64_t text = CONST_TEXT + 400;

	begin(F_STRING);
	if (compares && s.rep && below(2))
		s.rep = 0xf2;
	if (s.rep && !compares && !below(12)) {
		n = 60 + below(400);
		wide = d.t.uncounted = 1;
	}
	s.src = below(2) ? text + below(2000) : DATA + 0x1000 + below(0x1000);
	s.dst = DATA + 0x1000 + below(0x1000);
	if (compares) {
		s.src = text + below(2000);
		s.dst = below(3) ? text + below(2000) : s.src;
	}
	s.acc = element(s.dst + (below(2) ? 0 : (long)s.size * below(20)),
			s.size) |
		(uint64_t)below(1000) << 32;
	emit_mov(&d, RAX, s.acc);
	emit_mov(&d, RCX, n);
	emit_mov(&d, RSI, s.src - (fs ? FSBASE : 0));
	emit_mov(&d, RDI, s.dst);
	if (s.down)
		emit8(&d, 0xfd);
	if (addr32)
		emit8(&d, 0x67);
	if (fs)
		emit8(&d, 0x64);
	if (s.size == 2)
		emit8(&d, 0x66);
	if (s.rep)
		emit8(&d, s.rep);
	if (s.size == 8)
		emit8(&d, 0x48);
	emit8(&d, s.op + (s.size > 1));
	if (s.down)
		emit8(&d, 0xfc);
	if (!s.rep)
		n = 1;
	for (i = 0; i < n && !wide; i++)
		if (string_element(&s, i))
			break;
	if (compares && !s.rep)
		d.t.defines = STATUS_FLAGS;
	finish(ZYDIS_MNEMONIC_MOVSB + (s.op - 0xa4) * 4 + s.size);
}

/* push and pop, of everything that can be. */
static void stack(unsigned int kind)
{
	unsigned int a = other(0), b = other(0);
	uint32_t x = data_address(8), y = data_address(8);
	unsigned int n;

	begin(F_STACK);
	switch (kind) {
	case 0:
		push(a), pop(b);
		count(&d, RSP0 - 8, 1, 1);
		break;
	case 1: /* imm8, imm32; 16 bits */
		emit8(&d, 0x6a), emit8(&d, below(256)), pop(a);
		emit8(&d, 0x68), emit32(&d, rng_next(&pool_rng)), pop(b);
		count(&d, RSP0 - 8, 1, 1), count(&d, RSP0 - 8, 1, 1);
		break;
	case 2:
		emit8(&d, 0x66), push(a), emit8(&d, 0x66), pop(b);
		count(&d, RSP0 - 2, 1, 1);
		break;
	case 3: /* push [x]; pop [y] */
		emit_hex(&d, "ff 34 25"), emit32(&d, x);
		emit_hex(&d, "8f 04 25"), emit32(&d, y);
		count(&d, x, 1, 0), count(&d, RSP0 - 8, 1, 1);
		count(&d, y, 0, 1);
		break;
	case 4: /* pop [rsp-24]: its address is that after the pop */
		push(a), emit_hex(&d, "8f 44 24 e8");
		count(&d, RSP0 - 8, 1, 1), count(&d, RSP0 - 24, 0, 1);
		break;
	case 5: /* push [rsp-16]: the address before the push */
		emit_hex(&d, "ff 74 24 f0"), pop(a);
		count(&d, RSP0 - 16, 1, 0), count(&d, RSP0 - 8, 1, 1);
		break;
	case 6:
		push(RSP), pop(a), count(&d, RSP0 - 8, 1, 1);
		break;
	case 7:
		push(RSP), pop(RSP), count(&d, RSP0 - 8, 1, 1);
		break;
	case 8: /* pushfq; popfq, also of 16 bits */
		d.t.tests = STATUS_FLAGS;
		emit_hex(&d, below(2) ? "9c 9d" : "9c 9c 9d 9d");
		n = d.t.len / 2;
		for (unsigned int i = 1; i <= n; i++)
			count(&d, RSP0 - 8 * i, 1, 1);
		break;
	case 9: /* all flags into a register */
		d.t.tests = STATUS_FLAGS;
		emit8(&d, 0x9c), pop(a), count(&d, RSP0 - 8, 1, 1);
		break;
	case 10: /* flags from a constant */
		emit8(&d, 0x68);
		emit32(&d, (rng_next(&pool_rng) & STATUS_FLAGS) | 0x202);
		emit8(&d, 0x9d), count(&d, RSP0 - 8, 1, 1);
		d.t.defines = STATUS_FLAGS;
		break;
	case 11: /* enter n, 0; leave */
		emit8(&d, 0xc8), emit8(&d, 8 * below(30)), emit_hex(&d, "00 00");
		push(a), pop(other(1u << RBP));
		n = d.t.bytes[1];
		emit8(&d, 0xc9);
		count(&d, RSP0 - 8, 1, 1), count(&d, RSP0 - 16 - n, 1, 1);
		d.t.writes |= 1u << RBP;
		break;
	case 12: { /* enter n, level; leave */
		unsigned int level = 1 + below(5);
		uint64_t bp = DATA + 0x1800 + below(512);

		emit_mov(&d, RBP, bp);
		emit8(&d, 0xc8), emit8(&d, 8 * below(30)), emit8(&d, 0);
		emit8(&d, level), emit8(&d, 0xc9);
		for (unsigned int i = 0; i <= level; i++)
			count(&d, RSP0 - 8 - 8 * i, 0, 1);
		for (unsigned int i = 1; i < level; i++)
			count(&d, bp - 8 * i, 1, 0);
		count(&d, RSP0 - 8, 1, 0);
		d.t.uncounted = below(2); /* how it is counted: no matter */
		break;
	}
	case 13: /* another stack, and back */
		if (a == b)
			b = other(1u << a);
		emit8(&d, a > 7 ? 0x49 : 0x48), emit8(&d, 0x89);
		emit8(&d, 0xe0 | (a & 7)); /* mov a, rsp */
		d.t.writes |= 1u << a;
		emit8(&d, 0xbc), emit32(&d, x & ~7u);
		push(a), push(b), pop(b), pop(a);
		emit8(&d, a > 7 ? 0x4c : 0x48), emit8(&d, 0x89);
		emit8(&d, 0xc4 | (a & 7) << 3); /* mov rsp, a */
		x &= ~7u;
		count(&d, x - 8, 1, 1), count(&d, x - 16, 1, 1);
		break;
	case 14: /* lea rsp,[rsp-n]; push; pop; lea rsp,[rsp+n] */
		n = 8 * (1 + below(15));
		emit_hex(&d, "48 8d 64 24"), emit8(&d, -n & 0xff);
		push(a), pop(b);
		emit_hex(&d, "48 8d 64 24"), emit8(&d, n);
		count(&d, RSP0 - n - 8, 1, 1);
		break;
	case 15: /* sub rsp; mov [rsp+8]; add rsp */
		emit_hex(&d, "48 83 ec 28");
		emit8(&d, a > 7 ? 0x4c : 0x48), emit8(&d, 0x89);
		emit8(&d, 0x44 | (a & 7) << 3), emit_hex(&d, "24 08");
		emit_hex(&d, "48 83 c4 28");
		count(&d, RSP0 - 0x28 + 8, 0, 1);
		d.t.defines = STATUS_FLAGS;
		break;
	case 16: /* xchg rsp, a through a pivot: mov a, rsp-64; xchg twice */
		emit8(&d, a > 7 ? 0x4c : 0x48), emit8(&d, 0x8d);
		emit8(&d, 0x44 | (a & 7) << 3), emit_hex(&d, "24 c0");
		for (int i = 0; i < 2; i++) {
			emit8(&d, a > 7 ? 0x49 : 0x48), emit8(&d, 0x87);
			emit8(&d, 0xe0 | (a & 7));
			if (!i)
				emit_hex(&d, "6a 11 48 8d 64 24 08");
		}
		count(&d, RSP0 - 64 - 8, 0, 1);
		d.t.writes |= 1u << a;
		break;
	default: /* red zone: mov [rsp-n], a; mov b, [rsp-n] */
		n = 8 + below(121);
		emit8(&d, a > 7 ? 0x4c : 0x48), emit8(&d, 0x89);
		emit8(&d, 0x44 | (a & 7) << 3), emit8(&d, 0x24);
		emit8(&d, -n & 0xff);
		emit8(&d, b > 7 ? 0x4c : 0x48), emit8(&d, 0x8b);
		emit8(&d, 0x44 | (b & 7) << 3), emit8(&d, 0x24);
		emit8(&d, -n & 0xff);
		count(&d, RSP0 - n, 1, 1);
		d.t.writes |= 1u << b;
	}
	finish(ZYDIS_MNEMONIC_PUSH);
}

/* Calls and returns, near, in all their forms; ud2 is what is skipped. */
static void call(unsigned int kind)
{
	unsigned int n;
	uint32_t x = data_address(8);

	begin(F_CONTROL);
	d.t.writes = 1u << RAX;
	switch (kind) {
	case 0: /* call f; jmp end; f: lea eax,[rax+1]; ret */
		emit_hex(&d, "e8 02 00 00 00 eb 05 48 8d 40 01 c3 90");
		count(&d, RSP0 - 8, 1, 1);
		break;
	case 1: /* push 1; push 2; call f; jmp end; f: ret 16 */
		emit_hex(&d, "6a 01 6a 02 e8 02 00 00 00 eb 03 c2 10 00");
		count(&d, RSP0 - 8, 0, 1), count(&d, RSP0 - 16, 0, 1);
		count(&d, RSP0 - 24, 1, 1);
		break;
	case 2: /* lea rax,[rip+4]; call rax; jmp end; f: ret */
		emit_hex(&d, "48 8d 05 04 00 00 00 ff d0 eb 01 c3");
		count(&d, RSP0 - 8, 1, 1);
		break;
	case 3: /* lea rax,[rip+17]; mov [x],rax; call [x]; jmp end; f: ret */
		emit_hex(&d, "48 8d 05 11 00 00 00 48 89 04 25");
		emit32(&d, x), emit_hex(&d, "ff 14 25"), emit32(&d, x);
		emit_hex(&d, "eb 01 c3");
		count(&d, x, 1, 1), count(&d, RSP0 - 8, 1, 1);
		break;
	case 4: /* lea rax,[rip+8]; push rax; call [rsp]; pop; jmp end; f: ret */
		emit_hex(&d, "48 8d 05 07 00 00 00 50 ff 14 24 58 eb 01 c3 90");
		d.t.bytes[3] = 7;
		count(&d, RSP0 - 8, 1, 1), count(&d, RSP0 - 8, 1, 0);
		count(&d, RSP0 - 16, 1, 1);
		break;
	case 5: /* call $+5; pop rax: where the program is */
		emit_hex(&d, "e8 00 00 00 00 58");
		count(&d, RSP0 - 8, 1, 1);
		break;
	case 6: /* lea rax,[rip+4]; push rax; ret; ud2; ...: a jump */
		emit_hex(&d, "48 8d 05 04 00 00 00 50 c3 0f 0b");
		count(&d, RSP0 - 8, 1, 1);
		break;
	case 7: /* call f; ud2; jmp end; f: add qword [rsp],2; ret */
		emit_hex(&d, "e8 04 00 00 00 0f 0b eb 06 48 83 04 24 02 c3");
		count(&d, RSP0 - 8, 1, 1), count(&d, RSP0 - 8, 1, 1);
		d.t.defines = STATUS_FLAGS;
		break;
	case 8: /* lea rax,[rip+4]; jmp rax; ud2 ud2 */
		emit_hex(&d, "48 8d 05 06 00 00 00 ff e0 0f 0b 0f 0b");
		break;
	case 9: /* lea rax,[rip+17]; mov [x],rax; jmp [x]; ud2 */
		emit_hex(&d, "48 8d 05 11 00 00 00 48 89 04 25");
		emit32(&d, x), emit_hex(&d, "ff 24 25"), emit32(&d, x);
		emit_hex(&d, "0f 0b 90");
		count(&d, x, 1, 1);
		break;
	case 10: /* nested 3 deep: f calls g calls h */
		emit_hex(&d, "e8 02 00 00 00 eb 0d e8 01 00 00 00 c3 "
			     "e8 01 00 00 00 c3 c3");
		for (n = 1; n <= 3; n++)
			count(&d, RSP0 - 8 * n, 1, 1);
		break;
	case 11: /* a leaf that returns two levels up:
		  * call f; jmp end; f: call g; ud2; g: lea rsp,[rsp+8]; ret */
		emit_hex(&d, "e8 02 00 00 00 eb 0d e8 02 00 00 00 0f 0b "
			     "48 8d 64 24 08 c3");
		count(&d, RSP0 - 8, 1, 1), count(&d, RSP0 - 16, 0, 1);
		break;
	case 12: /* a table: mov ecx,n; lea rax,[rip+T]; movsxd; add; jmp rax */
		n = below(4);
		emit8(&d, 0xb9), emit32(&d, n);
		emit_hex(&d, "48 8d 05 09 00 00 00 48 63 0c 88 48 01 c8 ff e0");
		/* table of 4, relative to itself, then 4 targets of 4 bytes */
		for (n = 0; n < 4; n++)
			emit32(&d, 16 + 4 * n);
		emit_hex(&d, "b0 00 eb 0a b0 01 eb 06 b0 02 eb 02 b0 03 90 90");
		d.t.writes |= 1u << RCX;
		d.t.defines = STATUS_FLAGS;
		break;
	case 13: /* bnd, notrack and endbr forms: lea rax; notrack jmp rax */
		emit_hex(&d, "48 8d 05 03 00 00 00 3e ff e0 f3 0f 1e fa");
		break;
	case 14: /* f2 ret ("bnd"), rep ret */
		emit_hex(&d, "e8 02 00 00 00 eb 02");
		emit_hex(&d, below(2) ? "f3 c3" : "f2 c3");
		count(&d, RSP0 - 8, 1, 1);
		break;
	default: /* lea rcx; xchg [rsp],rcx after a call: a coroutine's switch
		  * call f; f': jmp end;  f: pop rax; push rax; ret */
		emit_hex(&d, "e8 02 00 00 00 eb 03 58 50 c3");
		count(&d, RSP0 - 8, 1, 1), count(&d, RSP0 - 8, 1, 1);
	}
	finish(ZYDIS_MNEMONIC_CALL);
}

/* Branches whose outcome is known. */
static void branch(unsigned int kind)
{
	unsigned int n = below(6), r = other(1u << RCX);

	begin(F_CONTROL);
	d.t.writes = 1u << RCX;
	switch (kind) {
	case 0: /* jrcxz, jecxz */
		emit_mov(&d, RCX, n & 1);
		if (n & 2)
			emit8(&d, 0x67);
		emit_hex(&d, "e3 02 b1 05");
		break;
	case 1: { /* loop, loope, loopne around an lea; inc sets ZF to 0 */
		static const char *const ops[] = { "e2", "e1", "e0" };

		emit_mov(&d, RCX, 1 + n);
		emit_hex(&d, "48 8d 40 03"); /* lea rax,[rax+3] */
		emit_hex(&d, ops[below(3)]), emit8(&d, -6 & 0xff);
		d.t.writes |= 1u << RAX;
		d.t.tests = 0x40;
		break;
	}
	case 2: /* jmp rel8, rel32 */
		emit_hex(&d, below(2) ? "eb 02 0f 0b" : "e9 02 00 00 00 0f 0b");
		break;
	case 3: /* mov ecx; cmp ecx,imm; jcc over mov; all conditions */
		emit_mov(&d, RCX, n);
		emit_hex(&d, "83 f9"), emit8(&d, below(6));
		if (below(2)) {
			emit8(&d, 0x70 + below(16)), emit8(&d, 2);
		} else {
			emit8(&d, 0x0f), emit8(&d, 0x80 + below(16));
			emit32(&d, 2);
		}
		emit_hex(&d, "b1 07");
		d.t.defines = STATUS_FLAGS;
		break;
	default: /* a store in a loop: mov ecx,n; L: mov [x],r; dec; jnz */
		n++;
		emit_mov(&d, RCX, n);
		{
			uint32_t x = data_address(8);

			emit8(&d, r > 7 ? 0x4c : 0x48), emit8(&d, 0x89);
			emit8(&d, 4 | (r & 7) << 3), emit8(&d, 0x25);
			emit32(&d, x);
			emit_hex(&d, "ff c9 75 f4");
			for (unsigned int i = 0; i < n; i++)
				count(&d, x, 0, 1);
		}
		d.t.defines = STATUS_FLAGS & ~1u;
	}
	finish(ZYDIS_MNEMONIC_JMP);
}

static void division(unsigned int kind)
{
	uint64_t by = (rng_next(&pool_rng) >> below(60)) | 1;
	unsigned int wide = below(2);

	begin(F_DIV);
	d.t.undefines = STATUS_FLAGS;
	d.t.writes = 1u << RAX | 1u << RDX | 1u << RCX;
	switch (kind) {
	case 0: /* xor edx,edx; div rcx */
		emit_mov(&d, RCX, wide ? by : (uint32_t)by | 1);
		emit_hex(&d, wide ? "31 d2 48 f7 f1" : "31 d2 f7 f1");
		break;
	case 1: /* cqo; idiv rcx, no -1 */
		by = (by >> 1) | 2;
		emit_mov(&d, RCX, wide ? by : ((uint32_t)by >> 1) | 2);
		emit_hex(&d, wide ? "48 99 48 f7 f9" : "99 f7 f9");
		break;
	case 2: /* 8 bits: movzx eax,al; div cl; high half in ah */
		emit_mov(&d, RCX, 1 + below(255));
		emit_hex(&d, "0f b6 c0 f6 f1");
		break;
	case 3: /* 16 bits */
		emit_mov(&d, RCX, 1 + below(65535));
		emit_hex(&d, "31 d2 66 f7 f1");
		break;
	default: /* by memory: an odd number is never 0 */
		emit_mov(&d, RCX, DATA + 0x1000);
		emit_hex(&d, "80 09 01 31 d2");	 /* or byte [rcx],1 */
		emit_hex(&d, wide ? "48 f7 31" : "f7 31");
		count(&d, DATA + 0x1000, 1, 1), count(&d, DATA + 0x1000, 1, 0);
	}
	finish(ZYDIS_MNEMONIC_DIV);
}

/*
 * In what fnstenv and fnsave have stored at x: where the last x87 instruction and
 * its operand were. The kernel does not keep these over a signal or another task's
 * turn: AMD's CPUs save them for it only while an exception is pending.
 */
static void clear_pointers(uint32_t x)
{
	for (unsigned int i = 12; i < 28; i += 4) {
		emit_hex(&d, "c7 04 25"), emit32(&d, x + i);
		emit32(&d, 0), count(&d, x + i, 0, 1);
	}
}

/* What saves and loads state; the saved instruction pointer is cleared. */
static void state(unsigned int kind)
{
	uint32_t x = DATA + 0x1000 + 64 * below(64), m = below(8);

	begin(F_STATE);
	switch (kind) {
	case 0: /* ldmxcsr, stmxcsr, and their VEX forms */
		emit_hex(&d, below(2) ? "0f ae 14 25" : "c5 f8 ae 14 25");
		emit32(&d, CONST_MXCSR(m)), count(&d, CONST_MXCSR(m), 1, 0);
		emit_hex(&d, below(2) ? "0f ae 1c 25" : "c5 f8 ae 1c 25");
		emit32(&d, x), count(&d, x, 0, 1);
		break;
	case 1: /* fldcw, fnstcw, fnstsw */
		emit_hex(&d, "d9 2c 25"), emit32(&d, CONST_CW(m));
		count(&d, CONST_CW(m), 1, 0);
		emit_hex(&d, "d9 3c 25"), emit32(&d, x), count(&d, x, 0, 1);
		emit_hex(&d, "dd 3c 25"), emit32(&d, x + 2);
		count(&d, x + 2, 0, 1);
		break;
	case 2: /* fxsave64 x; mov qword [x+8],0; fxrstor64 x */
		emit_hex(&d, below(2) ? "48 0f ae 04 25" : "0f ae 04 25");
		emit32(&d, x), count(&d, x, 0, 1);
		emit_hex(&d, "48 c7 04 25"), emit32(&d, x + 8), emit32(&d, 0);
		count(&d, x + 8, 0, 1);
		emit_hex(&d, "48 0f ae 0c 25"), emit32(&d, x);
		count(&d, x, 1, 0);
		break;
	case 3: /* fnstenv x; clear; fldenv */
		emit_hex(&d, "d9 34 25"), emit32(&d, x), count(&d, x, 0, 1);
		clear_pointers(x);
		emit_hex(&d, "d9 24 25"), emit32(&d, x), count(&d, x, 1, 0);
		break;
	case 4: /* fnsave; clear; frstor */
		emit_hex(&d, "dd 34 25"), emit32(&d, x), count(&d, x, 0, 1);
		clear_pointers(x);
		emit_hex(&d, "dd 24 25"), emit32(&d, x), count(&d, x, 1, 0);
		break;
	default: /* xsave, xsaveopt, xsavec of x87 SSE AVX; then xrstor */
		x = DATA + 0x1000;
		emit_hex(&d, "d9 e8"); /* fld1: it is in use */
		emit_vload(&d, below(16), CONST_MASK(below(32)));
		emit_mov(&d, RAX, 7), emit_mov(&d, RDX, 0);
		/* XSTATE_BV and what XRSTOR wants to be 0 */
		for (unsigned int i = 512; i < 576; i += 8) {
			emit_hex(&d, "48 c7 04 25"), emit32(&d, x + i);
			emit32(&d, 0), count(&d, x + i, 0, 1);
		}
		m = below(2); /* xsave, which reads its header, or xsavec */
		emit_hex(&d, m ? "48 0f ae 24 25" : "48 0f c7 24 25");
		emit32(&d, x), count(&d, x, m, 1);
		emit_hex(&d, "48 c7 04 25"), emit32(&d, x + 8), emit32(&d, 0);
		count(&d, x + 8, 0, 1);
		emit_hex(&d, "48 0f ae 2c 25"), emit32(&d, x);
		count(&d, x, 1, 0);
	}
	finish(ZYDIS_MNEMONIC_XSAVE);
}

/* Operands that are not in the encoding, and movabs. */
static void hidden(unsigned int kind)
{
	uint32_t x = data_address(64) & ~63u, y = data_address(8);
	unsigned int n = below(256);

	begin(F_MOVE);
	switch (kind) {
	case 0: /* xlat */
		emit_mov(&d, RBX, y - n), emit_mov(&d, RAX, n);
		emit8(&d, 0xd7), count(&d, y, 1, 0);
		break;
	case 1: /* maskmovdqu, vmaskmovdqu, maskmovq */
		emit_mov(&d, RDI, x);
		emit_hex(&d, below(3) ? "66 0f f7 ca"
			     : below(2) ? "c5 f9 f7 d1" : "0f f7 ca");
		count(&d, x, 0, 1);
		break;
	case 2: /* movdir64b rdx,[rsi] */
		emit_mov(&d, RDX, x), emit_mov(&d, RSI, y - 64);
		emit_hex(&d, "66 0f 38 f8 16");
		count(&d, x, 0, 1), count(&d, y - 64, 1, 0);
		break;
	case 3: /* movabs rax / eax / al from and to 64-bit addresses */
		n = below(3);
		emit_hex(&d, n == 0 ? "48 a1" : n == 1 ? "a1" : "a0");
		emit32(&d, y), emit32(&d, 0), count(&d, y, 1, 0);
		emit_hex(&d, n == 0 ? "48 a3" : n == 1 ? "66 a3" : "a2");
		emit32(&d, y + 8), emit32(&d, 0), count(&d, y + 8, 0, 1);
		d.t.writes |= 1u << RAX;
		break;
	case 4: /* the same with a 32-bit address */
		emit_hex(&d, "67 48 a1"), emit32(&d, y), count(&d, y, 1, 0);
		d.t.writes |= 1u << RAX;
		break;
	default: /* its own code, as data: mov rax,[rip-7] */
		emit_hex(&d, "48 8b 05 f9 ff ff ff");
		d.t.writes |= 1u << RAX;
	}
	finish(ZYDIS_MNEMONIC_MOV);
}

void make_macros(unsigned int rounds)
{
	for (unsigned int n = 0; n < rounds; n++) {
		for (unsigned int k = 0; k < 30; k++)
			string();
		for (unsigned int k = 0; k < 18; k++)
			stack(k);
		for (unsigned int k = 0; k < 16; k++)
			call(k);
		for (unsigned int k = 0; k < 5; k++)
			branch(k), branch(3);
		for (unsigned int k = 0; k < 5; k++)
			division(k);
		for (unsigned int k = 0; k < 6; k++)
			state(k), hidden(k);
	}
}
