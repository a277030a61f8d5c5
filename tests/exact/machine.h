/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction sequences and the machine they run on, shared by pool.c, which
 * makes them, and random.c, which runs them.
 *
 * Memory is at fixed addresses, so that each access of a template is known
 * when it is made:
 *
 *	DATA	what templates read and write; fs: points to its second page
 *	CONST	indices and masks of gathers, and the like; never written
 *	STACK	the stack while a sequence runs
 *	AFFINE	what loops of random-affine.c walk over
 *	CODE	sequences, then a page of data for RIP-relative operands
 *
 * While counting, only sequences touch these: not the C code around them.
 */
#ifndef MOCA_TESTS_EXACT_MACHINE_H
#define MOCA_TESTS_EXACT_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#define DATA 0x20000000ul
#define DATA_SIZE 0x4000ul
#define CONSTS 0x20010000ul
#define CONSTS_SIZE 0x2000ul
#define STACK 0x20020000ul
#define STACK_SIZE 0xc000ul
#define STACK_TOP 0x20026000ul
#define RSP0 (STACK_TOP - 8) /* in a sequence: the trampoline called it */
#define FSBASE (DATA + 0x1000)
#define AFFINE 0x20100000ul
#define AFFINE_SIZE 0x100000ul
#define ARENA_END (AFFINE + AFFINE_SIZE)
#define CODE 0x30000000ul
#define CODE_SIZE 0x80000ul
#define CODE_DATA (CODE + CODE_SIZE) /* one page, then one more */

/* In CONSTS: 32 sets of indices (64 bytes), 32 masks, then control words. */
#define CONST_INDEX(i) (CONSTS + 64ul * (i))
#define CONST_MASK(i) (CONSTS + 2048 + 64ul * (i))
#define CONST_MXCSR(i) (CONSTS + 4096 + 4ul * (i)) /* 8 of them */
#define CONST_CW(i) (CONSTS + 4160 + 2ul * (i))	   /* 8 of them */
#define CONST_TEXT (CONSTS + 4608) /* 3 KiB in runs of equal bytes */
#define CONST_TEXT_SIZE 3072u

#define STATUS_FLAGS 0x8d5u /* CF PF AF ZF SF OF */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct machine {
	uint64_t gpr[16]; /* rsp: only out */
	uint64_t flags;
	uint64_t pad[15];
	uint64_t k[8];
	uint64_t pad2[24];
	uint8_t fx[512];
	uint8_t zmm[32][64];
} __attribute__((aligned(64)));

/* What machine_run() starts from and leaves. */
extern struct machine machine;
extern int machine_avx512;
extern uint64_t saved_fs; /* the thread pointer, while machine_run() runs */

/* Calls code with all of machine loaded, on the stack that ends at STACK_TOP. */
void machine_run(const void *code);

/* 0, or -1 when this CPU or system is too old (what: why). */
int machine_init(const char **what);
/* Maps DATA ... AFFINE and low code; contents 0 but for CONSTS. */
int machine_map(void);

struct rng {
	uint64_t s[2];
};
void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
static inline unsigned int rng_below(struct rng *r, unsigned int n)
{
	return (unsigned int)((rng_next(r) >> 32) * (uint64_t)n >> 32);
}

/* Every register random, rsp excepted; status flags random, DF clear. */
void machine_random(struct rng *r);
/* A hash of all of machine that is defined; flags in undefined do not count,
 * nor the x87 instruction pointer, which is where a sequence really ran. */
uint64_t machine_hash(unsigned int undefined);
uint64_t hash_bytes(uint64_t h, const void *p, size_t n);

enum family {
	F_INT, F_SHIFT, F_DIV, F_CMOV, F_BITS, F_MOVE, F_ATOMIC, F_STRING,
	F_STACK, F_CONTROL, F_X87, F_SSE, F_AVX, F_AVX512, F_GATHER, F_MASK,
	F_STATE, F_SEGMENT, F_ADDR32, F_RIP, FAMILIES
};
#define FAMILY_NAMES                                                         \
	"int", "shift", "div", "cmov", "bits", "move", "atomic", "string",   \
	"stack", "control", "x87", "sse", "avx", "avx512", "gather", "mask", \
	"state", "segment", "addr32", "rip"

struct access {
	uint32_t addr;
	uint8_t loads, stores;
	uint16_t pad;
};

#define TEMPLATE_MAX 200
/* Instructions that may follow each other in any order: each sets up what its
 * addresses need and leaves the stack and DF as they were. */
struct template {
	uint8_t family;
	uint8_t len;
	uint8_t rip;	  /* offset of a disp32 to be relative, 0 = none */
	uint8_t rip_end;  /* where that instruction ends */
	uint8_t uncounted; /* its accesses are nobody's business: see pool.c */
	uint8_t high;	  /* may run from any address */
	uint16_t writes;  /* registers, bit n = GPR n */
	uint16_t tests, defines, undefines; /* status flags */
	uint16_t naccesses;
	uint32_t access; /* index of the first */
	uint32_t target; /* of rip */
	uint16_t mnemonic;
	uint16_t pad;
	uint8_t bytes[TEMPLATE_MAX];
};

#define POOL_MAGIC 0x6c6f6f706d6f63ul
struct pool_head {
	uint64_t magic;
	uint32_t templates, accesses;
};

#endif
