/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executable ranges of the program; under the lock. See translate.h, too. */
#ifndef MOCA_EXACT_MAPS_H
#define MOCA_EXACT_MAPS_H

#include <stdint.h>

#include "lib/base/maps.h"

struct context;

/* Calls each for all lines of /proc/self/maps. */
void moca_exact_maps(void (*each)(void *arg, const struct moca_maps_line *l),
		     void *arg);

/* Is it a mapping of a library of ours? By device and inode, not by name alone. */
int moca_exact_maps_ours(const struct moca_maps_line *l);

/*
 * fold.c: mappings and the counters that they share; these take the lock. mapped:
 * by mmap with arguments a; the address, which may be another now. used: by other
 * means.
 */
void moca_exact_fold_init(struct context *c);
uint64_t moca_exact_fold_mapped(struct context *c, uint64_t addr, uint64_t len,
				const uint64_t *a);
void moca_exact_fold_used(struct context *c, uint64_t addr, uint64_t len);

/* A call has changed what is mapped, or how, in [start, end). */
void moca_exact_code_gone(uint64_t start, uint64_t end);
/* cache.c: is this address one of a cache? */
int moca_exact_cache_has(uint64_t addr);

#endif
