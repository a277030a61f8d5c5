// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What could be better: as moca summary --json says it, of the walk that the
 * report does anyway. Made in a second thread, while the plots are packed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counts/profile.h"
#include "lib/base/err.h"
#include "report/advice.h"
#include "report/html/report.h"

#define LIMIT (4u << 20)	/* a summary with more is not put into a page */

int report_summary_begin(struct report *r, const char *spec)
{
	struct moca_topology machine;
	int err;

	if (spec) {
		err = moca_topology_parse(&machine, spec, r->trace);
		if (err == -ENOMEM)
			return err;
		if (err) {
			moca_warn("report: the findings are left out: '--topology %s' is more than they are made for (%d nodes, %d CPUs in all)",
				  spec, MOCA_TOPOLOGY_NODES,
				  MOCA_TOPOLOGY_CPUS);
			return 0;
		}
	}
	if (!moca_objects_exact_only(r->trace))
		return moca_profile_begin(&r->profile_walk, r->trace,
					  spec ? &machine : NULL);
	if (!spec)
		moca_topology_of(&machine, r->trace);
	r->machine = machine;
	r->counts_profile = 1;
	return 0;
}

static int write_once(struct report_summary *s, const struct advice_view *v)
{
	FILE *f;

	free(s->text);
	s->text = NULL;
	f = open_memstream(&s->text, &s->len);
	if (!f)
		return -ENOMEM;
	advice_json(f, v);
	return fclose(f) ? -ENOMEM : 0;
}

/* Thousands of small objects must not leave no room for the findings. */
static int write_text(struct report_summary *s, struct advice_view *v)
{
	int err = write_once(s, v);

	for (v->least = 1000; !err && s->len > LIMIT && v->least; v->least /= 10)
		err = write_once(s, v);
	return err;
}

/* For code.c; what they point to belongs to the objects. */
static void mark(struct report *r, const struct moca_advice *a)
{
	const struct moca_finding *f;

	for (f = a->findings; f < a->findings + a->count &&
	     r->marked_count < REPORT_MARKED; f++)
		r->marked[r->marked_count++] = (struct report_marked){
			f->object->object, f->function, f->file, f->line
		};
}

int report_profile(struct report *r)
{
	int err;

	if (r->counts_profile)
		err = moca_counts_profile_of(&r->profile, r->trace,
					     &r->machine, r->objects,
					     r->counts);
	else
		err = moca_profile_end(&r->profile, r->profile_walk,
				       r->objects);
	r->profile_walk = NULL;
	return err;
}

static void *make(void *arg)
{
	struct report_summary *s = arg;
	struct report *r = s->report;
	struct advice_view v = { .path = r->path, .trace = r->trace };

	s->err = report_profile(r);
	v.profile = r->profile;
	if (!s->err)
		s->err = advice_compute(&v, -1, 1);
	if (!s->err)
		mark(r, v.advice);
	if (!s->err)
		s->err = write_text(s, &v);
	advice_free(&v);
	return NULL;
}

int report_summary_start(struct report_summary *s, struct report *r)
{
	int err;

	*s = (struct report_summary){ .report = r };
	if (!r->profile_walk && !r->counts_profile)
		return 0;
	err = pthread_create(&s->thread, NULL, make, s);
	s->running = !err;
	return -err;
}

int report_summary_end(struct report_summary *s)
{
	int err = 0;

	if (!s->running)
		return 0;
	pthread_join(s->thread, NULL);
	err = s->err;
	if (!err && s->len > LIMIT)
		moca_warn("report: the findings are left out: they take %zu bytes, of %u at most",
			  s->len, LIMIT);
	else if (!err)
		err = report_blob(s->report, "summary", s->text, s->len);
	free(s->text);
	return err;
}
