/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private writable mappings of files are copied to the memfd. When the
 * program discards their pages (MADV_DONTNEED) it wants to see the file again.
 */
#ifndef MOCA_FAULT_FILECOPY_H
#define MOCA_FAULT_FILECOPY_H

#include "collect/fault/memory.h"

/*
 * Remember what [start, end) is a copy of: the file at path, or, when it has
 * no name any more, process pid's descriptor remote (-1: none). 0 or -errno.
 */
int filecopy_add(struct mm *mm, uint64_t start, uint64_t end, uint64_t offset,
		 const char *path, pid_t pid, int remote);
/* The child of a fork has the same copies. */
int filecopy_inherit(struct mm *mm, const struct mm *parent);
/*
 * Fill [start, end) of the memfd, just emptied, from the files it is a copy
 * of; what is the program's own again (unmove.c) by task tid, emptied or not. 0, or
 * -errno when a file is not there any more: the program's pages are then lost.
 */
int filecopy_refill(struct mm *mm, pid_t tid, uint64_t start, uint64_t end);
/* 1 when every file behind [start, end) can still be read. */
int filecopy_can_refill(struct mm *mm, uint64_t start, uint64_t end);
/* Is r a copy that is not on the memfd any more? */
static inline int filecopy_is_own(const struct region *r)
{
	return r->kind == REGION_PRIVATE && r->flags & REGION_FILE_COPY;
}
void filecopy_free(struct mm *mm);

#endif
