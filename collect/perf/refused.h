/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the page-fault events of perf could not be had, for the user. */
#ifndef MOCA_PERF_REFUSED_H
#define MOCA_PERF_REFUSED_H

/* Is it kernel.perf_event_paranoid that keeps this user, err (-errno), from it? */
int refused_by_sysctl(int err);
/* sampler_open() failed with err (-errno) at `what`: say so. */
void refused_explain(int err, const char *what);

#endif
