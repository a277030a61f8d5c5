// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/info.h"

#include "analysis/trace.h"
#include "cli/info-cost.h"
#include "lib/text/json.h"
#include "report/blind.h"
#include "report/exact.h"
#include "report/nodes.h"
#include "report/refused.h"

static void json_counts(struct json *j, const struct moca_info_counts *n)
{
	json_uint(j, "pages", n->pages);
	json_uint(j, "accesses", n->accesses);
	json_uint(j, "reads", n->reads);
	json_uint(j, "writes", n->writes);
	json_uint(j, "unknown", n->unknown);
	json_uint(j, "kernel", n->kernel);
}

static void json_certificate(struct json *j, const struct info *in)
{
	const struct moca_certificate *c = &in->cert;

	json_open(j, "certificate", '{');
	json_uint(j, "pages_seen", c->pages_seen);
	json_uint(j, "pages_touched", c->pages_touched);
	json_uint(j, "pages_other", c->pages_other);
	json_uint(j, "pages_blind", c->pages_blind);
	blind_json(j, in->t);
	json_uint(j, "records", c->records);
	json_uint(j, "lost", c->lost);
	json_uint(j, "chunks", c->chunks);
	json_uint(j, "lossy_chunks", c->lossy_chunks);
	json_uint(j, "loads", c->loads);
	json_uint(j, "stores", c->stores);
	json_uint(j, "gaps", c->gaps);
	json_close(j, '}');
	json_open(j, "damage", '{');
	json_uint(j, "files", in->damage.files);
	json_uint(j, "chunks", in->damage.chunks);
	json_uint(j, "tail_bytes", in->damage.tail_bytes);
	json_close(j, '}');
	json_bool(j, "truncated", in->truncated);
}

