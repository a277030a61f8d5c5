// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that is kept to the end, and not used in the second half. */
#include <math.h>

#include "analysis/advice/rules.h"

int rule_abandoned(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_profile *p = r->p;
	struct moca_finding *f;
	const char *name = name_text(r, o);

	const struct condition needed[] = {
		AT_LEAST("size of what is not used any more", PAGES,
			 o->idle_pages, 4 * PAGES_MIN),
		AT_LEAST("of all data, what is not used any more", SHARE,
			 (double)o->idle_pages / p->pages, 0.25),
		/* With a part that is still used it is hot and cold, not dead. */
		AT_LEAST("of its pages, what is not used any more", SHARE,
			 (double)o->idle_pages / o->pages, 0.99),
		AT_LEAST("seconds", NUMBER, moca_profile_seconds(p),
			 SECONDS_MIN),
	};

	if (o->object->kind != MOCA_OBJECT_HEAP || !o->idle_known ||
	    !CONDITIONS(r, MOCA_FINDING_ABANDONED, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_ABANDONED, o,
			GAIN_MIN * o->idle_pages / p->pages);
	if (!f)
		return 0;
	f->confidence = MOCA_CONFIDENCE_HIGH;
	f->after = NAN;
	finding_set(r, &f->title, "%s is not used any more after the first half, and kept to the end",
		    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%.0f MiB of it, %.0f %% of all data pages, are last used in the first half of the time",
		     o->idle_pages * 4096. / (1 << 20),
		     100. * o->idle_pages / p->pages);
	finding_set(r, &f->cause, "It lives to the end of the program.");
	finding_set(r, &f->fix, "Free %s when it has done its work.", name);
	try_free(r, f, name_in_code(r, o));
	return 1;
}
