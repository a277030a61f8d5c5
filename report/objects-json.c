// SPDX-License-Identifier: GPL-2.0-or-later
/* moca objects --json */
#include "report/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/text/json.h"
#include "lib/text/text.h"
#include "report/latency.h"
#include "report/refused.h"

#define NAME_MAX_LEN 4096

static void json_address(struct json *j, const char *key, uint64_t addr)
{
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "0x%" PRIx64, addr);
	json_string(j, key, buf);
}

static void json_end(struct json *j, uint64_t end_ns)
{
	if (end_ns)
		json_uint(j, "end_ns", end_ns);
	else
		json_null(j, "end_ns");
}

static void json_task(struct json *j, const char *key,
		      const struct moca_task *t)
{
	if (!t) {
		json_null(j, key);
		return;
	}
	json_open(j, key, '{');
	json_uint(j, "id", t->id);
	json_uint(j, "tid", t->tid);
	json_string(j, "name", t->name);
	json_close(j, '}');
}

static void json_totals(struct json *j, const struct objects_view *v)
{
	const struct moca_objects_totals *t = &v->totals;
	const char *const *unseen;
	size_t i, n;

	json_open(j, "totals", '{');
	json_uint(j, "accesses", t->accesses);
	json_uint(j, "reads", t->reads);
	json_uint(j, "writes", t->writes);
	json_uint(j, "named", t->named);
	json_double(j, "named_percent",
		    t->accesses ? 100. * t->named / t->accesses : 0);
	json_uint(j, "own", t->own);
	json_bool(j, "exact", t->exact_only);
	json_uint(j, "loads", t->loads);
	json_uint(j, "stores", t->stores);
	json_uint(j, "own_loads", t->own_loads);
	json_uint(j, "own_stores", t->own_stores);
	json_uint(j, "allocations", t->allocations);
	json_uint(j, "small", t->small);
	json_uint(j, "small_bytes", t->small_bytes);
	json_uint(j, "skipped", t->skipped);
	json_uint(j, "freed", t->freed);
	json_uint(j, "freed_bytes", t->freed_bytes);
	json_open(j, "thinned", '{');
	json_uint(j, "one_in", t->thin_level ? 1ull << t->thin_level : 1);
	json_uint(j, "below_bytes", t->thin_min);
	json_uint(j, "from_ns", t->thin_ns);
	json_uint(j, "samples", t->samples);
	json_close(j, '}');
	json_uint(j, "lost", t->lost);
	json_uint(j, "refused", t->refused);
	refused_json(j, v->trace, "without_buffer");
	json_open(j, "not_watched", '[');
	unseen = moca_objects_unseen(v->objects, &n);
	for (i = 0; i < n; i++)
		json_string(j, NULL, unseen[i]);
	json_close(j, ']');
	json_uint(j, "processes", t->processes);
	json_uint(j, "without_agent", t->without_agent);
	json_bool(j, "no_identities", t->no_identities);
	json_uint(j, "changed_files", t->changed_files);
	json_close(j, '}');
}

static void json_nodes(struct json *j, const struct moca_object *o)
{
	char key[TEXT_MAX];
	unsigned i;

	json_open(j, "nodes", '{');
	for (i = 0; i < MOCA_OBJECT_NODES; i++) {
		if (!o->nodes[i])
			continue;
		snprintf(key, sizeof(key), "%u", i);
		json_uint(j, key, o->nodes[i]);
	}
	json_uint(j, "unknown", o->node_unknown);
	json_close(j, '}');
}

void objects_json_use(struct json *j, const struct moca_object *o)
{
	json_uint(j, "pages", o->pages);
	json_uint(j, "pages_shared", o->pages_shared);
	json_uint(j, "shared_written", o->shared_written);
	json_uint(j, "pages_split", o->pages_split);
	json_uint(j, "accesses", o->accesses);
	json_uint(j, "reads", o->reads);
	json_uint(j, "writes", o->writes);
	json_uint(j, "wide", o->wide);
	json_uint(j, "loads", o->loads);
	json_uint(j, "stores", o->stores);
	json_uint(j, "threads", o->threads);
	json_uint(j, "processes", o->processes);
	json_string(j, "sharing", moca_sharing_name(o->sharing));
	json_string(j, "sharing_processes",
		    moca_sharing_name(o->sharing_processes));
}

