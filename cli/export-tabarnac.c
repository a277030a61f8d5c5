// SPDX-License-Identifier: GPL-2.0-or-later
/* TABARNAC's CSV files: doc/formats/tabarnac.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "cli/export-picked.h"
#include "export/tabarnac.h"
#include "lib/base/err.h"
#include "lib/text/text.h"

#define PAGE (1ull << TABARNAC_PAGE_SHIFT)
/* Above all that a program has. */
#define NO_STACK "0,34359738367,0\n"

struct files {
	struct export *x;
	struct tabarnac t;
	struct export_picked picked;
	struct moca_objects *objects;
	uint64_t structures, stacks, bytes;
};

/* R splits lines at commas, and takes quotes as such. */
static void put_name(struct out *o, const char *name)
{
	for (const char *s = name; *s; s++)
		out_byte(o, *s == ',' || *s == '"' || (unsigned char)*s < ' ' ?
				    '_' : *s);
}

static int is_structure(const struct files *f, const struct moca_object *row,
			const struct moca_instance *at)
{
	if (at->size < PAGE || !query_pick_name(&f->picked.filter, row->name))
		return 0;
	return row->kind == MOCA_OBJECT_HEAP || row->kind == MOCA_OBJECT_STATIC ||
	       row->kind == MOCA_OBJECT_ANONYMOUS ||
	       row->kind == MOCA_OBJECT_SHARED;
}

/* By address; of two that begin together the larger one first. */
static int by_place(const void *a, const void *b)
{
	const struct moca_instance *x = *(const struct moca_instance *const *)a;
	const struct moca_instance *y = *(const struct moca_instance *const *)b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/*
 * The scripts take the first that an address is in: a mapping that nothing is known of
 * would hide the structures in it.
 */
static int hides(const struct moca_object *rows,
		 const struct moca_instance *const *list, size_t n, size_t i)
{
	return rows[list[i]->object].kind == MOCA_OBJECT_ANONYMOUS &&
	       i + 1 < n && list[i + 1]->addr < list[i]->addr + list[i]->size;
}

static int put_structures(struct files *f, struct out *o)
{
	const struct moca_instance *at, **list;
	const struct moca_object *rows;
	size_t n, count, used = 0;

	rows = moca_objects_rows(f->objects, &count);
	at = moca_objects_instances(f->objects, &n);
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_structure(f, &rows[at[i].object], &at[i]))
			list[used++] = &at[i];
	qsort(list, used, sizeof(*list), by_place);
	out_string(o, "name,start,sz\n");
	for (size_t i = 0; i < used && !o->error; i++) {
		if (hides(rows, list, used, i))
			continue;
		put_name(o, rows[list[i]->object].name);
		out_byte(o, ',');
		out_u64(o, list[i]->addr);
		out_byte(o, ',');
		out_u64(o, list[i]->size);
		out_byte(o, '\n');
		f->structures++;
	}
	free(list);
	return o->error;
}

/* The index of the thread whose stack has that name: "stack #2 (worker)". */
static size_t thread_of(const struct moca_trace *t, const char *name)
{
	uint32_t id;

	return sscanf(name, "stack #%" SCNu32, &id) == 1 ?
		       trace_task_index(t, id) : SIZE_MAX;
}

static int put_stacks(struct files *f, struct out *o)
{
	const struct moca_object *rows;
	const struct moca_instance *at;
	size_t n, count;

	rows = moca_objects_rows(f->objects, &count);
	at = moca_objects_instances(f->objects, &n);
	out_string(o, "tid,stackmax,sz\n");
	for (size_t i = 0; i < n && !o->error; i++, at++) {
		const struct moca_object *row = &rows[at->object];
		size_t thread = row->kind == MOCA_OBJECT_STACK &&
				query_pick_name(&f->picked.filter, row->name) ?
			thread_of(f->x->t, row->name) : SIZE_MAX;

		if (thread == SIZE_MAX)
			continue;
		/* The scripts take it to begin SIZE below this page. */
		out_u64(o, thread);
		out_byte(o, ',');
		out_u64(o, (at->addr + at->size) / PAGE);
		out_byte(o, ',');
		out_u64(o, at->size);
		out_byte(o, '\n');
		f->stacks++;
	}
	/* A table without a line is none to them. */
	if (!f->stacks)
		out_string(o, NO_STACK);
	return o->error;
}

enum { PAGES, STRUCTURES, STACKS, FILES };

static int write_file(struct files *f, const char *program, int which)
{
	static const char *const names[FILES] = {
		"full.page", "structs", "stackmap",
	};
	char name[128];
	struct out o;
	int fd, err, failed;

	snprintf(name, sizeof(name), "%s.%s.csv", program, names[which]);
	fd = export_create(f->x, name);
	if (fd < 0)
		return fd;
	err = out_open(&o, fd);
	if (!err) {
		err = which == PAGES ? tabarnac_pages(&f->t, &o) :
		      which == STRUCTURES ? put_structures(f, &o) :
					    put_stacks(f, &o);
		failed = out_close(&o);
		err = err ? err : failed;
		f->bytes += o.written;
	}
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* What the files begin with: the first task's name, for a name of a file. */
static void program_name(const struct moca_trace *t, char name[64])
{
	const struct moca_task *first = moca_trace_task(t, 0);
	size_t n = 0;

	for (const char *s = first ? first->name : ""; *s && n < 63; s++, n++) {
		name[n] = '_';
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		    (*s >= '0' && *s <= '9') || *s == '-' || (*s == '.' && n))
			name[n] = *s;
	}
	name[n] = 0;
	if (!n)
		strcpy(name, "moca");
}

int export_tabarnac(struct export *x)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .instances = 1,
		.begin_ns = x->range.begin_ns, .end_ns = x->range.end_ns,
		.task = x->range.task, .one_task = x->range.one_task != 0,
	};
	struct files f = { .x = x };
	char program[64], a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
	int err;

	program_name(x->t, program);
	err = export_picked_open(&f.picked, x, 0);
	if (!err)
		err = tabarnac_begin(&f.t, x->t, &x->range, f.picked.use);
	export_picked_close(&f.picked);
	if (!err)
		err = moca_objects_compute(&f.objects, x->t, &opt);
	x->read_failed = err != 0;
	for (int i = 0; i < FILES && !err; i++)
		err = write_file(&f, program, i);
	if (!err && !x->quiet)
		moca_say("%s: %s page%s, %s structure%s or stack%s, %s", x->out,
			 text_count(a, f.t.pages), PLURAL(f.t.pages),
			 text_count(b, f.structures + f.stacks),
			 PLURAL(f.structures + f.stacks),
			 PLURAL(f.structures + f.stacks),
			 text_size(c, f.bytes));
	moca_objects_free(f.objects);
	tabarnac_free(&f.t);
	return err;
}
