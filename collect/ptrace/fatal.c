// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/fatal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collect/ptrace/pidns.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/tracer-call.h"
#include "lib/base/proc.h"

#define BIT(sig) (1ull << ((sig) - 1))
/* What the kernel forces upon who faults. */
#define FORCED (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | \
		BIT(SIGTRAP) | BIT(SIGSYS))
#define SYSCALL_LEN 2
#define INT3 0xcc
#define HLT 0xf4
/* No address: who goes on here gets SIGSEGV. */
#define NOWHERE (1ull << 63)

static uint8_t byte_at(const struct task *t, uint64_t addr)
{
	uint8_t byte = 0;

	tracee_read(t->tid, addr, &byte, 1);
	return byte;
}

/* Back to what faulted; what cannot be had again is a fault elsewhere. */
static void go_back(const struct task *t, int sig, int code,
		    struct user_regs_struct *r)
{
	const int in_call = sig == SIGSYS || (long)r->orig_rax == SYS_rt_sigreturn;

	if (in_call && (long)r->orig_rax >= 0) {
		r->rip -= SYSCALL_LEN;
		r->rax = r->orig_rax;
	} else if (sig == SIGTRAP && byte_at(t, r->rip - 1) == INT3) {
		r->rip--;
	} else if (sig == SIGSEGV && code == SI_KERNEL &&
		   byte_at(t, r->rip) != HLT) {
		/* Also when a handler's frame had no room, anywhere. */
		r->rip = NOWHERE;
	}
	r->orig_rax = -1;
}

/* Sent in a call of its own, with a code of the kernel's, and not forced. */
static int was_queued(int sig, const struct user_regs_struct *r)
{
	const long nr = (long)r->orig_rax;

	return nr >= 0 && nr != SYS_rt_sigreturn &&
	       (sig != SIGSYS || nr == SYS_rt_sigqueueinfo ||
		nr == SYS_rt_tgsigqueueinfo || nr == SYS_pidfd_send_signal);
}

int fatal_is_dropped(struct task *t, int sig)
{
	struct user_regs_struct regs;
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
	    tracee_get_regs(t, &regs) || was_queued(sig, &regs))
		return 0;
	go_back(t, sig, info.si_code, &regs);
	return !tracee_set_regs(t, &regs);
}