static void json_object(struct json *j, const struct objects_view *v,
			const struct moca_object *o)
{
	char type[NAME_MAX_LEN];

	json_open(j, NULL, '{');
	json_uint(j, "id", o->id);
	json_string(j, "name", o->name);
	json_string(j, "kind", objects_kind(o->kind));
	json_string(j, "site", o->site);
	json_string(j, "type", o->shape ? moca_shape_type(o->shape, o->size,
							  type, sizeof(type)) :
					  NULL);
	json_string(j, "program", o->program);
	json_string(j, "function", o->alloc ? o->alloc->function : NULL);
	json_string(j, "file", o->alloc ? o->alloc->file : NULL);
	if (o->alloc && o->alloc->line)
		json_uint(j, "line", o->alloc->line);
	else
		json_null(j, "line");
	json_uint(j, "instances", o->instances);
	json_uint(j, "sampled", o->sampled);
	json_uint(j, "size", o->size);
	json_uint(j, "bytes", o->bytes);
	json_address(j, "addr", o->addr);
	json_uint(j, "begin_ns", o->begin_ns);
	json_end(j, o->end_ns);
	objects_json_use(j, o);
	json_task(j, "first_task", o->accesses ?
				   objects_task(v, o->first_task) : NULL);
	json_nodes(j, o);
	json_bool(j, "named", o->named);
	json_close(j, '}');
}

static int json_remainder(struct json *j, const struct objects_view *v)
{
	struct objects_remainder *r;
	size_t i, n;
	int err = objects_remainders(v, &r, &n);

	if (err)
		return err;
	json_open(j, "remainder", '[');
	for (i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", r[i].name);
		json_uint(j, "accesses", r[i].accesses);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(r);
	return 0;
}

static int json_touchers(struct json *j, const struct objects_view *v)
{
	struct objects_toucher *t;
	size_t i, n;
	int err = objects_touchers(v, &t, &n);

	if (err)
		return err;
	json_open(j, "touchers", '[');
	for (i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_string(j, "function", t[i].function);
		json_string(j, "file", t[i].file);
		if (t[i].line)
			json_uint(j, "line", t[i].line);
		else
			json_null(j, "line");
		json_string(j, "module", t[i].module ?
			    moca_module_path(t[i].module) : NULL);
		json_task(j, "thread", t[i].task);
		json_uint(j, "reads", t[i].reads);
		json_uint(j, "writes", t[i].writes);
		json_uint(j, "accesses", t[i].accesses);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(t);
	return 0;
}

static int json_ranges(struct json *j, const struct objects_view *v)
{
	struct objects_range *r;
	char name[NAME_MAX_LEN];
	size_t i, n;
	int err = objects_ranges(v, &r, &n);

	if (err)
		return err;
	json_open(j, "ranges", '[');
	for (i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_string(j, "range",
			    moca_shape_range(r[i].object->shape,
					     r[i].object->name,
					     r[i].object->size, r[i].begin,
					     r[i].end, name, sizeof(name)));
		json_uint(j, "object", r[i].object->id);
		json_uint(j, "begin", r[i].begin);
		json_uint(j, "end", r[i].end);
		json_uint(j, "pages", r[i].pages);
		json_uint(j, "accesses", r[i].accesses);
		json_uint(j, "reads", r[i].reads);
		json_uint(j, "writes", r[i].writes);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(r);
	return 0;
}

static void json_instances(struct json *j, const struct objects_view *v)
{
	const struct moca_instance *x;
	const struct moca_object *rows;
	size_t i, n, k;

	x = moca_objects_instances(v->objects, &n);
	rows = moca_objects_rows(v->objects, &k);
	json_open(j, "instances", '[');
	for (i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_uint(j, "object", x[i].object);
		json_string(j, "name", rows[x[i].object].name);
		json_uint(j, "pid", x[i].pid);
		json_address(j, "addr", x[i].addr);
		json_uint(j, "size", x[i].size);
		json_uint(j, "begin_ns", x[i].begin_ns);
		json_end(j, x[i].end_ns);
		json_uint(j, "accesses", x[i].accesses);
		json_uint(j, "reads", x[i].reads);
		json_uint(j, "writes", x[i].writes);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int objects_json(const struct objects_view *v)
{
	struct json j = { .f = stdout };
	size_t i;
	int err;

	json_open(&j, NULL, '{');
	json_string(&j, "trace", v->path);
	json_totals(&j, v);
	json_open(&j, "objects", '[');
	for (i = 0; i < v->count; i++)
		json_object(&j, v, v->rows[i]);
	json_close(&j, ']');
	err = json_remainder(&j, v);
	if (!err && v->by == BY_RANGE)
		err = json_ranges(&j, v);
	else if (!err && v->by != BY_NONE)
		err = json_touchers(&j, v);
	if (v->instances)
		json_instances(&j, v);
	if (!err && moca_latency_known(v->trace))
		err = latency_json(&j, v->trace, v->narrow, SIZE_MAX);
	json_close(&j, '}');
	return err;
}
