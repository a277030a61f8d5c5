// SPDX-License-Identifier: GPL-2.0-or-later
/* What `moca objects` derives from the table: touchers, ranges, the rest. */
#include "report/objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"

const char *objects_kind(enum moca_object_kind kind)
{
	static const char *const names[] = {
		[MOCA_OBJECT_HEAP] = "heap",
		[MOCA_OBJECT_SMALL] = "small",
		[MOCA_OBJECT_STATIC] = "static",
		[MOCA_OBJECT_TLS] = "tls",
		[MOCA_OBJECT_STACK] = "stack",
		[MOCA_OBJECT_CODE] = "code",
		[MOCA_OBJECT_FILE] = "file",
		[MOCA_OBJECT_SHARED] = "shared",
		[MOCA_OBJECT_KERNEL] = "kernel",
		[MOCA_OBJECT_ALLOCATOR] = "allocator",
		[MOCA_OBJECT_ANONYMOUS] = "anonymous",
		[MOCA_OBJECT_MOCA] = "moca",
	};

	return (unsigned)kind < sizeof(names) / sizeof(*names) ? names[kind] :
								 "";
}

const char *objects_sharing(const struct moca_object *o, char *buf, size_t len)
{
	if (!o->pages)
		snprintf(buf, len, "-");
	else if (o->sharing_processes == MOCA_SHARING_PRIVATE)
		snprintf(buf, len, "%s", moca_sharing_name(o->sharing));
	else
		snprintf(buf, len, "%s, %" PRIu32 " processes",
			 moca_sharing_name(o->sharing), o->processes);
	return buf;
}

const struct moca_task *objects_task(const struct objects_view *v, uint32_t id)
{
	size_t i = trace_task_index(v->trace, id);

	return i == SIZE_MAX ? NULL : moca_trace_task(v->trace, i);
}

/* Which rows are listed, as bits by id. NULL: no memory. */
static unsigned char *listed(const struct objects_view *v)
{
	unsigned char *set;
	size_t i, n;

	moca_objects_rows(v->objects, &n);
	set = calloc(n + 1, 1);
	for (i = 0; set && i < v->count; i++)
		set[v->rows[i]->id] = 1;
	return set;
}

/* --- touchers ----------------------------------------------------------- */

static int compare_text(const char *a, const char *b)
{
	if (a == b)
		return 0;
	if (!a || !b)
		return a ? 1 : -1;
	return strcmp(a, b);
}

static int compare_who(const void *a, const void *b)
{
	const struct objects_toucher *x = a, *y = b;
	int ret = compare_text(x->function, y->function);

	if (!ret)
		ret = compare_text(x->file, y->file);
	if (!ret && x->line != y->line)
		ret = x->line < y->line ? -1 : 1;
	if (!ret && x->module != y->module)
		ret = (uintptr_t)x->module < (uintptr_t)y->module ? -1 : 1;
	if (!ret && x->task != y->task)
		ret = (uintptr_t)x->task < (uintptr_t)y->task ? -1 : 1;
	return ret;
}

static int compare_much(const void *a, const void *b)
{
	const struct objects_toucher *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return compare_who(a, b);
}

static void locate(struct objects_toucher *to, const struct moca_toucher *from,
		   enum objects_by by)
{
	struct moca_location l;

	if (from->module && moca_module_locate(from->module, from->vaddr, &l,
					       1)) {
		to->function = l.function;
		if (by == BY_LINE) {
			to->file = l.file;
			to->line = l.line;
		}
	}
	if (!to->function)
		to->function = from->code;
	if (!to->function)
		to->module = from->module;
}

int objects_touchers(const struct objects_view *v,
		     struct objects_toucher **out, size_t *count)
{
	const struct moca_toucher *from;
	struct objects_toucher *to;
	unsigned char *want = listed(v);
	size_t i, n, k = 0, j;

