// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/format/quota.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/*
 * What no part tells: metadata, the machine, names of events, samples of rates,
 * and what is written at the end.
 */
#define REST_BYTES 16384u

struct moca_quota {
	uint64_t limit;
	_Atomic uint64_t used[MOCA_QUOTA_PARTS];
};

struct moca_quota *moca_quota_new(uint64_t limit_bytes)
{
	struct moca_quota *q = mmap(NULL, sizeof(*q), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (q == MAP_FAILED)
		return NULL;
	q->limit = limit_bytes - (limit_bytes / 8 < REST_BYTES ?
				  limit_bytes / 8 : REST_BYTES);
	return q;
}

void moca_quota_set(struct moca_quota *q, enum moca_quota_part part,
		    uint64_t bytes)
{
	if (q)
		atomic_store(&q->used[part], bytes);
}

int moca_quota_full(const struct moca_quota *q, uint64_t more_bytes)
{
	uint64_t sum = more_bytes;

	if (!q)
		return 0;
	for (int i = 0; i < MOCA_QUOTA_PARTS; i++)
		sum += atomic_load(&q->used[i]);
	return sum > q->limit;
}
