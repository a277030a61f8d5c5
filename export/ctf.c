// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/ctf-metadata.h"
#include "export/ctf-stream.h"
#include "export/ctf-type.h"
#include "lib/base/bytes.h"
#include "lib/cmdline/unfinished.h"

#define NS 1000000000ull

struct ctf {
	struct moca_trace *t;
	const struct moca_ctf_options *o;
	struct moca_ctf_result *r;
	struct moca_ctf_stream s;
	struct moca_ctf_info info;
	FILE *metadata;
	struct moca_ctf_types *types;
	/* What the task at hand has, in order of time. */
	struct moca_cursor *accesses;
	struct moca_cursor *changes;
	struct moca_cursor *events;
	int weights;			/* not all accesses weigh 1 */
	const struct moca_chunk *chunk;
	size_t next;			/* access of the chunk */
	uint64_t before;		/* accesses of the task before it */
	uint64_t loss;			/* of the chunk, not yet told */
	const struct moca_change *change;	/* NULL at the end */
	const struct moca_event *event;
	uint64_t events_lost;		/* not yet told */
};

static uint64_t meta_u64(const struct moca_trace *t, const char *key)
{
	const char *s = moca_trace_meta(t, key);
	uint64_t v;
	char *end;

	if (!s || *s < '0' || *s > '9')
		return 0;
	errno = 0;
	v = strtoull(s, &end, 10);
	return errno || *end ? 0 : v;
}

/* How far Unix time is ahead of the trace's clock, if that is known. */
static void find_offset(struct ctf *x)
{
	uint64_t start_ns = meta_u64(x->t, "start_ns");
	uint64_t start_time = meta_u64(x->t, "start_time");

	/* Half the range is centuries: what is beyond is no time but damage. */
	if (!start_ns || start_time < start_ns || start_time > INT64_MAX / 2)
		return;
	x->info.offset_ns = start_time - start_ns;
	x->info.absolute = 1;
	x->s.time_max = INT64_MAX - x->info.offset_ns - NS;
}

static void find_info(struct ctf *x)
{
	const char *version = moca_trace_meta(x->t, "version");
	struct moca_ctf_info *info = &x->info;

	info->uuid = x->s.uuid;
	info->host = moca_trace_meta(x->t, "host");
	info->kernel = moca_trace_meta(x->t, "kernel");
	info->command = moca_trace_meta(x->t, "command");
	if (!version ||
	    sscanf(version, "%4u.%4u", &info->major, &info->minor) != 2)
		sscanf(MOCA_VERSION, "%4u.%4u", &info->major, &info->minor);
	find_offset(x);
	x->weights = moca_trace_has_weights(x->t);
}

/*
 * Made first, so that two exports cannot get into the same directory, but
 * filled last: of one that was killed, readers say that it is none.
 */
static int create_metadata(struct ctf *x)
{
	int fd;

	fd = unfinished_file(x->s.dirfd, "metadata", 0600);
	if (fd < 0)
		return fd;
	x->metadata = fdopen(fd, "w");
	if (x->metadata)
		return 0;
	close(fd);
	return -ENOMEM;
}

static int write_metadata(struct ctf *x)
{
	const struct moca_event_type *const *types;
	FILE *f = x->metadata;
	size_t i, n;
	int err = 0;

	moca_ctf_write_head(f, &x->info);
	for (i = 0; i <= MOCA_CTF_OWN_LAST && !err && !x->o->events_only; i++)
		err = moca_ctf_write_type(f, moca_ctf_own_type(i, x->weights), i);
	types = moca_trace_event_types(x->t, &n);
	for (i = 0; i < n && !err; i++)
		err = moca_ctf_write_type(f, types[i], types[i]->id);
	for (i = 0; i < x->types->count && !err; i++)
		err = moca_ctf_write_type(f, x->types->variants[i].type,
					  MOCA_CTF_VARIANT_FIRST + i);
	if (!err)
		x->r->bytes += ftell(f);
	return err;
}

/* An error of an earlier write has left its number nowhere. */
static int close_metadata(struct ctf *x)
{
	int failed = ferror(x->metadata), err;

	errno = 0;
	if (!fclose(x->metadata))
		err = failed ? -EIO : 0;
	else
		err = errno ? -errno : -EIO;
	x->metadata = NULL;
	return err;
}

/*
 * The fields of an event are laid out as CTF wants them: packed, little
 * endian, a sequence behind its 32-bit length, a string with its NUL. Behind
 * the last there may be padding.
 */
