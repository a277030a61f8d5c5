// SPDX-License-Identifier: GPL-2.0-or-later
/* Latency by data structure, of a trace with a processor's samples. */
#include <errno.h>

#include "report/html/report.h"
#include "report/latency.h"

#define ROWS 300u		/* structures in the page */

int report_latency(struct report *r)
{
	struct report_json x;
	int err;

	if (!moca_latency_known(r->trace))
		return 0;
	if (report_json_begin(&x))
		return -ENOMEM;
	json_open(&x.j, NULL, '{');
	err = latency_json(&x.j, r->trace, NULL, ROWS);
	json_close(&x.j, '}');
	return report_json_end(r, &x, "latency", err);
}
