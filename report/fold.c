// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

static uint32_t find(const struct objects_fold *f, const struct moca_object *o)
{
	uint32_t i;

	for (i = 0; i < f->count; i++)
		if (!strcmp(f->rows[i].module, o->module) &&
		    !strcmp(f->rows[i].program, o->program) &&
		    f->rows[i].kind == o->kind)
			return i;
	return OBJECTS_NOT_FOLDED;
}

static void add(struct moca_object *to, const struct moca_object *o,
		uint64_t *most)
{
	if (o->accesses >= *most) {
		*most = o->accesses;
		to->sharing = o->sharing;
		to->sharing_processes = o->sharing_processes;
	}
	if (!to->first_ns || (o->first_ns && o->first_ns < to->first_ns)) {
		to->first_ns = o->first_ns;
		to->first_task = o->first_task;
	}
	if (o->threads > to->threads)
		to->threads = o->threads;
	if (o->processes > to->processes)
		to->processes = o->processes;
	if (!to->instances || o->begin_ns < to->begin_ns)
		to->begin_ns = o->begin_ns;
	to->instances++;
	to->pages += o->pages;
	to->pages_shared += o->pages_shared;
	to->shared_written += o->shared_written;
	to->pages_split += o->pages_split;
	to->accesses += o->accesses;
	to->reads += o->reads;
	to->writes += o->writes;
	to->loads += o->loads;
	to->stores += o->stores;
	to->node_unknown += o->node_unknown;
	for (int i = 0; i < MOCA_OBJECT_NODES; i++)
		to->nodes[i] += o->nodes[i];
}

static const char *name_of(const struct moca_object *o)
{
	const char *slash = strrchr(o->module, '/');
	char *name;

	if (asprintf(&name, "%s, %llu sections",
		     slash ? slash + 1 : o->module,
		     (unsigned long long)o->instances) < 0)
		return NULL;
	return name;
}

/* Rows with one section only go; the others get their names. */
static int finish(struct objects_fold *f, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (f->into[i] != OBJECTS_NOT_FOLDED &&
		    f->rows[f->into[i]].instances < 2)
			f->into[i] = OBJECTS_NOT_FOLDED;
	for (i = 0; i < f->count; i++) {
		if (f->rows[i].instances < 2)
			continue;
		f->rows[i].name = name_of(&f->rows[i]);
		if (!f->rows[i].name)
			return -ENOMEM;
	}
	return 0;
}

static int gather(const struct moca_object *const *rows, size_t n,
		  struct objects_fold *f)
{
	uint64_t *most = NULL;
	size_t i, room = 0;
	uint32_t to;

	for (i = 0; i < n; i++) {
		f->into[i] = OBJECTS_NOT_FOLDED;
		if (!rows[i]->section)
			continue;
		to = find(f, rows[i]);
		if (to == OBJECTS_NOT_FOLDED) {
			if (moca_vec_fit(f->rows, f->cap, f->count + 1) ||
			    moca_vec_fit(most, room, f->count + 1)) {
				free(most);
				return -ENOMEM;
			}
			to = (uint32_t)f->count++;
			most[to] = 0;
			f->rows[to] = (struct moca_object){
				.id = UINT32_MAX, .kind = rows[i]->kind,
				.site = rows[i]->module,
				.program = rows[i]->program,
				.module = rows[i]->module, .section = 1,
				.named = rows[i]->named,
				.first_task = MOCA_NO_TASK,
			};
		}
		add(&f->rows[to], rows[i], &most[to]);
		f->into[i] = to;
	}
	free(most);
	return 0;
}

int objects_fold(const struct moca_object *const *rows, size_t n,
		 struct objects_fold *out)
{
	int err;

	*out = (struct objects_fold){ .into = calloc(n + 1, sizeof(*out->into)) };
	if (!out->into)
		return -ENOMEM;
	err = gather(rows, n, out);
	if (!err)
		err = finish(out, n);
	if (err)
		objects_fold_free(out);
	return err;
}

int objects_fold_rows(const struct moca_object **rows, size_t *n,
		      struct objects_fold *f)
{
	int err = objects_fold(rows, *n, f);
	size_t i, kept = 0;
	uint32_t to;

	if (err)
		return err;
	for (i = 0; i < *n; i++)
		if (f->into[i] == OBJECTS_NOT_FOLDED)
			rows[kept++] = rows[i];
	for (to = 0; to < f->count; to++)
		if (f->rows[to].instances > 1)
			rows[kept++] = &f->rows[to];
	*n = kept;
	return 0;
}

void objects_fold_free(struct objects_fold *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		free((char *)f->rows[i].name);
	free(f->rows);
	free(f->into);
	*f = (struct objects_fold){ 0 };
}
