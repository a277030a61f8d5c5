/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Physical addresses and NUMA nodes of pages of a running process. */
#ifndef MOCA_FAULT_PHYS_H
#define MOCA_FAULT_PHYS_H

#include <stddef.h>
#include <sys/types.h>

#include <moca/types.h>

struct phys;

struct phys *phys_new(void);
void phys_free(struct phys *p);

/* 1 when this user may see physical addresses (CAP_SYS_ADMIN). */
int phys_addresses(const struct phys *p);
/* 1 when nodes can be told (always, on a machine with one). */
int phys_nodes(const struct phys *p);

/* Fill in phys and node of n accesses of process pid, as far as possible. */
void phys_fill(struct phys *p, pid_t pid, struct moca_access *recs, size_t n);

#endif
