/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The distinct values of an array, and each element's place among them. */
#ifndef MOCA_FORMAT_DISTINCT_H
#define MOCA_FORMAT_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/format/chunk.h"

struct moca_distinct {
	size_t count;
	uint64_t list[MOCA_CHUNK_RECORDS_MAX];
	uint32_t index[MOCA_CHUNK_RECORDS_MAX];	/* keys[i] == list[index[i]] */
	/* scratch */
	uint32_t table[2 * MOCA_CHUNK_RECORDS_MAX];
	uint64_t key2[MOCA_CHUNK_RECORDS_MAX];
	uint32_t order[2][MOCA_CHUNK_RECORDS_MAX];
};

/* Fill list in order of first appearance. n <= MOCA_CHUNK_RECORDS_MAX. */
void moca_distinct_find(struct moca_distinct *d, const uint64_t *keys,
			size_t n);
/* Then bring list into ascending order; n as before. */
void moca_distinct_sort(struct moca_distinct *d, size_t n);

#endif
