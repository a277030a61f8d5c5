// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: no-exec new|text CMD [ARG...]
 * Runs CMD where memory that was written must not become executable: any
 * (new), or that of a program at fixed addresses (text).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)

int main(int argc, char **argv)
{
	int text = argc > 2 && !strcmp(argv[1], "text");
	/* mprotect(PROT_EXEC); text: of what is at 4 to 16 MiB. */
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 8),
		LOAD(ARG(2)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, text ? 0 : 5, 6),
		LOAD(ARG(0) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4),
		LOAD(ARG(0)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1 << 24, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1 << 22, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (argc < 3)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("no-exec: seccomp");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
