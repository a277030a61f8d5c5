/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A place to make system calls from, in a program without our stub. */
#ifndef MOCA_PTRACE_VDSO_H
#define MOCA_PTRACE_VDSO_H

#include <stdint.h>
#include <sys/types.h>

/* The address of a syscall instruction in the task's vDSO, or 0. */
uint64_t vdso_syscall(pid_t tid);

#endif
