/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The general registers of x86-64, and sets of them and of status flags. */
#ifndef MOCA_X86_REGISTERS_H
#define MOCA_X86_REGISTERS_H

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13,
	R14, R15 };

/* Sets: bits 0-15 are registers; above them are the flags, as in EFLAGS. */
#define X86_FLAG_SHIFT 16
#define X86_GPRS 0xffffu
#define X86_FLAGS (0x8d5u << X86_FLAG_SHIFT)	/* CF PF AF ZF SF OF */
#define X86_ALL (X86_GPRS | X86_FLAGS)
/* The set of register r alone; -1: of none. */
#define X86_BIT(r) ((int)(r) < 0 ? 0u : 1u << (r))

#endif
