// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/fault/witness.h"
#include "collect/ptrace/stub.h"
#include "collect/ptrace/supervisor.h"

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARG(n) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		 offsetof(struct seccomp_data, args) + 8 * (n))
#define RETURN(v) BPF_STMT(BPF_RET | BPF_K, v)
#define IF_EQ(v, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, yes, no)

/* Trace system call nr when its argument n has all of `value`. */
#define TRACE_IF(number, n, value) \
	IF_EQ(number, 0, 4), LOAD_ARG(n), IF_EQ(value, 0, 1), \
	RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS), RETURN(SECCOMP_RET_ALLOW)

/* The same when its argument n has any of these bits. */
#define TRACE_IF_ANY(number, n, bits) \
	IF_EQ(number, 0, 4), LOAD_ARG(n), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), \
	RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS), RETURN(SECCOMP_RET_ALLOW)

/*
 * The filter that asks us before memory changes. Numbers first: the kernel
 * remembers those that need no look at the arguments and skips the filter.
 */
int filter_install(const struct recorder *rec, const char **what)
{
	const struct sock_filter ours[] = {
		LOAD(arch),
		IF_EQ(AUDIT_ARCH_X86_64, 5, 0),
		/* Of 32-bit programs, only where their memory ends. */
		LOAD(nr),
		IF_EQ(EXIT_GROUP_32, 1, 0),
		IF_EQ(EXECVE_32, 0, 1),
		RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS),
		RETURN(SECCOMP_RET_ALLOW),
		LOAD(nr),
		IF_EQ(SYS_exit_group, 2, 0),
		IF_EQ(SYS_execve, 1, 0),
		IF_EQ(SYS_execveat, 0, 1),
		RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS),
		IF_EQ(STUB_NR_DONE, 0, 1),
		RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS),
		TRACE_IF(SYS_close, 0, (uint32_t)rec->fd_number),
		TRACE_IF(SYS_fcntl, 0, (uint32_t)rec->fd_number),
		TRACE_IF(SYS_dup2, 1, (uint32_t)rec->fd_number),
		TRACE_IF(SYS_dup3, 1, (uint32_t)rec->fd_number),
		/* debugger.h, child-tid.h */
		TRACE_IF_ANY(SYS_clone, 0, CLONE_UNTRACED | CLONE_CHILD_SETTID),
		TRACE_IF_ANY(SYS_wait4, 2, __WALL),
		IF_EQ(SYS_ptrace, 0, 1),
		RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS),
		IF_EQ(SYS_prctl, 0, 7),
		LOAD_ARG(0),
		IF_EQ(PR_SET_SECCOMP, 3, 0),
		IF_EQ(PR_SET_DUMPABLE, 2, 0),
		IF_EQ(PR_SET_NAME, 1, 0),
		IF_EQ(PR_SET_CHILD_SUBREAPER, 0, 1),
		RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS),
		RETURN(SECCOMP_RET_ALLOW),
		/* mprotect and pkey_mprotect to writable. */
		IF_EQ(SYS_mprotect, 1, 0),
		IF_EQ(SYS_pkey_mprotect, 0, 4),
		LOAD_ARG(2),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 1),
		BPF_JUMP(BPF_JMP | BPF_JA, 22, 0, 0),
		RETURN(SECCOMP_RET_ALLOW),
		IF_EQ(SYS_mbind, 20, 0),
		IF_EQ(SYS_move_pages, 19, 0),
		IF_EQ(SYS_migrate_pages, 18, 0),
		IF_EQ(SYS_shmat, 17, 0),
		IF_EQ(SYS_shmdt, 16, 0),
		IF_EQ(SYS_pkey_alloc, 15, 0),
		IF_EQ(SYS_mlock, 14, 0),
		IF_EQ(SYS_mlock2, 13, 0),
		IF_EQ(SYS_mlockall, 12, 0),
		IF_EQ(SYS_mmap, 11, 0),
		IF_EQ(SYS_munmap, 10, 0),
		IF_EQ(SYS_brk, 9, 0),
		IF_EQ(SYS_mremap, 8, 0),
		IF_EQ(SYS_madvise, 7, 0),
		IF_EQ(440 /* process_madvise */, 6, 0),
		IF_EQ(SYS_userfaultfd, 5, 0),
		IF_EQ(SYS_seccomp, 4, 0),
		IF_EQ(SYS_unshare, 3, 0),
		IF_EQ(SYS_setns, 2, 0),
		IF_EQ(SYS_close_range, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		/* Our own calls, from the stub, pass. */
		LOAD(instruction_pointer),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(STUB_CODE_SIZE - 1u)),
		IF_EQ(STUB_BASE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		IF_EQ(0, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_TRACE | SECCOMP_OURS),
	};
	struct sock_fprog prog = {
		.len = sizeof(ours) / sizeof(ours[0]),
		.filter = (struct sock_filter *)ours,
	};

	*what = "install the filter that watches the program's memory calls "
		"(seccomp)";
	if (!rec->privileged && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog))
		return -errno;
	return 0;
}
