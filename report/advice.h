/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `moca summary` share. */
#ifndef MOCA_REPORT_ADVICE_H
#define MOCA_REPORT_ADVICE_H

#include <stdio.h>

#include "analysis/advice/advice.h"
#include "analysis/overview.h"
#include "analysis/phases.h"
#include "analysis/rates.h"
#include "lib/format/tried.h"

struct advice_view {
	const char *path;		/* of the trace */
	struct moca_trace *trace;
	struct moca_profile *profile;
	struct moca_advice *advice;
	struct moca_phases phases;
	struct moca_rates *rates;	/* NULL: none were sampled */
	struct moca_overview overview;	/* with --json */
	struct moca_tried tried;	/* what moca try measured; count 0: nothing */
	int tried_error;		/* -errno: its file cannot be read; 0 */
	int all;			/* all objects */
	unsigned int least;		/* with --json: those with a share of 1 / least of
					   the accesses; 0: of 1 / 10000 */
	int first;			/* the first finding only */
	int plan;			/* a plan for moca place */
};

/*
 * What the profile of v tells: phases of that detail (-1: as moca finds best),
 * advice and, if json, the overview. 0 or -ENOMEM; free all but the profile
 * with advice_free, also then.
 */
int advice_compute(struct advice_view *v, double detail, int json);
void advice_free(struct advice_view *v);

void advice_print(const struct advice_view *v);
/* How that there is no finding begins, where none can be and where none is. */
#define ADVICE_NOTHING "nothing can be said"
#define ADVICE_NONE "no finding"
/* The first finding, or that there is none, in three lines at most. */
void advice_first_print(const struct advice_view *v);
/*
 * What findings advise, as a plan for moca place: what it cannot do, and what that is
 * for, as comments.
 */
void advice_plan_print(FILE *f, const struct advice_view *v);
/* The table of data structures. */
void advice_objects_print(const struct advice_view *v);
void advice_json(FILE *f, const struct advice_view *v);
struct json;
/* What moca try left in the trace's directory, which v->path is. */
void advice_tried_read(struct advice_view *v);
/* Say so where its file cannot be read. */
void advice_tried_warn(const char *command, const char *path);
/* Of what follows a finding: predicted beside measured. */
void advice_tried_print(const struct advice_view *v,
			const struct moca_finding *x, int width);
void advice_tried_json(struct json *j, const struct advice_view *v,
		       const struct moca_finding *x);
/* Which rules were asked, what came closest, what is most remote. */
void advice_checks_print(const struct advice_view *v, int width);
void advice_checks_json(struct json *j, const struct advice_view *v);
/* What there is of exact mode only: nothing, or "exact": null, without. */
void advice_counts_print(const struct advice_view *v);
void advice_counts_json(struct json *j, const struct advice_view *v);
/* Cache lines that threads share: who uses which bytes of them, and where. */
void advice_lines_print(const struct advice_view *v);
/* "lines_sampled": of records of pages; of exact mode there are none. */
void advice_lines_json(struct json *j, const struct advice_view *v);
/* "what-if: 2 nodes x 1 CPU" */
void advice_topology(const struct moca_profile *p, char *buf, size_t len);
/* Share of an object's, or all, accesses that is remote as things are. */
double advice_remote(const struct moca_profile_object *o);
/* --topology's value, or NULL; 0, or an exit code after a message. */
int advice_profile(const char *command, const char *path,
		   struct moca_trace *t, const char *topology,
		   struct moca_profile **out);

#endif
