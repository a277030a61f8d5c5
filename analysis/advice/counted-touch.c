// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The same as serial-touch.c, by counts: who used a page how often is exact, when
 * is known from first touches.
 */
#include <inttypes.h>

#include "analysis/advice/rules.h"
#include "analysis/counts/profile.h"

#define SERIAL 0.8

int rule_counted_touch(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_profile *p = r->p;
	double now = share_remote(o, MOCA_POLICY_FIRST_TOUCH);
	double then = share_remote(o, MOCA_POLICY_PARALLEL_INIT);
	double gain = (now - then) * o->accesses / p->accesses, on_home;
	struct moca_finding *f;
	char task[96];
	const struct condition needed[] = {
		AT_LEAST("size", PAGES, o->pages << p->counts->page_shift,
			 PAGES_MIN),
		AT_LEAST("its accesses from other nodes", SHARE, now,
			 REMOTE_MIN),
		AT_MOST("of these, those that the best places leave", SHARE,
			now > 0 ? then / now : 1, 0.5),
		AT_LEAST("gain", SHARE, gain, GAIN_MIN),
		AT_LEAST("pages used by others later", SHARE,
			 (double)o->late_pages / o->pages, 0.5),
		/* Buffers that are passed on as they are filled are another case. */
		HOLDS("one thread prepared it before others used it",
		      moca_counts_early_remote(p, o) <=
			      o->remote[MOCA_POLICY_FIRST_TOUCH] / 10),
	};

	if (!CONDITIONS(r, MOCA_FINDING_SERIAL_TOUCH, o, needed))
		return 0;
	home_node(p, o, &on_home);
	f = finding_add(r, on_home < SERIAL ? MOCA_FINDING_OTHER_TOUCH :
					      MOCA_FINDING_SERIAL_TOUCH,
			o, gain);
	if (!f)
		return 0;
	f->after = then;
	f->confidence = then < 0.1 ? MOCA_CONFIDENCE_HIGH :
				     MOCA_CONFIDENCE_MEDIUM;
	task_text(r, o->touch_task, task, sizeof(task));
	finding_set(r, &f->title, on_home < SERIAL ?
		    "%s is prepared in other parts than it is used in" :
		    "%s is placed by the thread that prepares it, not by those that use it",
		    name_text(r, o));
	finding_line(r, f->evidence,
		     "%" PRIu64 " pages, %" PRIu64 " loads and %" PRIu64 " stores, %.0f %% of all to data, by %u threads",
		     o->pages << p->counts->page_shift, o->reads, o->writes,
		     100. * o->accesses / p->accesses, o->object->threads);
	finding_line(r, f->evidence,
		     "%.0f %% of its pages are first touched on one node, the first of them by %s; %.0f %% are used by other threads later",
		     100 * on_home, task, 100. * o->late_pages / o->pages);
	finding_set(r, &f->cause,
		    "Linux places a page on the node of the thread that touches it first (at its allocation nothing is placed). Of the loads and stores, %.0f %% come from other nodes; were each page on the node that uses it most, %.0f %% would. How many of them a cache answers is not known.",
		    100 * now, 100 * then);
	finding_set(r, &f->fix,
		    "Let each thread first touch the part of %s that it works on: initialise it in parallel, divided as the work is, threads bound to CPUs.",
		    name_text(r, o));
	try_parallel_init(r, f, name_text(r, o), "");
	return 1;
}
