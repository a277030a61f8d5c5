/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detours: a function's entry becomes a jump to a hook, and what stood there is
 * done elsewhere when the hook calls the function itself. For one thread at a
 * time, while there is no other one.
 */
#ifndef MOCA_ALLOC_PATCH_H
#define MOCA_ALLOC_PATCH_H

#include "lib/code/relocate.h"

/* Executable memory that jumps can reach from one place. */
struct moca_near {
	uint64_t addr;
	size_t used;
};

#define MOCA_NEAR_MAX 64
#define MOCA_NEAR_SIZE 4096u

struct moca_patcher {
	struct moca_zydis zydis;
	struct moca_near near[MOCA_NEAR_MAX];
	unsigned int near_count;
};

/* Whose code is changed, and where it can be had from again. */
struct moca_patched_file {
	int fd;
	uint64_t addr;		/* of the executable segment: page-aligned */
	uint64_t offset;	/* of it in the file, likewise */
	int prot;
};

/*
 * Lets the function c jump to `hook` (code that finds `context` on the stack
 * above its return address and must take it from there), and sets *original to
 * the address at which the function itself can be called. 0; else -errno and
 * *why, a constant text, and the function is as it was. p: from
 * moca_prologue_find(). *original is set before the function is changed.
 */
int moca_patch(struct moca_patcher *pa, const struct moca_code *c,
	       const struct moca_prologue *p,
	       const struct moca_patched_file *file, const void *hook,
	       const void *context, const void **original, const char **why);

/* Is this thread the process' only one? 1, 0 or -errno. */
int moca_patch_alone(void);

#endif
