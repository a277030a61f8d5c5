/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the recorder tells the agent that it puts into a static program. The
 * agent is a position-independent ELF image (agent/alloc/static/) that the
 * recorder maps before the program's first instruction. It runs from its entry
 * point with %rdi = this and the program's own stack pointer, and ends by a jump
 * to the program's entry point.
 */
#ifndef MOCA_ABI_STATIC_AGENT_H
#define MOCA_ABI_STATIC_AGENT_H

#include <stdint.h>

#include "include/abi/alloc-role.h"

#define MOCA_STATIC_HOOKS 64
#define MOCA_STATIC_TRAMPOLINE 128

/* Code of an allocator that is to be changed, and what takes its place. */
struct moca_static_hook {
	uint64_t at;		/* where the jump goes: in the program's code */
	uint8_t jump[8];	/* the first 5 bytes */
	uint64_t original;	/* how to call the function then */
	struct moca_role role;
	char name[43];		/* what could be kept of it, NUL-terminated */
};

struct moca_static_setup {
	uint64_t entry;		/* the program's */
	uint64_t base;		/* difference to its addresses in the file */
	uint64_t code, code_end;	/* its executable segment, */
	uint64_t code_offset;	/* in its file */
	uint64_t phdrs, phdr_count;
	uint64_t frames;	/* a table as of .eh_frame_hdr; 0: none */
	uint64_t low, high;	/* all that this table refers to */
	uint64_t usable;	/* its malloc_usable_size; 0: none */
	uint64_t hook_count;
	struct moca_static_hook hooks[MOCA_STATIC_HOOKS];
};

/*
 * Near the program's code, for each hook: pushes the address of the hook's
 * struct in the agent, and jumps to where that begins. The agent fills in both.
 */
struct moca_static_stub {
	uint8_t code[16];
	uint64_t context;
	uint64_t thunk;
	uint8_t endbr64[4];
	uint8_t original[MOCA_STATIC_TRAMPOLINE - 36];
};

#endif
