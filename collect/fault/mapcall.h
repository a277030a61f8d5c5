/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that change mappings. Each is carried out here, on behalf of
 * the task that asked, while nothing else changes: our table of regions and
 * the kernel's mappings never disagree.
 */
#ifndef MOCA_FAULT_MAPCALL_H
#define MOCA_FAULT_MAPCALL_H

#include "collect/fault/memory.h"

/*
 * t is about to enter the system call in regs->reg_nr. Returns 1 when the
 * call was carried out (the task stands behind it), 0 when it is to go on by
 * itself, or -errno (-ESRCH: the task died).
 */
int mapcall_handle(struct recorder *rec, struct task *t,
		   const struct tracee_regs *regs);

/* 1 when system call nr is one that mapcall_handle wants to see. */
int mapcall_wanted(long nr);

#endif
