// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/certificate.h"

#include <stdint.h>
#include <stdio.h>

#include "lib/format/meta.h"

struct moca_certificate certificate_after(const struct moca_certificate *k,
					  int failed)
{
	struct moca_certificate after = *k;

	if (failed)
		after.pages_seen = after.pages_touched = after.pages_other =
			after.pages_blind = 0;
	return after;
}

void certificate_describe(const struct moca_certificate *k,
			  struct moca_meta *m)
{
	moca_meta_set(m, "certificate.pages_seen", "%lu", k->pages_seen);
	moca_meta_set(m, "certificate.pages_touched", "%lu", k->pages_touched);
	moca_meta_set(m, "certificate.pages_other", "%lu", k->pages_other);
	moca_meta_set(m, "certificate.records", "%lu", k->records);
	moca_meta_set(m, "certificate.lost", "%lu", k->lost);
	moca_meta_set(m, "certificate.chunks", "%lu", k->chunks);
	moca_meta_set(m, "certificate.lossy_chunks", "%lu", k->lossy_chunks);
}

/* In hundredths of a percent, rounded down: 99.996 % is not 100. */
static unsigned long hundredths(uint64_t part, uint64_t whole)
{
	return (unsigned long)((unsigned __int128)part * 10000 / whole);
}

/* Of pages that page tables have: with a record, and all. */
#define ELSEWHERE "%lu of %lu elsewhere (files, shared memory, stacks, huge pages)"

const char *certificate_sentence(const struct moca_certificate *k,
				 const char *why, char *buf, size_t size)
{
	uint64_t outside = k->pages_other + k->pages_blind;
	uint64_t seen = k->pages_seen + k->pages_other;
	uint64_t all = k->pages_touched + outside;
	unsigned long p;

	if (!k->pages_touched && !k->pages_other && !k->pages_blind) {
		snprintf(buf, size, "nothing can be certified (%s)", why ? why :
			 "no page was touched while it was recorded");
	} else if (!k->pages_touched) {
		snprintf(buf, size, "nothing can be certified of its own "
			 "memory (%s); %lu of %lu pages in its page "
			 "tables seen", why ? why :
			 "none was touched", k->pages_other, outside);
	} else if (!k->pages_seen && !k->records) {
		snprintf(buf, size, "nothing can be certified (of %lu touched "
			 "pages none was reported: the kernel tells nothing "
			 "of a program that has gained rights, or whose file "
			 "may not be read)", k->pages_touched);
	} else if (k->pages_blind) {
		p = hundredths(seen, all);
		snprintf(buf, size, "%lu of %lu touched pages of its own "
			 "memory seen, " ELSEWHERE ": %lu of %lu in all "
			 "(%lu.%02lu %%)", k->pages_seen, k->pages_touched,
			 k->pages_other, outside, seen, all, p / 100, p % 100);
	} else {
		p = hundredths(k->pages_seen, k->pages_touched);
		snprintf(buf, size, "%lu of %lu touched pages seen "
			 "(%lu.%02lu %%)", k->pages_seen, k->pages_touched,
			 p / 100, p % 100);
	}
	return buf;
}
