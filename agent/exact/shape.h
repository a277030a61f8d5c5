/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decoded instructions, by shape. The *header* of an instruction is its bytes up to
 * its opcode, ModRM and SIB; displacement and immediate value come behind it. Two
 * instructions of one header differ by those two numbers alone. So libZydis decodes
 * the first one, and the others are made of that. Under the lock.
 */
#ifndef MOCA_EXACT_SHAPE_H
#define MOCA_EXACT_SHAPE_H

#include "agent/exact/translate.h"
#include "lib/x86/describe.h"

/*
 * Can the instruction at pc be one of these? All bytes that it may have are read, and
 * those of another page may not be there.
 */
static inline int moca_exact_shape_may(uint64_t pc)
{
	return (pc & 4095) <= 4096 - 15;
}

/* The instruction at pc, which may be one. 0, or -1: its shape is not known. */
int moca_exact_shape_find(uint64_t pc, struct insn *x);
/* x was decoded, and may be one; d is what libZydis tells of it. */
void moca_exact_shape_keep(const struct insn *x,
			   const ZydisDecodedInstruction *d);

#endif
