// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/fatal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "collect/ptrace/pidns.h"
#include "collect/ptrace/refault.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/tracer-call.h"
#include "lib/base/proc.h"

#define BIT(sig) (1ull << ((sig) - 1))
/* What the kernel forces upon who faults. */
#define FORCED (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | \
		BIT(SIGTRAP) | BIT(SIGSYS))

int fatal_is_dropped(struct task *t, int sig)
{
	struct tracee_regs regs;
	siginfo_t info;
	char caught[64];

	if (sig > 64 || !(BIT(sig) & FORCED))
		return 0;
	/* Asked once: some programs fault on purpose, all the time. */
	if (!t->is_first)
		t->is_first = pidns_number(t->pid) == 1 ? 1 : -1;
	if (t->is_first < 0 ||
	    tracer_call(PTRACE_GETSIGINFO, t->tid, NULL, &info) ||
	    info.si_code <= 0 ||
	    (sig == SIGBUS && info.si_code == BUS_MCEERR_AO) ||
	    moca_proc_status(caught, sizeof(caught), t->tid, "SigCgt:") ||
	    strtoull(caught, NULL, 16) & BIT(sig) ||
	    tracee_get_regs(t, &regs) || !refault(t, &info, &regs))
		return 0;
	return !tracee_set_regs(t, &regs);
}