static int put_event(struct ctf *x, const struct moca_event *m)
{
	unsigned empty, id;
	uint8_t *p;
	size_t len;
	int err;

	if (moca_ctf_event_measure(m, &len, &empty)) {
		x->r->left_out++;
		return 0;
	}
	id = moca_ctf_type_id(x->types, m->type, empty);
	err = moca_ctf_stream_event(&x->s, id, m->time_ns, len, &p);
	if (err)
		return err;
	memcpy(p, m->payload, len);
	x->r->events++;
	return 0;
}

static int put_access(struct ctf *x, const struct moca_access *a)
{
	uint8_t *p;
	int err;

	err = moca_ctf_stream_event(&x->s, MOCA_CTF_ACCESS, a->time_ns,
				    x->weights ? 32 : 30, &p);
	if (err)
		return err;
	moca_put64(p, a->addr);
	moca_put64(p + 8, a->ip);
	moca_put64(p + 16, a->phys);
	moca_put16(p + 24, a->cpu);
	moca_put16(p + 26, a->node);
	p[28] = a->type;
	p[29] = a->mode;
	if (x->weights)
		moca_put16(p + 30, a->weight);
	x->r->accesses++;
	return 0;
}

static uint8_t *add32(uint8_t *p, uint32_t v)
{
	moca_put32(p, v);
	return p + 4;
}

static uint8_t *add64(uint8_t *p, uint64_t v)
{
	moca_put64(p, v);
	return p + 8;
}

/* The fields as in export/ctf-metadata.c; p has room for 48 bytes. */
static uint8_t *add_numbers(uint8_t *p, const struct moca_change *e)
{
	p = add32(p, e->pid);
	p = add32(p, e->tid);
	if (e->type == MOCA_CHANGE_TASK_START) {
		p = add32(p, e->parent);
		p = add32(p, e->flags);
	}
	if (e->type == MOCA_CHANGE_TASK_END)
		p = add32(p, e->status);
	if (e->type >= MOCA_CHANGE_MMAP) {
		p = add64(p, e->addr);
		p = add64(p, e->len);
	}
	if (e->type == MOCA_CHANGE_MMAP) {
		p = add32(p, e->prot);
		p = add32(p, e->flags);
		p = add64(p, e->offset);
	}
	return p;
}

static int has_name(uint32_t type)
{
	return type != MOCA_CHANGE_TASK_END && type != MOCA_CHANGE_MUNMAP &&
	       type != MOCA_CHANGE_DISCARD && type != MOCA_CHANGE_SEGV;
}

static int put_change(struct ctf *x, const struct moca_change *e)
{
	size_t len, name = has_name(e->type) ? strlen(e->name) + 1 : 0;
	uint8_t numbers[48], *p;
	unsigned id;
	int err;

	if (!e->type || e->type > MOCA_CTF_OWN_LAST) {
		x->r->left_out++;
		return 0;
	}
	id = moca_ctf_type_id(x->types, moca_ctf_own_type(e->type, 0), name == 1);
	len = add_numbers(numbers, e) - numbers;
	err = moca_ctf_stream_event(&x->s, id, e->time_ns, len + name, &p);
	if (err)
		return err;
	memcpy(p, numbers, len);
	memcpy(p + len, e->name, name);
	x->r->task_events++;
	return 0;
}

static int note_read(struct ctf *x, int ret)
{
	x->r->read_failed |= ret < 0;
	return ret;
}

/* Each of these loads what is next. 1, 0 at the end, -errno. */
static int fill_access(struct ctf *x)
{
	int ret;

	if (!x->accesses)
		return 0;
	while (!x->chunk || (x->next == x->chunk->count && !x->loss)) {
		x->next = 0;
		x->chunk = NULL;
		ret = moca_ctf_stream_settle(&x->s);
		if (!ret)
			ret = note_read(x, export_pick_chunk(x->o->pick,
						x->accesses, &x->before,
						&x->chunk));
		if (ret <= 0) {
			x->chunk = NULL;
			return ret;
		}
		x->loss = x->chunk->lost;
	}
	return 1;
}

static int fill_change(struct ctf *x)
{
	uint32_t task;
	int ret;

	x->change = NULL;
	if (!x->changes)
		return 0;
	ret = note_read(x, moca_cursor_change(x->changes, &x->change, &task));
	if (ret <= 0)
		x->change = NULL;
	return ret;
}

static int fill_event(struct ctf *x)
{
	uint32_t task;
	int ret;

	x->event = NULL;
	do {
		ret = note_read(x, moca_cursor_event(x->events, &x->event,
						      &task));
		if (ret <= 0)
			x->event = NULL;
	} while (x->event && x->o->events_only &&
		 !strcmp(x->event->type->facility, "moca_alloc"));
	return ret;
}

