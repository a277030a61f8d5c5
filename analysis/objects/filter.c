// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/objects/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <moca/reader.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "lib/format/chunk.h"
#include "lib/format/trace.h"
#include "lib/format/writer.h"

#define SPARE "object-filter"	/* directory of the new files, in the trace */
#define EVENTS_AT_ONCE 512

/* What each access of a task went to, in the order of cursors. */
struct verdicts {
	uint32_t *key;
	size_t count, room;
};

struct filter {
	struct moca_trace *trace;
	struct verdicts *tasks;	/* by index of the task */
	size_t task_count;
	const struct moca_objects *objects;
	const uint8_t *keep;	/* by object */
	struct moca_access *kept;
	struct moca_writer *writer;
	int dirfd, sparefd;
	int error;
	struct object_filter_result *result;
};

static void note(void *arg, uint32_t task, const struct moca_access *access,
		 uint32_t key)
{
	struct filter *f = arg;
	size_t i = trace_task_index(f->trace, task);
	struct verdicts *v;

	if (f->error || i == SIZE_MAX)
		return;
	v = &f->tasks[i];
	f->error = moca_vec_fit(v->key, v->room, v->count + 1);
	if (!f->error)
		v->key[v->count++] = key;
}

static int copy_accesses(struct filter *f, size_t i)
{
	const struct moca_query query = {
		.size = sizeof(query), .one_task = 1,
		.task = moca_trace_task(f->trace, i)->id,
	};
	const struct verdicts *v = &f->tasks[i];
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	size_t at = 0, n, k;
	int ret = moca_cursor_open(&cursor, f->trace, &query);

	while (!ret && (ret = moca_cursor_chunk(cursor, &c)) > 0) {
		const struct moca_chunk_info info = {
			.task = c->task, .interval = c->interval,
			.begin_ns = c->begin_ns, .end_ns = c->end_ns,
			.lost = c->lost, .more = c->more,
		};

		/* The same walk as that of the analysis, or it is no use. */
		if (c->count > v->count - at) {
			ret = -ESTALE;
			break;
		}
		for (k = 0, n = 0; k < c->count; k++)
			if (f->keep[moca_objects_row_of(f->objects,
							v->key[at + k])->id])
				f->kept[n++] = c->accesses[k];
		at += c->count;
		f->result->kept += n;
		f->result->dropped += c->count - n;
		ret = moca_writer_accesses(f->writer, &info, f->kept, n);
	}
	moca_cursor_close(cursor);
	return ret;
}

/* Write the batch and forget it. */
static int write_events(struct filter *f, uint32_t task,
			struct moca_change *batch, size_t *n)
{
	int ret = *n ? moca_writer_changes(f->writer, task, batch, *n) : 0;

	while (*n)
		free((char *)batch[--*n].name);
	return ret;
}

static int copy_events(struct filter *f, size_t i)
{
	struct moca_change *batch;
	size_t n = 0;
	const struct moca_query query = {
		.size = sizeof(query), .one_task = 1,
		.task = moca_trace_task(f->trace, i)->id,
	};
	const struct moca_change *e;
	struct moca_cursor *cursor;
	uint32_t task = query.task;
	int ret = moca_cursor_open(&cursor, f->trace, &query), err;

	if (ret)
		return ret;
	batch = calloc(EVENTS_AT_ONCE, sizeof(*batch));
	if (!batch)
		ret = -ENOMEM;
	/* Those of event files stay where they are. */
	moca_task_changes_only(cursor);
	while (!ret && (ret = moca_cursor_change(cursor, &e, &task)) > 0) {
		batch[n] = *e;
		batch[n].name = strdup(e->name);
		ret = batch[n].name ? 0 : -ENOMEM;
		n += !ret;
		if (!ret && n == EVENTS_AT_ONCE)
			ret = write_events(f, task, batch, &n);
	}
	err = batch ? write_events(f, task, batch, &n) : 0;
	free(batch);
	moca_cursor_close(cursor);
	return ret ? ret : err;
}

/* Put the new file, if there is one, into the old one's place. */
static int replace_file(struct filter *f, const char *name)
{
	if (!renameat(f->sparefd, name, f->dirfd, name))
		return 0;
	/* What is left of the task may all be in task-shared now. */
	return errno != ENOENT ||
	       (unlinkat(f->dirfd, name, 0) && errno != ENOENT) ? -EIO : 0;
}

