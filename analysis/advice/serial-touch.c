// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages lie where one thread touched them first, and others use them: each page
 * has a user of its own, and would be near it had that one come first.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/advice/rules.h"

#define SERIAL 0.8		/* of the pages: one node prepared it */
#define REUSE 4			/* accesses per page: less is no use of it */
#define LEFT 0.5		/* of the remote accesses, what is left at most */
/*
 * The same of few intervals: threads that use all of it come first to a page by
 * chance, and of four intervals with two records each, the best place of a page would
 * leave three fifths of them.
 */
#define LEFT_OF_FEW 0.1
#define RECORDS_OF_FEW 8
/*
 * Intervals in which a page was used, and of these those in which a thread came back
 * to it after another: of users by chance a quarter or more in eight intervals, and a
 * tenth in five. Where a long interval weighs as much as all others, the best place
 * leaves little by chance.
 */
#define VISITS_MIN 5
#define VISITS_MANY 8
#define RETURNS_MOST 0.25
#define RETURNS_OF_FEW 0.1

/* Most of its pages were first touched in the kernel: by its own instructions. */
static int is_filled_by_call(const struct moca_profile_object *o)
{
	return o->touch_ip >> 63;
}

static void say(struct rules *r, struct moca_finding *f, double on_home)
{
	const struct moca_profile_object *o = f->object;
	char task[96], where[256], at[280] = "";
	const char *name = name_text(r, o);

	task_text(r, o->touch_task, task, sizeof(task));
	if (is_filled_by_call(o))
		snprintf(at, sizeof(at), ", in a system call");
	else if (*touch_text(r, f, where, sizeof(where)))
		snprintf(at, sizeof(at), ", in %s", where);
	if (f->kind == MOCA_FINDING_SERIAL_TOUCH)
		finding_set(r, &f->title, "%s is placed by the thread that prepares it, not by those that use it",
			    name);
	else
		finding_set(r, &f->title, "%s is prepared in other parts than it is used in",
			    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%.0f %% of its pages %s one node, first touched most often by %s%s",
		     100 * on_home,
		     r->p->topology.what_if ? "would lie on" :
					      "lie on",
		     task, at);
	finding_set(r, &f->cause,
		    "Linux places a page on the node of the thread that touches it first (at its allocation nothing is placed). Of the accesses, %.0f %% come from other nodes; were each page on the node that uses it most, %.0f %% would.",
		    100 * f->remote[MOCA_POLICY_FIRST_TOUCH], 100 * f->after);
	if (is_filled_by_call(o)) {
		finding_set(r, &f->fix,
			    "System calls fill %s, as read(2) does. Let each thread read the part that it works on, or touch it before it is read, threads bound to CPUs.",
			    name);
		try_parallel_read(r, f);
	} else {
		finding_set(r, &f->fix,
			    "Let each thread first touch the part of %s that it works on: initialise it in parallel, divided as the work is, threads bound to CPUs.",
			    name);
		try_parallel_init(r, f, name, f->file ? at : "");
	}
	if (f->remote[MOCA_POLICY_INTERLEAVE] <
	    f->remote[MOCA_POLICY_FIRST_TOUCH] - 0.05)
		finding_line(r, f->try_,
			     "numactl --interleave=all ./program   # without a change: %.0f %% remote, on all nodes evenly",
			     100 * f->remote[MOCA_POLICY_INTERLEAVE]);
}

int prepared_before(const struct moca_profile *p,
		    const struct moca_profile_object *o)
{
	uint64_t touched = 0, remote = 0, before = UINT64_MAX;
	unsigned w;

	if (!o->touches_in || !o->remote_in)
		return 0;
	for (w = 0; w < p->windows; w++) {
		touched += o->touches_in[w];
		/* In that very window others may have begun. */
		if (10 * touched >= 9 * o->pages && before == UINT64_MAX)
			before = remote;
		remote += o->remote_in[w];
	}
	return before != UINT64_MAX && 10 * before <= remote;
}

/* Of its accesses, those that the best places leave remote. */
#define TURNS_MIN 0.1

