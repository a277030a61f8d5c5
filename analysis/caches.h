/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caches of the machine that a trace was recorded on. */
#ifndef MOCA_ANALYSIS_CACHES_H
#define MOCA_ANALYSIS_CACHES_H

#include <stdint.h>

#include <moca/machine.h>

/*
 * Bytes of all last-level caches together, by hwloc's XML in the trace; 0: not
 * known. m may be NULL. A process of its own reads it: ask once.
 */
uint64_t moca_last_level_caches(const struct moca_machine *m);

#endif
