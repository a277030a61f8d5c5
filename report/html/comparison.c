// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Another run beside this one, as a blob of its own: doc/design/report.md says
 * what is in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/comparison.h"
#include "analysis/rates.h"
#include "analysis/trace.h"
#include "report/advice.h"
#include "report/comparison.h"
#include "report/html/report.h"

#define PAIRS 500u	/* structures in the page, */
#define OVER_TIME 24u	/* of these with accesses over time */
#define FINDINGS 100u	/* of each run */
#define NAME_BYTES 400u
#define TITLE_BYTES JSON_CUT

/* What conditions have no word for. Sums of a run, or of a structure. */
struct extra {
	uint64_t bytes;		/* allocated, when all together were most */
	uint64_t bytes_end;
	uint64_t faults, major, cpu_ns;	/* of the program's own; runs alone */
	int sampled;		/* there are the last three */
};

/* One of the two runs. */
struct side {
	const struct report *report;
	struct extra all;
	struct extra *pairs;
	uint64_t *reads, *writes;	/* [pair][window] of the first OVER_TIME */
};

static int count_faults(struct side *s)
{
	struct moca_rates *x = NULL;
	int err = moca_rates_compute(&x, s->report->trace, 1);

	if (err || !x)
		return err;
	s->all.sampled = 1;
	s->all.faults = x->total.minor - x->total.own;
	s->all.major = x->total.major;
	s->all.cpu_ns = x->total.cpu_ns;
	moca_rates_free(x);
	return 0;
}

static int count_bytes(struct side *s, const struct comparison *c)
{
	const struct comparison_pair *p;
	struct report_sites x;
	struct extra *to;
	size_t i;
	int err = report_sites(s->report, &x);

	if (err)
		return err;
	s->all.bytes = x.peak;
	s->all.bytes_end = x.end;
	for (i = 0; i < x.count; i++) {
		if (!x.list[i].at_peak && !x.list[i].at_end)
			continue;
		p = comparison_find(c, x.list[i].object->name);
		if (!p)
			continue;
		to = &s->pairs[p - c->pairs];
		to->bytes += x.list[i].at_peak;
		to->bytes_end += x.list[i].at_end;
	}
	free(x.list);
	return 0;
}

static void count_windows(struct side *s, const struct comparison *c)
{
	const struct moca_profile *p = s->report->profile;
	const struct moca_profile_object *o;
	const struct comparison_pair *x;
	size_t i, at;
	unsigned w;

	for (i = 0; i < p->count; i++) {
		o = &p->rows[i];
		if (!o->data || !o->accesses || !o->reads_in || !o->writes_in)
			continue;
		x = comparison_find(c, o->object->name);
		at = x ? (size_t)(x - c->pairs) : OVER_TIME;
		for (w = 0; at < OVER_TIME && w < p->windows; w++) {
			s->reads[at * p->windows + w] += o->reads_in[w];
			s->writes[at * p->windows + w] += o->writes_in[w];
		}
	}
}

static int side_init(struct side *s, const struct report *r,
		     const struct comparison *c)
{
	size_t cells = (size_t)OVER_TIME * (r->profile->windows + 1);
	int err;

	s->report = r;
	s->pairs = calloc(c->count + 1, sizeof(*s->pairs));
	s->reads = calloc(cells, sizeof(*s->reads));
	s->writes = calloc(cells, sizeof(*s->writes));
	if (!s->pairs || !s->reads || !s->writes)
		return -ENOMEM;
	count_windows(s, c);
	err = count_faults(s);
	return err ? err : count_bytes(s, c);
}

static void side_free(struct side *s)
{
	free(s->pairs);
	free(s->reads);
	free(s->writes);
}

/* --- as JSON -------------------------------------------------------------- */

static void put_run(struct json *j, const char *key, const struct side *s)
{
	const struct report *r = s->report;
	const struct moca_profile *p = r->profile;
	struct moca_certificate c;
	char machine[256];

	json_open(j, key, '{');
	json_cut(j, "path", r->path, NAME_BYTES);
	json_cut(j, "command", moca_trace_meta(r->trace, META_COMMAND),
		 NAME_BYTES);
	advice_topology(p, machine, sizeof(machine));
	json_string(j, "machine", machine);
	json_uint(j, "intervals", p->intervals);
	json_int(j, "begin_ns", (int64_t)(p->begin_ns - r->origin));
	json_uint(j, "window_ns", p->window_ns);
	json_uint(j, "windows", p->windows);
	moca_trace_certificate(r->trace, &c);
	json_uint(j, "pages_seen", c.pages_seen);
	json_uint(j, "pages_touched", c.pages_touched);
	json_close(j, '}');
}

static void put_extra(struct json *j, const struct extra *x, int run)
{
	json_uint(j, "bytes", x->bytes);
	json_uint(j, "bytes_end", x->bytes_end);
	if (!run || !x->sampled)
		return;
	json_uint(j, "faults", x->faults);
	json_uint(j, "major", x->major);
	json_uint(j, "cpu_ns", x->cpu_ns);
}

