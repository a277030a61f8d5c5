/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sorted table that unwinders look functions up in (.eh_frame_hdr). Static
 * programs have the descriptions, but mostly not the table.
 */
#ifndef MOCA_PTRACE_FRAMES_H
#define MOCA_PTRACE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes one for the .eh_frame section of len bytes that is at address addr, to
 * be put at address to. Returns a malloc'd table and its size in *size; NULL
 * with errno: EINVAL: the section is broken, or of a sort that compilers for
 * x86-64 do not make; ERANGE: to is too far away.
 */
void *moca_frames_table(const uint8_t *section, size_t len, uint64_t addr,
			uint64_t to, size_t *size);

#endif