int passed_in_turn(const struct moca_profile *p,
		   const struct moca_profile_object *o)
{
	return of(o->shared_accesses, o) >= 0.5 &&
	       of(o->late_writes, o) >= 0.05 && !all_users_write(p, o) &&
	       share_remote(o, MOCA_POLICY_PARALLEL_INIT) >= TURNS_MIN;
}

static double per_page(const struct moca_profile_object *o)
{
	return (double)o->accesses / o->pages;
}

double page_visits(const struct rules *r, const struct moca_profile_object *o)
{
	return by_history(r, o, o->watched_pages ? (double)o->watched_visits /
						   o->watched_pages : 0);
}

double page_records(const struct rules *r, const struct moca_profile_object *o)
{
	return o->visits ? page_visits(r, o) * o->records / o->visits : 0;
}

double page_steps(const struct rules *r, const struct moca_profile_object *o)
{
	return r->p->sampled ? page_records(r, o) - 1 :
			       (double)o->steps / o->pages;
}

static double returns_most(const struct rules *r,
			   const struct moca_profile_object *o)
{
	return page_visits(r, o) < VISITS_MANY ? RETURNS_OF_FEW : RETURNS_MOST;
}

static double returns(const struct rules *r, const struct moca_profile_object *o)
{
	uint64_t first = 2 * o->watched_pages;

	return by_history(r, o, o->watched_visits > first ?
		(double)o->returns / (o->watched_visits - first) : 0);
}

int has_users(const struct rules *r, const struct moca_profile_object *o)
{
	return page_visits(r, o) >= VISITS_MIN &&
	       returns(r, o) <= returns_most(r, o);
}

int has_mixed_users(const struct rules *r, const struct moca_profile_object *o)
{
	return page_visits(r, o) >= VISITS_MIN && returns(r, o) >= RETURNS_MOST;
}

int rule_serial_touch(struct rules *r, const struct moca_profile_object *o)
{
	double now = share_remote(o, MOCA_POLICY_FIRST_TOUCH);
	double then = share_remote(o, MOCA_POLICY_PARALLEL_INIT);
	double gain = (now - then) * o->accesses / r->p->accesses, on_home;
	struct moca_finding *f;
	int few = are_few(r);
	const struct condition needed[] = {
		AT_LEAST("size", PAGES, o->pages, PAGES_MIN),
		AT_LEAST("its accesses from other nodes", SHARE, now,
			 REMOTE_MIN),
		/* The least that is worth a change of the program. */
		AT_MOST("of these, those that the best places leave", SHARE,
			now > 0 ? then / now : 1, few ? LEFT_OF_FEW : LEFT),
		AT_LEAST("records per page", NUMBER, page_records(r, o),
			 few ? RECORDS_OF_FEW : 0),
		AT_LEAST("intervals in which a page was used", NUMBER,
			 page_visits(r, o), VISITS_MIN),
		AT_MOST("of these, those in which a thread came back after another",
			SHARE, returns(r, o), returns_most(r, o)),
		AT_LEAST("gain", SHARE, gain, GAIN_MIN),
		AT_LEAST("accesses per page", NUMBER, per_page(o), REUSE),
		AT_LEAST("pages used again later", SHARE,
			 by_history(r, o, (double)o->late_pages / o->pages),
			 0.5),
		HOLDS("one thread prepared it before others used it",
		      prepared_before(r->p, o)),
		HOLDS("it is not passed from who writes to who reads",
		      !passed_in_turn(r->p, o)),
	};

	if (!CONDITIONS(r, MOCA_FINDING_SERIAL_TOUCH, o, needed))
		return 0;
	home_node(r->p, o, &on_home);
	/* Several nodes prepared it, but not those that use it. */
	f = finding_add(r, on_home < SERIAL ? MOCA_FINDING_OTHER_TOUCH :
					      MOCA_FINDING_SERIAL_TOUCH,
			o, gain);
	if (!f)
		return 0;
	f->after = then;
	f->confidence = then < 0.1 && !few ? MOCA_CONFIDENCE_HIGH :
					     MOCA_CONFIDENCE_MEDIUM;
	say(r, f, on_home);
	if (few)
		finding_line(r, f->evidence,
			     "the trace has %" PRIu64 " intervals only: in these, nearly each page had one user behind who prepared it",
			     r->p->intervals);
	return 1;
}
