/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Static programs: the agent that others preload is put into them at exec, and
 * their allocators, found in .symtab, will lead to it.
 */
#ifndef MOCA_PTRACE_INJECT_H
#define MOCA_PTRACE_INJECT_H

#include "collect/ptrace/tracee.h"

/*
 * At the end of an execve, in a stretch of calls: have this static program
 * begin with the agent. why: "", or why allocations of the program's will not
 * be seen, all or some. 1: it will; 0: it cannot; -errno of the tracing itself.
 */
int moca_inject_static(struct recorder *rec, struct tracee_calls *c, char *why,
		       size_t size);

#endif
