// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"

/* Shares are sums here, and divided in share(). */
static void add_object(struct comparison_pair *x, int side,
		       const struct moca_profile_object *o)
{
	double *v = x->value[side];

	x->in[side] = 1;
	v[DIFF_ACCESSES] += o->object->accesses;
	v[DIFF_READS] += o->object->reads;
	v[DIFF_WRITES] += o->object->writes;
	x->weighed[side] += o->accesses;
	v[DIFF_PAGES] += o->pages;
	v[DIFF_SHARED] += o->shared_pages;
	v[DIFF_REMOTE] += o->remote[MOCA_POLICY_FIRST_TOUCH];
	x->node_unknown[side] += o->unknown;
	if (v[DIFF_THREADS] < o->object->threads)
		v[DIFF_THREADS] = o->object->threads;
}

/* Shares are shares already: one row is all that the side has of a pair. */
static void add_row(struct comparison_pair *x, int side,
		    const struct moca_baseline_row *r)
{
	x->in[side] = 1;
	memcpy(x->value[side], r->value, sizeof(x->value[side]));
	x->node_unknown[side] = r->unknown;
}

/* What is behind x in the list, of the same structure, becomes part of x. */
static void join(struct comparison_pair *x, const struct comparison_pair *y)
{
	int side, m;

	for (side = 0; side < 2; side++) {
		x->in[side] |= y->in[side];
		x->weighed[side] += y->weighed[side];
		x->node_unknown[side] += y->node_unknown[side];
		for (m = 0; m < DIFF_METRICS; m++)
			if (m != DIFF_THREADS)
				x->value[side][m] += y->value[side][m];
			else if (x->value[side][m] < y->value[side][m])
				x->value[side][m] = y->value[side][m];
	}
}

/* What is remote or has no node is of accesses weighed by the length of intervals. */
static void share(const struct comparison *c, struct comparison_pair *x)
{
	double *v, all;
	int side;

	for (side = 0; side < 2; side++) {
		if (c->baseline[side])
			continue;
		v = x->value[side];
		v[DIFF_SHARED] /= v[DIFF_PAGES] > 0 ? v[DIFF_PAGES] : 1;
		all = x->weighed[side] > 0 ? x->weighed[side] : 1;
		v[DIFF_REMOTE] /= all;
		x->node_unknown[side] = x->node_unknown[side] / all *
					v[DIFF_ACCESSES];
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct comparison_pair *)a)->name,
		      ((const struct comparison_pair *)b)->name);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct comparison_pair *x = a, *y = b;
	double u = x->value[0][DIFF_ACCESSES] + x->value[1][DIFF_ACCESSES];
	double v = y->value[0][DIFF_ACCESSES] + y->value[1][DIFF_ACCESSES];

	return u > v ? -1 : u < v ? 1 : strcmp(x->name, y->name);
}

/* Pairs of one function are neighbours; those with a name of their own come last. */
static int compare_sites(const void *a, const void *b)
{
	const struct comparison_pair *x = a, *y = b;
	int order = !x->function - !y->function;

	if (order || !x->function)
		return order ?: strcmp(x->name, y->name);
	order = strcmp(x->function, y->function);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ?: strcmp(x->name, y->name);
}

static int is_same_site(const struct comparison_pair *x,
			const struct comparison_pair *y)
{
	return x->function && y->function &&
	       !strcmp(x->function, y->function) && !strcmp(x->file, y->file);
}

static void add_baseline(struct comparison *c, int side)
{
	const struct moca_baseline *b = c->baseline[side];
	struct comparison_pair *x;
	size_t i;

	for (i = 0; i < b->count; i++) {
		x = &c->pairs[c->count++];
		x->name = x->name_a = b->rows[i].name;
		x->function = b->rows[i].function;
		x->file = b->rows[i].file;
		add_row(x, side, &b->rows[i]);
	}
	add_row(&c->all, side, &b->all);
}

static void add_profile(struct comparison *c, int side)
{
	const struct moca_profile_object *row;
	const struct moca_site *site;
	struct comparison_pair *x;
	size_t i;

	for (i = 0; i < c->profile[side]->count; i++) {
		row = &c->profile[side]->rows[i];
		if (!row->data || !row->accesses)
			continue;
		site = row->object->alloc;
		x = &c->pairs[c->count++];
		x->name = x->name_a = row->object->name;
		if (site && !site->is_variable && site->function &&
		    site->file) {
			x->function = site->function;
			x->file = site->file;
		}
		add_object(x, side, row);
		add_object(&c->all, side, row);
	}
}

/* One pair for each row of both runs, then those of one name put together. */
static int make_pairs(struct comparison *c)
{
	struct comparison_pair *x;
	size_t i, n = 0, k;
	int side;

	for (side = 0; side < 2; side++)
		n += c->baseline[side] ? c->baseline[side]->count :
					 c->profile[side]->count;
	c->pairs = calloc(n + 1, sizeof(*c->pairs));
	if (!c->pairs)
		return -ENOMEM;
	for (side = 0; side < 2; side++) {
		if (c->baseline[side])
			add_baseline(c, side);
		else
			add_profile(c, side);
	}
	qsort(c->pairs, c->count, sizeof(*c->pairs), compare_names);
	for (k = 0, i = 1; i < c->count; i++) {
		x = &c->pairs[k];
		if (strcmp(x->name, c->pairs[i].name))
			c->pairs[++k] = c->pairs[i];
		else
			join(x, &c->pairs[i]);
	}
	c->count = c->count ? k + 1 : 0;
	return 0;
}

