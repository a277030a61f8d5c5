// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that the scheduler moves from node to node, while their pages stay. Of
 * the recorded machine alone: nothing is known of where a what-if machine would
 * run them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/advice/rules.h"

/* Of a thread's accesses, those from another node than its usual one. */
#define AWAY_MIN 0.2
/* Once is where it settled after its start. */
#define MOVES_MIN 4
#define NAMED 3

struct mover {
	uint32_t task;
	uint64_t all, away, moves;
	unsigned usual;
};

struct movers {
	struct mover top[NAMED];	/* most away first */
	size_t count;
	uint64_t all, away;		/* accesses: of all tasks; of movers */
};

static struct mover mover_of(const struct moca_profile *p, uint32_t task)
{
	const struct moca_task_nodes *t = &p->task_nodes[task];
	struct mover m = { .task = task, .moves = t->moves };
	unsigned i;

	for (i = 0; i < p->topology.nodes; i++) {
		m.all += t->accesses[i];
		if (t->accesses[i] > t->accesses[m.usual])
			m.usual = i;
	}
	m.away = m.all - t->accesses[m.usual];
	return m;
}

static void gather(const struct moca_profile *p, struct movers *x)
{
	struct mover m;
	uint32_t task;
	size_t i;

	for (task = 0; p->task_nodes && task < p->tasks; task++) {
		m = mover_of(p, task);
		x->all += m.all;
		if (m.moves < MOVES_MIN || m.away < AWAY_MIN * m.all)
			continue;
		x->away += m.away;
		for (i = x->count < NAMED ? x->count : NAMED;
		     i && x->top[i - 1].away < m.away; i--)
			if (i < NAMED)
				x->top[i] = x->top[i - 1];
		if (i < NAMED)
			x->top[i] = m;
		x->count++;
	}
}

static void say_movers(struct rules *r, struct moca_finding *f,
		       const struct movers *x)
{
	char text[NAMED * 160], task[96];
	size_t i, at = 0;

	for (i = 0; i < x->count && i < NAMED && at < sizeof(text); i++) {
		const struct mover *m = &x->top[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s%s: %.0f %% on node %u, %.0f %% elsewhere, moved %" PRIu64 " times",
				       i ? "; " : "",
				       task_text(r, m->task, task, sizeof(task)),
				       100. * (m->all - m->away) / m->all,
				       r->p->topology.ids[m->usual],
				       100. * m->away / m->all, m->moves);
	}
	if (x->count > NAMED && at < sizeof(text))
		snprintf(text + at, sizeof(text) - at, "; and %zu more threads",
			 x->count - NAMED);
	finding_line(r, f->evidence, "%s", text);
}

int rule_migration(struct rules *r)
{
	const struct moca_profile *p = r->p;
	const struct moca_profile_object *o = r->a->most_remote;
	struct movers x = { 0 };
	struct moca_finding *f;
	double away, remote;

	gather(p, &x);
	away = x.all ? (double)x.away / x.all : 0;
	remote = p->accesses ? (double)p->remote[MOCA_POLICY_FIRST_TOUCH] /
				       p->accesses : 0;

	const struct condition needed[] = {
		HOLDS("the recorded machine has several nodes",
		      p->task_nodes != NULL),
		AT_LEAST("accesses of threads from another node than their usual one",
			 SHARE, away, 2 * GAIN_MIN),
		AT_LEAST("accesses from other nodes", SHARE, remote, REMOTE_MIN),
		AT_LEAST("intervals", NUMBER, (double)p->intervals,
			 INTERVALS_MIN),
	};

	if (!CONDITIONS(r, MOCA_FINDING_MIGRATION, NULL, needed) || !o)
		return 0;
	f = finding_add(r, MOCA_FINDING_MIGRATION, o, fmin(away, remote));
	if (!f)
		return 0;
	f->confidence = MOCA_CONFIDENCE_MEDIUM;
	f->after = NAN;
	finding_set(r, &f->title, "threads move between nodes: %.0f %% of the accesses come from another node than the thread's usual one",
		    100 * away);
	say_movers(r, f, &x);
	finding_line(r, f->evidence,
		     "%.0f %% of all accesses to data are remote, the largest part of them to %s",
		     100 * remote, name_text(r, o));
	finding_set(r, &f->cause,
		    "The scheduler moves threads that are not bound to where a CPU is idle; their pages stay where they are, or follow slowly.");
	finding_set(r, &f->fix,
		    "Bind the threads to CPUs, or the program to a node if it fits there.");
	if (advice_openmp(r)) {
		finding_set(r, &f->setting,
			    "OMP_PROC_BIND=spread OMP_PLACES=cores");
		finding_line(r, f->try_, "%s ./program",
			     f->setting ? f->setting : "");
	} else if (advice_takes_c(r, f)) {
		finding_line(r, f->try_,
			     "pthread_setaffinity_np(thread, sizeof(cpus), &cpus);   /* of each thread, when it begins */");
	}
	finding_line(r, f->try_, "numactl --cpunodebind=%u --membind=%u ./program   # if one node is enough",
		     p->topology.ids[x.top[0].usual],
		     p->topology.ids[x.top[0].usual]);
	return 1;
}
