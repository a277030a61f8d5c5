/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the cases of signal.c and signal-frames.c share: system calls as the mode has
 * them, and a text of what a program sees, which must be the same in all modes.
 */
#ifndef TESTS_EXACT_SIGNAL_CASES_H
#define TESTS_EXACT_SIGNAL_CASES_H

#include <signal.h>
#include <stdint.h>
#include <sys/ucontext.h>

#include "signal-harness.h"

#define RESTORER 0x04000000ul
#define BIT(sig) (1ul << ((sig) - 1))

/* The kernel's structure. */
struct act {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

/* The last signal that show() was called for. */
struct last {
	int sig, code;
	uint64_t at_rip;
	greg_t regs[23];
	siginfo_t info;
	ucontext_t uc;
};
extern struct last last;
extern volatile int seen, depth;	/* by show(): calls; by handlers: within others */
extern int quiet;			/* show() only counts */
extern volatile int *volatile at_8;	/* an address where nothing is */

__attribute__((format(printf, 1, 2))) void out(const char *format, ...);
long act(int sig, void *handler, unsigned long flags, unsigned long mask);
unsigned long mask_now(void);
void set_mask(int how, unsigned long m);
long raise_it(int sig);
/* A handler: tells of the signal and of how it was called. */
void show(int sig, siginfo_t *info, void *context);
/* "", or that these tests do not test what they say. */
const char *steps(void);

/* signal-frames.c */
void do_frame(void);
void do_red_zone(void);
void do_growing(void);
void do_no_stack(void);
void do_no_stack_alt(void);
void do_no_restorer(void);
void do_altstack(void);
void do_return(void);
void do_bad_state(void);
void do_bad_frame(void);
void do_longjmp(void);

#endif
