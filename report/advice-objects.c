// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of data structures of `moca summary`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/advice.h"
#include "report/fold.h"
#include "report/objects.h"

#define TOP 12
#define FEW 1000		/* one of so many accesses: 0.1 % */
#define NAME_MIN 16

struct table {
	struct moca_profile_object *rows;
	size_t count;
	struct objects_fold fold;
};

static void pattern_text(unsigned patterns, char *buf, size_t len)
{
	/* What the column before says already. */
	unsigned said = MOCA_PATTERN_PRIVATE | MOCA_PATTERN_MIGRATORY |
			MOCA_PATTERN_SHARED, i;
	size_t at = 0;

	*buf = 0;
	for (i = 0; i < MOCA_PATTERNS && at < len; i++)
		if (patterns & ~said & 1u << i)
			at += (size_t)snprintf(buf + at, len - at, "%s%s",
					       at ? ", " : "",
					       moca_pattern_name(i));
}

/* A library's variable with the library: "main_arena (libc.so.6)". */
static void print_name(const struct moca_object *o, int width)
{
	const char *slash = o->module ? strrchr(o->module, '/') : NULL;
	char text[256];

	if (!o->module || o->section || !strcmp(o->module, o->program)) {
		terminal_name(o->name, width);
		return;
	}
	snprintf(text, sizeof(text), "%.120s (%.120s)", o->name,
		 slash ? slash + 1 : o->module);
	terminal_name(text, width);
}

static void print_object(const struct moca_profile *p,
			 const struct moca_profile_object *o, int width,
			 int sharing_width)
{
	char a[TEXT_MAX], sharing[OBJECTS_SHARING_LEN], patterns[160];
	int name = width >= 110 ? 30 : width >= 90 ? 22 : NAME_MIN;

	printf("  ");
	print_name(o->object, name);
	printf(" %6.1f %%", p->accesses ? 100. * o->accesses / p->accesses : 0);
	printf(" %10s", text_count(a, o->pages));
	if (width >= 90)
		printf(" %6.0f %%", o->accesses ? 100. * o->writes /
						 o->accesses : 0);
	printf(" %4u", o->object->threads);
	printf(" %6.1f %%", 100 * advice_remote(o));
	printf(" %-*s", sharing_width,
	       objects_sharing(o->object, sharing, sizeof(sharing)));
	pattern_text(o->patterns, patterns, sizeof(patterns));
	printf("%s%s\n", *patterns ? " " : "", patterns);
}

/* What processes share is told with their number. */
static int sharing_width(const struct table *t)
{
	char buf[OBJECTS_SHARING_LEN];
	int width = 12, n;
	size_t i;

	for (i = 0; i < t->count; i++) {
		n = (int)strlen(objects_sharing(t->rows[i].object, buf,
						sizeof(buf)));
		width = n > width ? n : width;
	}
	return width;
}

/* Sums of a file's sections; patterns are of one alone. */
static void add_section(struct moca_profile_object *to,
			const struct moca_profile_object *o)
{
	to->pages += o->pages;
	to->accesses += o->accesses;
	to->reads += o->reads;
	to->writes += o->writes;
	to->remote[MOCA_POLICY_FIRST_TOUCH] +=
		o->remote[MOCA_POLICY_FIRST_TOUCH];
}

static int by_accesses(const void *a, const void *b)
{
	const struct moca_profile_object *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return strcmp(x->object->name, y->object->name);
}

static int fold(struct table *t)
{
	const struct moca_object **in = calloc(t->count + 1, sizeof(*in));
	size_t i, *at, kept = 0;
	uint32_t to;
	int err;

	if (!in)
		return -ENOMEM;
	for (i = 0; i < t->count; i++)
		in[i] = t->rows[i].object;
	err = objects_fold(in, t->count, &t->fold);
	free(in);
	if (err)
		return err;
	/* Where each row of the fold is in the table. */
	at = malloc((t->fold.count + 1) * sizeof(*at));
	if (!at)
		return -ENOMEM;
	memset(at, 0xff, (t->fold.count + 1) * sizeof(*at));
	for (i = 0; i < t->count; i++) {
		to = t->fold.into[i];
		if (to == OBJECTS_NOT_FOLDED) {
			t->rows[kept++] = t->rows[i];
		} else if (at[to] == SIZE_MAX) {
			at[to] = kept;
			t->rows[kept] = t->rows[i];
			t->rows[kept].object = &t->fold.rows[to];
			t->rows[kept++].patterns = 0;
		} else {
			add_section(&t->rows[at[to]], &t->rows[i]);
		}
	}
	free(at);
	t->count = kept;
	qsort(t->rows, t->count, sizeof(*t->rows), by_accesses);
	return 0;
}

/* The rows with data, folded unless all are asked for. */
static int make_table(const struct advice_view *v, struct table *t)
{
	const struct moca_profile *p = v->profile;
	size_t i;

	*t = (struct table){ .rows = calloc(p->count + 1, sizeof(*t->rows)) };
	if (!t->rows)
		return -ENOMEM;
	for (i = 0; i < p->count; i++)
		if (p->rows[i].data && p->rows[i].accesses)
			t->rows[t->count++] = p->rows[i];
	return v->all ? 0 : fold(t);
}

void advice_objects_print(const struct advice_view *v)
{
	const struct moca_profile *p = v->profile;
	int width = terminal_width(TERMINAL_PIPE), sharing;
	size_t i, shown = 0, left = 0;
	struct table t;

	if (make_table(v, &t)) {
		moca_warn("summary: out of memory: no table of data structures");
		objects_fold_free(&t.fold);
		free(t.rows);
		return;
	}
	sharing = sharing_width(&t);
	terminal_style(STYLE_STRONG);
	printf("\nData structures, by accesses\n");
	terminal_style(STYLE_DIM);
	printf("  %-*s %8s %10s", width >= 110 ? 30 : width >= 90 ? 22 :
				 NAME_MIN, "name", "accesses", "pages");
	if (width >= 90)
		printf(" %8s", "writes");
	printf(" %4s %8s %-*s pattern\n", "thr.", "remote", sharing, "sharing");
	terminal_style(STYLE_NONE);
	for (i = 0; i < t.count; i++) {
		if (!v->all && (shown == TOP ||
				t.rows[i].accesses * FEW < p->accesses)) {
			left++;
			continue;
		}
		print_object(p, &t.rows[i], width, sharing);
		shown++;
	}
	if (left)
		printf("  ... and %zu more: --all lists them\n", left);
	objects_fold_free(&t.fold);
	free(t.rows);
}
