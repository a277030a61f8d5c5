// SPDX-License-Identifier: GPL-2.0-or-later
/* What `moca objects` prints for people. */
#include "report/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/certificate.h"
#include "report/refused.h"
#include "report/thinned.h"

#define TOP 10
#define RANGE_LEN 256
#define WIDTH_PIPE 160		/* when there is no terminal */
#define NAME_MIN 20
#define SITE_MIN 16
#define EXACT_WIDTH 15		/* of counts: 99,999,999,999 */

/* The columns between name and site; those that matter least go first. */
enum column {
	COL_KIND, COL_SIZE, COL_INSTANCES, COL_LIFE, COL_PAGES, COL_READS,
	COL_WRITES, COL_THREADS, COL_SHARING, COL_NODES, COL_FIRST, COLUMNS
};

static const struct {
	const char *title;
	int width;
	int left;
	int rank;		/* the highest is left out first */
} columns[COLUMNS] = {
	[COL_KIND] = { "kind", 9, 1, 3 },
	[COL_SIZE] = { "size", 10, 0, 2 },
	[COL_INSTANCES] = { "count", 6, 0, 5 },
	[COL_LIFE] = { "lifetime (s)", 15, 0, 7 },
	[COL_PAGES] = { "pages", 9, 0, 1 },
	[COL_READS] = { "reads", 11, 0, 1 },
	[COL_WRITES] = { "writes", 11, 0, 1 },
	[COL_THREADS] = { "threads", 7, 0, 4 },
	[COL_SHARING] = { "sharing", 12, 1, 6 },
	[COL_NODES] = { "nodes", 9, 1, 9 },
	[COL_FIRST] = { "first touch", 14, 1, 8 },
};

struct layout {
	int show[COLUMNS];
	int name;		/* widths; site 0: not shown */
	int site;
};

/* Of what processes share it is told how many these are. */
static int sharing_width(const struct objects_view *v)
{
	char buf[OBJECTS_SHARING_LEN];
	int width = columns[COL_SHARING].width, n;

	for (size_t i = 0; i < v->count; i++) {
		n = (int)strlen(objects_sharing(v->rows[i], buf, sizeof(buf)));
		width = n > width ? n : width;
	}
	return width;
}

static int width_of(const struct objects_view *v, int c)
{
	if (c == COL_SHARING)
		return sharing_width(v);
	return v->totals.exact_only && (c == COL_READS || c == COL_WRITES) ?
		       EXACT_WIDTH : columns[c].width;
}

static int used_width(const struct objects_view *v, const struct layout *l)
{
	int i, n = 2 + NAME_MIN + 1 + SITE_MIN;

	for (i = 0; i < COLUMNS; i++)
		n += l->show[i] ? 1 + width_of(v, i) : 0;
	return n;
}

static void fit(const struct objects_view *v, struct layout *l, int width)
{
	int i, rank, spare;

	for (i = 0; i < COLUMNS; i++)
		l->show[i] = 1;
	for (rank = 9; rank > 1 && used_width(v, l) > width; rank--)
		for (i = 0; i < COLUMNS; i++)
			if (columns[i].rank == rank)
				l->show[i] = 0;
	spare = width - used_width(v, l);
	if (spare < 0)
		spare = 0;
	l->name = NAME_MIN + spare / 2;
	if (l->name > 48)
		l->name = 48;
	l->site = SITE_MIN + spare - (l->name - NAME_MIN);
}

static void pad(int written, int width)
{
	printf("%*s", written < width ? width - written : 0, "");
}

/*
 * Of a path, and of "file+0x12", the end tells most, of other names the begin:
 * the rest is cut off.
 */
static void print_name(const char *name, int width, int fill)
{
	size_t n = strlen(name);
	int w;

	if (n <= (size_t)width || n >= RANGE_LEN || width < 8 ||
	    *name == '/' || strstr(name, "+0x"))
		w = text_name(stdout, name, width);
	else
		w = terminal_cut(name, width);
	if (fill)
		pad(w, width);
}

static void print_life(const struct objects_view *v,
		       const struct moca_object *o, char *buf, size_t len)
{
	uint64_t origin = trace_origin(v->trace);
	uint64_t begin = o->begin_ns > origin ? o->begin_ns - origin : 0;
	uint64_t end = o->end_ns > origin ? o->end_ns - origin : 0;

	if (!o->begin_ns)
		snprintf(buf, len, "-");
	else if (o->end_ns)
		snprintf(buf, len, "%.3f-%.3f", begin / 1e9, end / 1e9);
	else
		snprintf(buf, len, "%.3f-", begin / 1e9);
}

