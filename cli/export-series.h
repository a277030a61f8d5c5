/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of windows of time as counters, for formats that have such. */
#ifndef MOCA_CLI_EXPORT_SERIES_H
#define MOCA_CLI_EXPORT_SERIES_H

#include "analysis/phases.h"
#include "analysis/series.h"
#include "cli/export.h"

#define EXPORT_BYTES_ALIVE MOCA_SERIES_SUMS

extern const char *const export_sum_names[MOCA_SERIES_SUMS + 1];

/* Who is told of the counters, one after the other, each by time. */
struct export_counters {
	void *arg;
	/*
	 * One begins: a sum (enum moca_series_sum) of the task `who` and an object; or
	 * EXPORT_BYTES_ALIVE of the process `who`, of all objects if o is NULL. 0: it
	 * is passed over.
	 */
	int (*begin)(void *arg, uint32_t who, const struct moca_object *o,
		     int sum);
	/* Its value from this moment on. */
	void (*value)(void *arg, uint64_t ns, int64_t value);
	/* Not 0: no more. */
	int (*stopped)(void *arg);
};

/* What x asks for; with the trace's profile where all is. 0; -errno, maybe after a message. */
int export_series_of(struct export *x, struct moca_series **out);

/* What threads did with objects: the sum of a window at its begin; between windows 0. */
void export_series_accesses(const struct moca_series *s,
			    const struct export_counters *c);
/* Bytes alive, at the begin of each window in which they change; sorts s. */
void export_series_allocations(struct moca_series *s,
			       const struct export_counters *c);

/* The phases of the whole trace, the n-th (from 0) each. 0 or -errno of the reader. */
int export_series_phases(const struct moca_series *s, struct moca_trace *t,
			 void (*fn)(void *arg, size_t n,
				    const struct moca_phase *phase),
			 void *arg);
#define EXPORT_PHASE_NAME 512
/* "phase 1: u, v", in name. */
const char *export_phase_name(char name[EXPORT_PHASE_NAME], size_t n,
			      const struct moca_phase *phase);

#endif
