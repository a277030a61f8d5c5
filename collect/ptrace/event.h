/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a traced task does, for the trace. Supervisor thread. */
#ifndef MOCA_PTRACE_EVENT_H
#define MOCA_PTRACE_EVENT_H

#include <stdint.h>

#include <moca/types.h>

#include "collect/ptrace/task.h"

struct moca_identity;

/* Record an event of a task. A mapping is of private memory. */
void task_event(struct recorder *rec, struct task *t, enum moca_change_type type,
	      uint64_t addr, uint64_t len, uint64_t offset, uint32_t prot,
	      uint32_t flags, const char *name);
/* A gap: from here on the mappings of t's process are not told, and why. */
void task_event_unmapped(struct recorder *rec, struct task *t, const char *why);
/* The same of a mapping; of NULL: private memory. */
void task_event_map(struct recorder *rec, struct task *t, uint64_t addr,
		  uint64_t len, uint64_t offset, uint32_t prot, uint32_t flags,
		  const char *name, const struct moca_identity *of);

#endif