/* A site of A's and one of B's in one function that has no other such. */
static void join_moved(struct comparison *c)
{
	struct comparison_pair *x;
	size_t i, k, n;

	qsort(c->pairs, c->count, sizeof(*c->pairs), compare_sites);
	for (i = k = 0; i < c->count; i += n) {
		x = &c->pairs[i];
		for (n = 1; i + n < c->count && is_same_site(x, &x[n]); n++)
			;
		if (n == 2 && x[0].in[0] != x[1].in[0] &&
		    x[0].in[1] != x[1].in[1]) {
			struct comparison_pair a = x[x[1].in[0]];
			struct comparison_pair b = x[x[0].in[0]];

			join(&b, &a);
			b.name_a = a.name;
			c->pairs[k++] = b;
			continue;
		}
		memmove(&c->pairs[k], x, n * sizeof(*x));
		k += n;
	}
	c->count = k;
}

static int compare_index(const void *a, const void *b)
{
	return strcmp(((const struct comparison_name *)a)->name,
		      ((const struct comparison_name *)b)->name);
}

static int make_index(struct comparison *c)
{
	size_t i;

	c->names = calloc(2 * c->count + 1, sizeof(*c->names));
	if (!c->names)
		return -ENOMEM;
	for (i = 0; i < c->count; i++) {
		c->names[c->name_count++] =
			(struct comparison_name){ c->pairs[i].name, i };
		if (c->pairs[i].name != c->pairs[i].name_a)
			c->names[c->name_count++] = (struct comparison_name){
				c->pairs[i].name_a, i };
	}
	qsort(c->names, c->name_count, sizeof(*c->names), compare_index);
	return 0;
}

struct comparison_pair *comparison_find(const struct comparison *c,
					const char *name)
{
	const struct comparison_name key = { name, 0 }, *x;

	x = bsearch(&key, c->names, c->name_count, sizeof(key), compare_index);
	return x ? &c->pairs[x->pair] : NULL;
}

const struct comparison_pair *
comparison_of(const struct comparison *c, const struct condition *condition)
{
	return condition->name ? comparison_find(c, condition->name) : &c->all;
}

static void add_findings(struct comparison *c, int side)
{
	const struct moca_profile *p = c->profile[side];
	const struct moca_advice *a = c->advice[side];
	struct comparison_pair *x;
	size_t i;

	for (i = 0; i < a->count; i++) {
		c->all.value[side][DIFF_FINDINGS]++;
		x = comparison_find(c, a->findings[i].object->object->name);
		if (x)
			x->value[side][DIFF_FINDINGS]++;
	}
	c->all.value[side][DIFF_WSS] = p->used.most;
	c->all.value[side][DIFF_THREADS] = p->threads;
}

int comparison_match(struct comparison *c)
{
	size_t i;
	int err = make_pairs(c);

	if (err)
		return err;
	join_moved(c);
	for (i = 0; i < c->count; i++)
		share(c, &c->pairs[i]);
	share(c, &c->all);
	qsort(c->pairs, c->count, sizeof(*c->pairs), compare_pairs);
	return make_index(c);
}

int comparison_make(struct comparison *c, struct moca_trace *const trace[2],
		    const struct moca_profile *const profile[2])
{
	int side, err;

	memset(c, 0, sizeof(*c));
	if (!profile[0]->counts != !profile[1]->counts)
		return -EXDEV;
	c->counts = profile[0]->counts != NULL;
	for (side = 0; side < 2; side++) {
		c->profile[side] = profile[side];
		err = moca_advice_compute(&c->advice[side], trace[side],
					  profile[side]);
		if (err)
			return err;
	}
	err = comparison_match(c);
	if (err)
		return err;
	add_findings(c, 0);
	add_findings(c, 1);
	return 0;
}

int comparison_with_baseline(struct comparison *c,
			     const struct moca_baseline *baseline,
			     struct moca_trace *trace,
			     const struct moca_profile *profile)
{
	int err;

	memset(c, 0, sizeof(*c));
	c->baseline[0] = baseline;
	c->profile[1] = profile;
	c->counts = baseline->counts;
	if (baseline->counts != !!profile->counts)
		return -EXDEV;
	err = moca_advice_compute(&c->advice[1], trace, profile);
	if (!err)
		err = comparison_match(c);
	if (!err)
		add_findings(c, 1);
	return err;
}

int comparison_of_baselines(struct comparison *c, const struct moca_baseline *a,
			    const struct moca_baseline *b)
{
	memset(c, 0, sizeof(*c));
	c->baseline[0] = a;
	c->baseline[1] = b;
	c->counts = a->counts;
	return a->counts != b->counts ? -EXDEV : comparison_match(c);
}

void comparison_free(struct comparison *c)
{
	moca_advice_free(c->advice[0]);
	moca_advice_free(c->advice[1]);
	free(c->pairs);
	free(c->names);
}
