/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The signals that a library of ours may block for a moment. A program that
 * steps through itself by the trap flag gets a SIGTRAP after each instruction,
 * in our code too: the kernel ends it when that signal is blocked.
 */
#ifndef MOCA_BLOCKABLE_H
#define MOCA_BLOCKABLE_H

#include <signal.h>
#include <stdint.h>

/* As of the kernel's rt_sigprocmask. */
static inline uint64_t moca_blockable(void)
{
#ifdef __x86_64__
	const uint64_t trap_flag = 0x100;

	if (__builtin_ia32_readeflags_u64() & trap_flag)
		return ~(1ull << (SIGTRAP - 1));
#endif
	return ~0ull;
}

#endif
