// SPDX-License-Identifier: GPL-2.0-or-later
/* That nothing was found is an answer, too: what was looked at, and how near. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/text/json.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/advice.h"

#define CLOSEST 4		/* rules that are told */
#define NEAR_MIN 0.05		/* farther ones say nothing */

static int by_near(const void *a, const void *b)
{
	const struct moca_check *x = *(const struct moca_check *const *)a;
	const struct moca_check *y = *(const struct moca_check *const *)b;

	if (x->near != y->near)
		return x->near > y->near ? -1 : 1;
	return x->kind < y->kind ? -1 : 1;
}

static int was_asked(const struct moca_advice *a, enum moca_finding_kind k)
{
	size_t i;

	for (i = 0; i < a->check_count; i++)
		if (a->checks[i].kind == k)
			return 1;
	return 0;
}

/* Prints the names of the rules that were asked (asked: 1) or left out (0). */
static void print_names(const struct moca_advice *a, int asked,
			const char *lead, const char *why, int width)
{
	char text[800];
	size_t at = 0;
	int k;

	for (k = 0; k < MOCA_FINDING_KINDS && at < sizeof(text); k++)
		if (was_asked(a, (enum moca_finding_kind)k) == asked)
			at += (size_t)snprintf(
				text + at, sizeof(text) - at, "%s%s",
				at ? ", " : "",
				moca_finding_id((enum moca_finding_kind)k));
	if (!at)
		return;
	if (at < sizeof(text))
		snprintf(text + at, sizeof(text) - at, "%s", why);
	terminal_wrap(lead, text, width);
}

/* Why other rules were not asked. */
static const char *why_not(const struct moca_profile *p)
{
	if (!p->accesses)
		return ": there is no access to data";
	if (p->counts)
		return ": they need the order of accesses, which exact counts do not have, or granules of 64 bytes (shared-lines)";
	if (p->intervals < MOCA_ADVICE_INTERVALS)
		return ": they need more intervals (see the notes)";
	return ": no data structure of the kind that they look at is used enough";
}

static void print_closest(const struct moca_advice *a, int width)
{
	const struct moca_check *sorted[MOCA_FINDING_KINDS];
	char text[800];
	size_t i, n = 0;

	for (i = 0; i < a->check_count; i++)
		sorted[n++] = &a->checks[i];
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_near);
	for (i = 0; i < n && i < CLOSEST && sorted[i]->near >= NEAR_MIN &&
		    sorted[i]->missed; i++) {
		snprintf(text, sizeof(text), "%s, %.80s: %s",
			 moca_finding_id(sorted[i]->kind),
			 sorted[i]->object ? sorted[i]->object->object->name :
					     "the program",
			 sorted[i]->missed);
		terminal_wrap(i ? "                " : "  Closest       ",
			      text, width);
	}
}

static void print_most_remote(const struct advice_view *v, int width)
{
	const struct moca_profile_object *o = v->advice->most_remote;
	const struct moca_profile *p = v->profile;
	char text[512];

	if (o)
		snprintf(text, sizeof(text),
			 "%.80s: %.1f %% of its accesses, which are %.1f %% of all; with each page at its user %.1f %%",
			 o->object->name, 100 * advice_remote(o),
			 100. * o->remote[MOCA_POLICY_FIRST_TOUCH] /
				 p->accesses,
			 100. * o->remote[MOCA_POLICY_PARALLEL_INIT] /
				 o->accesses);
	else
		snprintf(text, sizeof(text),
			 "nothing: no access comes from another node than its page's");
	terminal_wrap("  Most remote   ", text, width);
}

void advice_checks_print(const struct advice_view *v, int width)
{
	const struct moca_advice *a = v->advice;

	print_names(a, 1, "  Checked       ", "", width);
	print_names(a, 0, "  Not asked     ", why_not(v->profile), width);
	print_closest(a, width);
	/* Of fewer intervals the notes say that nothing can be said. */
	if (v->profile->accesses &&
	    (v->profile->counts || v->profile->intervals >=
				   MOCA_ADVICE_INTERVALS))
		print_most_remote(v, width);
}

