// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole program: many structures, of which none has enough remote accesses by
 * itself, but all for one cause. Each cause is one finding.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analysis/advice/rules.h"

/* Of all accesses: remote, less what would be with each page at its user. */
#define GAP_MIN 0.15
/*
 * A structure that is allocated so often is made again and again, if none is kept
 * to the end, or so many bytes are allocated per byte of its pages.
 */
#define OFTEN 8
#define REUSED 2
#define NAMED 6
#define NAMED_MIN 0.001		/* of all accesses: less adds up to nothing */
#define SERIAL 0.8		/* of the pages: one node prepared it */

enum cause { BY_ONE, AGAIN, PASSED_ON, OTHER_PARTS, CAUSES };

struct group {
	const struct moca_profile_object *top[NAMED];	/* most first */
	size_t count;
	uint64_t pages, accesses, remote[MOCA_POLICIES];
	uint64_t unweighed;	/* accesses, however long intervals are */
};

/* What a finding about places is about already, also one that promises nothing. */
static int is_told(const struct rules *r, const struct moca_profile_object *o)
{
	size_t i;

	for (i = 0; i < r->a->count; i++)
		if (r->a->findings[i].object == o &&
		    (!isnan(r->a->findings[i].after) ||
		     r->a->findings[i].kind == MOCA_FINDING_MOVING_PARTS))
			return 1;
	return 0;
}

static uint64_t excess(const struct moca_profile_object *o)
{
	uint64_t now = o->remote[MOCA_POLICY_FIRST_TOUCH];
	uint64_t then = o->remote[MOCA_POLICY_PARALLEL_INIT];

	return now > then ? now - then : 0;
}

static int is_made_again(const struct moca_profile_object *o)
{
	const struct moca_object *x = o->object;

	return x->kind == MOCA_OBJECT_HEAP && x->instances >= OFTEN &&
	       (x->end_ns || x->bytes >= REUSED * o->pages * 4096);
}

static enum cause cause_of(const struct rules *r,
			   const struct moca_profile_object *o)
{
	double on_home;

	if (is_made_again(o))
		return AGAIN;
	if (!prepared_before(r->p, o))
		return PASSED_ON;
	home_node(r->p, o, &on_home);
	return on_home < SERIAL ? OTHER_PARTS : BY_ONE;
}

/*
 * Its pages are used too seldom for each to have a user, but nearly all uses come from
 * one other node than theirs: of users by chance, no node would have spared so much.
 */
static int is_elsewhere(const struct moca_profile_object *o)
{
	return 2 * o->remote[MOCA_POLICY_BIND] <=
	       o->remote[MOCA_POLICY_FIRST_TOUCH];
}

static void add(struct group *g, const struct moca_profile_object *o)
{
	size_t i;

	for (i = g->count < NAMED ? g->count : NAMED;
	     i && excess(g->top[i - 1]) < excess(o); i--)
		if (i < NAMED)
			g->top[i] = g->top[i - 1];
	if (i < NAMED)
		g->top[i] = o;
	g->count++;
	g->pages += o->pages;
	g->accesses += o->accesses;
	g->unweighed += o->object->accesses;
	for (i = 0; i < MOCA_POLICIES; i++)
		g->remote[i] += o->remote[i];
}

static double gain_of(const struct rules *r, const struct group *g)
{
	return r->p->accesses ?
	       ((double)g->remote[MOCA_POLICY_FIRST_TOUCH] -
		(double)g->remote[MOCA_POLICY_PARALLEL_INIT]) /
	       (double)r->p->accesses : 0;
}

static void name_all(struct rules *r, const struct group *g, char *buf,
		     size_t len)
{
	size_t i, at = 0;

	for (i = 0; i < NAMED && i < g->count && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s",
				       i ? ", " : "", name_text(r, g->top[i]));
	if (g->count > NAMED && at < len)
		snprintf(buf + at, len - at, " and %zu more",
			 g->count - NAMED);
}

static void say_cause(struct rules *r, struct moca_finding *f, enum cause c)
{
	static const char *const causes[CAUSES] = {
		[BY_ONE] = "Linux places a page on the node of the thread that touches it first; one thread prepares all of these, and others use them.",
		[AGAIN] = "They are allocated again and again: each time malloc gives them other memory, and its pages are where some earlier use of them, or the first touch of the moment, placed them; not where the threads work.",
		[PASSED_ON] = "One thread fills them and others use them, as in a pipeline: who fills a page places it, and who uses it most is on another node.",
		[OTHER_PARTS] = "Several threads prepare them, but in other parts than they are used in.",
	};
	static const char *const fixes[CAUSES] = {
		[BY_ONE] = "Let each thread first touch the parts that it works on: initialise them in parallel, divided as the work is, threads bound to CPUs.",
		[AGAIN] = "Allocate them once, before the loop, and let each thread first touch the parts that it works on; or keep one for each thread.",
		[PASSED_ON] = "Let the thread that uses a buffer touch it first, once, when it is made; or run those that fill and those that use it on one node.",
		[OTHER_PARTS] = "Divide the loops that prepare them as those that use them: the same bounds, the same schedule, threads bound to CPUs.",
	};

	finding_set(r, &f->cause, "%s", causes[c]);
	finding_set(r, &f->fix, "%s", fixes[c]);
	if (c == PASSED_ON)
		finding_line(r, f->try_,
			     "numactl --cpunodebind=0 --membind=0 ./program   # if the CPUs of one node are enough");
	else
		try_parallel_init(r, f, "each of them", "");
}

