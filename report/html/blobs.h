/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page has beside the plots of objects, its summary and its index: each
 * adds a blob of its own (report_blob()), or none where the trace has nothing for
 * it, and is read by its view. A new plot is a line here.
 */
#ifndef MOCA_REPORT_HTML_BLOBS_H
#define MOCA_REPORT_HTML_BLOBS_H

struct report;

#define REPORT_BLOBS(X) \
	X(report_faults)	/* page faults and CPU time over time */ \
	X(report_code)		/* lines of source that access structures */ \
	X(report_source)	/* what stands there; behind report_code */ \
	X(report_latency)	/* of a processor's samples, by structure */ \
	X(report_heat)		/* pages by time, as looks at accessed bits tell */ \
	X(report_flame)		/* call stacks of accesses; of the other run, too */ \
	X(report_comparison)	/* another run beside this one */

/* 0 or -errno. */
#define X(blob) int blob(struct report *r);
REPORT_BLOBS(X)
#undef X

#endif
