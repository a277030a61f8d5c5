// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/sharing.h"

#include <string.h>

#define LEAST 10	/* one part of so many makes the object so */

enum moca_sharing moca_sharing_of(unsigned users, unsigned writers)
{
	if (users < 2)
		return MOCA_SHARING_PRIVATE;
	return !writers ? MOCA_SHARING_READ :
	       writers == 1 ? MOCA_SHARING_ONE_WRITER : MOCA_SHARING_WRITE;
}

void moca_sharing_add(struct moca_sharing_sums *s, enum moca_sharing of,
		      uint64_t accesses)
{
	s->pages[of]++;
	s->accesses[of] += accesses;
}

void moca_sharing_rest(struct moca_sharing_sums *s, uint64_t accesses)
{
	unsigned i;

	for (i = MOCA_SHARING_PRIVATE + 1; i < MOCA_SHARINGS; i++)
		accesses -= s->accesses[i] < accesses ? s->accesses[i] :
							accesses;
	s->accesses[MOCA_SHARING_PRIVATE] = accesses;
}

static int has_part(const uint64_t of[MOCA_SHARINGS], unsigned i)
{
	uint64_t sum = 0;
	unsigned k;

	for (k = 0; k < MOCA_SHARINGS; k++)
		sum += of[k];
	return of[i] && of[i] >= sum / LEAST + (sum % LEAST != 0);
}

enum moca_sharing moca_sharing_sum(const struct moca_sharing_sums *s,
				   uint64_t users, int one)
{
	uint64_t pages = 0;
	unsigned i;

	for (i = MOCA_SHARINGS; --i;)
		if (has_part(s->pages, i) || has_part(s->accesses, i))
			return (enum moca_sharing)i;
	for (i = 0; i < MOCA_SHARINGS; i++)
		pages += s->pages[i];
	for (i = MOCA_SHARINGS; one && users > pages && --i;)
		if (s->pages[i])
			return (enum moca_sharing)i;
	return MOCA_SHARING_PRIVATE;
}

const char *moca_sharing_name(enum moca_sharing s)
{
	static const char *const names[MOCA_SHARINGS] = {
		"private", "shared read", "one writer", "shared write",
	};

	return (unsigned)s < MOCA_SHARINGS ? names[s] : "private";
}

int moca_sharing_writes_known(const struct moca_trace *t)
{
	const char *via = moca_trace_meta(t, "via");

	return !via || strcmp(via, "kernel") != 0;
}