static void say(struct rules *r, const struct group *g, enum cause c)
{
	static const char *const titles[CAUSES] = {
		[BY_ONE] = "placed by the thread that prepares them, not by those that use them",
		[AGAIN] = "allocated again and again, and lie on other nodes than their users",
		[PASSED_ON] = "filled on one node and used on another",
		[OTHER_PARTS] = "prepared in other parts than they are used in",
	};
	struct moca_finding *f = finding_add(r, MOCA_FINDING_MISPLACED,
					     g->top[0], gain_of(r, g));
	double all = g->accesses ? (double)g->accesses : 1;
	char names[NAMED * 84 + 32];
	unsigned i;

	if (!f)
		return;
	for (i = 0; i < MOCA_POLICIES; i++)
		f->remote[i] = (double)g->remote[i] / all;
	f->after = f->remote[MOCA_POLICY_PARALLEL_INIT];
	f->confidence = c == PASSED_ON ? MOCA_CONFIDENCE_LOW :
					 MOCA_CONFIDENCE_MEDIUM;
	name_all(r, g, names, sizeof(names));
	finding_set(r, &f->title, "%zu structure%s %s %s", g->count,
		    g->count == 1 ? "" : "s", g->count == 1 ? "is" : "are",
		    titles[c]);
	finding_line(r, f->evidence, "%s", names);
	finding_line(r, f->evidence,
		     "together %" PRIu64 " pages, %s%" PRIu64 " accesses, %.0f %% of all to data",
		     g->pages, r->p->sampled ? "about " : "", g->unweighed,
		     100. * g->accesses / r->p->accesses);
	finding_line(r, f->evidence,
		     "%.0f %% of their accesses come from another node than the page's; were each page at its user, %.0f %% would",
		     100 * f->remote[MOCA_POLICY_FIRST_TOUCH],
		     100 * f->after);
	say_cause(r, f, c);
}

/* Sort what is told in no other finding by cause; all pages of it. */
static uint64_t sort_out(const struct rules *r, struct group *g)
{
	const struct moca_profile *p = r->p;
	uint64_t pages = 0;
	enum cause c;
	size_t i;

	for (i = 0; i < p->count; i++) {
		if (!p->rows[i].data ||
		    excess(&p->rows[i]) < NAMED_MIN * p->accesses ||
		    !excess(&p->rows[i]) || is_told(r, &p->rows[i]) ||
		    passed_in_turn(p, &p->rows[i]))
			continue;
		c = cause_of(r, &p->rows[i]);
		/* What comes and goes is used shortly, by its owner. */
		if (c != AGAIN && c != PASSED_ON && !has_users(r, &p->rows[i])) {
			if (!is_elsewhere(&p->rows[i]))
				continue;
			c = PASSED_ON;
		}
		add(&g[c], &p->rows[i]);
		pages += p->rows[i].pages;
	}
	return pages;
}

int rule_misplaced(struct rules *r)
{
	const struct moca_profile *p = r->p;
	struct group g[CAUSES] = { 0 };
	uint64_t pages = sort_out(r, g);
	double all = p->accesses ? (double)p->accesses : 1;
	double now = p->remote[MOCA_POLICY_FIRST_TOUCH] / all;
	double then = p->remote[MOCA_POLICY_PARALLEL_INIT] / all;
	double most = 0;
	int c;

	for (c = 0; c < CAUSES; c++)
		if (gain_of(r, &g[c]) > most)
			most = gain_of(r, &g[c]);
	const struct condition needed[] = {
		AT_LEAST("intervals", NUMBER, p->intervals, INTERVALS_MIN),
		AT_LEAST("accesses from other nodes, less those with each page at its user",
			 SHARE, now - then, GAP_MIN),
		AT_LEAST("of these, of one cause and in no other finding",
			 SHARE, most, GAIN_MIN),
		AT_LEAST("size", PAGES, pages, PAGES_MIN),
	};

	if (!CONDITIONS(r, MOCA_FINDING_MISPLACED, NULL, needed))
		return 0;
	for (c = 0; c < CAUSES; c++)
		if (gain_of(r, &g[c]) >= GAIN_MIN)
			say(r, &g[c], (enum cause)c);
	return 1;
}
