// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: pool SEED FILE
 *
 * Makes the templates that random.c strings together. Random bytes are decoded;
 * what is an instruction of user mode gets addresses in the arena and is tried
 * natively: those that fault, or do not do the same twice, are left out. So
 * every encoding that this CPU and Zydis know takes part, with accesses as
 * Zydis describes the operands. What needs care is in pool-macros.c.
 *
 * This program is never recorded; nothing of agent/exact is used.
 */
#include "pool.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PER_MNEMONIC 20u /* of these at most half without memory */
#define TRIES 6000000u

static ZydisDecoder decoder;
struct rng pool_rng;
static struct template *templates;
static struct access *accesses;
static struct pool_head head = { .magic = POOL_MAGIC };
static sigjmp_buf after_fault;
static uint8_t had_mem[ZYDIS_MNEMONIC_MAX_VALUE + 1];
static uint8_t had_reg[ZYDIS_MNEMONIC_MAX_VALUE + 1];

void emit(struct draft *d, const void *bytes, unsigned int n)
{
	if (d->t.len + n > TEMPLATE_MAX) {
		d->broken = 1;
		return;
	}
	memcpy(d->t.bytes + d->t.len, bytes, n);
	d->t.len += n;
}

void emit8(struct draft *d, unsigned int byte)
{
	uint8_t b = byte;

	emit(d, &b, 1);
}

void emit32(struct draft *d, uint32_t value)
{
	emit(d, &value, 4);
}