static int replace(struct filter *f)
{
	char name[MOCA_FILE_NAME_MAX];
	const struct moca_task *t;
	size_t i;

	for (i = 0; i < f->task_count; i++) {
		t = moca_trace_task(f->trace, i);
		if (t->flags & MOCA_TASK_EVENTS)
			continue;
		moca_file_name(name, MOCA_FILE_TASK, t->id);
		if (replace_file(f, name))
			return -EIO;
	}
	moca_file_name(name, MOCA_FILE_SHARED, 0);
	return replace_file(f, name);
}

static void remove_spare(struct filter *f)
{
	char name[MOCA_FILE_NAME_MAX];
	size_t i;

	for (i = 0; i < f->task_count; i++) {
		moca_file_name(name, MOCA_FILE_TASK,
			       moca_trace_task(f->trace, i)->id);
		unlinkat(f->sparefd, name, 0);
	}
	moca_file_name(name, MOCA_FILE_SHARED, 0);
	unlinkat(f->sparefd, name, 0);
	close(f->sparefd);
	unlinkat(f->dirfd, SPARE, AT_REMOVEDIR);
}

static int rewrite(struct filter *f)
{
	size_t i;
	int ret;

	if (mkdirat(f->dirfd, SPARE, 0700))
		return -errno;
	f->sparefd = openat(f->dirfd, SPARE,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->sparefd < 0)
		return -errno;
	ret = moca_writer_create(&f->writer, f->sparefd);
	for (i = 0; !ret && i < f->task_count; i++) {
		if (moca_trace_task(f->trace, i)->flags & MOCA_TASK_EVENTS)
			continue;
		ret = copy_events(f, i);
		if (!ret)
			ret = copy_accesses(f, i);
	}
	if (!ret)
		ret = replace(f);
	moca_writer_destroy(f->writer);
	remove_spare(f);
	return ret;
}

static int matches(const struct string_list *patterns, const char *name)
{
	size_t i;

	/* A name may have brackets, which mean something else in a glob. */
	for (i = 0; i < patterns->count; i++)
		if (!strcmp(patterns->items[i], name) ||
		    !fnmatch(patterns->items[i], name, 0))
			return 1;
	return 0;
}

static uint8_t *choose(struct filter *f, const struct moca_objects *o,
		       const struct string_list *patterns)
{
	const struct moca_object *rows;
	uint8_t *keep;
	size_t n, i;

	rows = moca_objects_rows(o, &n);
	keep = calloc(n + 1, 1);
	for (i = 0; keep && i < n; i++) {
		keep[rows[i].id] = matches(patterns, rows[i].name);
		f->result->objects += keep[rows[i].id];
	}
	return keep;
}

int object_filter(const char *dir, const struct string_list *patterns,
		  struct object_filter_result *result)
{
	struct filter f = { .dirfd = -1, .sparefd = -1, .result = result };
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .each = note, .each_arg = &f,
	};
	struct moca_objects *o = NULL;
	uint8_t *keep = NULL;
	size_t i;
	int ret;

	memset(result, 0, sizeof(*result));
	trace_raise_limit();
	ret = moca_trace_open(&f.trace, dir);
	if (ret)
		return ret;
	f.task_count = moca_trace_task_count(f.trace);
	f.tasks = calloc(f.task_count + 1, sizeof(*f.tasks));
	f.kept = malloc(MOCA_CHUNK_RECORDS_MAX * sizeof(*f.kept));
	f.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f.dirfd < 0)
		ret = -errno;
	else if (!f.tasks || !f.kept)
		ret = -ENOMEM;
	if (!ret)
		ret = moca_objects_compute(&o, f.trace, &opt);
	if (!ret)
		ret = f.error;
	if (!ret) {
		f.objects = o;
		f.keep = keep = choose(&f, o, patterns);
		ret = keep ? 0 : -ENOMEM;
		if (keep && result->objects)
			ret = rewrite(&f);
	}
	moca_objects_free(o);
	for (i = 0; f.tasks && i < f.task_count; i++)
		free(f.tasks[i].key);
	free(f.tasks);
	free(f.kept);
	free(keep);
	if (f.dirfd >= 0)
		close(f.dirfd);
	moca_trace_close(f.trace);
	return ret;
}