/* The node that most accesses went to, and how many of them. */
static void print_nodes(const struct moca_object *o, char *buf, size_t len)
{
	unsigned i, top = 0;
	uint64_t sum = 0;

	for (i = 0; i < MOCA_OBJECT_NODES; i++) {
		sum += o->nodes[i];
		if (o->nodes[i] > o->nodes[top])
			top = i;
	}
	if (!sum)
		snprintf(buf, len, "-");
	else if (o->nodes[top] == sum)
		snprintf(buf, len, "%u", top);
	else
		snprintf(buf, len, "%u (%.0f %%)", top,
			 100. * o->nodes[top] / sum);
}

static void cell(const struct objects_view *v, const struct moca_object *o,
		 enum column c, char *buf, size_t len)
{
	char b[TEXT_MAX];

	switch (c) {
	case COL_KIND:
		snprintf(buf, len, "%s", objects_kind(o->kind));
		break;
	case COL_SIZE:
		snprintf(buf, len, "%s", o->size ? text_size(b, o->size) : "-");
		break;
	case COL_INSTANCES:
		/* Estimated, where one object stood for others. */
		snprintf(buf, len, "%s%s", o->sampled && o->kind == MOCA_OBJECT_SMALL ? "~" :
							   "x",
			 text_count(b, o->instances));
		break;
	case COL_LIFE:
		print_life(v, o, buf, len);
		break;
	case COL_PAGES:
		snprintf(buf, len, "%s%s", text_count(b, o->pages),
			 o->pages_split ? "*" : "");
		break;
	case COL_READS:
		snprintf(buf, len, "%s", text_count(b, o->reads));
		break;
	case COL_WRITES:
		snprintf(buf, len, "%s", text_count(b, o->writes));
		break;
	case COL_THREADS:
		snprintf(buf, len, "%u", o->threads);
		break;
	case COL_SHARING:
		objects_sharing(o, buf, len);
		break;
	case COL_NODES:
		print_nodes(o, buf, len);
		break;
	default:
		*buf = 0;
	}
}

static void print_first(const struct objects_view *v,
			const struct moca_object *o, int width)
{
	const struct moca_task *t = objects_task(v, o->first_task);
	int w;

	if (!o->accesses || !t) {
		pad(printf("-"), width);
		return;
	}
	w = printf("#%" PRIu32 " ", t->id);
	w += text_name(stdout, t->name, width - w);
	pad(w, width);
}

static void print_row(const struct objects_view *v, const struct layout *l,
		      const struct moca_object *o)
{
	char buf[80];
	int i;

	fputs("  ", stdout);
	print_name(o->name, l->name, 1);
	for (i = 0; i < COLUMNS; i++) {
		if (!l->show[i])
			continue;
		putchar(' ');
		if (i == COL_FIRST) {
			print_first(v, o, columns[i].width);
			continue;
		}
		cell(v, o, i, buf, sizeof(buf));
		printf(columns[i].left ? "%-*s" : "%*s", width_of(v, i), buf);
	}
	if (*o->site) {
		putchar(' ');
		print_name(o->site, l->site, 0);
	}
	putchar('\n');
}

/* What was counted is called by its name, and is long. */
static const char *title_of(const struct objects_view *v, int c)
{
	if (v->totals.exact_only && (c == COL_READS || c == COL_WRITES))
		return c == COL_READS ? "loads" : "stores";
	return columns[c].title;
}

static void print_table(const struct objects_view *v)
{
	struct layout l;
	size_t i, split = 0;
	int c;

	fit(v, &l, terminal_width(WIDTH_PIPE));
	printf("\n  %-*s", l.name, "object");
	for (c = 0; c < COLUMNS; c++)
		if (l.show[c])
			printf(columns[c].left ? " %-*s" : " %*s",
			       width_of(v, c), title_of(v, c));
	printf(" site\n");
	for (i = 0; i < v->count; i++) {
		print_row(v, &l, v->rows[i]);
		split += v->rows[i]->pages_split != 0;
	}
	if (split && v->totals.exact_only)
		printf("  * some granules hold other objects as well, or held them at another time: what\n"
		       "    was counted there is shared out by size and time (--json: wide).\n");
	else if (split)
		printf("  * some pages hold other objects as well: only the first access to a page\n"
		       "    in an interval has a record, so these counts are lower bounds.\n");
}

static void print_hidden(const struct objects_view *v)
{
	char a[TEXT_MAX], b[TEXT_MAX], p[TEXT_MAX];

	if (v->hidden_small)
		printf("  ... and %s object%s of less than %s: --min-size 0 or --all shows them\n",
		       text_count(a, v->hidden_small), PLURAL(v->hidden_small),
		       text_size(b, v->min_size));
	if (v->hidden_few)
		printf("  ... and %s object%s with less than 0.01 %% of the accesses each: --all shows them\n",
		       text_count(a, v->hidden_few), PLURAL(v->hidden_few));
	if (v->hidden_accesses)
		printf("  (these have %s of the accesses together)\n",
		       text_percent(p, v->hidden_accesses,
				    v->totals.accesses));
}

