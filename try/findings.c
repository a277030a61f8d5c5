// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/findings.h"

#include <errno.h>
#include <math.h>

const char *try_findings(const struct try_subject *s, struct try_made *out,
			 uint32_t kinds,
			 void (*fill)(const struct try_subject *s,
				      const struct moca_finding *f,
				      const struct moca_wish *w,
				      struct try_wish *want))
{
	const char *why = "the trace has no finding of that kind";
	const struct moca_finding *f;
	double predicted = 0;
	size_t i;
	int err;

	for (i = 0; i < s->advice->count; i++) {
		struct moca_wish w = { 0 };
		struct try_wish want = { 0 };
		const char *not_so;

		f = &s->advice->findings[i];
		if (!(kinds >> f->kind & 1) || !f->object)
			continue;
		out->kinds |= 1u << f->kind;
		not_so = moca_wish_nameless(f->object->object);
		if (!not_so)
			not_so = moca_wish_add(&w, f);
		if (not_so) {
			why = not_so;
			continue;
		}
		fill(s, f, &w, &want);
		if (!want.huge && !want.prefault && !want.interleave &&
		    !want.pad && !want.bind) {
			why = "nothing says that it would help";
			continue;
		}
		err = try_plan_add(&out->plan, f->object->object, &want);
		if (err == -ENOENT)
			why = "its name has characters that a plan cannot have";
		else if (err)
			out->err = err;
		else if (!isnan(f->seconds))
			predicted += f->gain;
	}
	if (predicted > 0)
		out->predicted = predicted < 1 ? predicted : 1;
	return out->plan.count ? NULL : why;
}
