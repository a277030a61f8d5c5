// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/wish.h"
#include "lib/base/vec.h"

/* Takes the name over, also where it fails. */
static int add(struct try_plan *p, char *name, const struct try_wish *what)
{
	struct try_wish *x;
	size_t i;

	for (i = 0; i < p->count && strcmp(p->items[i].name, name); i++)
		;
	if (i == p->count) {
		x = moca_vec_add(p->items, p->count, p->room);
		if (!x) {
			free(name);
			return -ENOMEM;
		}
		*x = (struct try_wish){ .name = name };
	} else {
		x = &p->items[i];
		free(name);
	}
	x->huge |= what->huge;
	x->prefault |= what->prefault;
	x->interleave |= what->interleave;
	x->pad = what->pad > x->pad ? what->pad : x->pad;
	x->bind = what->bind ? what->bind : x->bind;
	return 0;
}

int try_plan_add(struct try_plan *p, const struct moca_object *o,
		 const struct try_wish *what)
{
	char *name;

	if (moca_wish_nameless(o))
		return -ENOENT;
	name = moca_wish_name(o);
	return name ? add(p, name, what) : errno == ENOMEM ? -ENOMEM : -ENOENT;
}

int try_plan_merge(struct try_plan *p, const struct try_plan *more)
{
	int err = 0;
	char *name;
	size_t i;

	for (i = 0; !err && i < more->count; i++) {
		name = strdup(more->items[i].name);
		err = name ? add(p, name, &more->items[i]) : -ENOMEM;
	}
	return err;
}

static void put(FILE *f, const struct try_wish *x)
{
	fprintf(f, "[[place]]\n%s", x->name);
	if (x->huge)
		fputs("huge = true\n", f);
	if (x->prefault)
		fputs("prefault = true\n", f);
	if (x->pad)
		fprintf(f, "pad = %u\n", x->pad);
	/* One policy: where both helped, all nodes have their part. */
	if (x->interleave)
		fputs("memory = \"interleave\"\n", f);
	else if (x->bind)
		fprintf(f, "memory = \"bind\"\nnodes = [%d]\n", x->bind - 1);
}

char *try_plan_text(const struct try_plan *p)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);
	int failed;

	if (!f)
		return NULL;
	for (i = 0; i < p->count; i++)
		put(f, &p->items[i]);
	failed = ferror(f);
	if (!fclose(f) && !failed)
		return text;
	free(text);
	return NULL;
}

void try_plan_free(struct try_plan *p)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		free(p->items[i].name);
	free(p->items);
	*p = (struct try_plan){ 0 };
}