/* What may hold a name of the program's, or the trace's own words. */
static void put(const char *text)
{
	text_name(stdout, text, 0);
}

static void put_line(const char *text)
{
	put(text);
	putchar('\n');
}

static void print_first(const struct advice_view *v)
{
	const struct moca_finding *f = &v->advice->findings[0];
	const struct moca_topology *t = &v->profile->topology;

	put(f->title);
	if (f->file && f->line) {
		printf(" (");
		put(f->file);
		printf(":%u)", f->line);
	} else if (f->object && *f->object->object->site) {
		char site[121];

		snprintf(site, sizeof(site), "%s", f->object->object->site);
		printf(" (");
		put(site);
		putchar(')');
	}
	putchar('\n');
	put(f->fix);
	if (f->try_[0]) {
		putchar(' ');
		put(f->try_[0]);
	}
	putchar('\n');
	if (f->seconds > 0)
		printf("predicted: %.2f s of CPU time less, %.0f %% of it; confidence %s\n",
		       f->seconds, 100 * f->gain,
		       moca_confidence_name(f->confidence));
	else if (f->after >= 0)
		printf("predicted%s: %.0f %% of its accesses remote in place of %.0f %%; it has to do with %.0f %% of all; confidence %s\n",
		       !t->what_if ? "" :
		       t->assumed == MOCA_ASSUMED_ONE_NODE ?
				     " (of a supposed machine; this one has one node)" :
				     " (of a supposed machine)",
		       100 * f->after,
		       100 * f->remote[MOCA_POLICY_FIRST_TOUCH], 100 * f->gain,
		       moca_confidence_name(f->confidence));
	else if (f->kind == MOCA_FINDING_CHURN ||
		 f->kind == MOCA_FINDING_HUGE_PAGES)
		printf("predicted: not known; confidence %s\n",
		       moca_confidence_name(f->confidence));
	else if (f->kind == MOCA_FINDING_SHARED_LINES && !v->profile->counts)
		/* Records count pages, not how often a line is used. */
		printf("predicted: not known before it is counted; confidence %s\n",
		       moca_confidence_name(f->confidence));
	else
		printf("it has to do with %.0f %% of all accesses; confidence %s\n",
		       100 * f->gain, moca_confidence_name(f->confidence));
}

void advice_first_print(const struct advice_view *v)
{
	const struct moca_advice *a = v->advice;

	if (a->failed) {
		put_line(a->failed);
		put_line(a->again);
	}
	if (a->count) {
		print_first(v);
	} else if (a->failed) {
		puts("no rule found anything worth a change in what was recorded");
	} else if (a->undecided && !v->profile->counts) {
		printf(ADVICE_NOTHING " of %s: %u interval%s only\n", a->undecided,
		       (unsigned)v->profile->intervals,
		       v->profile->intervals == 1 ? "" : "s");
		if (a->again)
			put_line(a->again);
	} else if (!v->profile->accesses) {
		puts(ADVICE_NOTHING ": no access to data was recorded");
	} else if (a->undecided) {
		printf(ADVICE_NOTHING " of %s: moca summary's notes tell why\n",
		       a->undecided);
	} else {
		printf(ADVICE_NONE ": none of %zu rules found anything worth a change\n",
		       a->check_count);
	}
}

void advice_checks_json(struct json *j, const struct advice_view *v)
{
	const struct moca_advice *a = v->advice;
	const struct moca_check *c;

	json_open(j, "checks", '[');
	for (c = a->checks; c < a->checks + a->check_count; c++) {
		json_open(j, NULL, '{');
		json_string(j, "id", moca_finding_id(c->kind));
		json_uint(j, "looked_at", c->looked);
		json_bool(j, "found", c->found);
		json_double(j, "near", c->near);
		if (c->object)
			json_uint(j, "object", c->object->object->id);
		else
			json_null(j, "object");
		json_string(j, "name", c->object ? c->object->object->name :
						   NULL);
		json_string(j, "missed", c->missed);
		json_close(j, '}');
	}
	json_close(j, ']');
	if (a->most_remote)
		json_uint(j, "most_remote", a->most_remote->object->id);
	else
		json_null(j, "most_remote");
}
