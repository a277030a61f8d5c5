// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/flame-change.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

struct order {
	const struct moca_flame_changes *x;
	enum moca_flame_count by;
};

double moca_flame_share(const struct moca_flame_changes *x, int run,
			enum moca_flame_count count, uint64_t n)
{
	uint64_t all = x->all[run][count];

	return all ? (double)n / (double)all : 0;
}

/* The functions of one run, at the names of both. The root, number 0, is none. */
static int add(struct moca_flame_changes *x, struct moca_strings *names, int run,
	       const struct moca_flame_tree *t)
{
	struct moca_flame_function *f = moca_flame_functions(t);
	int err = f ? 0 : -ENOMEM;

	for (size_t i = 1; i < t->functions.count && !err; i++) {
		int64_t n = moca_strings_number(names, f[i].name);

		if (n < 0 || moca_vec_fit_zeroed(x->list, x->room,
						 (size_t)n + 1)) {
			err = -ENOMEM;
			break;
		}
		x->list[n].name = f[i].name;
		x->list[n].in[run] = f[i];
	}
	x->count = names->count;
	free(f);
	return err;
}

static double change(const struct order *o, const struct moca_flame_change *c,
		     int own)
{
	double share[2];

	for (int run = 0; run < 2; run++)
		share[run] = moca_flame_share(o->x, run, o->by, own ?
					      c->in[run].self[o->by] :
					      c->in[run].total[o->by]);
	return fabs(share[1] - share[0]);
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct moca_flame_change *x = a, *y = b;
	const struct order *o = arg;

	for (int own = 0; own < 2; own++) {
		double m = change(o, x, own), n = change(o, y, own);

		if (m != n)
			return m > n ? -1 : 1;
	}
	return strcmp(x->name, y->name);
}

int moca_flame_changes_make(struct moca_flame_changes *out,
			    const struct moca_flame_tree *a,
			    const struct moca_flame_tree *b,
			    enum moca_flame_count by)
{
	const struct order o = { out, by };
	struct moca_strings names = { 0 };
	int err;

	*out = (struct moca_flame_changes){ 0 };
	memcpy(out->all[0], a->all, sizeof(a->all));
	memcpy(out->all[1], b->all, sizeof(b->all));
	err = add(out, &names, 0, a);
	if (!err)
		err = add(out, &names, 1, b);
	moca_strings_free(&names);
	if (err)
		moca_flame_changes_free(out);
	else if (out->count)
		qsort_r(out->list, out->count, sizeof(*out->list), compare,
			(void *)&o);
	return err;
}

void moca_flame_changes_free(struct moca_flame_changes *x)
{
	free(x->list);
	*x = (struct moca_flame_changes){ 0 };
}
