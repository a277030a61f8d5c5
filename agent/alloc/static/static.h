/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The agent in a static program. Its thread-local storage is addressed by %gs,
 * which programs leave alone: its code is compiled as if by %fs, and the
 * assembler is given the other segment (Makefile).
 */
#ifndef MOCA_ALLOC_STATIC_H
#define MOCA_ALLOC_STATIC_H

#include <stdint.h>

#include "agent/alloc/detour.h"
#include "include/abi/static-agent.h"

#define MOCA_STATIC_KEYS 4
#define MOCA_STATIC_THREADS 1024	/* at a time; more are not recorded */
#define MOCA_STATIC_BLOCK 4096		/* bytes of each one's storage */

#pragma GCC visibility push(hidden)

extern struct moca_static_setup moca_static_setup;

/* entry.S */
long moca_static_call(long nr, long a, long b, long c, long d, long e, long f);
uint64_t moca_static_thread_pointer(void);	/* the program's: %fs base */
uint64_t moca_static_gs(void);			/* ours: %gs base */

/* libc.c */
extern void (*moca_static_forked[MOCA_STATIC_KEYS])(void);
/* The thread whose block is at %gs is no more. */
void moca_static_end_thread(void);

/*
 * thread.c. This thread's block is at %gs, unless that is wrong in its first
 * words; then this finds another. 0: there is none for it.
 */
int moca_static_thread(void);
int moca_static_threads_init(void);
extern char moca_static_blocks[MOCA_STATIC_THREADS][MOCA_STATIC_BLOCK];

#pragma GCC visibility pop

#endif
