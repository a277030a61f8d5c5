/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How to get from a frame to its caller's, by the .eh_frame of the module that
 * the code is in. No locks, no memory but a table of fixed size.
 */
#ifndef MOCA_AGENT_ALLOC_CFI_H
#define MOCA_AGENT_ALLOC_CFI_H

#include <stdint.h>

/* Where the canonical frame address is: the caller's %rsp after the return. */
enum alloc_cfa {
	ALLOC_CFA_STOP = 0,	/* no rule, the outermost frame, or too odd */
	ALLOC_CFA_RSP = 1,	/* %rsp + cfa_off */
	ALLOC_CFA_RBP = 2,	/* %rbp + cfa_off */
	ALLOC_CFA_AT_RBP = 3,	/* in memory at %rbp + cfa_off (realigned) */
	ALLOC_CFA_SIGNAL = 4,	/* a handler's return: ucontext at %rsp */
};

/* Where the caller's %rbp is. */
enum alloc_rbp {
	ALLOC_RBP_KEPT = 0,
	ALLOC_RBP_AT_CFA = 1,	/* in memory at CFA + rbp_off */
	ALLOC_RBP_AT_RBP = 2,	/* in memory at %rbp + rbp_off */
	ALLOC_RBP_LOST = 3,
};

/* The return address is at CFA - 8; else the rule is STOP. */
struct alloc_rule {
	uint8_t cfa;		/* enum alloc_cfa */
	uint8_t rbp;		/* enum alloc_rbp */
	int32_t cfa_off;	/* bytes */
	int32_t rbp_off;
};

#pragma GCC visibility push(hidden)

/*
 * The rule at ip: the address of an instruction, so a return address less 1.
 * Any thread, at any time.
 */
struct alloc_rule alloc_cfi_rule(uint64_t ip);
/* A module was unloaded: other code may come to be where it was. */
void alloc_cfi_forget(void);

#pragma GCC visibility pop

#endif