static void json_metadata(struct json *j, const struct info *in)
{
	static const char *const keys[] = {
		META_COMMAND, META_START_TIME, META_HOST, META_KERNEL,
		META_CPUS, META_PAGE_SIZE, META_COLLECTOR, META_INTERVAL,
		META_BUDGET, META_START, META_END, META_EXIT_STATUS,
		META_ENDED_PROGRAM,
		META_READ_WRITE, META_PHYS, META_IMPORT, "via", "kernel.features",
		META_SAMPLE, META_SAMPLE_LEVELS,
	};
	const char *value;
	unsigned i;

	json_open(j, "metadata", '{');
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		value = moca_trace_meta(in->t, keys[i]);
		if (value)
			json_string(j, keys[i], value);
	}
	json_close(j, '}');
	json_open(j, "unseen", '[');
	for (i = 0; (value = moca_trace_meta_nth(in->t, META_NOTE, i)); i++) {
		json_open(j, NULL, '{');
		json_string(j, "what", value);
		json_close(j, '}');
	}
	for (i = 0; i < in->s.gap_count; i++) {
		json_open(j, NULL, '{');
		json_string(j, "what", in->s.gaps[i].name);
		json_uint(j, "events", in->s.gaps[i].events);
		json_uint(j, "bytes", in->s.gaps[i].bytes);
		json_uint(j, "ns", in->s.gaps[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Sums of the looks at accessed bits (--heat). */
static void json_heat(struct json *j, const struct info *in)
{
	static const char *const keys[] = {
		"period_ns", "looks", "looked", "touched", "held", "lost",
		"look_ns",
	};
	char key[32];

	if (!moca_trace_meta(in->t, "heat.looks")) {
		json_null(j, "heat");
		return;
	}
	json_open(j, "heat", '{');
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(key, sizeof(key), "heat.%s", keys[i]);
		json_uint(j, keys[i], trace_meta_u64(in->t, key, 0));
	}
	json_close(j, '}');
}

static void json_tasks(struct json *j, const struct info *in)
{
	size_t i;

	json_open(j, "tasks", '[');
	for (i = 0; i < in->s.task_count; i++) {
		const struct moca_task *t = moca_trace_task(in->t, i);

		json_open(j, NULL, '{');
		json_uint(j, "id", t->id);
		json_uint(j, "pid", t->pid);
		json_uint(j, "tid", t->tid);
		if (t->parent == MOCA_NO_TASK)
			json_null(j, "parent");
		else
			json_uint(j, "parent", t->parent);
		json_string(j, "name", t->name);
		json_uint(j, "start_ns", t->start_ns);
		json_uint(j, "end_ns", t->end_ns);
		if (t->end_ns && !(t->flags & MOCA_TASK_EVENTS))
			json_int(j, "status", t->status);
		else
			json_null(j, "status");
		json_uint(j, "chunks", t->chunks);
		json_uint(j, "lost", t->lost);
		json_uint(j, "events", moca_info_events(&in->s, in->t, i));
		json_uint(j, "events_lost",
			  moca_info_events_lost(&in->s, in->t, i));
		json_uint(j, "events_torn", t->events_torn);
		json_uint(j, "loads", t->loads);
		json_uint(j, "stores", t->stores);
		json_counts(j, &in->s.tasks[i]);
		nodes_json_task(j, &in->s.nodes, i);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_events(struct json *j, const struct info *in)
{
	const struct moca_info *s = &in->s;
	size_t i;

	json_open(j, "events", '{');
	json_uint(j, "count", s->events);
	json_uint(j, "lost", s->events_lost);
	json_uint(j, "torn", s->events_torn);
	json_open(j, "kinds", '[');
	for (i = 0; i < s->kind_count; i++) {
		const struct moca_info_kind *k = &s->kinds[i];

		json_open(j, NULL, '{');
		json_string(j, "facility", k->type->facility);
		json_string(j, "name", k->type->name);
		json_uint(j, "id", k->type->id);
		json_uint(j, "count", k->count);
		if (k->count) {
			json_uint(j, "first_ns", k->first_ns);
			json_uint(j, "last_ns", k->last_ns);
		} else {
			json_null(j, "first_ns");
			json_null(j, "last_ns");
		}
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void json_mappings(struct json *j, const struct info *in)
{
	size_t i;

	json_open(j, "mappings", '[');
	for (i = 0; i < in->s.mapping_count; i++) {
		const struct moca_info_mapping *m = &in->s.mappings[i];

		json_open(j, NULL, '{');
		json_uint(j, "pid", m->pid);
		json_string(j, "name", m->name);
		json_uint(j, "processes", m->processes);
		json_uint(j, "bytes", m->bytes);
		json_counts(j, &m->n);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_working_set(struct json *j, const struct info *in)
{
	const struct moca_interval_pages *used = &in->s.used;
	size_t i;

	json_open(j, "working_set", '{');
	json_uint(j, "intervals", in->s.interval_count);
	json_uint(j, "pages_max", used->most);
	json_uint(j, "pages_median", used->median);
	json_open(j, "pages_over_time", '[');
	for (i = 0; i < used->column_count; i++)
		json_uint(j, NULL, used->columns[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void json_rates(struct json *j, const struct moca_rates *r)
{
	if (!r) {
		json_null(j, "rates");
		return;
	}
	json_open(j, "rates", '{');
	json_uint(j, "minor", r->total.minor);
	if (r->has_own)
		json_uint(j, "minor_by_tracing", r->total.own);
	else
		json_null(j, "minor_by_tracing");
	json_uint(j, "major", r->total.major);
	json_uint(j, "cpu_ns", r->total.cpu_ns);
	json_uint(j, "sampled_ns", r->end_ns - r->begin_ns);
	json_uint(j, "samples", r->rounds);
	json_uint(j, "period_ns", r->period_ns);
	json_close(j, '}');
}

void info_json(const struct info *in, const char *path)
{
	struct json j = { .f = stdout };

	json_open(&j, NULL, '{');
	json_string(&j, "trace", path);
	json_metadata(&j, in);
	json_uint(&j, "duration_ns", info_duration(in));
	json_uint(&j, "bytes", in->s.bytes);
	json_certificate(&j, in);
	exact_json(&j, in->t);
	info_cost_json(&j, in->t);
	json_heat(&j, in);
	json_open(&j, "own", '{');
	json_counts(&j, &in->s.own);
	json_close(&j, '}');
	json_open(&j, "total", '{');
	json_counts(&j, &in->s.total);
	json_close(&j, '}');
	nodes_json(&j, &in->s.nodes);
	json_tasks(&j, in);
	json_events(&j, in);
	json_open(&j, "allocations", '{');
	json_uint(&j, "count", in->s.allocations);
	json_uint(&j, "lost", in->s.allocations_lost);
	json_uint(&j, "sampled_one_in", 1ull << in->s.thin_level);
	json_uint(&j, "sampled_below_bytes", in->s.thin_min);
	json_close(&j, '}');
	refused_json(&j, in->t, "refused");
	json_rates(&j, in->rates);
	json_mappings(&j, in);
	json_working_set(&j, in);
	resolution_json(&j, &in->resolution);
	json_close(&j, '}');
}
