/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Have a new program image load libmoca-alloc: its environment gets what the
 * loader and the library look for, between execve and the first instruction.
 * The library takes it out again before main (include/abi/alloc-events.h has the
 * fields). So it reaches programs whatever environment they were started with,
 * and only those that can load it.
 */
#ifndef MOCA_PTRACE_PRELOAD_H
#define MOCA_PTRACE_PRELOAD_H

#include "collect/ptrace/task.h"

#define PRELOAD_WHY_MAX 160

#define PRELOAD_STATIC 2

/*
 * t is at the end of execve, with the registers regs, of which rsp is changed.
 * 1: it will load the library; 0: it cannot, why says why; PRELOAD_STATIC: it
 * has no loader, see inject.h. -errno: it died.
 */
int preload_inject(const struct recorder *rec, struct task *t,
		   struct tracee_regs *regs, char why[PRELOAD_WHY_MAX]);

/* Has the program of tid no loader? */
int preload_is_static(pid_t tid);

/*
 * Only the library's settings, for a program that it was put into: rsp of its
 * registers is to become regs->reg_sp. 0 or -errno: as it was.
 */
int preload_configure(const struct recorder *rec, struct task *t,
		      struct tracee_regs *regs);

/*
 * What tells that the program at the end of execve, with this stack pointer,
 * has a sanitizer that does not go with a translator or a tracer; NULL: none.
 */
const char *preload_sanitizer(pid_t tid, uint64_t sp);

/*
 * t is about to limit the system calls of its program: the library shall make
 * none from now on. 1: there was one, which is silent now.
 */
int preload_silence(struct task *t);

#endif
