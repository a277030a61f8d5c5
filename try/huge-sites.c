// SPDX-License-Identifier: GPL-2.0-or-later
/* Huge pages for the structures that findings name, and no others. */
#include "try/findings.h"

static void fill(const struct try_subject *s, const struct moca_finding *f,
		 const struct moca_wish *w, struct try_wish *want)
{
	want->huge = w->huge;
}

const char *try_huge_sites(const struct try_subject *s, struct try_made *out)
{
	out->title = "huge pages for what the findings name alone";
	return try_findings(s, out, 1u << MOCA_FINDING_HUGE_PAGES, fill);
}
