// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Of a trace with too few intervals: how it is to be recorded again. What a look at
 * all pages costs is known from the sweeps that there were, or from their number; so
 * is the budget that enough of them take. Without a budget each interval would be
 * looked at, whatever it costs: a program of much memory would not end.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/trace.h"

#define WANTED (2 * INTERVALS_MIN)
/* A program that runs shorter has no time for so many. */
#define OWN_SECONDS 0.1
/* A smaller part of the time that it ran is a difference of estimates. */
#define OWN_SURE 0.1
/* What is more than this is not advised: a longer run costs less. */
#define BUDGET_MAX 300u

/* ns that one interval takes, by the trace's table of costs; 0: not known. */
static double look_ns(const struct rules *r)
{
	double sweeps = r->p->intervals > 1 ? (double)r->p->intervals - 1 : 1;
	double ns = advice_meta(r, "cost.repeated.ns") +
		    advice_meta(r, "cost.again.ns") +
		    advice_meta(r, "cost.sweep.ns");

	return fmax(ns / sweeps,
		    advice_meta(r, "fault_ns") * (double)r->p->distinct);
}

static unsigned budget_of(double share)
{
	static const unsigned steps[] = { 20, 30, 50, 75, 100, 150, 200 };
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (100 * share <= steps[i])
			return steps[i];
	return BUDGET_MAX;
}

/* Whole milliseconds, as one would write them. */
static unsigned interval_of(double seconds)
{
	static const unsigned steps[] = { 50, 20, 10, 5, 2 };
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (seconds * 1000 / WANTED >= steps[i])
			return steps[i];
	return 1;
}

/* Room on a disk, or for a file: not what longer intervals would give. */
static const char *record_again(int err)
{
	if (err == ENOSPC || err == EDQUOT)
		return "Record again where there is more room (-o names the directory), or end it before (--max-size).";
	if (err == EFBIG)
		return "Record again with a higher limit on files (ulimit -f), or end it before (--max-size).";
	return "Record again.";
}

void note_failure(struct rules *r)
{
	int err = trace_failure(r->trace);
	double at = advice_meta(r, META_FAILED) - (double)trace_origin(r->trace);

	finding_set(r, &r->a->again, "%s", record_again(err));
	finding_set(r, &r->a->failed,
		    "the recording failed %.2f s after its begin (%s): what the program did from then on is not in the trace",
		    fmax(at, 0) / 1e9, strerror(err));
	r->a->undecided = "what the program did after its recording failed";
	if (r->a->failed && r->a->again)
		advice_note(r, "T%s. %s", r->a->failed + 1, r->a->again);
}

void note_resolution(struct rules *r)
{
	const struct moca_profile *p = r->p;
	double wall = advice_meta(r, "cost.wall_ns");
	double look = look_ns(r), own, share;
	const char *s = p->intervals == 1 ? "" : "s";
	unsigned budget, ms;

	own = wall - advice_meta(r, "cost.wall_added_ns");
	if (moca_trace_meta(r->trace, META_IMPORT)) {
		finding_set(r, &r->a->again,
			    "It was recorded by another tool: moca record sees each page in each interval.");
	} else if (moca_trace_meta(r->trace, META_SWEEPS)) {
		finding_set(r, &r->a->again,
			    "Record again without --no-zap: with it, only first touches and writes after reads are seen.");
	} else if (moca_trace_meta(r->trace, META_UNCERTIFIED) &&
		   !advice_meta(r, "certificate.pages_touched")) {
		finding_set(r, &r->a->again,
			    "No page of it is looked at again (%s): more intervals would say no more.",
			    moca_trace_meta(r->trace, META_UNCERTIFIED));
	} else if (!(own > 0) || !(look > 0)) {
		finding_set(r, &r->a->again,
			    "Record again with --interval 20ms --budget 50%%, or give the program more work.");
	} else if (own < wall * OWN_SURE) {
		finding_set(r, &r->a->again,
			    "Nearly all of the %.2f s that it ran was spent on recording: give the program more work.",
			    wall / 1e9);
	} else if (own < OWN_SECONDS * 1e9) {
		finding_set(r, &r->a->again,
			    "The program runs %.2f s by itself: give it more work.",
			    own / 1e9);
	} else {
		share = (advice_meta(r, "cost.wall_added_ns") + WANTED * look) /
			own;
		budget = budget_of(share);
		ms = interval_of(own / 1e9);
		if (100 * share > BUDGET_MAX)
			finding_set(r, &r->a->again,
				    "Record again with --budget 100%%, and give the program work for %.0f s or more: to look at all its pages once takes %.0f ms, %.1f s for %u intervals.",
				    ceil(own * share / 1e9), look / 1e6,
				    WANTED * look / 1e9, WANTED);
		else
			finding_set(r, &r->a->again,
				    "Record again with --interval %ums --budget %u%%: to look at all its pages once takes %.1f ms; %u times that, and the %.2f s that recording takes besides, make the %.2f s that it runs by itself about %.2f s. That is for up to %u intervals; on a busy machine there are fewer.",
				    ms, budget, look / 1e6, WANTED,
				    advice_meta(r, "cost.wall_added_ns") / 1e9,
				    own / 1e9, own * (1 + share) / 1e9, WANTED);
	}
	/* Of one thread there is no doubt who it is. */
	r->a->undecided = p->tasks == 1 ? "when which page is used" :
					  "who uses which page";
	if (r->a->again)
		advice_note(r,
			    "The trace has %" PRIu64 " interval%s only: too few to say %s in the long run. %s",
			    p->intervals, s, r->a->undecided, r->a->again);
}
