// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/condition.h"
#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/text/json.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/advice.h"

#define TOP 20
#define FEW 1000		/* one of so many accesses: 0.1 % */

struct side {
	const char *path;
	struct moca_trace *trace;
	struct moca_profile *profile;
	struct moca_advice *advice;
};

/* Rows of one name, of all sites and programs of a run, added up. */
struct pair {
	const char *name;	/* NULL = the whole run */
	double value[2][DIFF_METRICS];
	int in[2];		/* is there such an object? */
};

struct diff {
	struct side side[2];
	struct pair all;
	struct pair *pairs;	/* by accesses in either run, most first */
	size_t count;
	struct condition *conditions;
	const char **texts;
	size_t condition_count;
};

/* --- what is compared --------------------------------------------------- */

/* Shares are sums here, and divided in share(). */
static void add_object(struct pair *x, int side,
		       const struct moca_profile_object *o)
{
	double *v = x->value[side];

	x->in[side] = 1;
	v[DIFF_ACCESSES] += o->accesses;
	v[DIFF_READS] += o->reads;
	v[DIFF_WRITES] += o->writes;
	v[DIFF_PAGES] += o->pages;
	v[DIFF_SHARED] += o->shared_pages;
	v[DIFF_REMOTE] += o->remote[MOCA_POLICY_FIRST_TOUCH];
	if (v[DIFF_THREADS] < o->object->threads)
		v[DIFF_THREADS] = o->object->threads;
}

static void share(struct pair *x)
{
	double *v;
	int side;

	for (side = 0; side < 2; side++) {
		v = x->value[side];
		v[DIFF_SHARED] /= v[DIFF_PAGES] > 0 ? v[DIFF_PAGES] : 1;
		v[DIFF_REMOTE] /= v[DIFF_ACCESSES] > 0 ? v[DIFF_ACCESSES] : 1;
	}
}

static struct pair *find_pair(struct diff *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->count; i++)
		if (!strcmp(d->pairs[i].name, name))
			return &d->pairs[i];
	return NULL;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->name,
		      ((const struct pair *)b)->name);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	double u = x->value[0][DIFF_ACCESSES] + x->value[1][DIFF_ACCESSES];
	double v = y->value[0][DIFF_ACCESSES] + y->value[1][DIFF_ACCESSES];

	return u > v ? -1 : u < v ? 1 : strcmp(x->name, y->name);
}

/* One pair for each row of both runs, then those of one name put together. */
static int make_pairs(struct diff *d)
{
	size_t i, n = d->side[0].profile->count + d->side[1].profile->count, k;
	const struct moca_profile *p;
	struct pair *x;
	int side, m;

	d->pairs = calloc(n + 1, sizeof(*d->pairs));
	if (!d->pairs)
		return -ENOMEM;
	for (side = 0; side < 2; side++) {
		p = d->side[side].profile;
		for (i = 0; i < p->count; i++) {
			if (!p->rows[i].data || !p->rows[i].accesses)
				continue;
			x = &d->pairs[d->count++];
			x->name = p->rows[i].object->name;
			add_object(x, side, &p->rows[i]);
			add_object(&d->all, side, &p->rows[i]);
		}
	}
	qsort(d->pairs, d->count, sizeof(*d->pairs), compare_names);
	for (k = 0, i = 1; i < d->count; i++) {
		x = &d->pairs[k];
		if (strcmp(x->name, d->pairs[i].name)) {
			d->pairs[++k] = d->pairs[i];
			continue;
		}
		for (side = 0; side < 2; side++) {
			x->in[side] |= d->pairs[i].in[side];
			for (m = 0; m < DIFF_METRICS; m++)
				if (m != DIFF_THREADS)
					x->value[side][m] +=
						d->pairs[i].value[side][m];
				else if (x->value[side][m] <
					 d->pairs[i].value[side][m])
					x->value[side][m] =
						d->pairs[i].value[side][m];
		}
	}
	d->count = d->count ? k + 1 : 0;
	return 0;
}

