/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writable segments of ELF objects, as a loader maps them. Nobody can change
 * the file of a running library without breaking the program, so a copy of
 * such a segment is as good as the mapping itself. Of other private mappings
 * that is not so: the kernel shows later changes of the file in pages that
 * were not written yet.
 */
#ifndef MOCA_FAULT_SEGMENT_H
#define MOCA_FAULT_SEGMENT_H

#include <stdint.h>

#include "collect/ptrace/maps.h"

/*
 * Is [offset, offset + len) of file fd, which becomes mapped, a whole writable
 * segment by the file's program headers? 1 or 0. Page aligned, in bytes.
 */
int segment_is(int fd, uint64_t offset, uint64_t len);

/*
 * Is mapping i of the list, found in a running program, (a part of) a writable
 * segment of an object whose code is mapped where the same headers put it?
 */
int segment_is_loaded(const struct vma_list *l, size_t i);

#endif
