// SPDX-License-Identifier: GPL-2.0-or-later
/* What instructions of arm64 do to memory, as the assembler has them. */
#include "tests/unit/trace-util.h"

/* Beside the tool's own, of this machine. */
#define instruction_type instruction_type_a64
#include "collect/perf/instruction-arm64.c"

#define NOT_KNOWN INSTRUCTION_NOT_KNOWN
#define BOTH	  INSTRUCTION_DOES_BOTH

static const struct {
	uint32_t insn;
	uint8_t type;
	const char *text;
} known[] = {
	{ 0xf9400020, READ, "ldr x0,[x1]" },
	{ 0xf9000020, WRITE, "str x0,[x1]" },
	{ 0xb9800020, READ, "ldrsw x0,[x1]" },
	{ 0x38626820, READ, "ldrb w0,[x1,x2]" },
	{ 0x38001420, WRITE, "strb w0,[x1],#1" },
	{ 0xf85f8020, READ, "ldur x0,[x1,#-8]" },
	{ 0x3dc00020, READ, "ldr q0,[x1]" },
	{ 0x3d800020, WRITE, "str q0,[x1]" },
	{ 0x3ca26820, WRITE, "str q0,[x1,x2]" },
	{ 0x3cc03020, READ, "ldur q0,[x1,#3]" },
	{ 0x3c803020, WRITE, "stur q0,[x1,#3]" },
	{ 0xf8400820, READ, "ldtr x0,[x1]" },
	{ 0xf8000820, WRITE, "sttr x0,[x1]" },
	{ 0xf9800020, READ, "prfm pldl1keep,[x1]" },
	{ 0xa8c107e0, READ, "ldp x0,x1,[sp],#16" },
	{ 0xa9be7bfd, WRITE, "stp x29,x30,[sp,#-32]!" },
	{ 0x69400440, READ, "ldpsw x0,x1,[x2]" },
	{ 0xad000440, WRITE, "stp q0,q1,[x2]" },
	{ 0x6d400440, READ, "ldp d0,d1,[x2]" },
	{ 0xa8000440, WRITE, "stnp x0,x1,[x2]" },
	{ 0x58000040, READ, "ldr x0,.+8" },
	{ 0x9c000080, READ, "ldr q0,.+16" },
	{ 0xc85f7c20, READ, "ldxr x0,[x1]" },
	{ 0xc8027c20, WRITE, "stxr w2,x0,[x1]" },
	{ 0xc87f8440, READ, "ldaxp x0,x1,[x2]" },
	{ 0xc8238440, WRITE, "stlxp w3,x0,x1,[x2]" },
	{ 0xc8dffc20, READ, "ldar x0,[x1]" },
	{ 0xc89ffc20, WRITE, "stlr x0,[x1]" },
	{ 0xc8a07c41, WRITE, "cas x0,x1,[x2]" },
	{ 0x08e0fc41, WRITE, "casalb w0,w1,[x2]" },
	{ 0x48207c82, WRITE, "casp x0,x1,x2,x3,[x4]" },
	{ 0x08207c82, WRITE, "casp w0,w1,w2,w3,[x4]" },
	{ 0xf8200041, WRITE, "ldadd x0,x1,[x2]" },
	{ 0xf8e08041, WRITE, "swpal x0,x1,[x2]" },
	{ 0xb820305f, WRITE, "stset w0,[x2]" },
	{ 0xf8bfc020, READ, "ldapr x0,[x1]" },
	{ 0xd9408020, READ, "ldapur x0,[x1,#8]" },
	{ 0xd9008020, WRITE, "stlur x0,[x1,#8]" },
	{ 0xf8200420, READ, "ldraa x0,[x1]" },
	{ 0x4c407800, READ, "ld1 {v0.4s},[x0]" },
	{ 0x4c9fa800, WRITE, "st1 {v0.4s,v1.4s},[x0],#32" },
	{ 0x4d60e800, READ, "ld4r {v0.4s,v1.4s,v2.4s,v3.4s},[x0]" },
	{ 0x0d009000, WRITE, "st1 {v0.s}[1],[x0]" },
	{ 0xd50b7420, WRITE, "dc zva,x0" },
	{ 0xd50b7e20, READ, "dc civac,x0" },
	{ 0xd50b7520, READ, "ic ivau,x0" },
	{ 0xa540a000, READ, "ld1w {z0.s},p0/z,[x0]" },
	{ 0xe5e0e000, WRITE, "st1d {z0.d},p0,[x0]" },
	{ 0xc5c1c000, READ, "ld1d {z0.d},p0/z,[x0,z1.d]" },
	{ 0x85804000, READ, "ldr z0,[x0]" },
	{ 0xe5804000, WRITE, "str z0,[x0]" },
	{ 0xd9200820, WRITE, "stg x0,[x1]" },
	{ 0xd9600020, READ, "ldg x0,[x1]" },
	{ 0xd9a00820, WRITE, "st2g x0,[x1]" },
	{ 0x69000440, WRITE, "stgp x0,x1,[x2]" },
	{ 0x8b020020, NOT_KNOWN, "add x0,x1,x2" },
	{ 0xd503201f, NOT_KNOWN, "nop" },
	{ 0xd4000001, NOT_KNOWN, "svc #0" },
	{ 0x1e622820, NOT_KNOWN, "fadd d0,d1,d2" },
	{ 0xd65f03c0, NOT_KNOWN, "ret" },
	{ 0x14000000, NOT_KNOWN, "b ." },
	{ 0x9b027c20, NOT_KNOWN, "mul x0,x1,x2" },
	{ 0x4ea28420, NOT_KNOWN, "add v0.4s,v1.4s,v2.4s" },
	{ 0x19020420, BOTH, "cpyfp [x0]!, [x2]!, x1!" },
	{ 0x1d420420, BOTH, "cpym [x0]!, [x2]!, x1!" },
	{ 0x19c20420, WRITE, "setp [x0]!, x1!, x2" },
};

static int t_types(void)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint8_t got = instruction_type((const uint8_t *)&known[i].insn,
					       sizeof(known[i].insn));

		if (got != known[i].type)
			printf("# %s: %d, not %d\n", known[i].text, got,
			       known[i].type);
		CHECK(got == known[i].type);
	}
	return 0;
}

static int t_short(void)
{
	CHECK(instruction_type((const uint8_t *)"\x20\x00\x40", 3) ==
	      NOT_KNOWN);
	return 0;
}

int main(void)
{
	run("a64: what instructions do to memory", t_types);
	run("a64: what is cut off is not known", t_short);
	return failures != 0;
}
