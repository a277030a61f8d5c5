/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The translator: a region - the code that is reached from an address by jumps
 * within a function - is decoded (decode.c, region.c), its accesses are put
 * into groups (group.c), and it is written out with their counting
 * (translate.c, emit.h) into a cache (cache.c). All under the lock.
 */
#ifndef MOCA_EXACT_TRANSLATE_H
#define MOCA_EXACT_TRANSLATE_H

#include "agent/exact/translator.h"
#include "lib/x86/group.h"

#define REGION_INSNS 256	/* more, and much that never runs is decoded */
/* In the loader, most of which never runs, and where nothing is counted. */
#define COLD_INSNS 32
#define BLOCK_INSNS 64		/* without a jump: a boundary for signals */
#define REGION_LOOPS 32
#define GROUP_MEMBERS 16

/* What is done about an instruction: an enum x86_kind, or one of these. */
enum {
	K_HELPED = X86_KINDS,	/* counted by a helper before it */
	K_GS,			/* %gs-relative: ours is there */
	K_RDGS, K_WRGS, K_WRFS,
	K_NATIVE,		/* leaves translated code */
};

/* What a helper counts. */
enum helped_kind { H_STRING, H_VSIB, H_XLAT, H_BIT, H_ENTER };

struct helped {
	enum helped_kind kind;
	struct x86_mem mem;
	/* H_STRING */
	uint8_t op;		/* 'l' lods, 's' stos, 'm' movs, 'c' cmps, 'a' scas */
	uint8_t size;		/* bytes of an element */
	uint8_t rep;		/* 0, 1: rep, repe, 2: repne */
	/* H_VSIB */
	uint8_t vector, mask, wide_mask;	/* registers; mask in a vector */
	uint8_t elements, index_size, mask_size, store;
	/* H_BIT */
	int8_t reg;
	uint8_t reg_size;
	/* H_ENTER: nesting */
	uint8_t count;
};

struct insn {
	uint64_t pc;
	struct x86_insn what;
	uint8_t kind, leader;
	uint8_t reg;		/* of X86_JUMP_IND, K_RDGS...: 0xff: mem */
	uint8_t modrm_at, rex_at, gs_at, imm_len; /* K_GS */
	int8_t gs_base;		/* of an operand that is not written out, or -1 */
	uint16_t pop;		/* X86_RET */
	uint32_t live;		/* ahead of it */
	/*
	 * The registers that the instruction compares for what comes after it; a
	 * -1: it does not.
	 */
	struct {
		int8_t a, b;	/* b -1: with imm */
		uint8_t size;	/* bytes */
		int64_t imm;
		int64_t add;	/* not 0: it adds that to a, and compares it */
	} compare;
	struct helped *helped;
	int32_t next, jump;	/* of the region's, -1: elsewhere */
	uint32_t host, own;	/* offsets in the translation */
	uint32_t body;		/* behind the choice at a loop's begin */
	uint32_t fast;		/* in the copy that counts when it is left */
	uint8_t balanced;
	int32_t groups;		/* first of those to be counted ahead of it, -1 */
	int16_t group_of[X86_ACCESSES];	/* that each access is in, -1: none */
};

/* Accesses of one block by the same registers, counted at once. */
struct group {
	int32_t next;		/* at the same place */
	int32_t place;		/* the instruction ahead of which it is counted */
	int32_t first, block;	/* that of its first access; of its block */
	struct x86_group what;	/* with registers and displacements as at place */
	uint8_t deferred;	/* counted when its loop is left: loop.c */
	uint8_t flags_dead;
	struct x86_member members[GROUP_MEMBERS];
};

/*
 * A loop within a region, [head, last] of its instructions, that has a second
 * translation: loop.c.
 */
struct loop {
	int head, last;
	uint32_t number;	/* of what is counted: for C_COLD_KEY */
	int8_t progress;	/* the register that tells how far it is */
	uint16_t needed;	/* registers that addresses are made of */
	/* The fast loop pays if (to - from) >= enough, signed; from or to -1: imm. */
	int8_t from, to;
	uint8_t size;		/* 4 or 8 bytes */
	int64_t imm;
	int32_t enough;
};

struct region {
	uint64_t low, high;	/* source: [low, high) */
	uint8_t *code;
	uint32_t size;
	uint32_t count;
	struct mark *marks;	/* one per instruction, by host */
	struct link *in;	/* links that lead here */
	struct region *newer, *older;	/* of those that are valid */
	struct kept_mark *kept;	/* beside marks; NULL: precise. keep.h */
	int dead;
	int precise;
};

/* Where the translation of an instruction is: 8 bytes, as there are many. */
struct mark {
	uint64_t host : 22;	/* from region.code */
	uint64_t own : 16;	/* from host */
	uint64_t pc : 22;	/* from region.low */
	uint64_t balanced : 1, quiet : 1, transfer : 1, loop : 1;
};

static inline uint64_t moca_exact_mark_pc(const struct region *r, uint32_t i)
{
	return r->low + r->marks[i].pc;
}

struct work {
	struct insn insns[REGION_INSNS];
	int count;
	struct group groups[REGION_INSNS * X86_ACCESSES];
	int group_count;
	struct loop loops[REGION_LOOPS];
	int loop_count;
	int most;		/* instructions that it may have */
	struct cache *cache;	/* for its translation */
	uint64_t entry;
	uint64_t low, high;
	int writable;		/* the source may change unseen */
	int uncounted;		/* Moca's own code */
	int precise;		/* the state at each instruction is there: keep.h */
	int kept;		/* handlers of faults see dead registers, too */
};

/* Behind instruction i - 1 of w: does a block end there? */
static inline int moca_exact_ends_block(const struct work *w, int i)
{
	return i == w->count || w->insns[i].leader ||
	       w->insns[i - 1].next != i;
}

/* decode.c. With libZydis, laid out there. 0, or -1: it cannot be used. */
int moca_exact_decode_init(uint64_t zydis);
/* 0, or -1: cannot be decoded from at most max bytes. */
int moca_exact_decode(uint64_t pc, uint64_t max, struct insn *x);
/* The same of translated code, at a fault; takes the lock. */
int moca_exact_decode_cold(uint64_t pc, struct insn *x);

/* region.c */
int moca_exact_region_find(struct work *w, uint64_t entry);
/* May what is behind x come after it, at once? */
int moca_exact_falls_through(const struct insn *x);
/* Are no flags needed at pc? Only of code of files: other code may change. */
int moca_exact_flags_dead_at(uint64_t pc);
/* Mappings have changed: what was known of flags may not be so. */
void moca_exact_flags_forget(void);

/* group.c */
void moca_exact_group(struct work *w);

/* loop.c: those whose accesses can be counted when they are left. */
void moca_exact_loops(struct work *w);
/* Where its second translation goes on when a stretch begins, and behind it. */
void moca_exact_loop_places(const struct loop *l, const uint8_t *enter,
			    const uint8_t *leave);

/* translate.c: the region's translation, or NULL: no room. */
struct region *moca_exact_translate(struct work *w);

/* A jump out of a region. */
struct link {
	struct link *next;	/* of those that lead to the same region */
	uint64_t target;
	uint64_t *slot;		/* translated code jumps to what is in there */
	uint8_t *unlinked;	/* what is in there at first */
};

/* maps.c: executable ranges. 1: pc is in one, [*start, *end). */
#define CODE_WRITABLE 1
#define CODE_OURS 2
#define CODE_ANONYMOUS 4
#define CODE_LOADER 8
int moca_exact_code_at(uint64_t pc, uint64_t *start, uint64_t *end, int *flags);

#endif
