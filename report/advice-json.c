// SPDX-License-Identifier: GPL-2.0-or-later
/* moca summary --json: moca-summary(1) has its members. */
#include <math.h>
#include <stdio.h>

#include "analysis/trace.h"
#include "lib/text/json.h"
#include "report/advice.h"
#include "report/objects.h"

/* Raised when a member changes its meaning or goes; not when one is added. */
#define VERSION 3
/* With 64 parts and four numbers for each window, unless --all. */
#define DETAILED 100

static void json_share(struct json *j, const char *key, uint64_t part,
		       uint64_t whole)
{
	json_double(j, key, whole ? (double)part / whole : 0);
}

static void json_policies(struct json *j, const uint64_t *remote,
			  uint64_t accesses)
{
	json_open(j, "remote", '{');
	json_share(j, "first_touch", remote[MOCA_POLICY_FIRST_TOUCH], accesses);
	json_share(j, "interleave", remote[MOCA_POLICY_INTERLEAVE], accesses);
	json_share(j, "bind", remote[MOCA_POLICY_BIND], accesses);
	json_share(j, "parallel_init", remote[MOCA_POLICY_PARALLEL_INIT],
		   accesses);
	json_close(j, '}');
}

static void json_uints(struct json *j, const char *key, const uint64_t *v,
		       unsigned n)
{
	unsigned i;

	json_open(j, key, '[');
	for (i = 0; i < n; i++)
		json_uint(j, NULL, v[i]);
	json_close(j, ']');
}

static void json_uint32s(struct json *j, const char *key, const uint32_t *v,
			 unsigned n)
{
	unsigned i;

	if (!v) {
		json_null(j, key);
		return;
	}
	json_open(j, key, '[');
	for (i = 0; i < n; i++)
		json_uint(j, NULL, v[i]);
	json_close(j, ']');
}

static void json_machine(struct json *j, const struct moca_profile *p)
{
	const struct moca_topology *t = &p->topology;
	unsigned i;

	json_open(j, "topology", '{');
	json_uint(j, "nodes", t->nodes);
	json_uint(j, "cpus", t->cpus);
	json_bool(j, "what_if", t->what_if);
	json_bool(j, "assumed", t->assumed != MOCA_ASSUMED_NOT);
	json_bool(j, "recorded", t->assumed != MOCA_ASSUMED_UNKNOWN);
	json_open(j, "node_of_cpu", '[');
	for (i = 0; i < t->cpus; i++)
		json_int(j, NULL, moca_topology_cpu_node(t, i));
	json_close(j, ']');
	json_open(j, "node_ids", '[');
	for (i = 0; i < t->nodes; i++)
		json_uint(j, NULL, t->ids[i]);
	json_close(j, ']');
	json_uint(j, "lanes", p->lanes);
	json_uint(j, "threads", p->threads);
	json_close(j, '}');
}

