// SPDX-License-Identifier: GPL-2.0-or-later
/* Each look told as many pages as it says; what was written was touched. */
#include <inttypes.h>

#include "analysis/check/rules.h"
#include "analysis/heat.h"

void heat_event(struct meaning *m, const struct moca_timeline_item *i)
{
	struct moca_heat_run r;
	int ret = moca_heat_run(&r, i->event);
	uint64_t touched, hot = m->hot;

	if (ret < 0)
		meaning_wrong_anyway(m, RULE_HEAT, "heat, event %" PRIu64 ": its "
				     "pages or times are none", meaning_number(m, i));
	for (size_t p = 0; ret > 0 && p < r.pages; p++) {
		m->hot += (uint64_t)moca_heat_touched(&r, p);
		if (moca_heat_written(&r, p) && !moca_heat_touched(&r, p))
			meaning_wrong_anyway(m, RULE_HEAT, "heat, event %" PRIu64
				": the page at 0x%" PRIx64 " was written, but not "
				"touched", meaning_number(m, i),
				r.addr + p * 4096);
	}
	if (!moca_heat_look_end(i->event, &touched))
		return;
	if (touched != hot && !i->event->lost)
		meaning_wrong_anyway(m, RULE_HEAT, "heat, event %" PRIu64
				     ": a look has %" PRIu64 " pages, but %" PRIu64
				     " are told", meaning_number(m, i), touched, hot);
	m->hot = 0;
}
