// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/classic.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/table.h"
#include "lib/base/vec.h"

#define CPUS_MAX (64 * CLASSIC_MASK_WORDS)

/* The chunk at hand: its pages, and where they are. */
struct classic {
	const struct classic_options *o;
	struct classic_page *pages;
	size_t count;
	size_t room;
	struct moca_index index;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t cpus[CLASSIC_MASK_WORDS];
	uint64_t number;	/* chunks written in this task */
	uint64_t last_end;	/* of the last of these, as written */
	FILE *f;
	/* In place of f. */
	int (*fn)(void *arg, const struct classic_chunk *chunk);
	void *arg;
	int ended;		/* what fn returned */
	const struct moca_task *task;
	size_t task_index;
};

static struct classic_page *find_page(struct classic *c, uint64_t addr)
{
	uint64_t hash = moca_mix(addr);
	struct classic_page *p;
	uint32_t i;

	moca_index_each(i, &c->index, hash)
		if (c->pages[i].addr == addr)
			return &c->pages[i];
	if (moca_vec_fit(c->pages, c->room, c->count + 1) ||
	    moca_index_add(&c->index, hash, (uint32_t)c->count))
		return NULL;
	p = &c->pages[c->count++];
	*p = (struct classic_page){ .addr = addr };
	return p;
}

static int add_accesses(struct classic *c, const struct moca_chunk *chunk)
{
	size_t i;

	if (!c->count || chunk->begin_ns < c->begin_ns)
		c->begin_ns = chunk->begin_ns;
	if (!c->count || chunk->end_ns > c->end_ns)
		c->end_ns = chunk->end_ns;
	for (i = 0; i < chunk->count; i++) {
		const struct moca_access *a = &chunk->accesses[i];
		uint64_t addr = a->addr & ~(uint64_t)(c->o->page_size - 1);
		struct classic_page *p = find_page(c, addr);
		/* Outside of a sweep's sample: once at least. */
		unsigned n = a->weight ? a->weight : 1;

		if (!p)
			return -ENOMEM;
		if (a->phys)
			p->phys = a->phys;
		if (a->type == MOCA_ACCESS_WRITE)
			p->writes += n;
		else
			p->reads += n;
		if (a->cpu < CPUS_MAX) {
			p->cpus[a->cpu / 64] |= 1ull << (a->cpu % 64);
			c->cpus[a->cpu / 64] |= 1ull << (a->cpu % 64);
		}
	}
	return 0;
}

/* What exact mode counted: sums of the page, of no CPU. */
static int add_counts(struct classic *c, const struct moca_counts *counts)
{
	size_t i;

	if (!c->count || counts->begin_ns < c->begin_ns)
		c->begin_ns = counts->begin_ns;
	if (!c->count || counts->end_ns > c->end_ns)
		c->end_ns = counts->end_ns;
	for (i = 0; i < counts->count; i++) {
		const struct moca_count *r = &counts->rows[i];
		struct classic_page *p = find_page(c, r->addr & ~(uint64_t)(
						      c->o->page_size - 1));

		if (!p)
			return -ENOMEM;
		p->reads += r->loads;
		p->writes += r->stores;
	}
	return 0;
}

static void print_mask(FILE *f, const uint64_t *mask, unsigned cpus)
{
	unsigned i = CPUS_MAX;

	while (i > cpus && !(mask[(i - 1) / 64] >> ((i - 1) % 64) & 1))
		i--;
	while (i--)
		putc('0' + (mask[i / 64] >> (i % 64) & 1), f);
	putc('\n', f);
}

static uint64_t since(const struct classic *c, uint64_t time_ns)
{
	return time_ns > c->o->origin_ns ? time_ns - c->o->origin_ns : 0;
}

static void print_chunk(struct classic *c, uint64_t begin, uint64_t end)
{
	fprintf(c->f, "Chunk %" PRIu64 " %zu %" PRIu64 " %" PRIu64 " ",
		c->number++, c->count, begin, end);
	print_mask(c->f, c->cpus, c->o->cpus);
	for (size_t i = 0; i < c->count; i++) {
		const struct classic_page *p = &c->pages[i];

		fprintf(c->f,
			/* Importers refuse 0x: digits alone. */
			"Access %" PRIx64 " %" PRIx64 " %" PRIu64
			" %" PRIu64 " ",
			p->addr, p->phys, p->reads, p->writes);
		print_mask(c->f, p->cpus, c->o->cpus);
	}
}