static void add_findings(struct diff *d, int side)
{
	const struct side *s = &d->side[side];
	struct pair *x;
	unsigned w;
	size_t i;

	for (i = 0; i < s->advice->count; i++) {
		d->all.value[side][DIFF_FINDINGS]++;
		x = find_pair(d, s->advice->findings[i].object->object->name);
		if (x)
			x->value[side][DIFF_FINDINGS]++;
	}
	for (w = 0; w < s->profile->windows; w++)
		if (d->all.value[side][DIFF_WSS] < s->profile->working_set[w])
			d->all.value[side][DIFF_WSS] =
				s->profile->working_set[w];
	d->all.value[side][DIFF_THREADS] = s->profile->threads;
}

static int compare(struct diff *d)
{
	size_t i;
	int err = make_pairs(d);

	if (err)
		return err;
	for (i = 0; i < d->count; i++)
		share(&d->pairs[i]);
	share(&d->all);
	add_findings(d, 0);
	add_findings(d, 1);
	qsort(d->pairs, d->count, sizeof(*d->pairs), compare_pairs);
	return 0;
}

/* --- what is printed ---------------------------------------------------- */

static const char *value_text(char buf[TEXT_MAX], enum condition_metric m, double v)
{
	if (condition_metric_is_share(m))
		snprintf(buf, TEXT_MAX, "%.1f %%", 100 * v);
	else
		text_count(buf, (uint64_t)v);
	return buf;
}

static const char *change_text(char buf[TEXT_MAX], enum condition_metric m,
			       double a, double b)
{
	*buf = 0;
	if (condition_metric_is_share(m))
		snprintf(buf, TEXT_MAX, "%+.1f", 100 * (b - a));
	else if (a > 0)
		snprintf(buf, TEXT_MAX, "%+.1f %%", 100 * (b - a) / a);
	else if (b > 0)
		snprintf(buf, TEXT_MAX, "new");
	return buf;
}

static void print_metric(const struct pair *x, enum condition_metric m)
{
	double a = x->value[0][m], b = x->value[1][m];
	char u[TEXT_MAX], v[TEXT_MAX], w[TEXT_MAX];

	printf("  %-12s %14s -> %14s  ", condition_metric_name(m),
	       value_text(u, m, a), value_text(v, m, b));
	if (a != b)
		terminal_style(STYLE_WARN);
	printf("%s\n", a == b ? "=" : change_text(w, m, a, b));
	terminal_style(STYLE_NONE);
}

static void print_pair(const struct pair *x, int width)
{
	static const enum condition_metric shown[] = { DIFF_ACCESSES, DIFF_PAGES,
						  DIFF_SHARED, DIFF_REMOTE };
	char a[TEXT_MAX], b[TEXT_MAX], cell[2 * TEXT_MAX + 8];
	int name = width >= 130 ? 40 : width >= 110 ? 24 : 14;
	size_t i;

	terminal_name(x->name, name);
	for (i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		snprintf(cell, sizeof(cell), "%s -> %s",
			 x->in[0] ? value_text(a, shown[i],
					       x->value[0][shown[i]]) : "-",
			 x->in[1] ? value_text(b, shown[i],
					       x->value[1][shown[i]]) : "-");
		printf(" %*s", condition_metric_is_share(shown[i]) ? 18 :
			       shown[i] == DIFF_PAGES ? 18 : 22, cell);
	}
	printf("\n");
}

static void print_findings(const struct diff *d)
{
	const struct moca_advice *a;
	char lead[32];
	size_t i;
	int side;

	for (side = 0; side < 2; side++) {
		a = d->side[side].advice;
		printf("\nFindings of %s\n", side ? "B" : "A");
		for (i = 0; i < a->count; i++) {
			snprintf(lead, sizeof(lead), "%3zu. ", i + 1);
			terminal_wrap(lead, a->findings[i].title,
				      terminal_width(TERMINAL_PIPE));
		}
		if (!a->count)
			printf("  None.\n");
	}
}

