/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an x86-64 instruction does, as far as counting accesses needs it: for
 * the translator, which has its bytes in the program, and for moca cc, which
 * has those that the assembler made of it. describe.h fills it in.
 */
#ifndef MOCA_X86_INSN_H
#define MOCA_X86_INSN_H

#include <stdint.h>

#include "lib/x86/registers.h"

#define X86_ACCESSES 3

enum x86_kind {
	X86_PLAIN,
	/* What is accessed is not told by access[] alone: */
	X86_STRING,		/* lods, stos, movs, cmps, scas, with or without rep */
	X86_VSIB,		/* a gather, a scatter */
	X86_XLAT,
	X86_BIT_STRING,		/* bt and its kind, reaching beyond its operand */
	X86_ENTER,
	X86_LAST_STRAIGHT = X86_ENTER,
	/* It goes on elsewhere, or may: */
	X86_JCC,
	X86_LOOP,		/* loop, loope, loopne, jrcxz */
	X86_JUMP,
	X86_CALL,
	X86_RET,
	X86_JUMP_IND,
	X86_CALL_IND,
	X86_SYSCALL,
	X86_XBEGIN,
	X86_STOP,		/* ud2, hlt, int3: raises a signal */
	X86_FAR,		/* far branches, iret, int $0x80, cut pointers */
	X86_KINDS
};

enum { X86_DS, X86_FS, X86_GS };	/* all but %fs and %gs begin at 0 */

/* A memory operand: 16 bytes, as there are many. Registers by number, -1: none. */
struct x86_mem {
	int8_t base, index;
	uint8_t scale;
	uint8_t narrow;		/* 32-bit addresses */
	uint8_t popped;		/* bytes that %rsp has moved by; disp has them */
	uint8_t seg : 2;
	uint8_t rip : 1;	/* disp is the address */
	uint8_t load : 1, store : 1;
	uint8_t hidden : 1;	/* the stack, %rsi, %rdi: it is not written out */
	int64_t disp;
};
_Static_assert(sizeof(struct x86_mem) == 16, "");

struct x86_insn {
	uint64_t target;	/* of a direct branch */
	uint8_t len, kind;
	uint8_t cc;		/* of X86_JCC */
	uint8_t rip_at;		/* offset of a rip-relative displacement; 0: none */
	uint8_t op;		/* X86_STRING: 'l' lods, 's' stos, 'm', 'c', 'a' */
	uint8_t size;		/* bytes of its elements */
	uint8_t rep;		/* 0, 1: rep, repe, 2: repne */
	uint8_t accesses;
	/* Sets. What is killed does not matter before. */
	uint32_t reads, writes, kills;
	/* It makes move_to = move_from + move_add; -1: nothing of the kind. */
	int8_t move_to, move_from;
	int64_t move_add;
	struct x86_mem mem;	/* the one that is written out */
	struct x86_mem access[X86_ACCESSES];
};

/* What matters ahead of x, of what does behind it. */
static inline uint32_t moca_x86_live(const struct x86_insn *x, uint32_t behind)
{
	return (behind & ~x->kills) | x->reads;
}

#endif