void emit_hex(struct draft *d, const char *hex)
{
	unsigned int byte;
	int n;

	for (; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		emit8(d, byte);
}

void emit_mov(struct draft *d, unsigned int reg, uint64_t value)
{
	d->t.writes |= 1u << reg;
	if (value >> 32 == 0 && below(4)) {
		if (reg > 7)
			emit8(d, 0x41);
		emit8(d, 0xb8 + (reg & 7));
		emit32(d, value);
	} else if ((int64_t)value == (int32_t)value && below(4)) {
		emit8(d, 0x48 + (reg > 7));
		emit8(d, 0xc7);
		emit8(d, 0xc0 + (reg & 7));
		emit32(d, value);
	} else {
		emit8(d, 0x48 + (reg > 7));
		emit8(d, 0xb8 + (reg & 7));
		emit(d, &value, 8);
	}
}

void emit_vload(struct draft *d, unsigned int reg, uint32_t addr)
{
	count(d, addr, 1, 0);
	if (machine_avx512) { /* vmovdqu64 zmm, [abs32] */
		emit8(d, 0x62);
		emit8(d, 0x61 | (reg & 8 ? 0 : 0x80) | (reg & 16 ? 0 : 0x10));
		emit_hex(d, "fe 48 6f");
	} else {
		emit_hex(d, reg & 8 ? "c5 7e 6f" : "c5 fe 6f");
	}
	emit8(d, 4 | (reg & 7) << 3);
	emit8(d, 0x25);
	emit32(d, addr);
}

/* kmovq k, gpr */
void emit_kmov(struct draft *d, unsigned int k, unsigned int gpr, uint64_t v)
{
	emit_mov(d, gpr, v);
	emit_hex(d, gpr > 7 ? "c4 c1 fb 92" : "c4 e1 fb 92");
	emit8(d, 0xc0 | k << 3 | (gpr & 7));
}

void count(struct draft *d, uint64_t addr, unsigned int loads,
	   unsigned int stores)
{
	if (d->t.naccesses == ACCESSES_MAX) {
		d->broken = 1;
		return;
	}
	d->a[d->t.naccesses++] = (struct access){ (uint32_t)addr, loads,
						  stores, 0 };
}

uint32_t data_address(unsigned int n)
{
	uint32_t a;

	switch (below(5)) {
	case 0: /* across the end of a page or line */
		a = DATA + 0x1000 * (1 + below(3)) - 1 - below(n ? n : 1);
		break;
	case 1:
	case 2:
		a = DATA + 0x800 + below(DATA_SIZE - 0x1800);
		break;
	default:
		a = DATA + 0x800 + 64 * below((DATA_SIZE - 0x1800) / 64);
	}
	return a;
}

/* It comes on a stack of its own, with the thread pointer of sequences. */
__attribute__((optimize("no-stack-protector"), target("fsgsbase"))) static void
on_fault(int sig)
{
	__builtin_ia32_wrfsbase64(saved_fs);
	siglongjmp(after_fault, sig);
}

static void place(const struct template *t)
{
	uint8_t *code = (uint8_t *)CODE;

	memcpy(code, t->bytes, t->len);
	code[t->len] = 0xc3;
	if (t->rip) {
		int32_t rel = (int32_t)(t->target - (CODE + t->rip_end));

		memcpy(code + t->rip, &rel, 4);
	}
}

/* 0 with a hash of what it left, or the signal. */
static int attempt(const struct template *t, uint64_t seed, uint64_t *hash)
{
	struct rng r;
	int sig;

	rng_seed(&r, seed);
	for (uint64_t *p = (uint64_t *)DATA; p < (uint64_t *)(DATA + DATA_SIZE);
	     p++)
		*p = rng_next(&r);
	memset((void *)STACK, 0, STACK_SIZE);
	machine_random(&r);
	place(t);
	sig = sigsetjmp(after_fault, 1);
	if (sig)
		return sig;
	machine_run((void *)CODE);
	*hash = machine_hash(t->undefines) ^
		hash_bytes(1, (void *)DATA, DATA_SIZE) ^
		hash_bytes(2, (void *)STACK, STACK_SIZE) ^
		hash_bytes(3, (void *)CONSTS, CONSTS_SIZE);
	if (machine.gpr[RSP] != STACK_TOP || machine.flags & 0x400)
		return -1;
	return 0;
}

int keep(struct draft *d)
{
	struct template *t = &d->t;
	uint64_t first, second;

	if (d->broken || !t->len)
		return -1;
	for (unsigned int s = 0; s < 3; s++)
		if (attempt(t, s, &first) || attempt(t, s, &second) ||
		    first != second)
			return -1;
	t->access = head.accesses;
	memcpy(accesses + head.accesses, d->a,
	       t->naccesses * sizeof(struct access));
	head.accesses += t->naccesses;
	templates[head.templates++] = *t;
	return 0;
}

/* Random bytes that look like an instruction. */
static void random_bytes(uint8_t b[16])
{
	unsigned int n = 0, kind = below(17);

	for (unsigned int i = 0; i < 16; i++)
		b[i] = (uint8_t)(rng_next(&pool_rng) >> 24);
	if (!below(10))
		b[n++] = 0x67;
	if (kind == 16) {		/* gathers and scatters, which are few */
		if (below(3)) {
			b[n] = 0x62;
			b[n + 1] = (b[n + 1] & 0xf0) | 2;
			b[n + 2] = (b[n + 2] & 0x80) | 0x7d;
			b[n + 3] &= 0x6f;
			b[n + 4] = (below(2) ? 0x90 : 0xa0) + below(4);
			b[n + 5] = (b[n + 5] & 0x38) | 4 | below(2) << 6;
		} else {
			b[n] = 0xc4;
			b[n + 1] = (b[n + 1] & 0xe0) | 2;
			b[n + 2] = (b[n + 2] & 0xfc) | 1;
			b[n + 3] = 0x90 + below(4);
			b[n + 4] = (b[n + 4] & 0x38) | 4 | below(2) << 6;
		}
		return;
	}
	if (kind >= 12) {		/* EVEX: maps 1-3, 5, 6 */
		static const uint8_t maps[] = { 1, 2, 3, 1, 2, 3, 5, 6 };

		if (!below(16))
			b[n++] = 0x64;
		b[n] = 0x62;
		b[n + 1] = (b[n + 1] & 0xf0) | maps[below(8)];
		b[n + 2] |= 4;
		return;
	}
	if (kind >= 9) {		/* VEX */
		if (!below(16))
			b[n++] = 0x64;
		b[n] = 0xc4;
		b[n + 1] = (b[n + 1] & 0xe0) | (1 + below(3));
		return;
	}
	if (!below(8))
		b[n++] = 0x64;
	if (!below(3))
		b[n++] = 0x66;
	if (!below(4))
		b[n++] = below(2) ? 0xf2 : 0xf3;
	if (!below(5))
		b[n++] = 0xf0;
	if (below(2))
		b[n++] = 0x40 + below(16);
	if (kind < 3)
		return;			/* one byte of opcode */
	b[n++] = 0x0f;
	if (kind >= 6)
		b[n++] = kind == 8 ? 0x3a : 0x38;
}

static int forbidden(const ZydisDecodedInstruction *i)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_AMX_TILE: case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_CET: case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_CLZERO: case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_HRESET: case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO: case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_KEYLOCKER: case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
	case ZYDIS_CATEGORY_MPX: case ZYDIS_CATEGORY_PCONFIG:
	case ZYDIS_CATEGORY_PKU: case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_PT: case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_RDPID: case ZYDIS_CATEGORY_RDPRU:
	case ZYDIS_CATEGORY_RDRAND: case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_RDWRFSGS: case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SEGOP: case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_SMAP: case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM: case ZYDIS_CATEGORY_TSX_LDTRK:
	case ZYDIS_CATEGORY_UINTR: case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_VTX: case ZYDIS_CATEGORY_WAITPKG:
	case ZYDIS_CATEGORY_XSAVE: case ZYDIS_CATEGORY_XSAVEOPT:
		return 1;
	default:
		break;
	}
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC: case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_RDPMC: case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_MONITOR: case ZYDIS_MNEMONIC_MWAIT:
	case ZYDIS_MNEMONIC_XABORT: case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND: case ZYDIS_MNEMONIC_XTEST:
	case ZYDIS_MNEMONIC_LDMXCSR: case ZYDIS_MNEMONIC_VLDMXCSR:
	case ZYDIS_MNEMONIC_FLDCW: case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR: case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64: case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64: case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FNSTENV: case ZYDIS_MNEMONIC_STD:
	case ZYDIS_MNEMONIC_ENTER: case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_DIV: case ZYDIS_MNEMONIC_IDIV:
	case ZYDIS_MNEMONIC_MASKMOVQ: case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU: case ZYDIS_MNEMONIC_XLAT:
	case ZYDIS_MNEMONIC_MOVDIR64B: case ZYDIS_MNEMONIC_SALC:
	case ZYDIS_MNEMONIC_FWAIT: case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2:
		return 1;
	default:
		return 0;
	}
}

