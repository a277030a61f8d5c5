// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "report/latency.h"
#include "report/objects.h"

#define FEW 10000	/* one of so many accesses: 0.01 % */
#define LATENCIES 10	/* structures whose latency is listed */
#define MUCH 100	/* the same: 1 % */

struct words {
	const char *word;
	int value;
};

enum sort_key {
	SORT_ACCESSES, SORT_READS, SORT_WRITES, SORT_SIZE, SORT_PAGES,
	SORT_THREADS, SORT_BEGIN, SORT_NAME,
};

static const struct words sort_words[] = {
	{ "accesses", SORT_ACCESSES }, { "reads", SORT_READS },
	{ "writes", SORT_WRITES },     { "size", SORT_SIZE },
	{ "loads", SORT_READS },       { "stores", SORT_WRITES },
	{ "pages", SORT_PAGES },       { "threads", SORT_THREADS },
	{ "begin", SORT_BEGIN },       { "name", SORT_NAME },
	{ NULL, 0 }
};

static const struct words by_words[] = {
	{ "line", BY_LINE },	 { "function", BY_FUNCTION },
	{ "thread", BY_THREAD }, { "range", BY_RANGE },
	{ NULL, 0 }
};

/* The value of a word of the list; -1 after a message when it is none. */
static int parse_word(const char *option, const struct words *w,
		      const char *s)
{
	const struct words *x;
	char list[128] = "";

	for (x = w; x->word; x++)
		if (!strcmp(s, x->word))
			return x->value;
	for (x = w; x->word; x++) {
		strcat(list, x == w ? "" : x[1].word ? ", " : " or ");
		strcat(list, x->word);
	}
	moca_error("objects: option '--%s' needs %s, not '%s'", option, list,
		   s);
	return -1;
}

static int parse_kind(const char *s)
{
	int kind;

	for (kind = 0; *objects_kind(kind); kind++)
		if (!strcmp(s, objects_kind(kind)))
			return kind;
	moca_error("objects: '--kind %s' is none of heap, small, static, tls, stack, code, file, shared, kernel, allocator, anonymous, moca",
		   s);
	return -1;
}