static void put_values(struct json *j, const struct comparison *c,
		       const struct comparison_pair *x,
		       const struct side side[2], size_t at)
{
	static const char *const keys[] = { "a", "b" };
	const struct side *s;

	for (s = side; s < side + 2; s++) {
		if (x->name && !x->in[s - side]) {
			json_null(j, keys[s - side]);
			continue;
		}
		json_open(j, keys[s - side], '{');
		comparison_json(j, c, x, s - side);
		put_extra(j, x->name ? &s->pairs[at] : &s->all, !x->name);
		json_close(j, '}');
	}
}

static void put_windows(struct json *j, const char *key, const struct side *s,
			size_t at)
{
	unsigned w, n = s->report->profile->windows;

	json_open(j, key, '[');
	for (w = 0; w < n; w++)
		json_uint(j, NULL, s->reads[at * n + w]);
	for (w = 0; w < n; w++)
		json_uint(j, NULL, s->writes[at * n + w]);
	json_close(j, ']');
}

static void put_pairs(struct json *j, const struct comparison *c,
		      const struct side side[2])
{
	const struct comparison_pair *x;
	size_t i;

	json_uint(j, "count", c->count);
	json_open(j, "objects", '[');
	for (i = 0; i < c->count && i < PAIRS; i++) {
		x = &c->pairs[i];
		json_open(j, NULL, '{');
		json_cut(j, "name", x->name, NAME_BYTES);
		if (x->name != x->name_a)
			json_cut(j, "name_a", x->name_a, NAME_BYTES);
		put_values(j, c, x, side, i);
		if (i < OVER_TIME) {
			put_windows(j, "over_time_a", &side[0], i);
			put_windows(j, "over_time_b", &side[1], i);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

static const struct moca_finding *find_same(const struct comparison *c,
					    const struct moca_finding *f,
					    int side)
{
	const struct moca_advice *other = c->advice[!side];
	const struct moca_finding *g;
	const char *name = f->object->object->name;
	const struct comparison_pair *x = comparison_find(c, name);

	for (g = other->findings; g < other->findings + other->count; g++) {
		const char *its = g->object->object->name;

		if (g->kind == f->kind &&
		    (x ? comparison_find(c, its) == x : !strcmp(name, its)))
			return g;
	}
	return NULL;
}

static void put_finding(struct json *j, const struct moca_finding *f,
			const char *state)
{
	json_open(j, NULL, '{');
	json_string(j, "state", state);
	json_string(j, "id", moca_finding_id(f->kind));
	json_cut(j, "title", f->title, TITLE_BYTES);
	json_string(j, "confidence", moca_confidence_name(f->confidence));
	json_close(j, '}');
}

static void put_findings(struct json *j, const struct comparison *c)
{
	const struct moca_advice *a = c->advice[0], *b = c->advice[1];
	size_t i;

	json_open(j, "findings", '[');
	for (i = 0; i < a->count && i < FINDINGS; i++)
		if (!find_same(c, &a->findings[i], 0))
			put_finding(j, &a->findings[i], "gone");
	for (i = 0; i < b->count && i < FINDINGS; i++)
		put_finding(j, &b->findings[i],
			    find_same(c, &b->findings[i], 1) ? "kept" : "new");
	json_close(j, ']');
}

static void put_conditions(struct json *j, const struct report_compare *x)
{
	size_t i;

	json_open(j, "conditions", '[');
	for (i = 0; i < x->condition_count; i++) {
		json_open(j, NULL, '{');
		json_cut(j, "condition", x->conditions[i], NAME_BYTES);
		json_bool(j, "holds", x->holds[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static int put(struct report *r, const struct side side[2])
{
	const struct comparison *c = r->compare->runs;
	struct report_json x;

	if (report_json_begin(&x))
		return -ENOMEM;
	json_open(&x.j, NULL, '{');
	json_bool(&x.j, "counts", c->profile[0]->counts != NULL);
	put_run(&x.j, "run_a", &side[0]);
	put_run(&x.j, "run_b", &side[1]);
	json_open(&x.j, "total", '{');
	put_values(&x.j, c, &c->all, side, 0);
	json_close(&x.j, '}');
	put_pairs(&x.j, c, side);
	put_findings(&x.j, c);
	put_conditions(&x.j, r->compare);
	json_close(&x.j, '}');
	return report_json_end(r, &x, "comparison", 0);
}

int report_comparison(struct report *r)
{
	struct side side[2] = { 0 };
	int err;

	if (!r->compare)
		return 0;
	err = side_init(&side[0], r->compare->before, r->compare->runs);
	if (!err)
		err = side_init(&side[1], r, r->compare->runs);
	if (!err)
		err = put(r, side);
	side_free(&side[0]);
	side_free(&side[1]);
	return err;
}
