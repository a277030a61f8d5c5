/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the page-fault events of perf could not be had, for the user. */
#ifndef MOCA_PERF_REFUSED_H
#define MOCA_PERF_REFUSED_H

/* Is it kernel.perf_event_paranoid that keeps this user, err (-errno), from it? */
int sampler_forbidden(int err);
/* sampler_open() failed with err (-errno) at `what`: say so. */
void sampler_refused(int err, const char *what);

#endif
