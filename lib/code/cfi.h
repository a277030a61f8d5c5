/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How to get from a frame to its caller's, by the .eh_frame of the module that
 * the code is in. No memory, no locks: agents in programs use it, too.
 */
#ifndef MOCA_CODE_CFI_H
#define MOCA_CODE_CFI_H

#include <stdint.h>

/* Where the canonical frame address is: the caller's %rsp after the return. */
enum moca_cfa {
	MOCA_CFA_STOP = 0,	/* no rule, or too odd */
	MOCA_CFA_RSP = 1,	/* %rsp + cfa_off */
	MOCA_CFA_RBP = 2,	/* %rbp + cfa_off */
	MOCA_CFA_AT_RBP = 3,	/* in memory at %rbp + cfa_off (realigned) */
	MOCA_CFA_SIGNAL = 4,	/* a handler's return: ucontext at %rsp */
	MOCA_CFA_END = 5,	/* the outermost frame, as it says */
};

/* Where the caller's %rbp is. */
enum moca_rbp {
	MOCA_RBP_KEPT = 0,
	MOCA_RBP_AT_CFA = 1,	/* in memory at CFA + rbp_off */
	MOCA_RBP_AT_RBP = 2,	/* in memory at %rbp + rbp_off */
	MOCA_RBP_LOST = 3,
};

/* The return address is at CFA - 8; else the rule is STOP or END. */
struct moca_cfi_rule {
	uint8_t cfa;		/* enum moca_cfa */
	uint8_t rbp;		/* enum moca_rbp */
	int32_t cfa_off;	/* bytes */
	int32_t rbp_off;
};

/*
 * The rule at ip: the address of an instruction, so a return address less 1.
 * [low, high) is what may be read, header the .eh_frame_hdr in it. Addresses in
 * these sections are relative, so ip is what it would be if the module's code lay
 * as far from low as where it was linked; the code itself need not be there.
 * What the sections say is checked: no read leaves the range.
 */
struct moca_cfi_rule moca_cfi_parse(const uint8_t *low, const uint8_t *high,
				    const uint8_t *header, uint64_t ip);

#endif