static void print_text(const struct diff *d)
{
	int width = terminal_width(TERMINAL_PIPE), name = width >= 130 ? 40 :
					     width >= 110 ? 24 : 14;
	char buf[256], other[256];
	size_t i, left = 0, shown = 0;
	int m;

	terminal_wrap("A             ", d->side[0].path, width);
	terminal_wrap("B             ", d->side[1].path, width);
	advice_topology(d->side[0].profile, other, sizeof(other));
	advice_topology(d->side[1].profile, buf, sizeof(buf));
	if (strcmp(other, buf))
		terminal_wrap("Machine of A  ", other, width);
	terminal_wrap(strcmp(other, buf) ? "Machine of B  " : "Machine       ",
		      buf, width);
	printf("\n");
	for (m = 0; m < DIFF_METRICS; m++)
		print_metric(&d->all, (enum condition_metric)m);
	print_findings(d);
	printf("\n%-*s %22s %18s %18s %18s\n", name, "Data structure",
	       "accesses", "pages", "shared pages", "remote");
	for (i = 0; i < d->count; i++) {
		const struct pair *x = &d->pairs[i];

		if (shown == TOP ||
		    (x->value[0][DIFF_ACCESSES] * FEW <
			     d->all.value[0][DIFF_ACCESSES] &&
		     x->value[1][DIFF_ACCESSES] * FEW <
			     d->all.value[1][DIFF_ACCESSES])) {
			left++;
			continue;
		}
		print_pair(x, width);
		shown++;
	}
	if (left)
		printf("... and %zu more with few accesses: --json has all\n",
		       left);
}

static void json_values(struct json *j, const struct pair *x)
{
	static const char *const sides[] = { "a", "b" };
	int side, m;

	for (side = 0; side < 2; side++) {
		if (x->name && !x->in[side]) {
			json_null(j, sides[side]);
			continue;
		}
		json_open(j, sides[side], '{');
		for (m = 0; m < DIFF_METRICS; m++) {
			if (m == DIFF_WSS && x->name)
				continue;
			if (condition_metric_is_share((enum condition_metric)m))
				json_double(j, condition_metric_name(m),
					    x->value[side][m]);
			else
				json_uint(j, condition_metric_name(m),
					  (uint64_t)x->value[side][m]);
		}
		json_close(j, '}');
	}
}

