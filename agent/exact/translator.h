/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Exact mode's agent: what its parts share.
 *
 * It lives in the program, without a C library, and never touches vector
 * registers (-mgeneral-regs-only) but around the decoder. Three kinds of code
 * run in a thread: *translated* code in the caches, as the program; *ours*
 * (this), on a stack of its own, reached through entry.S; and the kernel's. The
 * program's registers are in the CPU in the first case, in struct context in the
 * second.
 */
#ifndef MOCA_AGENT_EXACT_TRANSLATOR_H
#define MOCA_AGENT_EXACT_TRANSLATOR_H

#include <stddef.h>
#include <stdint.h>

#include "agent/exact/context.h"
#include "include/abi/exact-arena.h"
#include "lib/x86/registers.h"

/* --- entry.S ------------------------------------------------------------- */

long moca_exact_call(long nr, long a, long b, long c, long d, long e, long f);
/*
 * The program's system call: number and arguments out of c->gpr, the result into
 * c->gpr[RAX]. 0; 1: a signal came before it began, and it was not made.
 */
int moca_exact_syscall(struct context *c);
/*
 * The same for one that makes a task: the child, if it gets that far, has the context
 * that ends at child_gs, and goes on with what is in there.
 */
int moca_exact_clone(struct context *c, uint64_t child_gs);
/* Go on with the program as c says: at c->host. Does not return. */
void moca_exact_resume(struct context *c) __attribute__((noreturn));
void moca_exact_save_vectors(struct context *c);
void moca_exact_restore_vectors(struct context *c);
/* Where translated code leads to; their addresses are in each cache. */
void moca_exact_exit_link(void);
void moca_exact_exit_jump(void);	/* rax: to where; rax, rcx in spill 0, 1 */
void moca_exact_exit_syscall(void);
void moca_exact_exit_native(void);
void moca_exact_exit_stale(void);
/* All registers are the program's; goes on at C_PC. */
void moca_exact_exit_pc(void);
void moca_exact_cold_load(void);
void moca_exact_cold_store(void);
void moca_exact_helper(void);
/* C_COLD_KEY: which loop; the registers it needs are in C_GPR. */
void moca_exact_enter_loop(void);
void moca_exact_leave_loop(void);
void moca_exact_leave_loop_flags(void);
/*
 * Stretches of entry.S, [begin, end), that a signal handler must know. before:
 * the program's system call is to be made, and has not; at its end is the `syscall`
 * instruction, which may begin again; behind that, it has been made. leave: from
 * where pending was looked at to the jump into translated code at c->host; the
 * program's registers are those of c until then; it may begin again. deliver: see
 * signal.c; the program's registers are all in place there, its rip is c->pc.
 * back: from where a cold path or a helper looked at pending to its jump into
 * the block that it came from; if there is one it sets TF just before that jump.
 * A call that is to be made while one is pending is not made either.
 */
extern const uint8_t moca_exact_before_syscall[], moca_exact_at_syscall[],
	moca_exact_after_syscall[];
extern const uint8_t moca_exact_leave_begin[], moca_exact_leave_end[];
extern const uint8_t moca_exact_back_begin[], moca_exact_back_end[];
extern const uint8_t moca_exact_deliver[];
extern const uint8_t moca_exact_not_made[];

/* --- memory.c ----------------------------------------------------------- */

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *p, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memmove(void *to, const void *from, size_t n);
size_t strlen(const char *s);
/* Freestanding, the compiler would call them for 4 bytes, too. */
#define memcpy __builtin_memcpy
#define memset __builtin_memset
/* Zeroed, for ever. Under the lock, or before there are threads. */
void *moca_exact_alloc(size_t size);
/* Whole pages of our own. */
void *moca_exact_map(size_t size);
/* The same, away from the arena; of a multiple of the page size. NULL: no room. */
void *moca_exact_map_anywhere(size_t size);
void moca_exact_unmap(void *p, size_t size);
/*
 * Whole pages of ours, at once: a page fault takes some 2 us. Kernels before 5.14 do
 * nothing, and each page is a fault then.
 */
void moca_exact_touch(const void *start, size_t size);
/*
 * The same of memory that is filled in order, some at a time: it is full up to at,
 * pages below touched are there, and none is beyond end. Returns the new touched.
 */
uint8_t *moca_exact_touch_ahead(const uint8_t *at, uint8_t *touched,
				const uint8_t *end);
/* What is ours of the address space: nothing of the program's is there. */
#define OWN_MAX 1024
struct own {
	uint64_t start, end;
};
extern struct own moca_exact_own[OWN_MAX];
extern int moca_exact_own_count;
void moca_exact_own_add(uint64_t start, uint64_t end);
/* Ends the process: there is no way on. Says why on descriptor 2. */
void moca_exact_die(const char *what, uint64_t value) __attribute__((noreturn));
void moca_exact_say(const char *what, uint64_t value);

/* --- the process ------------------------------------------------------------ */

