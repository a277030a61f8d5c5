/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that a program compiled while it ran, by the names that it gave. */
#ifndef MOCA_SYMBOLS_JIT_H
#define MOCA_SYMBOLS_JIT_H

#include <string.h>

#include "lib/format/jit.h"

/*
 * May such code lie in a mapping of that name? In anonymous memory, and in what some
 * compilers map twice; not in files, which have symbols.
 */
static inline int jit_may_lie_in(const char *mapping)
{
	return mapping[0] != '/' || !strncmp(mapping, "/memfd:", 7) ||
	       !strncmp(mapping, "/dev/zero", 9) ||
	       !strncmp(mapping, "/dev/shm/", 9);
}

/* Which name the address had at that time, and 1; 0: none. */
static inline uint32_t jit_find(const struct moca_jits *j, uint32_t pid,
				uint64_t addr, uint64_t time_ns)
{
	return j->count ? (uint32_t)(moca_jits_find(j, pid, addr, time_ns) + 1) :
			  0;
}

static inline const char *jit_name(const struct moca_jits *j, uint32_t found)
{
	return j->names + j->list[found - 1].name;
}

#endif
