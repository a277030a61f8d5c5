/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that go on natively: nothing is counted of them any more. The program
 * runs as it would; the trace says from when on, of which thread, and why.
 */
#ifndef MOCA_EXACT_NATIVE_H
#define MOCA_EXACT_NATIVE_H

#include "agent/exact/translator.h"

struct ksiginfo;
struct kucontext;

/*
 * native.c: tells that c's thread goes on natively at pc, and why; once of each
 * thread. Makes system calls and takes the lock.
 */
void moca_exact_tell_native(struct context *c, enum moca_exact_gap gap,
			    uint64_t pc, const char *why);

/*
 * retreat.c: a call of c takes away memory that all threads count in. Before it is
 * made, all threads go on natively; this waits until no other thread needs Moca's
 * memory. The caller then begins the call again. 0: thread c makes the call
 * natively; 1: a signal or another thread's retreat comes first; -ENOMEM: there is no
 * room for what threads go on with, and nothing has changed.
 */
int moca_exact_retreat(struct context *c);
/* Does another thread count in the same memory? */
int moca_exact_retreat_is_needed(const struct context *c);
/* Is it the signal by which a retreat asks a thread? */
int moca_exact_retreat_asks(const struct ksiginfo *info);
/*
 * In its handler: it was asked, in the state of uc. 1: this is to wait until the
 * program is between two instructions, as a signal does.
 */
int moca_exact_retreat_asked(struct context *c, struct kucontext *uc);
/* The program is there, its registers in uc, its rip is pc. Does not return. */
void moca_exact_retreat_now(struct context *c, struct kucontext *uc,
			    uint64_t pc) __attribute__((noreturn));
/*
 * May a task begin in slot s, that was taken before this call? Not where a retreat
 * is under way, with little address space, that has nothing for it to go on with.
 */
int moca_exact_retreat_has_room(const struct moca_exact_slot *s);
/* Will such a retreat ask c's thread? It asks no child of vfork. */
int moca_exact_retreat_will_ask(const struct context *c);
/* In the child of a fork: none is under way. */
void moca_exact_retreat_forked(void);

#endif
