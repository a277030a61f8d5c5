// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A fault leaves the program counter at its instruction. At the stop for a signal the
 * kernel has forgotten the call that the task comes from: the instruction before tells.
 */
#include "collect/ptrace/refault.h"

#include <string.h>
#include <sys/syscall.h>

#include "collect/ptrace/tracee.h"

/* No address of a program's: who goes on here gets SIGSEGV. */
#define NOWHERE (-4ull)
/* SYS_SECCOMP of the kernel's asm/siginfo.h, which goes together with no signal.h. */
#define BY_FILTER 1

static int is_behind_call(const struct task *t, const struct tracee_regs *r)
{
	static const uint8_t call[] = REGS_CALL_CODE;
	uint8_t code[sizeof(call)];

	return tracee_read(t->tid, r->reg_ip - sizeof(code), code,
			   sizeof(code)) == sizeof(code) &&
	       !memcmp(code, call, sizeof(call));
}

/* Of memory: loads and stores, those of SVE, and what is done to caches. */
static int is_of_memory(uint32_t insn)
{
	return (insn & 0x0a000000) == 0x08000000 ||
	       (insn & 0x9e000000) == 0x84000000 ||
	       (insn & 0xfffff000) == 0xd50b7000;
}

/* Can the instruction at which it stands be what faulted, as info says? */
static int faults_here(const struct task *t, const siginfo_t *info,
		       const struct tracee_regs *r)
{
	uint32_t insn;

	/* Of what cannot be carried out, and of what cannot be fetched. */
	if ((uint64_t)info->si_addr == r->reg_ip)
		return 1;
	return (info->si_signo == SIGSEGV || info->si_signo == SIGBUS) &&
	       tracee_read(t->tid, r->reg_ip, &insn, sizeof(insn)) ==
		       sizeof(insn) &&
	       is_of_memory(insn);
}

int refault(const struct task *t, const siginfo_t *info, struct tracee_regs *r)
{
	/* A handler's frame had no room. */
	if (info->si_signo == SIGSEGV && info->si_code == SI_KERNEL) {
		r->reg_ip = NOWHERE;
		return 1;
	}
	if (r->is_32bit || !is_behind_call(t, r))
		return info->si_signo != SIGSYS;
	/* A filter's answer to the call; a frame that rt_sigreturn cannot read. */
	if (info->si_signo == SIGSYS ? info->si_code == BY_FILTER :
	    info->si_signo == SIGSEGV && r->reg_call == SYS_rt_sigreturn &&
		    (uint64_t)info->si_addr == r->reg_sp) {
		regs_rewind(r, (long)r->reg_call);
		return 1;
	}
	return info->si_signo != SIGSYS && faults_here(t, info, r);
}
