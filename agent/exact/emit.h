/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing x86-64 instructions. Each advances *p. Registers by number. */
#ifndef MOCA_EXACT_EMIT_H
#define MOCA_EXACT_EMIT_H

#include "agent/exact/translate.h"

#define SPILL(n) GS(C_SPILL + 8 * (n))
/* Spill slots: 0 and 1 are those of jumps by register. */
#define SPILL_RAX 2
#define SPILL_FLAGS 3
#define SPILL_SCRATCH 4
#define SPILL_SECOND 5

void emit_bytes(uint8_t **p, const void *bytes, size_t n);
void emit_32(uint8_t **p, uint32_t v);
/* mov %r, %gs:off and back; movq $imm, %gs:off */
void emit_gs_store(uint8_t **p, int r, int32_t off);
void emit_gs_load(uint8_t **p, int r, int32_t off);
void emit_store_imm(uint8_t **p, int32_t off, int32_t imm);
/* A 64-bit constant to %gs:off; always as many bytes. */
void emit_store_64(uint8_t **p, int32_t off, uint64_t v);
/* mov literal(%rip), %r; jmp *literal(%rip); pushq literal(%rip) */
void emit_load_literal(uint8_t **p, int r, const uint64_t *lit);
void emit_jump_literal(uint8_t **p, const uint64_t *lit);
void emit_push_literal(uint8_t **p, const uint64_t *lit);
/* lea (a, b), %r */
void emit_lea_sum(uint8_t **p, int r, int a, int b);
/* cmp %r, %gs:off */
void emit_gs_compare(uint8_t **p, int r, int32_t off);
/* sub of registers and cmp with a constant; size: 4 or 8 bytes */
void emit_subtract(uint8_t **p, int to, int from, int size);
void emit_compare_imm(uint8_t **p, int r, int32_t v, int size);
/* The effective address of m, its displacement replaced; flags change if m has a segment. */
void emit_address(uint8_t **p, int r, const struct x86_mem *m, int64_t disp);
/* mov of the 8 bytes at m to r */
void emit_load(uint8_t **p, int r, const struct x86_mem *m);
void emit_move(uint8_t **p, int to, int from);
void emit_move_64(uint8_t **p, int r, uint64_t v);
/* jmp rel32, jcc rel32. Those with 0 as the target return where to patch. */
void emit_jump(uint8_t **p, const uint8_t *to);
uint8_t *emit_jcc(uint8_t **p, int cc, const uint8_t *to);
uint8_t *emit_jump_open(uint8_t **p);
void emit_patch(uint8_t *at, const uint8_t *to);
/* subl $n, %gs:(r * 8 + 4 * store), in 32-bit addresses */
void emit_count(uint8_t **p, int r, int store, uint32_t n);
/* The same of a cell that is known. */
void emit_count_cell(uint8_t **p, uint64_t cell, int store, uint32_t n);
void emit_shift_right(uint8_t **p, int r, int n);
void emit_increment(uint8_t **p, int r);
/* and $mask, r32; cmp $v, r32 */
void emit_and(uint8_t **p, int r, uint32_t mask);
void emit_compare(uint8_t **p, int r, uint32_t v);

/*
 * gs.c. An instruction whose operand is at %gs: its address by our own means, then
 * the instruction with that alone. 0, or -1: it has too many registers.
 */
int moca_exact_write_gs(uint8_t **p, const struct insn *x);
/*
 * The instruction at pc, whose operand is at %gs, has faulted in what was written for
 * it: regs gets back the registers that this took. 0, or -1: it has no such operand.
 */
int moca_exact_gs_faulted(const struct context *c, uint64_t pc, uint64_t *regs);
/* Of a gather: its indices and mask, for C to see. */
void moca_exact_show_vectors(uint8_t **p, const struct helped *h);

#endif
