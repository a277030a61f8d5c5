// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile [--no-perf] CMD...: runs a command below a filter as container engines
 * install it, which refuses each system call that it does not know (ENOSYS), and is
 * asked before whatever the command installs. --no-perf: perf_event_open as well
 * (EPERM), as engines do by default.
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEWEST 1000 /* no call has a higher number */

int main(int argc, char **argv)
{
	int no_perf = argc > 1 && !strcmp(argv[1], "--no-perf");
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 no_perf ? SYS_perf_event_open : NEWEST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {
		.len = sizeof(code) / sizeof(*code), .filter = code,
	};

	argv += no_perf;
	if (argc < 2 + no_perf)
		errx(2, "usage: profile [--no-perf] CMD...");
	if ((geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog))
		err(2, "cannot install a filter");
	execvp(argv[1], argv + 1);
	err(2, "cannot execute %s", argv[1]);
}
