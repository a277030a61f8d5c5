/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mapping, as perf script prints PERF_RECORD_MMAP and MMAP2. */
#ifndef MOCA_IMPORT_PERF_MAP_H
#define MOCA_IMPORT_PERF_MAP_H

#include <moca/types.h>

/*
 * text: what follows the record's name. Of *map all is set but type, time and
 * parent; its name points into text. 0; 1: it is the kernel's; -EINVAL.
 */
int perf_map_parse(const char *text, struct moca_change *map, uint32_t *pid,
		   uint32_t *tid);

#endif