static int family_of(const ZydisDecodedInstruction *i, int vsib)
{
	if (vsib)
		return F_GATHER;
	if (i->meta.category == ZYDIS_CATEGORY_KMASK)
		return F_MASK;
	if (i->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return F_AVX512;
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_SHIFT: case ZYDIS_CATEGORY_ROTATE:
		return F_SHIFT;
	case ZYDIS_CATEGORY_CMOV: case ZYDIS_CATEGORY_SETCC:
		return F_CMOV;
	case ZYDIS_CATEGORY_BITBYTE: case ZYDIS_CATEGORY_BMI1:
	case ZYDIS_CATEGORY_BMI2: case ZYDIS_CATEGORY_LZCNT:
	case ZYDIS_CATEGORY_TBM:
		return F_BITS;
	case ZYDIS_CATEGORY_SEMAPHORE:
		return F_ATOMIC;
	case ZYDIS_CATEGORY_X87_ALU: case ZYDIS_CATEGORY_FCMOV:
		return F_X87;
	case ZYDIS_CATEGORY_NOP: case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH: case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_MISC: case ZYDIS_CATEGORY_MOVDIR:
	case ZYDIS_CATEGORY_CLDEMOTE: case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB: case ZYDIS_CATEGORY_SERIALIZE:
		return F_MOVE;
	default:
		break;
	}
	if (i->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
		return F_AVX;
	if (i->attributes & ZYDIS_ATTRIB_HAS_LOCK)
		return F_ATOMIC;
	switch (i->meta.isa_ext) {
	case ZYDIS_ISA_EXT_BASE: case ZYDIS_ISA_EXT_ADOX_ADCX:
	case ZYDIS_ISA_EXT_MOVBE: case ZYDIS_ISA_EXT_LONGMODE:
		return i->meta.category == ZYDIS_CATEGORY_DATAXFER ? F_MOVE
								   : F_INT;
	case ZYDIS_ISA_EXT_X87:
		return F_X87;
	default:
		return F_SSE;
	}
}

static int gpr_of(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	if (c != ZYDIS_REGCLASS_GPR8 && c != ZYDIS_REGCLASS_GPR16 &&
	    c != ZYDIS_REGCLASS_GPR32 && c != ZYDIS_REGCLASS_GPR64)
		return -1;
	return ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(
		ZYDIS_MACHINE_MODE_LONG_64, r));
}

