/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On which NUMA node a page is: asked of the kernel. On a machine with one node
 * nobody needs to ask.
 */
#ifndef MOCA_FAULT_NODES_H
#define MOCA_FAULT_NODES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/fault/region.h"
#include "collect/run/queue.h"

/* 1 when the machine has several nodes, or it is not known how many. */
int nodes_several(void);

/*
 * Of n pages (addresses / 4096) of a task, each node's number, or what is below
 * 0: not mapped there now, or not to be asked. Any thread.
 */
void nodes_of_task(pid_t tid, const uint64_t *pages, size_t n, int *nodes);

/*
 * The same of pages of a memfd (offsets / 4096), whether or not anybody has them
 * mapped. A page that does not exist is not made; the caller sees to it that
 * none goes meanwhile (mm->lock). Any thread.
 */
void nodes_of_memfd(int memfd, const uint64_t *pages, size_t n, int *nodes);

/*
 * The same of pages of a file that others may change at any time; below 0 also
 * before Linux 5.14, where they cannot be mapped in without the risk of a signal.
 */
void nodes_of_file(int fd, const uint64_t *pages, size_t n, int *nodes);

/* Where the pages of a task are that exist, as below. */
size_t nodes_of_extents(pid_t tid, const struct extent *extents, size_t n,
			struct placed **out);

/*
 * Where the pages of a region of the memfd are that exist, [extents]: runs of
 * pages on one node in *out, to be freed. How many; 0: none, or no memory.
 */
size_t nodes_of_region(int memfd, const struct region *r,
		       const struct extent *extents, size_t n,
		       struct placed **out);

#endif
