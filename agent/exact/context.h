/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What translated code and the assembly find at %gs. Also for the assembler.
 * %gs is at the slot's counters; a thread's context ends there.
 */
#ifndef MOCA_EXACT_CONTEXT_H
#define MOCA_EXACT_CONTEXT_H

#define CONTEXT_SIZE 0x4000

/* Offsets in struct context. */
#define C_GPR 0			/* 16 registers, in the order of their numbers */
#define C_FLAGS 128
#define C_PC 136
#define C_HOST 144
#define C_ARG 152
#define C_STACK 160
#define C_SELF 168
#define C_FS 176
#define C_PENDING 184
#define C_SPILL 192		/* 8 */
#define C_COLD 256		/* 16 registers while a cold path runs */
#define C_COLD_KEY 384
#define C_COLD_BACK 392
#define C_HELPER 400		/* what a helper is called for */
#define C_NR 408		/* of the system call under way */
#define C_VECTORS 512		/* xmm0-15 while we decode */
#define C_KEPT 768		/* 16 registers of which translated code is at work: keep.h */
#define C_WIDE 1024		/* operands of a gather: 3 of 64 bytes */
#define C_GS 1280			/* what the program has set: ARCH_SET_GS */

/* struct moca_exact_loop: MOCA_EXACT_LOOP. In programs of moca cc the last page is theirs. */
#define C_LOOP_NOW 0x2000
#define C_LOOP_LIMIT 0x2008

/* As displacements from %gs. */
#define GS(field) ((field) - CONTEXT_SIZE)

/* Why translated code comes back. */
#define EXIT_LINK 0		/* C_ARG: number of a link that leads nowhere yet */
#define EXIT_JUMP 1		/* C_PC: where to, not in the table of jumps */
#define EXIT_SYSCALL 2		/* C_PC: behind the instruction */
#define EXIT_NATIVE 3		/* C_PC: cannot be translated */
#define EXIT_STALE 4		/* C_PC: this block's source has changed */

/* Jumps to addresses are looked up in a table, by the low bits of the address. */
#define JUMP_BITS 16

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct sighand;

/*
 * How many signals can wait for a boundary: one of any kind, behind which all but
 * the five that faults cause are blocked, those five, and a spare.
 */
#define MOCA_EXACT_SIGNALS 8

struct context {
	uint64_t gpr[16];	/* of the program, at an exit */
	uint64_t flags;
	uint64_t pc;
	uint64_t host;		/* translated code to go on at */
	uint64_t arg;
	uint64_t stack;		/* top of our own stack */
	uint64_t self;		/* address of this */
	uint64_t fs;		/* the program's thread pointer */
	uint64_t pending;	/* signals that wait for the next boundary */
	uint64_t spill[8];
	uint64_t cold[16];
	uint64_t cold_key;
	uint64_t cold_back;
	uint64_t helper;
	uint64_t nr;
	uint64_t unused[12];
	uint8_t vectors[256];
	uint64_t kept[16];
	uint8_t spare1[128];
	uint8_t wide[256];
	uint64_t gs;

	/* From here on only C. */
	struct moca_exact_slot *slot;
	uint32_t native;	/* told: it is not counted any more */
	uint32_t gone;		/* and it needs nothing of ours */
	uint32_t retreats;	/* it was asked to be that: retreat.c */
	uint32_t of_vfork;	/* its parent waits for its exec */
	uint32_t space;		/* moca_exact.pid: whose memory it has */
	uint64_t log_time;	/* of the last TIME entry */
	struct signal_state {
		struct sighand *hand;	/* shared as by CLONE_SIGHAND */
		uint64_t mask;		/* the program's */
		uint64_t alt_sp, alt_size;	/* its sigaltstack, and flags */
		uint32_t alt_flags;
		uint32_t pushf;		/* a pushf was stepped over: with our TF */
		uint32_t suspended;	/* amid sigsuspend, ppoll and the like, */
		uint32_t held;		/* SIGTRAP came while blocked: trap */
		uint64_t suspend_mask;	/* whose mask was this */
		uint64_t trapno, err, cr2;	/* of its last fault */
		uint64_t unaligned;	/* AC is off for one instruction of ours */
		uint64_t scratch;	/* address of a frame for rt_sigreturn */
		uint64_t state;		/* at a fault: the kernel's fpstate */
		uint64_t private;	/* the table is to be its process's */
		struct {
			uint64_t forced;	/* a fault: cannot be blocked */
			uint64_t info[16];	/* siginfo */
		} queue[MOCA_EXACT_SIGNALS], trap;
	} signal;
};

_Static_assert(offsetof(struct context, flags) == C_FLAGS, "");
_Static_assert(offsetof(struct context, pc) == C_PC, "");
_Static_assert(offsetof(struct context, host) == C_HOST, "");
_Static_assert(offsetof(struct context, arg) == C_ARG, "");
_Static_assert(offsetof(struct context, stack) == C_STACK, "");
_Static_assert(offsetof(struct context, self) == C_SELF, "");
_Static_assert(offsetof(struct context, fs) == C_FS, "");
_Static_assert(offsetof(struct context, pending) == C_PENDING, "");
_Static_assert(offsetof(struct context, spill) == C_SPILL, "");
_Static_assert(offsetof(struct context, cold) == C_COLD, "");
_Static_assert(offsetof(struct context, cold_key) == C_COLD_KEY, "");
_Static_assert(offsetof(struct context, cold_back) == C_COLD_BACK, "");
_Static_assert(offsetof(struct context, helper) == C_HELPER, "");
_Static_assert(offsetof(struct context, nr) == C_NR, "");
_Static_assert(offsetof(struct context, vectors) == C_VECTORS, "");
_Static_assert(offsetof(struct context, kept) == C_KEPT, "");
_Static_assert(offsetof(struct context, wide) == C_WIDE, "");
_Static_assert(offsetof(struct context, gs) == C_GS, "");
_Static_assert(sizeof(struct context) <= C_LOOP_NOW, "");
#endif
#endif
