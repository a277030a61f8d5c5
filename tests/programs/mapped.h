/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What cases about mappings ask of them: what is there, what touching does. */
#ifndef MOCA_TESTS_MAPPED_H
#define MOCA_TESTS_MAPPED_H

#include "case.h"

#include <setjmp.h>
#include <signal.h>

static inline uint64_t sum(const void *p, size_t bytes)
{
	const volatile unsigned char *c = p;
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ c[i]) * 1099511628211u;
	return h;
}

static sigjmp_buf guard_jump;
static volatile uintptr_t guard_addr;

static inline void on_guard(int sig, siginfo_t *si, void *uc)
{
	guard_addr = (uintptr_t)si->si_addr;
	siglongjmp(guard_jump, si->si_code);
}

static inline void catch_faults(void)
{
	struct sigaction sa = { .sa_sigaction = on_guard,
				.sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	CHECK(sigaction(SIGBUS, &sa, NULL) == 0);
}

/* si_code of the fault that touching p causes, 0 for none. */
static inline int touch_faults(char *p, int write)
{
	int code = sigsetjmp(guard_jump, 1);

	if (code)
		return guard_addr == (uintptr_t)p ? code : -1;
	if (write)
		*(volatile char *)p = 1;
	else
		(void)*(volatile char *)p;
	return 0;
}

#endif
