/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's signals without its translator: programs run where they are, and
 * are said to be translated code, each instruction by itself. Their system
 * calls, by these functions, go the agent's way, or the kernel's own (native), which
 * is what the results are compared with.
 */
#ifndef TESTS_EXACT_SIGNAL_HARNESS_H
#define TESTS_EXACT_SIGNAL_HARNESS_H

#include <stdint.h>

enum mode {
	NATIVE,		/* the kernel's signals */
	DIRECT,		/* any instruction is a boundary */
	STEPPED,	/* one of seven is */
	MODES
};

extern enum mode mode;

long sys_native(long nr, long a, long b, long c, long d, long e, long f);
long sys_emulated(long nr, long a, long b, long c, long d, long e, long f);
extern const uint8_t native_after[], emulated_after[];
void restorer_native(void);
void restorer_emulated(void);

#define sys(nr, a, b, c, d, e, f) \
	(mode == NATIVE ? sys_native : sys_emulated)(nr, (long)(a), (long)(b), \
						     (long)(c), (long)(d), \
						     (long)(e), (long)(f))

/* From here on, in this process, as mode says. */
void harness_begin(void);
/* Steps and signals that the agent has seen. */
extern unsigned long harness_steps;

#endif