/* Fills in which registers it writes; -1 when it may not. */
static int registers(struct draft *d, const ZydisDecodedInstruction *i,
		     const ZydisDecodedOperand *ops)
{
	for (unsigned int n = 0; n < i->operand_count; n++) {
		const ZydisDecodedOperand *o = &ops[n];
		int g;

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			return -1;
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		switch (ZydisRegisterGetClass(o->reg.value)) {
		case ZYDIS_REGCLASS_SEGMENT: case ZYDIS_REGCLASS_CONTROL:
		case ZYDIS_REGCLASS_DEBUG: case ZYDIS_REGCLASS_TEST:
		case ZYDIS_REGCLASS_IP: case ZYDIS_REGCLASS_TABLE:
			return -1;
		default:
			break;
		}
		g = gpr_of(o->reg.value);
		if (g < 0 || !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (g == RSP)
			return -1;
		d->t.writes |= 1u << g;
	}
	/* With REX.B, CPUs (AMD's) exchange rax and r8: a loop's counter, say. */
	if (i->mnemonic == ZYDIS_MNEMONIC_PAUSE && i->raw.rex.B)
		d->t.writes |= 1u << 0 | 1u << 8;
	return 0;
}

static void flags(struct draft *d, const ZydisDecodedInstruction *i)
{
	const ZydisAccessedFlags *f = i->cpu_flags;
	int maybe;

	if (!f)
		return;
	/* A shift by 0 leaves all flags alone. */
	maybe = i->meta.category == ZYDIS_CATEGORY_SHIFT ||
		i->meta.category == ZYDIS_CATEGORY_ROTATE;
	d->t.tests |= f->tested & STATUS_FLAGS;
	if (!maybe)
		d->t.defines |= (f->modified | f->set_0 | f->set_1) &
				~f->undefined & STATUS_FLAGS;
	d->t.undefines |= f->undefined & STATUS_FLAGS;
	if (maybe) /* AF and OF by the count, which may be masked to 0 */
		d->t.undefines |= 0x810;
}

/* What is where in one instruction with a memory operand. */
struct site {
	const ZydisDecodedInstruction *i;
	const ZydisDecodedOperand *mem;
	uint8_t *raw;
	int base, index; /* -1 none, 16 rip */
	uint32_t bytes;
	int fs;
};

static int bit_test(const struct site *s, const ZydisDecodedOperand *ops,
		    unsigned int *reg)
{
	switch (s->i->mnemonic) {
	case ZYDIS_MNEMONIC_BT: case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR: case ZYDIS_MNEMONIC_BTS:
		break;
	default:
		return 0;
	}
	if (ops[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return 0;
	*reg = gpr_of(ops[1].reg.value);
	return 1;
}

static unsigned int vsib_elements(const ZydisDecodedInstruction *i,
				  unsigned int *index_bytes,
				  unsigned int *bytes)
{
	unsigned int data;

	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_VGATHERDPS: case ZYDIS_MNEMONIC_VPGATHERDD:
	case ZYDIS_MNEMONIC_VSCATTERDPS: case ZYDIS_MNEMONIC_VPSCATTERDD:
		*index_bytes = 4, data = 4;
		break;
	case ZYDIS_MNEMONIC_VGATHERDPD: case ZYDIS_MNEMONIC_VPGATHERDQ:
	case ZYDIS_MNEMONIC_VSCATTERDPD: case ZYDIS_MNEMONIC_VPSCATTERDQ:
		*index_bytes = 4, data = 8;
		break;
	case ZYDIS_MNEMONIC_VGATHERQPS: case ZYDIS_MNEMONIC_VPGATHERQD:
	case ZYDIS_MNEMONIC_VSCATTERQPS: case ZYDIS_MNEMONIC_VPSCATTERQD:
		*index_bytes = 8, data = 4;
		break;
	case ZYDIS_MNEMONIC_VGATHERQPD: case ZYDIS_MNEMONIC_VPGATHERQQ:
	case ZYDIS_MNEMONIC_VSCATTERQPD: case ZYDIS_MNEMONIC_VPSCATTERQQ:
		*index_bytes = 8, data = 8;
		break;
	default:
		return 0; /* prefetching forms */
	}
	*bytes = data;
	return i->avx.vector_length / 8 /
	       (data > *index_bytes ? data : *index_bytes);
}

/* Indices and mask from CONSTS, the base into DATA, one access an element. */
static int prepare_vsib(struct draft *d, struct site *s,
			const ZydisDecodedOperand *ops)
{
	unsigned int ib, width, n = vsib_elements(s->i, &ib, &width), set;
	unsigned int index = ZydisRegisterGetId(s->mem->mem.index);
	int evex = s->i->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	int store = s->mem->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	uint32_t at = DATA + 0x1000 + below(0x2000), maskc = below(32);
	uint64_t kmask = rng_next(&pool_rng) | rng_next(&pool_rng);
	int64_t disp = s->mem->mem.disp.value;

	if (!n || s->base < 0 || s->base == 16 || s->base == RSP)
		return -1;
	set = 2 * below(16) + (ib == 8);
	if (evex) {
		unsigned int k = ZydisRegisterGetId(s->i->avx.mask.reg);

		emit_kmov(d, k, s->base, kmask);
	} else {
		emit_vload(d, ZydisRegisterGetId(ops[2].reg.value),
			   CONST_MASK(maskc));
	}
	emit_vload(d, index, CONST_INDEX(set));
	emit_mov(d, s->base,
		 (uint64_t)(at - disp - (s->fs ? FSBASE : 0)) & ~0ul);
	for (unsigned int e = 0; e < n; e++) {
		const void *c = (void *)CONST_INDEX(set);
		int64_t v = ib == 8 ? ((const int64_t *)c)[e]
				    : ((const int32_t *)c)[e];
		const uint8_t *m = (void *)CONST_MASK(maskc);

		if (evex ? !(kmask >> e & 1) : !(m[width * e + width - 1] >> 7))
			continue;
		count(d, at + v * s->mem->mem.scale, !store, store != 0);
	}
	return 0;
}

/* Sets registers or the displacement so that it accesses *at. */
static int point_at(struct draft *d, struct site *s, uint32_t *at)
{
	const ZydisDecodedOperandMem *m = &s->mem->mem;
	int32_t small = (int)below(65) - 32, patch;
	int64_t disp = m->disp.value, base;
	unsigned int off = s->i->raw.disp.offset;
	int addr32 = s->i->address_width == 32;

	if (s->base == 16) { /* data beside the code, low code only */
		if (addr32)
			return -1;
		*at = CODE_DATA + 64 + below(4096);
		return 0;
	}
	if (s->index >= 0 && s->index != s->base)
		emit_mov(d, s->index, (uint64_t)(int64_t)small);
	else
		small = 0;
	if (s->base == RSP) {
		if (s->fs)
			return -1;
		if (s->i->raw.disp.size == 32) {
			patch = (int)below(600) - 400;
			memcpy(s->raw + off, &patch, 4);
			disp = patch;
		}
		*at = RSP0 + small * m->scale + disp;
		if (*at < RSP0 + 8 && *at + s->bytes > RSP0)
			return -1; /* it is where we return to */
		return 0;
	}
	base = (int64_t)*at - disp - (s->fs ? (int64_t)FSBASE : 0);
	if (s->base < 0 && s->index < 0) {
		patch = (int32_t)(*at - (s->fs ? FSBASE : 0));
		if (s->i->raw.disp.size != 32)
			return -1; /* moffs: by hand */
		memcpy(s->raw + off, &patch, 4);
		return 0;
	}
	if (s->base < 0) {
		int64_t v = base / m->scale;

		*at -= base - v * m->scale;
		emit_mov(d, s->index, (uint64_t)v);
	} else if (s->base == s->index) {
		int64_t v = base / (1 + m->scale);

		*at -= base - v * (1 + m->scale);
		emit_mov(d, s->base, (uint64_t)v);
	} else {
		base -= (int64_t)small * m->scale;
		if (addr32) /* above 4 GiB it means nothing */
			base = (int64_t)((uint32_t)base |
					 (rng_next(&pool_rng) << 32));
		emit_mov(d, s->base, (uint64_t)base);
	}
	return 0;
}

/* Does it say when an operand is no access at all? */
static int accesses_memory(const ZydisDecodedInstruction *i,
			   const ZydisDecodedOperand *mem)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_NOP: case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH: case ZYDIS_CATEGORY_PREFETCHWT1:
		return 0;
	default:
		return mem->mem.type == ZYDIS_MEMOP_TYPE_MEM ||
		       mem->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
	}
}

