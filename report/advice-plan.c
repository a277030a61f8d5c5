// SPDX-License-Identifier: GPL-2.0-or-later
/* The findings of moca summary as a plan that moca place follows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/wish.h"
#include "lib/text/text.h"
#include "report/advice.h"

static void comment(FILE *f, const char *before, const char *text,
		    const char *behind)
{
	fprintf(f, "# %s", before);
	text_name(f, text, 0);
	fprintf(f, "%s\n", behind);
}

static void put_remote(FILE *f, const struct moca_finding *x)
{
	double now = x->remote[MOCA_POLICY_FIRST_TOUCH];
	double then = x->remote[MOCA_POLICY_INTERLEAVE];

	if (!isnan(now) && !isnan(then))
		fprintf(f, "# remote now: %.0f %%, interleaved: %.0f %% (on all nodes evenly)\n",
			100 * now, 100 * then);
}

static int is_first(const struct moca_advice *a, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (a->findings[k].object == a->findings[i].object)
			return 0;
	return 1;
}

/* All findings of the i-th one's structure, in one table. */
static int put_object(FILE *f, const struct moca_advice *a, size_t i)
{
	const struct moca_profile_object *o = a->findings[i].object;
	const char *why, *nameless = moca_wish_nameless(o->object);
	struct moca_wish w = { 0 };
	char *name;

	fputc('\n', f);
	for (size_t k = i; k < a->count; k++) {
		const struct moca_finding *x = &a->findings[k];

		if (x->object != o)
			continue;
		comment(f, "", x->title, "");
		why = nameless ? nameless : moca_wish_add(&w, x);
		if (why)
			comment(f, "  not in this plan: ", why, "");
		else if (w.interleave && x->kind != MOCA_FINDING_HUGE_PAGES)
			put_remote(f, x);
	}
	if (!w.huge && !w.interleave && !w.pad)
		return 0;
	name = moca_wish_name(o->object);
	if (!name) {
		fputs("# its name has characters that a plan cannot have\n", f);
		return 0;
	}
	fprintf(f, "[[place]]\n%s", name);
	free(name);
	if (w.huge)
		fputs("huge = true\n", f);
	if (w.interleave)
		fputs("memory = \"interleave\"\n", f);
	if (w.pad)
		fprintf(f, "pad = %d\n", w.pad);
	return 1;
}

void advice_plan_print(FILE *f, const struct advice_view *v)
{
	const struct moca_advice *a = v->advice;
	size_t i, n = 0;

	comment(f, "A plan for moca place, made by: moca summary --plan ",
		v->path, "");
	for (i = 0; i < a->count; i++) {
		if (a->findings[i].object) {
			if (is_first(a, i))
				n += (size_t)put_object(f, a, i);
			continue;
		}
		fputc('\n', f);
		comment(f, "", a->findings[i].title, "");
		comment(f, "  not in this plan: ",
			"it is about the program as a whole", "");
	}
	fputc('\n', f);
	if (n)
		comment(f, "Run it: moca place --plan FILE -- ", "PROGRAM",
			"   (moca-place(1) has all keys)");
	else
		comment(f, "No finding has something that a plan can do: ",
			"there is nothing to run with it", "");
}