static void write_chunk(struct classic *c)
{
	uint64_t begin = since(c, c->begin_ns), end = since(c, c->end_ns);
	struct classic_chunk chunk;

	if (!c->count)
		return;
	/* As the original: chunks do not overlap, and each lasts. */
	if (begin < c->last_end)
		begin = c->last_end;
	if (end <= begin)
		end = begin + 1;
	c->last_end = end;
	if (c->fn) {
		chunk = (struct classic_chunk){
			.task = c->task, .index = c->task_index,
			.begin_ns = begin, .end_ns = end,
			.pages = c->pages, .count = c->count,
		};
		if (!c->ended)
			c->ended = c->fn(c->arg, &chunk);
	} else {
		print_chunk(c, begin, end);
	}
	c->count = 0;
	memset(c->cpus, 0, sizeof(c->cpus));
	moca_index_clear(&c->index);
}

static FILE *create(int dirfd, uint32_t id)
{
	char name[40];
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "Moca-task%" PRIu32, id);
	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "w");
	if (!f)
		close(fd);
	return f;
}

static int write_chunks(struct classic *c, struct moca_trace *t,
			const struct moca_query *q)
{
	const struct moca_query of = export_pick_query(c->o->pick, q);
	const struct moca_chunk *chunk;
	struct moca_cursor *cursor;
	uint64_t interval = 0, before = 0;
	int ret;

	ret = moca_cursor_open(&cursor, t, &of);
	if (ret)
		return ret;
	while ((ret = export_pick_chunk(c->o->pick, cursor, &before, &chunk)) > 0) {
		/* The interval's last chunk had none of the addresses. */
		if (c->count && chunk->interval != interval)
			write_chunk(c);
		interval = chunk->interval;
		ret = c->ended ? c->ended : add_accesses(c, chunk);
		if (ret)
			break;
		if (!chunk->more)
			write_chunk(c);
	}
	moca_cursor_close(cursor);
	write_chunk(c);
	return ret ? ret : c->ended;
}

/* The same of counts. */
static int write_slices(struct classic *c, struct moca_trace *t,
			const struct moca_query *q)
{
	const struct moca_counts *counts;
	struct moca_cursor *cursor;
	int ret;

	ret = moca_cursor_open(&cursor, t, q);
	if (ret)
		return ret;
	while ((ret = moca_cursor_counts(cursor, &counts)) > 0) {
		/* A slice that had no more after all. */
		if (c->count && counts->begin_ns >= c->end_ns)
			write_chunk(c);
		ret = c->ended ? c->ended : add_counts(c, counts);
		if (ret)
			break;
		if (!counts->more)
			write_chunk(c);
	}
	moca_cursor_close(cursor);
	write_chunk(c);
	return ret ? ret : c->ended;
}

static int walk_task(struct classic *c, struct moca_trace *t,
		     const struct moca_task *task)
{
	struct moca_query q = { .size = sizeof(q) };

	if (c->o->range)
		q = *c->o->range;
	if (q.one_task && q.task != task->id)
		return 0;
	q.task = task->id;
	q.one_task = 1;
	return task->counts && !task->accesses ? write_slices(c, t, &q) :
						 write_chunks(c, t, &q);
}

static int write_task(struct classic *c, struct moca_trace *t, int dirfd,
		      const struct moca_task *task)
{
	int err;

	c->f = create(dirfd, task->id);
	if (!c->f)
		return -errno;
	c->number = c->last_end = 0;
	fprintf(c->f, "Task %" PRIu32 " %" PRIu32, task->id, task->tid);
	if (!task->id)
		fprintf(c->f, " %u", c->o->page_size);
	putc('\n', c->f);
	err = walk_task(c, t, task);
	if (!err && ferror(c->f))
		err = -EIO;
	errno = 0;
	if (fclose(c->f) && (!err || err == -EIO))
		err = errno ? -errno : -EIO;
	return err;
}

int moca_classic_export(struct moca_trace *t, int dirfd,
			const struct classic_options *options)
{
	struct classic c = { .o = options };
	size_t i, n = moca_trace_task_count(t);
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = write_task(&c, t, dirfd, moca_trace_task(t, i));
	free(c.pages);
	moca_index_free(&c.index);
	return err;
}

int moca_classic_chunks(struct moca_trace *t,
			const struct classic_options *options,
			int (*fn)(void *arg, const struct classic_chunk *chunk),
			void *arg)
{
	struct classic c = { .o = options, .fn = fn, .arg = arg };
	size_t n = moca_trace_task_count(t);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		c.task = moca_trace_task(t, i);
		c.task_index = i;
		c.last_end = 0;
		err = walk_task(&c, t, c.task);
	}
	free(c.pages);
	moca_index_free(&c.index);
	return err;
}