static void print_head(const struct objects_view *v)
{
	char unfinished[200];
	const struct moca_objects_totals *t = &v->totals;
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
	const char *const *unseen;
	size_t i, n;

	printf("%-14s", "Trace");
	text_name(stdout, v->path, 0);
	printf("\n%-14s%s of %s %s went to data structures that are known\n",
	       "Named", text_percent(a, t->named, t->accesses),
	       text_count(b, t->accesses),
	       t->exact_only ? "loads and stores" : "accesses");
	if (v->trace && moca_trace_top_weight(v->trace) != 1)
		printf("%-14sa share of 1/%u of large memory in an interval: shares are estimates\n",
		       "Sampled", moca_trace_top_weight(v->trace));
	printf("%-14s%s with a record each", "Allocations",
	       text_count(a, t->allocations));
	printf(", %s small ones as sums by site (%s)", text_count(a, t->small),
	       text_size(b, t->small_bytes));
	if (t->skipped)
		printf(", %s small one%s without a site",
		       text_count(c, t->skipped), PLURAL(t->skipped));
	putchar('\n');
	if (t->thin_level)
		thinned_print(t->thin_level, t->thin_min,
			      t->thin_ns - trace_origin(v->trace));
	if (t->lost)
		printf("  Lost: %s event%s of allocations found no room in a buffer: some objects are missing, or live too long here.\n",
		       text_count(a, t->lost), PLURAL(t->lost));
	refused_print(v->trace);
	if (t->refused)
		printf("  Not understood: %s event%s of allocations.\n",
		       text_count(a, t->refused), PLURAL(t->refused));
	unseen = moca_objects_unseen(v->objects, &n);
	for (i = 0; i < n; i++) {
		fputs("  Not watched: ", stdout);
		text_name(stdout, unseen[i], 0);
		putchar('\n');
	}
	if (t->without_agent)
		printf("  Without allocations: %s of %s program images (attached to, other rights, another loader, or\n"
		       "  recorded with allocations off): what is in their heaps is not told apart.\n",
		       text_count(a, t->without_agent),
		       text_count(b, t->processes));
	if (t->no_identities && t->processes > 1)
		printf("  Not recorded, as by older versions: what mappings are of. Memory that processes share\n"
		       "  counts once for each of them.\n");
	if (t->changed_files)
		printf("  Changed or gone since the recording: %s file%s with variables or code; names may be wrong,\n"
		       "  or missing.\n",
		       text_count(a, t->changed_files),
		       PLURAL(t->changed_files));
	if (moca_trace_truncated(v->trace))
		printf("  Not finished: %s.\n", certificate_unfinished(v->trace, unfinished, sizeof(unfinished)));
	if (trace_half_filtered(v->trace))
		printf("  The recorder was killed while --object took accesses out: some are missing, some are not.\n");
}

static int print_remainder(const struct objects_view *v)
{
	const struct moca_objects_totals *t = &v->totals;
	struct objects_remainder *r;
	char a[TEXT_MAX], p[TEXT_MAX];
	size_t i, n;
	int err, w;

	err = objects_remainders(v, &r, &n);
	if (err)
		return err;
	if (n)
		printf("\nNot known what is there: %s of the accesses, by mapping\n",
		       text_percent(p, t->accesses - t->named, t->accesses));
	for (i = 0; i < n && (v->all || i < TOP); i++) {
		fputs("  ", stdout);
		w = text_name(stdout, *r[i].name ? r[i].name : "[anonymous]",
			      40);
		pad(w, 40);
		printf(" %12s %9s\n", text_count(a, r[i].accesses),
		       text_percent(p, r[i].accesses, t->accesses));
	}
	if (i < n)
		printf("  ... and %zu more: --all shows all\n", n - i);
	free(r);
	return 0;
}

static void print_toucher(const struct objects_toucher *t)
{
	int w = 0;

	if (t->task) {
		w = printf("  #%" PRIu32 " ", t->task->id);
		w += text_name(stdout, t->task->name, 48 - w);
	} else {
		w = printf("  ");
		if (t->function)
			w += text_name(stdout, t->function, 46);
		else if (t->module)
			w += text_name(stdout, moca_module_path(t->module), 46);
		else
			w += printf("[unknown]");
	}
	pad(w, 48);
}

