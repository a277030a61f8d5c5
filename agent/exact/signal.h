/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals of a translated program: what signal*.c and sigreturn.S share, and the
 * kernel's structures, whose layouts are its ABI.
 */
#ifndef MOCA_EXACT_SIGNAL_H
#define MOCA_EXACT_SIGNAL_H

#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <asm/unistd.h>
#include <linux/errno.h>

#include "agent/exact/translator.h"

#define SIGNALS 64
#define SIGBIT(sig) (1ull << ((sig) - 1))
/* Those that an instruction can cause. */
#define SIGS_FAULT (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGFPE) | \
		    SIGBIT(SIGILL) | SIGBIT(SIGTRAP))
#define SIGS_NEVER (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))

#define FLAG_TF 0x100ull
#define FLAG_DF 0x400ull
#define FLAG_RF 0x10000ull
#define FLAG_AC 0x40000ull

/* Where a thread's signal stack and the rest are, from its slot's begin. */
#define SIGNAL_STACK (MOCA_EXACT_CONTEXT + (2ull << 20))
#define SIGNAL_STACK_SIZE (128ull << 10)
#define SIGNAL_SCRATCH (SIGNAL_STACK + SIGNAL_STACK_SIZE)
#define SIGNAL_HAND (SIGNAL_SCRATCH + 4096)

struct ksigaction {
	uint64_t handler, flags, restorer, mask;
};

struct kstack {
	uint64_t sp;
	int32_t flags;
	uint32_t pad;
	uint64_t size;
};

struct ksiginfo {
	int32_t signo, error, code, pad;
	uint64_t addr;		/* of a fault; SIGSYS: of the call */
	uint64_t rest[13];
};

struct kucontext {
	uint64_t flags, link;
	struct kstack stack;
	struct sigcontext_64 mc;
	uint64_t sigmask;
};

struct kframe {
	uint64_t restorer;
	struct kucontext uc;
	struct ksiginfo info;
};

_Static_assert(sizeof(struct ksigaction) == 32, "");
_Static_assert(sizeof(struct kstack) == 24, "");
_Static_assert(sizeof(struct ksiginfo) == 128, "");
_Static_assert(sizeof(struct sigcontext_64) == 256, "");
_Static_assert(sizeof(struct kucontext) == 304, "");
_Static_assert(sizeof(struct kframe) == 440, "");

/* What the program has set; lock: with all signals blocked. */
struct sighand {
	uint32_t lock;
	struct ksigaction action[SIGNALS];	/* of signal - 1 */
};
_Static_assert(sizeof(struct sighand) <= 4096, "");

/* --- sigreturn.S --- */
void moca_exact_signal_restorer(void);
/* rt_sigreturn from this: does not come back. */
void moca_exact_sigreturn(struct kucontext *uc) __attribute__((noreturn));
/* Calls f, which does not return, on the stack that ends at top. */
void moca_exact_on_stack(void *top, void (*f)(void *), void *arg)
	__attribute__((noreturn));

/* --- signal.c --- */
void moca_exact_signal_entry(int sig, struct ksiginfo *info,
			     struct kucontext *uc);
/* To the queue, from ours, with all signals blocked. */
void moca_exact_signal_push(struct context *c, const struct ksiginfo *info,
			    int forced);
/* The kernel keeps it, or does with it what it does by default. */
void moca_exact_signal_again(const struct ksiginfo *info);
/* All that wait, and SIGTRAP where it is held: the same. Signals are blocked. */
void moca_exact_signals_give_back(struct context *c);
/* The mask may have changed: is SIGTRAP no longer held? Signals are blocked. */
void moca_exact_signal_held(struct context *c);

/* --- signal-frame.c --- */
/* Bytes of what fpstate of a kernel's frame points to. */
size_t moca_exact_state_size(const struct _fpstate_64 *fp);
/* Whether the program's memory can be read or written; 0 or -EFAULT. */
long moca_exact_peek(void *to, uint64_t from, size_t n);
long moca_exact_poke(uint64_t to, const void *from, size_t n);
/*
 * Makes the program's frame for a signal that comes at pc, from the kernel's, uc,
 * and uc what the handler begins with; 0 or -EFAULT.
 */
long moca_exact_frame(struct context *c, const struct ksiginfo *info,
		      const struct ksigaction *action, struct kucontext *uc,
		      uint64_t pc);
void moca_exact_frame_return(struct context *c);

/* --- signal-mask.c --- */
/* The kernel's mask that goes with the state of c. */
uint64_t moca_exact_kernel_mask(const struct context *c);
void moca_exact_signals_block(void);
void moca_exact_signals_unblock(const struct context *c);
long moca_exact_sigprocmask(struct context *c);
long moca_exact_sigpending(struct context *c);
/* The kernel's alternate stack: ours. */
struct kstack moca_exact_own_stack(const struct context *c);
int moca_exact_on_altstack(const struct context *c, uint64_t sp);
long moca_exact_sigaltstack(struct context *c);
/* As rt_sigreturn sets it, with the stack pointer that it sets. */
void moca_exact_altstack_back(struct context *c, const struct kstack *stack,
			      uint64_t sp);

/* --- signal-action.c --- */
extern struct sighand moca_exact_sighand;
void moca_exact_sighand_init(void);
/* Sets the kernel's action for SIGTRAP, which is always ours. */
void moca_exact_sighand_trap(void);
/* A copy for a task that shares no actions with c. */
void moca_exact_sighand_copy(struct sighand *to, const struct sighand *from,
			     int clear);
long moca_exact_sigaction(struct context *c);
/* The action for a signal that is delivered now: SA_RESETHAND is done. */
struct ksigaction moca_exact_action_take(struct context *c, int sig);
/* The alternate stack that the program has set. */
struct kstack moca_exact_program_stack(const struct context *c);
/* Ends the process by this signal, as if its action were the default. */
void moca_exact_die_by(int sig) __attribute__((noreturn));

#endif
