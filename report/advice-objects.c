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

#define NAME_LEAST 8	/* of a name, beside what tells its row apart */

struct table {
	struct moca_profile_object *rows;
	size_t count;
	const struct moca_object **by_name;	/* all rows: name, site, program */
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

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A library's variable with the library: "main_arena (libc.so.6)". */
static int has_module(const struct moca_object *o)
{
	return o->module && !o->section && strcmp(o->module, o->program);
}

static int compare_names(const void *a, const void *b)
{
	const struct moca_object *x = *(const struct moca_object *const *)a;
	const struct moca_object *y = *(const struct moca_object *const *)b;
	int c = strcmp(x->name, y->name);

	c = c ? c : strcmp(x->site, y->site);
	c = c ? c : strcmp(x->program, y->program);
	return c ? c : (x->id > y->id) - (x->id < y->id);
}

/* How many of name, site and program two rows have in common, in this order. */
static int in_common(const struct moca_object *x, const struct moca_object *y)
{
	if (strcmp(x->name, y->name))
		return 0;
	if (strcmp(x->site, y->site))
		return 1;
	return strcmp(x->program, y->program) ? 2 : 3;
}

/*
 * " (main.c:12)", what tells the row apart from others of its name: its site, program
 * or else address. Nothing where none has its name.
 */
static void tell_apart(const struct table *t, const struct moca_object *o,
		       char *buf, size_t len)
{
	size_t low = 0, high = t->count, at;
	int same = 0, n;
	const char *site = strstr(o->site, " at ");

	*buf = 0;
	while (low + 1 < high) {
		at = (low + high) / 2;
		if (compare_names(&t->by_name[at], &o) <= 0)
			low = at;
		else
			high = at;
	}
	if (low)
		same = in_common(o, t->by_name[low - 1]);
	if (low + 1 < t->count) {
		n = in_common(o, t->by_name[low + 1]);
		same = n > same ? n : same;
	}
	site = site ? site + 4 : o->site;
	if (same == 1 && *site)
		snprintf(buf, len, " (%.60s)", base_of(site));
	else if (same == 2 && *o->program)
		snprintf(buf, len, " (%.60s)", base_of(o->program));
	else if (same && o->addr)
		snprintf(buf, len, " (0x%" PRIx64 ")", o->addr);
}

static void print_name(const struct table *t, const struct moca_object *o,
		       int width)
{
	char text[256], apart[80];
	int room;

	if (has_module(o)) {
		snprintf(text, sizeof(text), "%.120s (%.120s)", o->name,
			 base_of(o->module));
		terminal_name(text, width);
		return;
	}
	tell_apart(t, o, apart, sizeof(apart));
	room = width - (int)strlen(apart);
	room = room > NAME_LEAST ? room : NAME_LEAST;
	if (!*apart || strlen(o->name) <= (size_t)room) {
		snprintf(text, sizeof(text), "%.160s%s", o->name, apart);
		terminal_name(*apart ? text : o->name, width);
		return;
	}
	/* The name is cut, not what tells it apart. */
	room = terminal_cut(o->name, room);
	room += text_name(stdout, apart, 0);
	printf("%*s", room < width ? width - room : 0, "");
}

static void print_object(const struct moca_profile *p, const struct table *t,
			 const struct moca_profile_object *o, int width,
			 int sharing_width)
{
	char a[TEXT_MAX], sharing[OBJECTS_SHARING_LEN], patterns[160];
	int name = width >= 110 ? 30 : width >= 90 ? 22 : NAME_MIN;

	printf("  ");
	print_name(t, o->object, name);
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

/* The table's rows by name, to find those of one name. */
static int sort_names(struct table *t)
{
	size_t i;

	t->by_name = calloc(t->count + 1, sizeof(*t->by_name));
	if (!t->by_name)
		return -ENOMEM;
	for (i = 0; i < t->count; i++)
		t->by_name[i] = t->rows[i].object;
	qsort(t->by_name, t->count, sizeof(*t->by_name), compare_names);
	return 0;
}

/* The rows with data, folded unless all are asked for. */
static int make_table(const struct advice_view *v, struct table *t)
{
	const struct moca_profile *p = v->profile;
	size_t i;
	int err;

	*t = (struct table){ .rows = calloc(p->count + 1, sizeof(*t->rows)) };
	if (!t->rows)
		return -ENOMEM;
	for (i = 0; i < p->count; i++)
		if (p->rows[i].data && p->rows[i].accesses)
			t->rows[t->count++] = p->rows[i];
	err = v->all ? 0 : fold(t);
	return err ? err : sort_names(t);
}

static void table_free(struct table *t)
{
	objects_fold_free(&t->fold);
	free(t->by_name);
	free(t->rows);
}

void advice_objects_print(const struct advice_view *v)
{
	const struct moca_profile *p = v->profile;
	int width = terminal_width(TERMINAL_PIPE), sharing;
	size_t i, shown = 0, left = 0;
	struct table t;

	if (make_table(v, &t)) {
		moca_warn("summary: out of memory: no table of data structures");
		table_free(&t);
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
		print_object(p, &t, &t.rows[i], width, sharing);
		shown++;
	}
	if (left)
		printf("  ... and %zu more: --all lists them\n", left);
	table_free(&t);
}
