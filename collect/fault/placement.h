/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's own calls about where its pages are (move_pages, migrate_pages,
 * mbind). They look at page-table entries, which we throw away: the pages that
 * exist get theirs back first. Supervisor thread, mm->lock held.
 */
#ifndef MOCA_FAULT_PLACEMENT_H
#define MOCA_FAULT_PLACEMENT_H

#include "collect/fault/memory.h"
#include "collect/ptrace/tracee.h"

/* Make the pages that exist in [start, end) present. 0, or -errno of tracing. */
int placement_show(struct mm *mm, struct tracee_calls *c, uint64_t start,
		   uint64_t end);
/* The same of n pages, whose addresses are at `list` in the program. */
int placement_show_pages(struct mm *mm, struct tracee_calls *c, uint64_t list,
			 uint64_t n);
/*
 * [start, end) is about to be unmapped: the memfd would keep its policy for
 * what is mapped there later.
 */
int placement_forget(struct mm *mm, struct tracee_calls *c, uint64_t start,
		     uint64_t end);

#endif
