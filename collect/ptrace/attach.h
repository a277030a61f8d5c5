/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recording a program that runs already, and leaving it as it was. */
#ifndef MOCA_PTRACE_ATTACH_H
#define MOCA_PTRACE_ATTACH_H

#include "collect/ptrace/task.h"

/* Seize all threads of pid and move its memory. 0 or -errno. */
int attach_begin(struct recorder *rec, pid_t pid);
/* Give the memory back and let all tasks go. */
void attach_end(struct recorder *rec);
/* A system call's entry or exit of a task without our filter: 1 at an exit,
 * where other calls may be run. */
int attach_syscall(struct recorder *rec, struct task *t);
/* The request that lets tasks go on: without filter, to the next call. */
int moca_attach_request(const struct recorder *rec);

/* A task of s, of process pid if it can be, that can run calls for us. NULL:
 * none. */
struct task *attach_pick(const struct space *s, pid_t pid);

#endif