static int print_touchers(const struct objects_view *v)
{
	struct objects_toucher *t;
	uint64_t sum = 0;
	char a[TEXT_MAX], p[TEXT_MAX];
	size_t i, n;
	int err;

	err = objects_touchers(v, &t, &n);
	if (err)
		return err;
	for (i = 0; i < n; i++)
		sum += t[i].accesses;
	printf("\n  %-46s%12s %12s %12s %9s%s\n",
	       v->by == BY_THREAD ? "thread" : "function",
	       v->totals.exact_only ? "loads" : "reads",
	       v->totals.exact_only ? "stores" : "writes",
	       "accesses", "", v->by == BY_LINE ? "  line" : "");
	for (i = 0; i < n; i++) {
		print_toucher(&t[i]);
		printf("%12s", text_count(a, t[i].reads));
		printf(" %12s", text_count(a, t[i].writes));
		printf(" %12s", text_count(a, t[i].accesses));
		printf(" %9s", text_percent(p, t[i].accesses, sum));
		if (t[i].file) {
			fputs("  ", stdout);
			text_name(stdout, t[i].file, 0);
			printf(":%u", t[i].line);
		}
		putchar('\n');
	}
	free(t);
	return 0;
}

static int print_ranges(const struct objects_view *v)
{
	struct objects_range *r;
	char name[RANGE_LEN], a[TEXT_MAX];
	size_t i, n;
	int err, w;

	err = objects_ranges(v, &r, &n);
	if (err)
		return err;
	printf("\n  %-46s %10s %12s %12s %12s\n", "range", "pages", "reads",
	       "writes", "accesses");
	for (i = 0; i < n; i++) {
		const struct moca_object *o = r[i].object;

		if (o->shape)
			moca_shape_range(o->shape, o->name, o->size,
					 r[i].begin, r[i].end, name,
					 sizeof(name));
		else
			snprintf(name, sizeof(name),
				 "%.150s +0x%" PRIx64 "..0x%" PRIx64, o->name,
				 r[i].begin, r[i].end - 1);
		w = printf("  ");
		w += text_name(stdout, name, 0);
		pad(w, 48);
		printf(" %10s", text_count(a, r[i].pages));
		printf(" %12s", text_count(a, r[i].reads));
		printf(" %12s", text_count(a, r[i].writes));
		printf(" %12s\n", text_count(a, r[i].accesses));
	}
	free(r);
	return 0;
}

static int compare_instances(const void *a, const void *b)
{
	const struct moca_instance *x = *(const struct moca_instance *const *)a;
	const struct moca_instance *y = *(const struct moca_instance *const *)b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int print_instances(const struct objects_view *v)
{
	const struct moca_instance *all, **x;
	const struct moca_object *rows;
	uint64_t origin = trace_origin(v->trace);
	size_t i, n, rows_count, k = 0;
	char a[TEXT_MAX], *want;

	all = moca_objects_instances(v->objects, &n);
	rows = moca_objects_rows(v->objects, &rows_count);
	x = calloc(n + 1, sizeof(*x));
	want = calloc(rows_count + 1, 1);
	if (!x || !want) {
		free(x);
		free(want);
		return -1;
	}
	for (i = 0; i < v->count; i++)
		want[v->rows[i]->id] = 1;
	for (i = 0; i < n; i++)
		if (want[all[i].object])
			x[k++] = &all[i];
	qsort(x, k, sizeof(*x), compare_instances);
	printf("\n  %-28s %7s %18s %10s %11s %11s %11s %11s\n", "object", "pid",
	       "address", "size", "begin (s)", "end (s)", "reads", "writes");
	for (i = 0; i < k; i++) {
		fputs("  ", stdout);
		print_name(rows[x[i]->object].name, 28, 1);
		printf(" %7" PRIu32 " 0x%016" PRIx64, x[i]->pid, x[i]->addr);
		printf(" %10s", text_size(a, x[i]->size));
		printf(" %11.6f", x[i]->begin_ns > origin ?
				  (x[i]->begin_ns - origin) / 1e9 : 0.);
		if (x[i]->end_ns)
			printf(" %11.6f", x[i]->end_ns > origin ?
					  (x[i]->end_ns - origin) / 1e9 : 0.);
		else
			printf(" %11s", "-");
		printf(" %11s", text_count(a, x[i]->reads));
		printf(" %11s\n", text_count(a, x[i]->writes));
	}
	free(x);
	free(want);
	return 0;
}

int objects_print(const struct objects_view *v)
{
	int err = 0;

	print_head(v);
	print_table(v);
	print_hidden(v);
	if (v->instances)
		err = print_instances(v);
	if (!err && v->by == BY_RANGE)
		err = print_ranges(v);
	else if (!err && v->by != BY_NONE)
		err = print_touchers(v);
	if (!err && !v->name)
		err = print_remainder(v);
	return err;
}
