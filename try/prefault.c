// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Large blocks and variables that are touched all over have their pages made at
 * once, in place of a fault at the first use of each; small pages or huge ones.
 */
#include <errno.h>
#include <stddef.h>

#include "analysis/profile/profile.h"
#include "try/list.h"

#define PAGE 4096ull
#define SITES_MAX 16		/* the largest: what else there is gains little */
#define BYTES_MIN (4ull << 20)	/* of all blocks: some thousand faults */
#define BLOCK_MIN (256ull << 10)
#define HUGE_MIN (4ull << 20)	/* has a whole huge page wherever it begins */
#define DENSE 0.8		/* of the pages of the largest block */

static int is_worth(const struct moca_object *o, uint64_t pages,
		    uint64_t block_min)
{
	return (o->kind == MOCA_OBJECT_HEAP || o->kind == MOCA_OBJECT_STATIC) &&
	       !o->section && o->instances &&
	       o->size >= block_min &&
	       (o->bytes > o->size ? o->bytes : o->size) >= BYTES_MIN &&
	       (o->kind == MOCA_OBJECT_STATIC ||
		o->bytes / o->instances >= block_min) &&
	       (double)pages * PAGE >= DENSE * (double)o->size;
}

static const char *make(const struct try_subject *s, struct try_made *out,
			uint64_t block_min, const struct try_wish *want)
{
	const struct moca_profile *p = s->profile;
	const char *why = "no named block or variable is large and used all over";
	size_t i;
	int err;

	for (i = 0; i < p->count && out->plan.count < SITES_MAX; i++) {
		const struct moca_profile_object *o = &p->rows[i];

		if (!o->data || !is_worth(o->object, o->pages, block_min))
			continue;
		err = try_plan_add(&out->plan, o->object, want);
		if (err && err != -ENOENT)
			out->err = err;
	}
	return out->plan.count ? NULL : why;
}

const char *try_prefault(const struct try_subject *s, struct try_made *out)
{
	const struct try_wish want = { .prefault = 1 };

	out->title = "pages of large structures are made at once when these are allocated";
	return make(s, out, BLOCK_MIN, &want);
}

const char *try_prefault_huge(const struct try_subject *s,
			      struct try_made *out)
{
	const struct try_wish want = { .prefault = 1, .huge = 1 };

	out->title = "large structures get huge pages, made at once when these are allocated";
	return make(s, out, HUGE_MIN, &want);
}