static int uncounted(const ZydisDecodedInstruction *i)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_CLDEMOTE: case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
		return 1; /* neither load nor store, or both */
	default:
		return i->mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
	}
}

static int prepare_memory(struct draft *d, struct site *s,
			  const ZydisDecodedOperand *ops, int aligned)
{
	const ZydisDecodedOperandMem *m = &s->mem->mem;
	unsigned int reg = 0, acts = s->mem->actions;
	int32_t offset = 0;
	uint32_t at;

	if (m->segment == ZYDIS_REGISTER_GS)
		return -1;
	s->fs = m->segment == ZYDIS_REGISTER_FS;
	s->base = m->base == ZYDIS_REGISTER_RIP ||
				  m->base == ZYDIS_REGISTER_EIP
			  ? 16
			  : gpr_of(m->base);
	s->index = gpr_of(m->index);
	s->bytes = s->mem->size / 8;
	if (m->type == ZYDIS_MEMOP_TYPE_VSIB)
		return prepare_vsib(d, s, ops);
	at = data_address(s->bytes);
	if (aligned)
		at = (at + 63) & ~63u;
	if (at + s->bytes > DATA + DATA_SIZE || at < DATA)
		return -1;
	if (point_at(d, s, &at))
		return -1;
	if (bit_test(s, ops, &reg)) {
		unsigned int bits = s->i->operand_width;
		int32_t k;

		if ((int)reg == s->base || (int)reg == s->index || reg == RSP ||
		    s->base == RSP || s->base == 16)
			return -1;
		offset = (int)below(4001) - 2000;
		emit_mov(d, reg, (uint64_t)(int64_t)offset);
		k = offset >= 0 ? offset / (int)bits
				: -((-offset + (int)bits - 1) / (int)bits);
		at += k * (int)(bits / 8);
	}
	if (s->base == 16) {
		d->t.rip = d->t.len + s->i->raw.disp.offset;
		d->t.rip_end = d->t.len + s->i->length;
		d->t.target = at;
	}
	if (accesses_memory(s->i, s->mem))
		count(d, at, (acts & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
		      (acts & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0);
	return 0;
}

/*
 * An integer source by EVEX with the bit X that extends vector registers alone:
 * no assembler writes it, and there is a CPU (AMD EPYC, AVX-512) on which %rsp
 * then has the value that it had before the last push, pop, call or ret.
 */
static int reads_old_rsp(const ZydisDecodedInstruction *i,
			 const ZydisDecodedOperand *ops, const uint8_t *raw)
{
	if (i->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX ||
	    i->raw.modrm.mod != 3 || raw[i->raw.evex.offset + 1] & 0x40)
		return 0;
	for (int n = 0; n < i->operand_count; n++)
		if (ops[n].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    gpr_of(ops[n].reg.value) == RSP)
			return 1;
	return 0;
}

/* One instruction of these bytes; 0 when it was kept. */
static int make(uint8_t raw[16], const ZydisDecodedInstruction *i,
		const ZydisDecodedOperand *ops, int aligned)
{
	static struct draft d;
	struct site s = { .i = i, .raw = raw, .base = -1, .index = -1 };
	int vsib = 0, n, mems = 0;

	memset(&d, 0, offsetof(struct draft, t.bytes));
	d.broken = 0;
	if (registers(&d, i, ops))
		return -1;
	for (n = 0; n < i->operand_count; n++)
		if (ops[n].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			s.mem = &ops[n];
			vsib = ops[n].mem.type == ZYDIS_MEMOP_TYPE_VSIB;
			mems++;
		}
	if (mems > 1 || (mems && prepare_memory(&d, &s, ops, aligned)))
		return -1;
	d.t.family = family_of(i, vsib);
	if (s.base == 16)
		d.t.family = F_RIP;
	else if (s.fs)
		d.t.family = F_SEGMENT;
	else if (mems && i->address_width == 32)
		d.t.family = F_ADDR32;
	d.t.high = s.base != 16;
	d.t.uncounted = uncounted(i);
	d.t.mnemonic = i->mnemonic;
	flags(&d, i);
	emit(&d, raw, i->length);
	return keep(&d);
}

static void make_random(void)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	uint8_t raw[16], *had;
	int mem;

	random_bytes(raw);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, raw, 15, &i, ops)) ||
	    forbidden(&i) || reads_old_rsp(&i, ops, raw))
		return;
	mem = 0;
	for (unsigned int n = 0; n < i.operand_count; n++)
		mem |= ops[n].type == ZYDIS_OPERAND_TYPE_MEMORY;
	had = mem ? had_mem : had_reg;
	if (had[i.mnemonic] >= PER_MNEMONIC / 2 * 5 ||
	    (had[i.mnemonic] >= PER_MNEMONIC / 2 &&
	     i.meta.isa_ext != ZYDIS_ISA_EXT_BASE))
		return;
	/* What only aligned operands suit gets them the second time. */
	if (!make(raw, &i, ops, 0) || (mem && !make(raw, &i, ops, 1)))
		had[i.mnemonic]++;
}

