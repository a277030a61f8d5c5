/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How to get from a frame to its caller's, by the .eh_frame of the module that
 * the code is in. No locks, no memory but a table of fixed size.
 */
#ifndef MOCA_AGENT_ALLOC_CFI_H
#define MOCA_AGENT_ALLOC_CFI_H

#include "lib/code/cfi.h"

/* struct moca_cfi_rule in a register: told through memory, each step waits for it. */
struct alloc_rule {
	uint64_t cfa : 3, rbp : 2;
	int64_t cfa_off : 26, rbp_off : 26;
	uint64_t known : 1;
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