static void print_json(const struct diff *d, const int *holds)
{
	struct json j = { .f = stdout };
	size_t i;

	json_open(&j, NULL, '{');
	json_uint(&j, "version", 1);
	json_string(&j, "a", d->side[0].path);
	json_string(&j, "b", d->side[1].path);
	json_open(&j, "total", '{');
	json_values(&j, &d->all);
	json_close(&j, '}');
	json_open(&j, "objects", '[');
	for (i = 0; i < d->count; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "name", d->pairs[i].name);
		json_values(&j, &d->pairs[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "conditions", '[');
	for (i = 0; i < d->condition_count; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "condition", d->texts[i]);
		json_bool(&j, "holds", holds[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}

/* --- the command -------------------------------------------------------- */

static int load(struct diff *d, int side, const char *topology)
{
	struct side *s = &d->side[side];
	struct moca_damage damage;
	int ret;

	s->trace = trace_open("diff", s->path);
	if (!s->trace)
		return EXIT_USAGE;
	ret = advice_profile("diff", s->path, s->trace, topology, &s->profile);
	if (ret)
		return ret == 1 ? EXIT_USAGE : ret;
	if (moca_advice_compute(&s->advice, s->trace, s->profile)) {
		moca_error("diff: out of memory");
		return EXIT_USAGE;
	}
	moca_trace_damage(s->trace, &damage);
	if (trace_damaged(&damage))
		moca_warn("diff: parts of '%s' are damaged and were left out: 'moca check %s' says which",
			  s->path, s->path);
	return 0;
}

/* Loads and stores are no page accesses: 1 after a message. */
static int refuse_mixture(const struct diff *d)
{
	const struct side *a = &d->side[0], *b = &d->side[1];

	if (!a->profile->counts == !b->profile->counts)
		return 0;
	moca_error("diff: '%s' has counts of exact mode, '%s' has records of pages: one cannot be compared with the other (record both in the same way)",
		   a->profile->counts ? a->path : b->path,
		   a->profile->counts ? b->path : a->path);
	return 1;
}

/* Which conditions hold; 0 or an exit code after a message. */
static int judge(struct diff *d, int *holds)
{
	const struct condition *c;
	struct pair *x;
	size_t i;

	for (i = 0; i < d->condition_count; i++) {
		c = &d->conditions[i];
		x = c->name ? find_pair(d, c->name) : &d->all;
		if (!x) {
			moca_error("diff: '--fail-if %s': nothing in either run is called '%s' ('moca objects --all %s' lists all names)",
				   d->texts[i], c->name, d->side[0].path);
			return EXIT_USAGE;
		}
		holds[i] = condition_holds(c, x->value[0][c->metric],
						x->value[1][c->metric]);
	}
	return 0;
}

static void tell_failed(struct diff *d, size_t i)
{
	const struct condition *c = &d->conditions[i];
	const struct pair *x = c->name ? find_pair(d, c->name) : &d->all;
	char a[TEXT_MAX], b[TEXT_MAX];

	moca_error("diff: FAILED %s: %s -> %s", d->texts[i],
		   value_text(a, c->metric, x->value[0][c->metric]),
		   value_text(b, c->metric, x->value[1][c->metric]));
}

static int tell(struct diff *d, const int *holds, int json)
{
	size_t i;
	int ret = 0;

	if (json)
		print_json(d, holds);
	else
		print_text(d);
	for (i = 0; i < d->condition_count; i++) {
		if (!holds[i])
			continue;
		ret = 1;
		tell_failed(d, i);
	}
	return ret;
}

static int run(struct diff *d, const char *topology, int json)
{
	int *holds, ret;

	ret = load(d, 0, topology);
	if (!ret)
		ret = load(d, 1, topology);
	if (!ret && refuse_mixture(d))
		ret = EXIT_USAGE;
	if (ret)
		return ret;
	holds = calloc(d->condition_count + 1, sizeof(*holds));
	if (!holds || compare(d)) {
		moca_error("diff: out of memory");
		ret = EXIT_USAGE;
	}
	if (!ret)
		ret = judge(d, holds);
	if (!ret)
		ret = tell(d, holds, json);
	free(holds);
	return ret;
}

static int parse_conditions(struct diff *d, const struct string_list *list)
{
	const char *why;
	size_t i;
	int err;

	d->texts = list->items;
	d->conditions = calloc(list->count + 1, sizeof(*d->conditions));
	if (!d->conditions) {
		moca_error("diff: out of memory");
		return -ENOMEM;
	}
	for (i = 0; i < list->count; i++) {
		err = condition_parse(&d->conditions[i], list->items[i],
					   &why);
		if (err) {
			moca_error("diff: '--fail-if %s' is no condition: %s",
				   list->items[i],
				   err == -ENOMEM ? "out of memory" : why);
			return err;
		}
		d->condition_count++;
	}
	return 0;
}

static void free_diff(struct diff *d)
{
	size_t i;

	for (i = 0; i < d->condition_count; i++)
		condition_free(&d->conditions[i]);
	free(d->conditions);
	free(d->pairs);
	for (i = 0; i < 2; i++) {
		moca_advice_free(d->side[i].advice);
		moca_profile_free(d->side[i].profile);
		moca_trace_close(d->side[i].trace);
	}
}

static const char about[] =
	"Compare two runs, data structure by data structure, by name.\n"
	"The exit code is 1 when a condition of --fail-if holds, 2 when the runs cannot be compared. A condition is METRIC[(NAME)] OPERATOR [+|-]NUMBER[%], as 'remote>+5%', 'pages(u)>+10%', 'remote(grid)>20%'; METRIC is accesses, reads, writes, pages, threads, shared, remote, wss or findings.";

int cmd_diff(int argc, char **argv)
{
	struct diff d = { 0 };
	struct string_list conditions = { 0 };
	const char *topology = NULL;
	int json = 0, first, ret;
	const struct option_spec specs[] = {
		OPT_LIST(0, "fail-if", &conditions, "CONDITION", "exit with code 1 if it holds; may be repeated"),
		OPT_STRING(0, "topology", &topology, "MACHINE", "as if on this machine: NODESxCPUS, as 4x16, or an XML file of hwloc"),
		OPT_FLAG(0, "json", &json, "print JSON for programs"),
		OPT_END
	};

	first = moca_options_parse_mixed(specs, argc, argv,
					 "moca diff [OPTIONS] A B", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (argc - first != 2) {
		moca_error("diff: two traces are needed: moca diff A B");
		free(conditions.items);
		return EXIT_USAGE;
	}
	d.side[0].path = argv[first];
	d.side[1].path = argv[first + 1];
	ret = parse_conditions(&d, &conditions) ? EXIT_USAGE :
	      run(&d, topology, json);
	free_diff(&d);
	free(conditions.items);
	return ret;
}
