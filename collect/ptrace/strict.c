// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/strict.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "collect/ptrace/supervisor.h"
#include "collect/ptrace/tasks.h"

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQ(v, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, yes, no)

long strict_enter(struct tracee_calls *c, struct stub_data *stub, int *err)
{
	const struct sock_filter code[] = {
		LOAD(arch),
		IF_EQ(MOCA_AUDIT_ARCH, 0, 5),
		LOAD(nr),
		IF_EQ(SYS_read, 4, 0),
		IF_EQ(SYS_write, 3, 0),
		IF_EQ(SYS_exit, 2, 0),
		IF_EQ(SYS_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | SECCOMP_STRICT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = (void *)(STUB_DATA + STUB_CALLS + sizeof(prog)),
	};
	char *there = (char *)stub->calls;

	memcpy(there, &prog, sizeof(prog));
	memcpy(there + sizeof(prog), code, sizeof(code));
	/*
	 * Such a task never executes a program: nobody sees that no_new_privs is
	 * set.
	 */
	tracee_call(c, err, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	if (*err)
		return 0;
	return tracee_call(c, err, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
			   STUB_DATA + STUB_CALLS, 0, 0, 0);
}

void strict_refuse(struct task *t, struct tracee_regs *regs)
{
	struct task *u;
	int alone = 1;

	for (u = tasks_next(NULL); u; u = tasks_next(u))
		alone &= u == t || u->pid != t->pid;
	/* Of several threads this one ends. */
	if (alone)
		kill(t->pid, SIGKILL);
	regs->reg_nr = alone ? -1 : SYS_exit;
	regs->reg_a0 = SIGKILL;
	tracee_set_regs(t, regs);
}
