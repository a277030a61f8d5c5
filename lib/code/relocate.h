/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Instructions in another place: the first ones of a function are copied to
 * where there is room, so that a jump can stand where they stood.
 */
#ifndef MOCA_CODE_RELOCATE_H
#define MOCA_CODE_RELOCATE_H

#include "lib/code/zydis.h"

#define MOCA_JUMP 5		/* bytes of a jump by 32 bits */
/* Room that the copy of what a jump displaces takes at most: see .c */
#define MOCA_RELOCATED_MAX 96

/* A function's code, and where it stands. */
struct moca_code {
	const uint8_t *bytes;
	size_t len;		/* of the whole function */
	uint64_t addr;
};

/* What is to be moved of it. */
struct moca_prologue {
	size_t start;		/* 4 behind an endbr64, which stays; else 0 */
	size_t end;		/* of the last instruction that is displaced */
};

/*
 * Finds what a jump would displace, and whether the function can do without:
 * nothing in it jumps back there, and it is long enough. 0; else -errno and
 * *why, a constant text: -ENOTSUP, or -EILSEQ: not decodable.
 */
int moca_prologue_find(const struct moca_zydis *z, const struct moca_code *c,
		       struct moca_prologue *p, const char **why);

/*
 * Does another piece of code (a function's cold part) jump into it? 0: no;
 * else as above.
 */
int moca_prologue_avoided(const struct moca_zydis *z,
			  const struct moca_code *other,
			  const struct moca_code *c,
			  const struct moca_prologue *p, const char **why);

/*
 * Writes to out what does at address `to` what the prologue does in its place,
 * and then jumps behind it; at most MOCA_RELOCATED_MAX bytes. Returns their
 * number; else -errno and *why: -ERANGE: something that it refers to is too
 * far away from `to`.
 */
int moca_prologue_move(const struct moca_zydis *z, const struct moca_code *c,
		       const struct moca_prologue *p, uint64_t to, uint8_t *out,
		       const char **why);

/* A jump from `from` to `to`. 0, or -ERANGE. */
int moca_jump_write(uint8_t out[MOCA_JUMP], uint64_t from, uint64_t to);

#endif
