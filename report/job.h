/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The profile of a job as text, JSON and HTML. */
#ifndef MOCA_REPORT_JOB_H
#define MOCA_REPORT_JOB_H

#include "analysis/job/spread.h"
#include "lib/text/json.h"
#include "lib/text/text.h"

/* "1.20 s", "12.0 %", "1.05 times"; fills buf and returns it. NAN: "-". */
const char *job_value(char buf[TEXT_MAX], enum moca_job_metric m, double v);

/* What its ranks are and how they differ, findings, data structures. path: of it. */
void job_summary_print(const struct moca_job_view *v, const char *path, int all);
/* The finding that most ranks have, or that there is none, in two lines. */
void job_first_print(const struct moca_job_view *v);
/* What its ranks are, one by one, those that differ most first. */
void job_info_print(const struct moca_job_view *v, const char *path, int all);
/* How ranks differ, as a table. */
void job_spread_print(const struct moca_job_view *v);
/* Everything, for programs. */
void job_json(FILE *f, const struct moca_job_view *v, const char *path);
/*
 * All of it as one HTML page without a script; 2000 ranks and 500 structures at
 * most. Look at ferror(f). -ENOMEM or 0.
 */
int job_page(FILE *f, const struct moca_job_view *v, const char *path);
/* How ranks differ: "ranks": {...}, a member of an object. */
void job_spread_json(struct json *j, const char *key,
		     const struct moca_job_view *v);
/*
 * The exit code: 1, after a warning that names them, where ranks are missing,
 * damaged or unreadable; else 0. part: of some ranks only, others are not missing.
 */
int job_warn(const char *command, const struct moca_job_view *v, int part);

#endif