	from = moca_objects_touchers(v->objects, &n);
	to = calloc(n + 1, sizeof(*to));
	if (!to || !want) {
		free(to);
		free(want);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		if (!want[from[i].object])
			continue;
		if (v->by == BY_THREAD)
			to[k].task = objects_task(v, from[i].task);
		else
			locate(&to[k], &from[i], v->by);
		to[k].reads = from[i].reads;
		to[k].writes = from[i].writes;
		to[k++].accesses = from[i].accesses;
	}
	free(want);
	qsort(to, k, sizeof(*to), compare_who);
	for (i = j = 0; i < k; i++) {
		if (i && !compare_who(&to[j - 1], &to[i])) {
			to[j - 1].reads += to[i].reads;
			to[j - 1].writes += to[i].writes;
			to[j - 1].accesses += to[i].accesses;
		} else {
			to[j++] = to[i];
		}
	}
	qsort(to, j, sizeof(*to), compare_much);
	*out = to;
	*count = j;
	return 0;
}

/* --- ranges ------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
	const struct objects_range *x = a, *y = b;

	if (x->object->id != y->object->id)
		return x->object->id < y->object->id ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Pages side by side of which none has twice the accesses of another. */
static int alike(const struct objects_range *run,
		 const struct objects_range *page)
{
	uint64_t mean = run->accesses / run->pages;

	return run->object == page->object && run->end == page->begin &&
	       page->accesses <= 2 * mean && mean <= 2 * page->accesses;
}

int objects_ranges(const struct objects_view *v, struct objects_range **out,
		   size_t *count)
{
	const struct moca_range *from;
	const struct moca_object *rows;
	struct objects_range *to;
	unsigned char *want = listed(v);
	size_t i, j, n, k = 0, rows_count;

	rows = moca_objects_rows(v->objects, &rows_count);
	from = moca_objects_ranges(v->objects, &n);
	to = calloc(n + 1, sizeof(*to));
	if (!to || !want) {
		free(to);
		free(want);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		if (!want[from[i].object])
			continue;
		to[k++] = (struct objects_range){
			.object = &rows[from[i].object],
			.begin = from[i].begin,
			.end = from[i].end,
			.pages = 1,
			.accesses = from[i].accesses,
			.reads = from[i].reads,
			.writes = from[i].writes,
		};
	}
	free(want);
	qsort(to, k, sizeof(*to), compare_ranges);
	for (i = j = 0; i < k; i++) {
		if (j && alike(&to[j - 1], &to[i])) {
			to[j - 1].end = to[i].end;
			to[j - 1].pages++;
			to[j - 1].accesses += to[i].accesses;
			to[j - 1].reads += to[i].reads;
			to[j - 1].writes += to[i].writes;
		} else {
			to[j++] = to[i];
		}
	}
	*out = to;
	*count = j;
	return 0;
}

/* --- the rest ----------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	const struct objects_remainder *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_remainders(const void *a, const void *b)
{
	const struct objects_remainder *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return strcmp(x->name, y->name);
}

int objects_remainders(const struct objects_view *v,
		       struct objects_remainder **out, size_t *count)
{
	const struct moca_object *rows;
	struct objects_remainder *to;
	size_t i, j, k = 0, n;

	rows = moca_objects_rows(v->objects, &n);
	to = calloc(n + 1, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (!rows[i].named && rows[i].accesses &&
		    rows[i].kind != MOCA_OBJECT_MOCA)
			to[k++] = (struct objects_remainder){
				rows[i].name, rows[i].accesses
			};
	qsort(to, k, sizeof(*to), compare_names);
	for (i = j = 0; i < k; i++) {
		if (j && !strcmp(to[j - 1].name, to[i].name))
			to[j - 1].accesses += to[i].accesses;
		else
			to[j++] = to[i];
	}
	qsort(to, j, sizeof(*to), compare_remainders);
	*out = to;
	*count = j;
	return 0;
}
