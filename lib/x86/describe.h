/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From what Zydis has decoded to what an instruction does. Freestanding: no C
 * library, and no function of Zydis is called, so that any of its copies will do.
 */
#ifndef MOCA_X86_DESCRIBE_H
#define MOCA_X86_DESCRIBE_H

#include <Zydis/Zydis.h>

#include "lib/x86/insn.h"

/* Number of a general register, or -1. */
int moca_x86_register(ZydisRegister r);

/* The instruction d, at pc, with op as ZydisDecoderDecodeFull() left it. */
void moca_x86_describe(struct x86_insn *x, uint64_t pc,
		       const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op);

#endif
