// SPDX-License-Identifier: GPL-2.0-or-later
/* The original's CSV files: doc/formats/framesoc.md. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "cli/export-picked.h"
#include "export/framesoc.h"
#include "lib/base/err.h"
#include "lib/text/text.h"

struct files {
	struct export *x;
	struct framesoc f;
	struct export_picked picked;
	struct moca_objects *objects;
	uint64_t structures, bytes;
};

/* Importers split lines at commas, skip those that begin with #, and know no quotes. */
static void put_name(struct out *o, const char *name)
{
	for (const char *s = name; *s; s++)
		out_byte(o, *s == ',' || (unsigned char)*s < ' ' ||
			    (*s == '#' && s == name) ? '_' : *s);
}

/* Of an imported trace structures are mappings with their names. */
static int is_structure(const struct moca_trace *t, const struct moca_object *row)
{
	return row->kind == MOCA_OBJECT_HEAP || row->kind == MOCA_OBJECT_STATIC ||
	       (row->kind == MOCA_OBJECT_ANONYMOUS && row->named &&
		moca_trace_meta(t, META_IMPORT));
}

/* Objects of a page and more, as the original has them; or stacks. */
static int put_structures(struct files *x, struct out *o, int stacks)
{
	unsigned int shift = trace_page_shift(x->x->t);
	const struct moca_object *rows;
	const struct moca_instance *at;
	size_t n, count;

	rows = moca_objects_rows(x->objects, &count);
	at = moca_objects_instances(x->objects, &n);
	out_string(o, "Name,Address,Size\n");
	for (size_t i = 0; i < n && !o->error; i++, at++) {
		const struct moca_object *row = &rows[at->object];

		if (!query_pick_name(&x->picked.filter, row->name))
			continue;
		if (stacks ? row->kind != MOCA_OBJECT_STACK :
			     !is_structure(x->x->t, row))
			continue;
		if (!stacks && at->size < 1ull << shift)
			continue;
		put_name(o, row->name);
		out_byte(o, ',');
		out_u64(o, stacks ? (at->addr + at->size - 1) >> shift :
				    at->addr);
		out_byte(o, ',');
		out_u64(o, at->size);
		out_byte(o, '\n');
		x->structures++;
	}
	return o->error;
}

enum { EVENTS, VIRTUAL, PHYSICAL, STRUCTURES, STACKS, FILES };

static int write_file(struct files *x, int which)
{
	/* What importers look for in the names. */
	static const char *const names[FILES] = {
		"Moca-framesoc.csv", "Moca-Virtual.csv", "Moca-Physical.csv",
		"Moca-structs.csv", "Moca-stackmap.csv",
	};
	int fd = export_create(x->x, names[which]), err, failed;
	struct out o;

	if (fd < 0)
		return fd;
	err = out_open(&o, fd);
	if (!err) {
		if (which == EVENTS)
			err = framesoc_events(&x->f, &o);
		else if (which == VIRTUAL || which == PHYSICAL)
			err = framesoc_producers(&x->f, &o, which == PHYSICAL);
		else
			err = put_structures(x, &o, which == STACKS);
		failed = out_close(&o);
		err = err ? err : failed;
		x->bytes += o.written;
	}
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Files from..until. */
static int write_files(struct files *x, int from, int until)
{
	int err = 0;

	for (int i = from; i < until && !err; i++) {
		err = write_file(x, i);
		x->x->read_failed = x->f.read_failed;
	}
	return err;
}

/* Who touched what is let go before the objects are found: together it was too much. */
static int write_all(struct files *x, struct classic_options *options)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .instances = 1,
		.begin_ns = x->x->range.begin_ns, .end_ns = x->x->range.end_ns,
		.task = x->x->range.task, .one_task = x->x->range.one_task != 0,
	};
	int err = export_picked_open(&x->picked, x->x, 1);

	options->pick = x->picked.use;
	if (!err)
		err = framesoc_begin(&x->f, x->x->t, options);
	x->x->read_failed = err != 0;
	if (!err)
		err = write_files(x, EVENTS, STRUCTURES);
	framesoc_free(&x->f);
	export_picked_close(&x->picked);
	if (err)
		return err;
	err = moca_objects_compute(&x->objects, x->x->t, &opt);
	x->x->read_failed = err != 0;
	if (!err)
		err = write_files(x, STRUCTURES, FILES);
	moca_objects_free(x->objects);
	return err;
}

int export_framesoc(struct export *x)
{
	struct classic_options options = {
		.origin_ns = trace_origin(x->t),
		.page_size = 1u << trace_page_shift(x->t),
		.cpus = (unsigned int)trace_meta_u64(x->t, META_CPUS, 1),
		.range = &x->range,
	};
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
	struct files f = { .x = x };
	int err = write_all(&f, &options);

	if (!err && !x->quiet)
		moca_say("%s: %s event%s, %s structure%s or stack%s, %s", x->out,
			 text_count(a, f.f.events), PLURAL(f.f.events),
			 text_count(b, f.structures), PLURAL(f.structures), PLURAL(f.structures),
			 text_size(c, f.bytes));
	return err;
}
