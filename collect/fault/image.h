/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new program image, or a copy of one: its memory goes to a memfd. Supervisor
 * thread; the members of struct trace_way of these names. */
#ifndef MOCA_FAULT_IMAGE_H
#define MOCA_FAULT_IMAGE_H

#include "collect/fault/memory.h"

struct tracee_calls;

/*
 * Gives a process that has neither its memfd and stub, and moves its memory, by
 * calls that its stopped task runs at insn, a syscall instruction. 0 or -errno.
 */
int image_take_over(struct recorder *rec, struct mm *mm,
		    struct tracee_calls *c, uint64_t insn);

int image_after_exec(struct recorder *rec, struct task *t, const char *path);
void image_after_fork(struct recorder *rec, struct task *t, struct task *child);

#endif
