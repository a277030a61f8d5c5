/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `moca diff --json` and the page of two runs both tell of a pair. */
#ifndef MOCA_REPORT_COMPARISON_H
#define MOCA_REPORT_COMPARISON_H

#include "analysis/comparison.h"
#include "lib/text/json.h"

/* Members of an object: side's metrics, by name. WSS is of the whole run only. */
void comparison_json(struct json *j, const struct comparison *c,
		     const struct comparison_pair *x, int side);

#endif
