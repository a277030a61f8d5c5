/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rewriting the assembly that a compiler wrote, for x86-64 in AT&T syntax, so
 * that the program counts its loads and stores. doc/design/compile.md says how
 * and why. The text is cut into statements (parse.c); the assembler itself says
 * which bytes each becomes (listing.c), so that the decoder, and no table of
 * ours, says what an instruction does (decode.c).
 */
#ifndef MOCA_COMPILE_ASM_H
#define MOCA_COMPILE_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "include/abi/count.h"
#include "lib/x86/insn.h"

/* A memory operand in the source's words: its displacement is sym + at.disp. */
struct asm_mem {
	struct x86_mem at;
	char *sym;		/* "" = none */
	bool alone;		/* sym + another number is something else */
};

enum asm_kind { ASM_RAW, ASM_LABEL, ASM_DIRECTIVE, ASM_INSN };

struct asm_stmt {
	enum asm_kind kind;
	char *text;		/* the label's name; else the statement */
	uint32_t line;		/* in the listing, from 1 */
	uint32_t section;	/* index */
	bool app;		/* written by hand */
	bool intel;
	bool glued;		/* nothing may go before it */

	/* Instructions: */
	uint8_t bytes[16];
	uint8_t size;		/* 0 = not assembled */
	uint8_t gap;		/* enum asm_gap */
	bool known;		/* what it does, by its bytes */
	struct x86_insn what;
	uint8_t naccess;
	struct asm_mem access[X86_ACCESSES];	/* those that can be counted */
	/* A string instruction with a prefix: MOCA_COUNT_STRING_* or 0. */
	uint32_t string;
	char *target;		/* of a direct jump, call */
	uint32_t function;	/* index */
	uint32_t live;		/* before it */
};

struct asm_function {
	bool strict;		/* no calling convention is assumed */
	bool redzone;		/* may use what is below %rsp */
	bool lsda;
	bool resolver;
	bool calls;
	uint32_t written;
};

struct asm_section {
	char *args;		/* what follows .section; NULL = .text */
	bool code;
	bool emitted;
};

struct asm_file {
	struct asm_stmt *stmts;
	size_t count, room;
	struct asm_section *sections;
	uint32_t nsections, section_room;
	struct asm_function *functions;
	uint32_t nfunctions;
	char **macros;
	size_t nmacros, macro_room;
	bool compiled;		/* by a compiler that says so (.ident) */
};

struct asm_options {
	unsigned int shift;	/* log2 of a granule */
	/* Compiled with -mno-red-zone -fno-ipa-ra. */
	bool abi;
	char **as;		/* the assembler and its options; no input or
				   output, NULL after the last */
	const char *name;	/* of the source, for what is told */
};

struct asm_stats {
	uint64_t insns, accesses, groups, spills, saves;
	uint64_t gaps[ASM_GAP_COUNT];
	char sample[ASM_GAP_COUNT][64];	/* the first of its kind */
};

/*
 * What the rewriter does, text of len bytes in, text out (*out of *out_len
 * bytes, the caller frees). 0, -ENOMEM, or -EINVAL: the assembler does not
 * take the source; -errno of running it. For *s see above.
 */
int moca_asm_rewrite(const char *text, size_t len,
		     const struct asm_options *o, struct asm_stats *s,
		     char **out, size_t *out_len);

/* The steps; each fills in its part of f. 0 or -errno. */
int moca_asm_parse(struct asm_file *f, const char *text, size_t len);
int moca_asm_list(struct asm_file *f, const struct asm_options *o);
void moca_asm_decode(struct asm_file *f);
int moca_asm_live(struct asm_file *f, const struct asm_options *o);
int moca_asm_emit(struct asm_file *f, const struct asm_options *o,
		  struct asm_stats *s, FILE *out);
void moca_asm_free(struct asm_file *f);

/* The address of mem in AT&T syntax, added to by delta. */
void moca_asm_mem_text(FILE *out, const struct asm_mem *m, int64_t delta);
/* Reads an operand; its registers and numbers. 0 or -EINVAL. */
int moca_asm_mem_parse(struct asm_mem *m, const char *text);
/*
 * Which operand of a statement is the memory (text, to be freed), as there is
 * one. NULL with errno set: none found, or no memory left.
 */
char *moca_asm_operand(const char *statement);
/* By number; behind them those of %rip. */
extern const char *const moca_asm_reg64[17];
extern const char *const moca_asm_reg32[17];

#endif
