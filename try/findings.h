/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changes that follow findings have in common. */
#ifndef MOCA_TRY_FINDINGS_H
#define MOCA_TRY_FINDINGS_H

#include "analysis/advice/wish.h"
#include "try/list.h"

/*
 * Call `fill` of each finding of these kinds (bits) that a plan can follow, with
 * what it wants; where it wants something, the structure is added to the plan. NULL,
 * or why the plan is empty; out->kinds has the kinds of which there were some.
 */
const char *try_findings(const struct try_subject *s, struct try_made *out,
			 uint32_t kinds,
			 void (*fill)(const struct try_subject *s,
				      const struct moca_finding *f,
				      const struct moca_wish *w,
				      struct try_wish *want));

#endif
