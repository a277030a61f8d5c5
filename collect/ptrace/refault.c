// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/refault.h"

#include <sys/syscall.h>

#include "collect/ptrace/tracee.h"

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

int refault(const struct task *t, const siginfo_t *info, struct tracee_regs *r)
{
	if (was_queued(info->si_signo, r))
		return 0;
	go_back(t, info->si_signo, info->si_code, r);
	return 1;
}
