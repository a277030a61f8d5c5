/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory for whoever asks while the real allocator is being looked up: dlsym
 * itself, in the first thread. Zeroed; never given back.
 */
#ifndef MOCA_AGENT_ALLOC_EARLY_H
#define MOCA_AGENT_ALLOC_EARLY_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define ALLOC_EARLY_SIZE 65536
extern char alloc_early_memory[ALLOC_EARLY_SIZE];

/* NULL: used up. align: a power of two, at most a page. */
void *alloc_early(size_t size, size_t align);
void *alloc_early_resize(void *old, size_t size);
size_t alloc_early_size(const void *p);

static inline int alloc_is_early(const void *p)
{
	return (uint64_t)p - (uint64_t)alloc_early_memory < ALLOC_EARLY_SIZE;
}

#pragma GCC visibility pop

#endif