/* Which lane each task has; it tells what lanes are. */
static void json_tasks(struct json *j, const struct advice_view *v)
{
	size_t i, n = moca_trace_task_count(v->trace);
	const struct moca_task *t;

	json_open(j, "tasks", '[');
	for (i = 0; i < n; i++) {
		t = moca_trace_task(v->trace, i);
		if (!t->accesses && !t->loads && !t->stores)
			continue;
		json_open(j, NULL, '{');
		json_uint(j, "id", t->id);
		json_uint(j, "pid", t->pid);
		json_uint(j, "tid", t->tid);
		json_string(j, "name", t->name);
		json_uint(j, "lane", v->profile->lane_of[t->id]);
		if (v->profile->topology.what_if)
			json_uint(j, "cpu", v->profile->cpu_of[t->id]);
		else
			json_null(j, "cpu");
		json_uint(j, "accesses", t->accesses ? t->accesses :
						       t->loads + t->stores);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_totals(struct json *j, const struct moca_profile *p)
{
	struct moca_objects_totals t;

	moca_objects_totals(p->objects, &t);
	json_open(j, "totals", '{');
	json_uint(j, "accesses", p->unweighed);
	json_uint(j, "weighed_accesses", p->accesses);
	json_uint(j, "records", p->records);
	json_uint(j, "pages", p->data_pages);
	json_uint(j, "other_accesses", p->other_accesses);
	json_uint(j, "other_pages", p->other_pages);
	json_uint(j, "allocations_lost", t.lost);
	json_uint(j, "working_set_most", p->used.most);
	json_uint(j, "working_set_median", p->used.median);
	json_uint(j, "intervals", p->intervals);
	json_uint(j, "left_out", p->left_out);
	if (p->sampled) {
		json_uint(j, "top_weight", p->top_weight);
		json_double(j, "share_error", moca_profile_most_error(p));
	}
	json_uint(j, "node_unknown", p->unknown);
	json_policies(j, p->remote, p->accesses);
	json_uints(j, "served_by_node", p->served, p->topology.nodes);
	json_close(j, '}');
}

static void json_lines(struct json *j, const char *key, char *const *lines)
{
	int i;

	json_open(j, key, '[');
	for (i = 0; i < MOCA_FINDING_LINES && lines[i]; i++)
		json_string(j, NULL, lines[i]);
	json_close(j, ']');
}

static void json_finding(struct json *j, const struct advice_view *v,
			 const struct moca_finding *f)
{
	json_open(j, NULL, '{');
	json_string(j, "id", moca_finding_id(f->kind));
	json_string(j, "title", f->title);
	json_string(j, "confidence", moca_confidence_name(f->confidence));
	/*
	 * Churn whose seconds are unknown has a place among the others, but no
	 * figure.
	 */
	json_double(j, "gain", f->kind == MOCA_FINDING_CHURN &&
			       isnan(f->seconds) ? NAN : f->gain);
	json_double(j, "seconds", f->seconds);
	json_uint(j, "object", f->object->object->id);
	json_string(j, "name", f->object->object->name);
	json_open(j, "remote", '{');
	json_double(j, "first_touch", f->remote[MOCA_POLICY_FIRST_TOUCH]);
	json_double(j, "interleave", f->remote[MOCA_POLICY_INTERLEAVE]);
	json_double(j, "bind", f->remote[MOCA_POLICY_BIND]);
	json_double(j, "parallel_init", f->remote[MOCA_POLICY_PARALLEL_INIT]);
	json_double(j, "after", f->after);
	json_close(j, '}');
	json_lines(j, "evidence", f->evidence);
	json_string(j, "cause", f->cause);
	json_string(j, "fix", f->fix);
	json_string(j, "setting", f->setting);
	json_lines(j, "try", f->try_);
	advice_tried_json(j, v, f);
	json_open(j, "first_touch", '{');
	json_string(j, "function", f->function);
	json_string(j, "file", f->file);
	json_uint(j, "line", f->line);
	json_close(j, '}');
	json_close(j, '}');
}

static void json_parts(struct json *j, const struct moca_profile *p,
		       const struct moca_profile_object *o)
{
	unsigned i;

	json_open(j, "parts", '[');
	for (i = 0; o->parts && i < MOCA_PROFILE_PARTS; i++) {
		/* Of fewer pages than parts some parts have none. */
		if (o->pages < MOCA_PROFILE_PARTS && i >= o->pages)
			break;
		json_open(j, NULL, '{');
		json_uint(j, "first", o->part_first[i]);
		json_uint32s(j, "accesses",
			     o->parts + (size_t)i * p->lanes, p->lanes);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Where in it, and when, it is used. */
static void json_detail(struct json *j, const struct moca_profile *p,
			const struct moca_profile_object *o, int detailed)
{
	const unsigned n = p->windows;

	if (detailed)
		json_parts(j, p, o);
	else
		json_null(j, "parts");
	json_uint32s(j, "reads_in", detailed ? o->reads_in : NULL, n);
	json_uint32s(j, "writes_in", detailed ? o->writes_in : NULL, n);
	json_uint32s(j, "touches_in", detailed ? o->touches_in : NULL, n);
	json_uint32s(j, "remote_in", detailed ? o->remote_in : NULL, n);
}

static void json_object(struct json *j, const struct moca_profile *p,
			const struct moca_profile_object *o, int detailed)
{
	unsigned i;

	json_open(j, NULL, '{');
	json_uint(j, "id", o->object->id);
	json_string(j, "name", o->object->name);
	json_string(j, "kind", objects_kind(o->object->kind));
	json_string(j, "site", o->object->site);
	json_string(j, "program", o->object->program);
	json_bool(j, "data", o->data);
	json_uint(j, "size", o->object->size);
	json_uint(j, "threads", o->object->threads);
	json_uint(j, "pages", o->pages);
	json_uint(j, "accesses", o->object->accesses);
	json_uint(j, "weighed_accesses", o->accesses);
	json_uint(j, "reads", o->object->reads);
	json_uint(j, "writes", o->object->writes);
	json_uint(j, "watched_pages", o->watched_pages);
	json_uint(j, "private_pages", o->private_pages);
	json_uint(j, "migratory_pages", o->migratory_pages);
	json_uint(j, "shared_pages", o->shared_pages);
	json_uint(j, "shared_accesses", o->shared_accesses);
	json_uint(j, "late_writes", o->late_writes);
	json_uint(j, "idle_pages", o->idle_pages);
	json_uint(j, "hot_pages", o->hot_pages);
	json_uint(j, "cold_pages", o->cold_pages);
	json_uint(j, "node_unknown", o->unknown);
	json_uint(j, "processes", o->object->processes);
	json_string(j, "sharing", moca_sharing_name(o->object->sharing));
	json_string(j, "sharing_processes",
		    moca_sharing_name(o->object->sharing_processes));
	json_policies(j, o->remote, o->accesses);
	json_uint(j, "steps", o->steps);
	json_uint(j, "steps_next", o->steps_next);
	json_uint(j, "steps_near", o->steps_near);
	json_open(j, "patterns", '[');
	for (i = 0; i < MOCA_PATTERNS; i++)
		if (o->patterns & 1u << i)
			json_string(j, NULL, moca_pattern_name(i));
	json_close(j, ']');
	json_uints(j, "first_touch_by_lane", o->first, p->lanes);
	json_uints(j, "accesses_by_lane", o->use, p->lanes);
	json_uints(j, "writes_by_lane", o->written, p->lanes);
	json_uints(j, "pages_by_node", o->homes, p->topology.nodes);
	json_detail(j, p, o, detailed);
	json_close(j, '}');
}

static void json_objects(struct json *j, const struct advice_view *v)
{
	const struct moca_profile *p = v->profile;
	uint64_t least = v->least ? v->least : 10000;
	size_t i;

	json_open(j, "objects", '[');
	for (i = 0; i < p->count; i++)
		if (p->rows[i].accesses &&
		    (v->all || p->rows[i].accesses * least >= p->accesses))
			json_object(j, p, &p->rows[i],
				    v->all || i < DETAILED);
	json_close(j, ']');
}

static void json_time(struct json *j, const struct moca_profile *p)
{
	unsigned w;

	json_open(j, "time", '{');
	json_uint(j, "begin_ns", p->begin_ns);
	json_uint(j, "window_ns", p->window_ns);
	json_uint(j, "windows", p->windows);
	json_uints(j, "working_set", p->working_set, p->windows);
	json_open(j, "activity", '[');
	for (w = 0; w < p->windows; w++)
		json_uints(j, NULL, p->lane_activity[w], p->lanes);
	json_close(j, ']');
	json_close(j, '}');
}

static void json_phase(struct json *j, const struct moca_phase *x)
{
	int i;

	json_open(j, NULL, '{');
	json_uint(j, "begin_ns", x->begin_ns);
	json_uint(j, "end_ns", x->end_ns);
	json_uint(j, "accesses", x->accesses);
	json_uint(j, "pages", x->pages);
	json_open(j, "top", '[');
	for (i = 0; i < MOCA_PHASE_TOP && x->top[i].object; i++) {
		json_open(j, NULL, '{');
		json_uint(j, "object", x->top[i].object->object->id);
		json_string(j, "name", x->top[i].object->object->name);
		json_uint(j, "reads", x->top[i].reads);
		json_uint(j, "writes", x->top[i].writes);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void json_qualities(struct json *j, const struct moca_quality *q,
			   size_t n)
{
	size_t i;

	json_open(j, "qualities", '[');
	for (i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_double(j, "p_begin", q[i].p_begin);
		json_double(j, "gain", q[i].gain);
		json_double(j, "loss", q[i].loss);
		json_uint(j, "areas", q[i].areas);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_phases(struct json *j, const struct moca_phases *x)
{
	size_t i;

	json_open(j, "phases", '{');
	json_double(j, "p", x->p);
	json_open(j, "phases", '[');
	for (i = 0; i < x->count; i++)
		json_phase(j, &x->phases[i]);
	json_close(j, ']');
	json_qualities(j, x->qualities, x->quality_count);
	json_close(j, '}');
}

static void json_overview(struct json *j, const struct moca_overview *x)
{
	const struct moca_overview_area *a;

	json_open(j, "overview", '{');
	json_double(j, "p", x->p);
	json_uint(j, "objects", x->objects);
	json_open(j, "areas", '[');
	for (a = x->areas; a < x->areas + x->count; a++) {
		json_open(j, NULL, '{');
		if (a->object)
			json_uint(j, "object", a->object->object->id);
		else
			json_null(j, "object");
		json_string(j, "name", a->object ? a->object->object->name :
						   NULL);
		json_uint(j, "begin_ns", a->begin_ns);
		json_uint(j, "end_ns", a->end_ns);
		json_uint(j, "reads", a->reads);
		json_uint(j, "writes", a->writes);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_qualities(j, x->qualities, x->quality_count);
	json_close(j, '}');
}

void advice_json(FILE *f, const struct advice_view *v)
{
	struct json j = { .f = f };
	size_t i;

	json_open(&j, NULL, '{');
	json_uint(&j, "version", VERSION);
	json_string(&j, "trace", v->path);
	json_string(&j, "command", moca_trace_meta(v->trace, META_COMMAND));
	json_machine(&j, v->profile);
	json_totals(&j, v->profile);
	json_open(&j, "findings", '[');
	for (i = 0; i < v->advice->count; i++)
		json_finding(&j, v, &v->advice->findings[i]);
	json_close(&j, ']');
	advice_checks_json(&j, v);
	json_string(&j, "undecided", v->advice->undecided);
	json_open(&j, "notes", '[');
	for (i = 0; i < v->advice->note_count; i++)
		json_string(&j, NULL, v->advice->notes[i]);
	json_close(&j, ']');
	json_objects(&j, v);
	advice_lines_json(&j, v);
	advice_counts_json(&j, v);
	json_tasks(&j, v);
	json_time(&j, v->profile);
	json_phases(&j, &v->phases);
	json_overview(&j, &v->overview);
	json_close(&j, '}');
}
