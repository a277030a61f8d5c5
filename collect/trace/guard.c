// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

/* Where this thread goes on; NULL: it is not in a guarded call. */
static __thread sigjmp_buf *volatile escape;

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	/* One that somebody sent is not ours to swallow. */
	if (escape && info->si_code > 0)
		siglongjmp(*escape, 1);
	signal(sig, SIG_DFL);
	if (info->si_code <= 0)
		raise(sig);
}

int tracer_guard_install(void)
{
	/* NODEFER: the jump out leaves the mask as it is, without a call. */
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_NODEFER };

	sa.sa_sigaction = on_sigbus;
	sigemptyset(&sa.sa_mask);
	return sigaction(SIGBUS, &sa, NULL) ? -errno : 0;
}

int tracer_guard(void (*fn)(void *arg), void *arg)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0)) {
		escape = NULL;
		return -EFAULT;
	}
	escape = &here;
	fn(arg);
	escape = NULL;
	return 0;
}
