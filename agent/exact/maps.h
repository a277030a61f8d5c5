/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executable ranges of the program; under the lock. See translate.h, too. */
#ifndef MOCA_EXACT_MAPS_H
#define MOCA_EXACT_MAPS_H

#include <stdint.h>

/* A call has changed what is mapped, or how, in [start, end). */
void moca_exact_code_gone(uint64_t start, uint64_t end);
/* Was code found there? */
int moca_exact_has_code(uint64_t start, uint64_t end);
/* cache.c: is this address one of a cache? */
int moca_exact_cache_has(uint64_t addr);

#endif
