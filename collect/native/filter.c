// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory has one userfaultfd: where ours is, the program's own would be refused. So
 * the calls that make one stop at a filter, and ours goes first. No other call does:
 * once the recorder is gone nobody answers, and such a call does not exist then.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/native/inject.h"
#include "collect/ptrace/supervisor.h"

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)	/* of /dev/userfaultfd */
#endif

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define END(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define TRACE END(SECCOMP_RET_TRACE | SECCOMP_OURS)

int native_filter(const struct recorder *rec, const char **what)
{
	struct sock_filter code[] = {
		LOAD(arch),
		UNLESS(AUDIT_ARCH_X86_64, 7),
		LOAD(nr),
		UNLESS(SYS_userfaultfd, 1),
		TRACE,
		UNLESS(SYS_ioctl, 3),
		LOAD(args[1]),
		UNLESS(USERFAULTFD_IOC_NEW, 1),
		TRACE,
		END(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {
		.len = sizeof(code) / sizeof(*code), .filter = code,
	};

	*what = "install the filter that watches the program's calls of "
		"userfaultfd (seccomp)";
	if (!rec->privileged && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog) ? -errno : 0;
}
