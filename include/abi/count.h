/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What code that `moca cc` rewrote (compile/) and the library that it is linked
 * with (agent/count) know of each other; also included by assembly.
 *
 * %gs is the base of the thread's counters, MOCA_EXACT_COUNTS of its slot
 * (include/abi/exact-arena.h). A counter that borrows calls moca_count_load or
 * moca_count_store with the address pushed; a repeated string instruction calls
 * moca_count_string with MOCA_COUNT_STRING_* pushed. All keep every register
 * and flag, and leave what was pushed. Below the pushed word nothing is the
 * caller's: it stepped over its red zone.
 */
#ifndef MOCA_ABI_COUNT_H
#define MOCA_ABI_COUNT_H

#define MOCA_COUNT_STRING_RSI 1		/* reads at %rsi */
#define MOCA_COUNT_STRING_RDI 2		/* reads at %rdi */
#define MOCA_COUNT_STRING_TO_RDI 4	/* writes at %rdi */
/*
 * Called after it, with the %rcx, %rsi and %rdi from before it at 8, 16 and 24
 * bytes below the caller's stack pointer, 128 above the pushed word + 8.
 */
#define MOCA_COUNT_STRING_AFTER 8
#define MOCA_COUNT_STRING_SIZE_SHIFT 8	/* bytes of an element */

/* The note that a program which counts itself has, by its owner's name. */
#define MOCA_COUNT_NOTE_NAME "Moca"
#define MOCA_COUNT_NOTE_TYPE 0x434e5401	/* the last byte: version */

#ifndef __ASSEMBLER__
/* Why an access is not counted, as found when it was built. */
enum asm_gap { ASM_GAP_NONE, ASM_GAP_INSN, ASM_GAP_GATHER, ASM_GAP_TLS,
	ASM_GAP_OPERAND, ASM_GAP_MACRO, ASM_GAP_INTEL, ASM_GAP_RESOLVER,
	ASM_GAP_FILE, ASM_GAP_COUNT };
#define ASM_GAP_NAMES "", "unknown instruction", "gather or scatter", \
	"address of thread-local storage", "operand", "macro", \
	"Intel syntax", "ifunc resolver", "file"
#endif

#endif
