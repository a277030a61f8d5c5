// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/comparison.h"

void comparison_json(struct json *j, const struct comparison *c,
		     const struct comparison_pair *x, int side)
{
	enum condition_metric m;

	for (m = 0; m < DIFF_METRICS; m++) {
		const char *name = condition_metric_name(m);

		if (m == DIFF_WSS && x->name)
			continue;
		if (!comparison_knows(c, m))
			json_null(j, name);
		else if (condition_metric_is_share(m))
			json_double(j, name, x->value[side][m]);
		else
			json_uint(j, name, (uint64_t)x->value[side][m]);
	}
}