static int order(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

/* Most first; names and times from the first one on. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct moca_object *x = *(const struct moca_object *const *)a;
	const struct moca_object *y = *(const struct moca_object *const *)b;
	int ret = 0;

	switch (*(const enum sort_key *)arg) {
	case SORT_ACCESSES:
		break;
	case SORT_READS:
		ret = order(x->reads, y->reads);
		break;
	case SORT_WRITES:
		ret = order(x->writes, y->writes);
		break;
	case SORT_SIZE:
		ret = order(x->size, y->size);
		break;
	case SORT_PAGES:
		ret = order(x->pages, y->pages);
		break;
	case SORT_THREADS:
		ret = order(x->threads, y->threads);
		break;
	case SORT_BEGIN:
		ret = -order(x->begin_ns, y->begin_ns);
		break;
	case SORT_NAME:
		ret = strcmp(x->name, y->name);
		break;
	}
	if (!ret)
		ret = order(x->accesses, y->accesses);
	if (!ret)
		ret = order(x->size, y->size);
	return ret ? ret : -order(x->id, y->id);
}

/* Command line, as far as the view has no place for it. */
struct wanted {
	int kind;		/* -1 = all */
	const char *glob;
	enum sort_key sort;
	int sized;		/* --min-size was given */
};

static int matches(const struct moca_object *o, const struct objects_view *v,
		   const struct wanted *w)
{
	if (w->kind >= 0 && (int)o->kind != w->kind)
		return 0;
	/* A name may have brackets, which mean something else in a glob. */
	if (v->name && strcmp(v->name, o->name) &&
	    fnmatch(v->name, o->name, 0))
		return 0;
	return !w->glob || !strcmp(w->glob, o->name) ||
	       !fnmatch(w->glob, o->name, 0);
}

/* Is it too little to be listed? Counts it, if so. */
static int is_hidden(struct objects_view *v, const struct wanted *w,
		     const struct moca_object *o)
{
	if (v->all || v->name || w->glob)
		return 0;
	/* Of sections and heaps no size is known. What is used much is listed,
	   however small, unless a size was asked for. */
	if (o->size && o->size < v->min_size &&
	    (w->sized || o->accesses < v->totals.accesses / MUCH ||
	     !o->accesses))
		v->hidden_small++;
	else if (o->accesses < v->totals.accesses / FEW ||
		 (!o->accesses && v->totals.accesses) ||
		 (o->kind == MOCA_OBJECT_MOCA && w->kind < 0))
		v->hidden_few++;
	else
		return 0;
	if (o->kind != MOCA_OBJECT_MOCA)
		v->hidden_accesses += o->accesses;
	return 1;
}

/* One row for the sections of a file, where rows are not asked for by name. */
static int fold(struct objects_view *v, const struct wanted *w)
{
	if (v->all || v->name || w->glob)
		return 0;
	return objects_fold_rows(v->rows, &v->count, &v->fold);
}

static int choose(struct objects_view *v, const struct wanted *w, int json)
{
	enum sort_key sort = w->sort;
	const struct moca_object *rows;
	size_t i, n, kept = 0;
	int err;

	rows = moca_objects_rows(v->objects, &n);
	v->rows = calloc(n + 1, sizeof(*v->rows));
	if (!v->rows)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (matches(&rows[i], v, w))
			v->rows[v->count++] = &rows[i];
	err = json ? 0 : fold(v, w);
	if (err)
		return err;
	for (i = 0; i < v->count; i++)
		if (!is_hidden(v, w, v->rows[i]))
			v->rows[kept++] = v->rows[i];
	v->count = kept;
	qsort_r(v->rows, v->count, sizeof(*v->rows), compare_rows, &sort);
	return 0;
}

static int show(struct objects_view *v, struct moca_objects_options *opt,
		const struct wanted *w, int json)
{
	int err;

	trace_raise_limit();
	v->narrow = opt;
	err = moca_objects_compute(&v->objects, v->trace, opt);
	if (err) {
		moca_error("objects: cannot read the trace '%s': %s%s", v->path,
			   strerror(-err), err != -EMFILE ? "" :
			   " (raise the limit with 'ulimit -n')");
		return 1;
	}
	moca_objects_totals(v->objects, &v->totals);
	err = choose(v, w, json);
	if (!err && v->name && !v->count) {
		moca_error("objects: nothing in '%s' is called '%s' ('moca objects --all %s' lists all names)",
			   v->path, v->name, v->path);
		return EXIT_USAGE;
	}
	if (!err)
		err = json ? objects_json(v) : objects_print(v);
	if (!err && !json && !v->name)
		err = latency_print(v->trace, opt, v->all ? SIZE_MAX : LATENCIES);
	if (err) {
		moca_error("objects: out of memory");
		return 1;
	}
	return trace_warn_damage("objects", v->trace, v->path);
}

/* DIR [NAME]: the first of them, or NULL after a message. */
static const char *operands(int argc, char **argv, int first,
			    const char **name)
{
	if (argc - first == 2) {
		*name = argv[first + 1];
		argc--;
	} else if (argc - first > 2) {
		moca_error("objects: one trace and one name: '%s' is too much",
			   argv[first + 2]);
		return NULL;
	}
	return trace_operand(argc, argv, first);
}

static int set_task(struct moca_objects_options *opt,
		    const struct objects_view *v, uint64_t task)
{
	if (task == UINT64_MAX)
		return 0;
	if (task > UINT32_MAX ||
	    trace_task_index(v->trace, (uint32_t)task) == SIZE_MAX) {
		moca_error("objects: '%s' has no task %" PRIu64 " ('moca info --all %s' lists its tasks)",
			   v->path, task, v->path);
		return -EINVAL;
	}
	opt->task = (uint32_t)task;
	opt->one_task = 1;
	return 0;
}

static const char about[] =
	"Say which data structures a program's accesses went to: variables by their names, heap objects by where they were allocated, stacks by thread, files by name.\n"
	"With NAME (or a pattern as of the shell's) only these, and with --by who touches them, or which part of them is touched.";

int cmd_objects(int argc, char **argv)
{
	struct moca_objects_options opt = { .size = sizeof(opt) };
	struct objects_view v = { .min_size = 4096 };
	struct wanted w = { .kind = -1 };
	const char *sort = NULL, *kind = NULL, *by = NULL;
	uint64_t task = UINT64_MAX, from = 0, to = UINT64_MAX, min = UINT64_MAX;
	int json = 0, first, ret;
	const struct option_spec specs[] = {
		OPT_STRING(0, "by", &by, "WHAT", "who touches NAME: line, function or thread; or which part of it is touched: range"),
		OPT_STRING(0, "sort", &sort, "KEY", "by accesses, reads, writes, size, pages, threads, begin or name"),
		OPT_STRING(0, "kind", &kind, "KIND", "only heap, small, static, tls, stack, code, file, shared, kernel, allocator, anonymous or moca"),
		OPT_STRING(0, "name", &w.glob, "GLOB", "only objects whose names match"),
		OPT_SIZE(0, "min-size", &min, "list objects from this size on (4K, and smaller ones with 1 % of the accesses)"),
		OPT_FLAG(0, "instances", &v.instances, "list the objects of each line one by one, too"),
		OPT_FLAG(0, "all", &v.all, "list all, however small and little used, and sections one by one"),
		OPT_UINT(0, "task", &task, "N", "only accesses of this task, by its number in the trace"),
		OPT_DURATION(0, "from", &from, "only accesses from this time after the start on"),
		OPT_DURATION(0, "to", &to, "only accesses before this time after the start"),
		OPT_FLAG(0, "json", &json, "print JSON for programs, with everything in it"),
		OPT_END
	};

	first = moca_options_parse_mixed(specs, argc, argv,
					 "moca objects [OPTIONS] DIR [NAME]",
					 about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	v.path = operands(argc, argv, first, &v.name);
	if (!v.path)
		return EXIT_USAGE;
	if (by && (ret = parse_word("by", by_words, by)) < 0)
		return EXIT_USAGE;
	v.by = by ? ret : BY_NONE;
	if (sort && (ret = parse_word("sort", sort_words, sort)) < 0)
		return EXIT_USAGE;
	w.sort = sort ? ret : SORT_ACCESSES;
	if (kind && (w.kind = parse_kind(kind)) < 0)
		return EXIT_USAGE;
	if (v.by != BY_NONE && !v.name) {
		moca_error("objects: '--by %s' of which object? Give its name: moca objects %s NAME --by %s",
			   by, v.path, by);
		return EXIT_USAGE;
	}
	if (to <= from) {
		moca_error("objects: '--to' must be later than '--from', which is 0 if it is not given");
		return EXIT_USAGE;
	}
	w.sized = min != UINT64_MAX;
	if (w.sized)
		v.min_size = min;
	if (json && min == UINT64_MAX)
		v.all = 1;
	v.trace = trace_open("objects", v.path);
	if (!v.trace)
		return EXIT_USAGE;
	if (moca_objects_exact_only(v.trace) &&
	    (v.by == BY_LINE || v.by == BY_FUNCTION)) {
		moca_error("objects: '--by %s' of '%s': it has counts of exact mode, which are of memory and threads, not of instructions (--by thread and --by range work)",
			   by, v.path);
		moca_trace_close(v.trace);
		return EXIT_USAGE;
	}
	opt.begin_ns = from ? trace_after(v.trace, from) : 0;
	opt.end_ns = to != UINT64_MAX ? trace_after(v.trace, to) : 0;
	opt.name = v.name;
	opt.instances = v.instances;
	opt.touchers = v.by != BY_NONE && v.by != BY_RANGE;
	opt.ranges = v.by == BY_RANGE;
	ret = set_task(&opt, &v, task) ? EXIT_USAGE : show(&v, &opt, &w, json);
	objects_fold_free(&v.fold);
	free(v.rows);
	moca_objects_free(v.objects);
	moca_trace_close(v.trace);
	return ret;
}