static int put_loss(struct ctf *x, uint64_t n, uint64_t time_ns)
{
	x->r->discarded = moca_add_sat(x->r->discarded, n);
	return moca_ctf_stream_lost(&x->s, n, time_ns);
}

/* Programs say what they lost, and need not be right. */
static int put_event_loss(struct ctf *x, uint64_t n, uint64_t time_ns)
{
	n = n < x->events_lost ? n : x->events_lost;
	x->events_lost -= n;
	return put_loss(x, n, time_ns);
}

/* Write the earliest of what is loaded, and load its successor. */
static int step(struct ctf *x, int *more)
{
	const struct moca_access *a = NULL;
	uint64_t time = UINT64_MAX;
	int ret, from = 0;

	if (x->chunk && !x->loss)
		a = &x->chunk->accesses[x->next];
	if (x->chunk) {
		time = a ? a->time_ns : x->chunk->begin_ns;
		from = 'a';
	}
	if (x->event && (!from || x->event->time_ns <= time)) {
		time = x->event->time_ns;
		from = 'm';
	}
	if (x->change && (!from || x->change->time_ns <= time))
		from = 'e';
	*more = from;
	switch (from) {
	case 'a':
		if (!a) {
			ret = put_loss(x, x->loss, time);
			x->loss = 0;
		} else {
			ret = put_access(x, a);
			x->next++;
		}
		return ret ? ret : fill_access(x);
	case 'm':
		ret = put_event_loss(x, x->event->lost, time);
		if (!ret)
			ret = put_event(x, x->event);
		if (!ret && x->event->lost)
			ret = moca_ctf_stream_settle(&x->s);
		return ret ? ret : fill_event(x);
	case 'e':
		ret = put_change(x, x->change);
		return ret ? ret : fill_change(x);
	}
	return 0;
}

static void close_cursors(struct ctf *x)
{
	moca_cursor_close(x->accesses);
	moca_cursor_close(x->changes);
	moca_cursor_close(x->events);
	x->accesses = x->changes = x->events = NULL;
	x->chunk = NULL;
	x->loss = 0;
}

static int open_cursors(struct ctf *x, uint32_t task)
{
	struct moca_query q = x->o->range, of;
	int ret;

	q.task = task;
	q.one_task = 1;
	of = export_pick_query(x->o->pick, &q);
	x->before = 0;
	ret = moca_cursor_open(&x->events, x->t, &q);
	if (!ret && !x->o->events_only)
		ret = moca_cursor_open(&x->changes, x->t, &q);
	if (!ret && !x->o->events_only)
		ret = moca_cursor_open(&x->accesses, x->t, &of);
	if (!ret)
		ret = fill_event(x);
	if (ret >= 0)
		ret = fill_change(x);
	if (ret >= 0)
		ret = fill_access(x);
	return ret < 0 ? ret : 0;
}

static int write_task(struct ctf *x, const struct moca_task *task)
{
	int more = 1, ret;

	moca_ctf_stream_begin(&x->s, task);
	x->events_lost = moca_add_sat(task->events_lost, task->events_torn);
	ret = open_cursors(x, task->id);
	while (ret >= 0 && more)
		ret = step(x, &more);
	close_cursors(x);
	/* What no event tells may be of any time. */
	if (ret >= 0 && !x->o->range.begin_ns && !x->o->range.end_ns)
		ret = put_event_loss(x, x->events_lost, task->end_ns);
	if (ret >= 0)
		ret = moca_ctf_stream_end(&x->s);
	x->r->streams += x->s.packets != 0;
	return ret;
}

int moca_ctf_export(struct moca_trace *t, int dirfd,
		    const struct moca_ctf_options *o,
		    struct moca_ctf_result *r)
{
	struct ctf x = { .t = t, .o = o, .r = r };
	size_t i, n = moca_trace_task_count(t);
	int err;

	memset(r, 0, sizeof(*r));
	err = moca_ctf_stream_init(&x.s, dirfd);
	if (err)
		return err;
	find_info(&x);
	x.types = calloc(1, sizeof(*x.types));
	err = x.types ? create_metadata(&x) : -ENOMEM;
	for (i = 0; i < n && !err; i++)
		if (!o->range.one_task || moca_trace_task(t, i)->id == o->range.task)
			err = write_task(&x, moca_trace_task(t, i));
	if (!err)
		err = write_metadata(&x);
	if (x.metadata) {
		int failed = close_metadata(&x);

		err = err ? err : failed;
	}
	r->bytes += x.s.bytes;
	r->moved = x.s.moved;
	moca_ctf_stream_free(&x.s);
	free(x.types);
	return err;
}
