// SPDX-License-Identifier: GPL-2.0-or-later
/* Callgrind's format: doc/formats/callgrind.md says what is a cost of what. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "export/callgrind.h"
#include "lib/base/err.h"
#include "lib/text/text.h"
#include "query/samples.h"

static const char *const counts[] = { "loads", "stores" };

int export_callgrind_refuse(const struct export *x)
{
	const struct moca_query *r = &x->range;

	if (!moca_objects_exact_only(x->t) ||
	    !(r->begin_ns || r->end_ns || r->addr_begin || r->addr_end ||
	      r->one_task))
		return 0;
	moca_error("export: '%s' has counts alone, whose data structures '--to callgrind' tells of the whole recording: leave out --from, --until, --task and --address ('moca query' narrows the table counts)",
		   x->trace);
	return EXIT_USAGE;
}

/* Where a variable is declared; NULL: not known. */
static const struct moca_variable *find_variable(struct moca_objects *objects,
						 const struct moca_object *o)
{
	const struct moca_variable *v;
	struct moca_module *m;
	size_t n;

	if ((o->kind != MOCA_OBJECT_STATIC && o->kind != MOCA_OBJECT_TLS) ||
	    o->section || !o->module)
		return NULL;
	m = moca_symbols_module(moca_objects_symbols(objects), o->module);
	n = m ? moca_module_variables(m, &v) : 0;
	for (size_t i = 0; i < n; i++)
		if (v[i].name && !strcmp(v[i].name, o->name))
			return &v[i];
	return NULL;
}

/* What was counted has no instruction: costs are of the lines that allocate or declare. */
static int put_object(struct callgrind *c, struct moca_objects *objects,
		      const struct moca_object *o)
{
	const struct moca_variable *v = find_variable(objects, o);
	const uint64_t values[] = { o->loads, o->stores };
	struct callgrind_place at = {
		.object = o->module ? o->module : o->program,
		.file = o->alloc ? o->alloc->file : v ? v->file : NULL,
		.line = o->alloc ? o->alloc->line : v ? v->line : 0,
		.function = *o->name ? o->name : "[unnamed]",
	};

	if (!at.object || !*at.object)
		at.object = NULL;
	if (!at.file)
		at.line = 0;
	return callgrind_cost(c, &at, values);
}

static int put_objects(struct callgrind *c, struct moca_objects *objects,
		       const char *glob, uint64_t *count)
{
	size_t n;
	const struct moca_object *o = moca_objects_rows(objects, &n);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++, o++) {
		if (!(o->loads | o->stores) ||
		    (glob && fnmatch(glob, o->name, 0)))
			continue;
		err = put_object(c, objects, o);
		++*count;
	}
	return err;
}

/* Sums of what is counted: of data, or of code. */
static int sum(struct export *x, struct callgrind *c, struct samples *s,
	       struct moca_objects *objects, uint64_t *count)
{
	if (objects)
		return put_objects(c, objects, x->object, count);
	return callgrind_stacks(c, s, count);
}

static int write_file(struct export *x, struct callgrind *c, uint64_t *written)
{
	const char *command = moca_trace_meta(x->t, META_COMMAND);
	struct out o;
	int err = out_open(&o, x->fd), failed;

	x->read_failed = 0;
	if (err)
		return err;
	err = callgrind_write(c, &o, command ? command : "");
	failed = out_close(&o);
	*written = o.written;
	return err ? err : failed;
}

int export_callgrind(struct export *x)
{
	const struct moca_objects_options opt = { .size = sizeof(opt) };
	const struct query_filter f = { .range = x->range, .object = x->object,
					.by_code = 1 };
	int exact = moca_objects_exact_only(x->t), err;
	struct moca_objects *objects = NULL;
	struct callgrind *c = NULL;
	struct samples *s = NULL;
	char a[TEXT_MAX], b[TEXT_MAX];
	uint64_t count = 0, written = 0;

	x->read_failed = 1;
	err = exact ? moca_objects_compute(&objects, x->t, &opt) :
		      query_samples_open(&s, x->t, &f);
	if (!err) {
		c = exact ? callgrind_begin(counts, 2) :
			    callgrind_begin(s->kinds, s->kind_count);
		err = c ? sum(x, c, s, objects, &count) : -ENOMEM;
	}
	if (!err)
		err = write_file(x, c, &written);
	if (!err && !x->quiet)
		moca_say("%s: %s %s%s, %s", x->out, text_count(a, count),
			 exact ? "data structure" : "stack", PLURAL(count),
			 text_size(b, written));
	callgrind_free(c);
	query_samples_close(s);
	moca_objects_free(objects);
	return err;
}