/* Bits of setup.debug, MOCA_EXACT_DEBUG. */
#define DEBUG_GAPS 1u		/* tell the address of each */
#define DEBUG_NO_LOOPS 2u	/* count each access of loops as it is made */
#define DEBUG_ALL_LOOPS 4u	/* even where that does not pay */
#define DEBUG_PRECISE 8u	/* all is precise once faults are handled */
#define DEBUG_STRADDLES 16u	/* C counts no group: straddle.h */

struct process {
	struct moca_exact_setup setup;
	uint64_t arena;
	struct moca_exact_shared *shared;
	uint32_t pid;
	uint32_t shift;		/* of a granule */
	uint32_t chart;		/* its number + 1: chart.h; 0: there is none */
	/*
	 * The program can see what faults (it has handlers for SIGSEGV and the
	 * like): from now on the state at each instruction can be made up.
	 */
	int faults;
	int lock;
	int no_clock;		/* PR_SET_TSC: reading it is a fault */
	uint64_t clock;		/* when that began */
	uint64_t *jumps;	/* 1 << JUMP_BITS, below 2^31 */
};
extern struct process moca_exact;

/* Spins; not for signal handlers. */
void moca_exact_lock(void);
void moca_exact_unlock(void);

static inline struct context *context_of(const struct moca_exact_slot *s)
{
	return (struct context *)((uint64_t)s + MOCA_EXACT_COUNTS - CONTEXT_SIZE);
}

static inline struct moca_exact_loop *loop_of(const struct context *c)
{
	return (struct moca_exact_loop *)((uint64_t)c + C_LOOP_NOW);
}

static inline struct context *current(void)
{
	struct context *c;

	__asm__ volatile("movq %%gs:%c1, %0" : "=r"(c) : "i"(GS(C_SELF)));
	return c;
}

