/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a process that ran before: to a memfd, and back to private memory.
 * Supervisor thread; trace_way.attach and detach.
 */
#ifndef MOCA_FAULT_ATTACHED_H
#define MOCA_FAULT_ATTACHED_H

#include "collect/fault/memory.h"

void attached_begin(struct recorder *rec, struct space *s, struct task *t);
void attached_end(struct recorder *rec);

#endif