static void report(void)
{
	static const char *const names[] = { FAMILY_NAMES };
	static uint8_t seen[FAMILIES][ZYDIS_MNEMONIC_MAX_VALUE + 1];
	unsigned int n[FAMILIES] = { 0 }, m[FAMILIES] = { 0 };

	for (unsigned int i = 0; i < head.templates; i++) {
		const struct template *t = &templates[i];

		n[t->family]++;
		m[t->family] += !seen[t->family][t->mnemonic];
		seen[t->family][t->mnemonic] = 1;
	}
	for (unsigned int f = 0; f < FAMILIES; f++)
		printf("%s %u %u\n", names[f], n[f], m[f]);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_fault,
				 .sa_flags = SA_ONSTACK };
	static char stack[65536];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	const char *why;
	FILE *f;

	if (argc != 3) {
		fprintf(stderr, "usage: pool SEED FILE\n");
		return 2;
	}
	/* Ahead of malloc: the kernel may place the heap where these are to be. */
	if (machine_map() ||
	    mprotect((void *)CODE, CODE_SIZE,
		     PROT_READ | PROT_WRITE | PROT_EXEC)) {
		perror("pool: memory");
		return 1;
	}
	if (machine_init(&why)) {
		printf("unsupported: %s\n", why);
		return 77;
	}
	rng_seed(&pool_rng, strtoull(argv[1], NULL, 0));
	templates = malloc(60000 * sizeof(*templates));
	accesses = malloc(60000 * ACCESSES_MAX * sizeof(*accesses));
	if (!templates || !accesses) {
		perror("pool: memory");
		return 1;
	}
	sigaltstack(&alt, NULL);
	for (unsigned int i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &act, NULL);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	make_macros(40);
	for (unsigned int i = 0; i < TRIES; i++)
		make_random();
	f = fopen(argv[2], "w");
	if (!f || fwrite(&head, sizeof(head), 1, f) != 1 ||
	    fwrite(templates, sizeof(*templates), head.templates, f) !=
		    head.templates ||
	    fwrite(accesses, sizeof(*accesses), head.accesses, f) !=
		    head.accesses ||
	    fclose(f)) {
		perror(argv[2]);
		return 1;
	}
	report();
	return 0;
}