/* Ticks; as of the last reading while the program forbids to read them. */
static inline uint64_t clock_now(void)
{
	uint32_t lo, hi;

	if (moca_exact.no_clock)
		return moca_exact.clock;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* --- native.c ------------------------------------------------------------- */

/* CPU time of this thread, by a system call: 0.2 to 0.5 us. */
uint64_t moca_exact_cpu_ns(void);
/* Adds what this thread used since then, so many times, to what translating took. */
void moca_exact_took(uint64_t began, unsigned int times);

/* --- thread.c ------------------------------------------------------------- */

/* A free slot, made LIVE, for a new task of this process; NULL: none is left. */
struct context *moca_exact_thread_new(uint32_t kind);
/* clone, clone3, fork, vfork; c->gpr as the program left them. */
void moca_exact_thread_clone(struct context *c, long nr);
/* The first one says who it is. */
void moca_exact_thread_first(struct context *c);
/* exit, exit_group: does not return. */
void moca_exact_thread_exit(struct context *c, long nr) __attribute__((noreturn));

/* --- count.c ------------------------------------------------------------------- */

void moca_exact_count(struct context *c, uint64_t addr, int store, uint64_t n);
/* n accesses, the first at addr, each step bytes on. */
void moca_exact_count_range(struct context *c, uint64_t addr, int64_t step,
			    int store, uint64_t n);
/* Take them back: they were counted and did not happen. */
void moca_exact_uncount_range(struct context *c, uint64_t addr, int64_t step,
			      int store, uint64_t n);
/* Take one access back that was counted and did not happen. */
void moca_exact_uncount(struct context *c, uint64_t addr, int store);
void moca_exact_gap(struct context *c, enum moca_exact_gap gap, uint64_t addr);
void moca_exact_event(struct context *c, uint32_t type, uint64_t addr,
		      uint64_t len, uint64_t offset, uint32_t flags,
		      uint32_t prot, const char *name);

/* The two counters of a granule as one number; loads are its lower half. */
uint64_t *moca_exact_cell(struct context *c, uint64_t granule);
/* The granule's counter was 0 and has been counted down. */
void moca_exact_cold(struct context *c, uint64_t granule, int store);

/* --- loop.c ------------------------------------------------------------------ */

/* Count what the loop that c is in has done: it is in none then. */
void moca_exact_loop_end(struct context *c);

/* --- cache.c: translated code -------------------------------------------------- */

/*
 * Where a host address in a cache is.
 * start: it is the first byte of the translation of the instruction at pc, so
 * all of the program's registers are its own, and rip would be pc. own: it is
 * that instruction itself, a copy of which is there: also then, and it may
 * fault as the program's instruction would; what it will access was counted.
 * balanced: no access of this or later instructions has been counted yet.
 */
struct place {
	uint64_t pc;
	int start, own, balanced;
	/* Behind own of a jump by register: rax and rcx are in spill 0 and 1. */
	int spilled;
	/*
	 * In a loop whose accesses are counted when it is left. balanced: an
	 * iteration is over, and moca_exact_loop_end counts them.
	 */
	int loop;
	/*
	 * How the state there is made up: keep.h. away: a set of registers whose values
	 * are in c->kept. region and mark are keep.c's.
	 */
	int precise;
	uint32_t away, mark;
	struct region *region;
};
/* 1: found; 0: within translated code, but between the instructions; -1: not a cache. */
int moca_exact_locate(uint64_t host, struct place *p);
/*
 * keep.c, of an instruction that has faulted where p says, of which regs and flags
 * are the program's: take back what was counted for it, and ahead for those
 * behind it. Takes the lock, as do the two below.
 */
void moca_exact_uncount_ahead(struct context *c, const struct place *p,
			      const uint64_t *regs, uint64_t flags);
/* Take back what was counted for the instruction at pc, which has faulted; regs
 * in the order of struct context. */
void moca_exact_uncount_insn(struct context *c, uint64_t pc,
			     const uint64_t *regs, uint64_t flags);
/* For the dispatcher: the same for where a link or a jump leads. */
uint64_t moca_exact_follow_link(struct context *c, uint64_t number,
				uint64_t *pc);
uint64_t moca_exact_follow_jump(struct context *c, uint64_t pc);
void moca_exact_stale(uint64_t pc);
/* Executable memory? Takes the lock; translate.h has the rest. */
int moca_exact_is_code(uint64_t pc, uint64_t *start, uint64_t *end, int *flags);
/* Whether there is memory of any kind, by the kernel's list. */
int moca_exact_is_mapped(uint64_t address);
/*
 * The same for a rep-prefixed string instruction that stopped between two elements, or
 * before the first: what is left (regs[RCX]) will be counted when it goes on.
 */
void moca_exact_uncount_rest(struct context *c, uint64_t pc,
			     const uint64_t *regs, uint64_t flags);
/* The translation of pc, made if need be, or 0: it cannot be. Takes the lock. */
uint64_t moca_exact_find(struct context *c, uint64_t pc);
/* What was translated from [start, end) is no more valid. Takes the lock. */
void moca_exact_invalidate(uint64_t start, uint64_t end);
/* A child is about to be made by fork. Under the lock. */
void moca_exact_cache_fork(void);
/* All translations; new ones will be as moca_exact.faults says. */
void moca_exact_forget_all(void);
/* One translation. Under the lock. */
void moca_exact_forget(struct region *r);

/* --- signal.c ----------------------------------------------------------------- */

/* The first thread, and any other: its own signal stack, and so on. */
void moca_exact_signal_init(struct context *c);
/*
 * Of a task that c makes by clone with these flags, before it exists: from here on all
 * signals are blocked, in the child too, until begin in that and cloned in c.
 */
void moca_exact_signal_clone(struct context *child, const struct context *c,
			     uint64_t flags);
/* In the child, first thing. */
void moca_exact_signal_begin(struct context *c);
/* In the parent, after it, whether it succeeded or not. */
void moca_exact_signal_cloned(struct context *c);
/*
 * 1: it was a call about signals, and is done: c->gpr[RAX], or all of c, is set. If a
 * signal waits, c->pc is back at the call, as if it had come before. Does not
 * return from rt_sigreturn.
 */
int moca_exact_signal_syscall(struct context *c, long nr);
/*
 * The program's instruction at c->pc faults as the kernel would say by sig and
 * si_code; addr: si_addr. Sets c->pending; return to entry.S without a c->host.
 */
void moca_exact_fault(struct context *c, int sig, int code, uint64_t addr);

/*
 * The kernel gets the program's own handlers and signal stack: it goes on
 * natively.
 */
void moca_exact_signal_native(struct context *c);

/* --- ours.c ------------------------------------------------------------------ */

/* 1: it was a call that would meet what is ours, and is done. */
int moca_exact_ours_syscall(struct context *c, long nr);

/*
 * limits.c: RLIMIT_AS and RLIMIT_DATA hold for the program's memory and are what
 * it set, though the kernel's leave room for what is ours. begin: before any of
 * ours is mapped. syscall: 1 when the call is done. exec: they are the program's
 * own, for the image that an exec makes; 0: not any more, as it failed. more:
 * bytes of ours are about to be mapped, or (negative) were unmapped; under the
 * lock, or before there are threads. anew: before a call that takes memory, as
 * libraries of ours map their own.
 */
void moca_exact_limits_begin(void);
int moca_exact_limits_syscall(struct context *c, long nr);
void moca_exact_limits_exec(int exec);
void moca_exact_limits_more(int64_t bytes);
void moca_exact_limits_anew(void);

/* --- syscall.c, dispatch.c --------------------------------------------------- */

/* The call at c->pc - 2, done as the program wants it. c->host: it goes on there. */
void moca_exact_do_syscall(struct context *c);
/* Have the program go on at pc. */
void moca_exact_go(struct context *c, uint64_t pc);
/* From entry.S: sets c->host. */
void moca_exact_dispatch(struct context *c, uint64_t kind);

#endif
