// SPDX-License-Identifier: GPL-2.0-or-later
/* Latency by data structure, of a trace with a processor's samples. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/html/report.h"
#include "report/latency.h"

#define ROWS 300u		/* structures in the page */

int report_latency(struct report *r)
{
	struct json j = { 0 };
	char *text = NULL;
	size_t len;
	int err;

	if (!moca_latency_known(r->trace))
		return 0;
	j.f = open_memstream(&text, &len);
	if (!j.f)
		return -ENOMEM;
	json_open(&j, NULL, '{');
	err = latency_json(&j, r->trace, NULL, ROWS);
	json_close(&j, '}');
	if (fclose(j.f) && !err)
		err = -ENOMEM;
	if (!err)
		err = report_blob(r, "latency", text, len);
	free(text);
	return err;
}
