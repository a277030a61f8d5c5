// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TABARNAC's files: PROG.full.page.csv with reads and writes of each page by each
 * thread, and beside it PROG.structs.csv and PROG.stackmap.csv. doc/formats/tabarnac.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "import/regions.h"
#include "import/structures.h"
#include "lib/base/vec.h"
#include "lib/format/meta.h"

#define PAGES ".full.page.csv"
#define STRUCTS ".structs.csv"
#define STACKS ".stackmap.csv"
#define HEADING "addr,firstacc,type"
#define PAGE 4096ull
#define THREADS_MAX 65536u
#define CELLS_MAX ((size_t)1 << 25)	/* 1 GiB */
#define ADDRESS_MAX STRUCTURES_ADDRESS_MAX
#define STACK_MAX (1ull << 32)
/* No times are told: those of accesses are these. */
#define BEGIN_NS 1u
#define FIRST_NS 2u	/* a page's first toucher */
#define LATER_NS 3u	/* the others */
#define END_NS 4u

/* What one thread did with one page. */
struct cell {
	uint64_t page;
	uint64_t count;
	uint32_t thread;
	uint8_t write;
	uint8_t first;		/* its thread was the first there */
};

struct tabarnac {
	struct import *x;
	struct lines lines;
	uint32_t threads;
	struct cell *cells;
	size_t count, room;
	struct moca_count *rows;	/* of a thread */
	size_t row_room;
	char *path;			/* of a file beside */
	int no_structs, no_stacks;
	struct regions regions;
	struct structures structures;	/* and stacks */
};

static int heading(struct tabarnac *t)
{
	const char *s = t->lines.text;
	char name[16];

	if (strncmp(s, HEADING, strlen(HEADING)))
		return lines_wrong(&t->lines, "a heading '" HEADING ",T0,T1...' is missing");
	for (s += strlen(HEADING); *s; t->threads++) {
		int n = snprintf(name, sizeof(name), ",T%" PRIu32, t->threads);

		if (t->threads == THREADS_MAX)
			return lines_wrong(&t->lines, "there are more than %u threads",
					   THREADS_MAX);
		if (strncmp(s, name, (size_t)n) || (s[n] && s[n] != ','))
			return lines_wrong(&t->lines, "column %" PRIu32 " should be 'T%" PRIu32 "'",
					   t->threads + 4, t->threads);
		s += n;
	}
	return t->threads ? 0 : lines_wrong(&t->lines, "there is no thread");
}

static int comma(const char **s)
{
	if (**s != ',')
		return -EINVAL;
	(*s)++;
	return 0;
}

static int add(struct tabarnac *t, const struct cell *cell)
{
	struct cell *to;

	if (t->count == CELLS_MAX)
		return lines_wrong(&t->lines, "there are more than %zu numbers that are not 0",
				   CELLS_MAX);
	to = moca_vec_add(t->cells, t->count, t->room);
	if (!to)
		return -ENOMEM;
	*to = *cell;
	return 0;
}

static int page_line(struct tabarnac *t)
{
	static const char form[] = "it should be 'PAGE,THREAD,R,...' or 'PAGE,THREAD,W,...', with a number for each thread";
	const char *s = t->lines.text;
	struct cell cell = { .page = 0 };
	uint64_t first;
	int err = 0;

	if (lines_decimal(&s, &cell.page) || comma(&s) ||
	    lines_decimal(&s, &first) || comma(&s) || (*s != 'R' && *s != 'W'))
		return lines_wrong(&t->lines, "%s", form);
	if (cell.page >= ADDRESS_MAX / PAGE)
		return lines_wrong(&t->lines, "there is no page %" PRIu64, cell.page);
	if (first >= t->threads)
		return lines_wrong(&t->lines, "thread %" PRIu64 " was first, and there are %" PRIu32,
				   first, t->threads);
	cell.write = *s++ == 'W';
	for (uint32_t i = 0; i < t->threads && !err; i++) {
		if (comma(&s) || lines_decimal(&s, &cell.count) ||
		    cell.count > UINT64_MAX / 2 / THREADS_MAX)
			return lines_wrong(&t->lines, "%s", form);
		cell.thread = i;
		cell.first = i == first;
		if (cell.count)
			err = add(t, &cell);
		if (cell.count && !err)
			err = regions_add(&t->regions, cell.page * PAGE);
	}
	return err ? err : *s ? lines_wrong(&t->lines, "%s", form) : 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->page < y->page ? -1 : x->page > y->page;
}

/* The rows of the thread whose cells begin at i; *end: of the next one. */
static int thread_rows(struct tabarnac *t, size_t i, size_t *end, size_t *rows)
{
	struct moca_count *r = NULL;
	size_t first = i;

	*rows = 0;
	for (; i < t->count && t->cells[i].thread == t->cells[first].thread; i++) {
		const struct cell *c = &t->cells[i];
		uint64_t *to;

		if (i == first || c[-1].page != c->page) {
			r = moca_vec_add(t->rows, *rows, t->row_room);
			if (!r)
				return -ENOMEM;
			*r = (struct moca_count){ .addr = c->page * PAGE };
		}
		to = c->write ? &r->stores : &r->loads;
		if (__builtin_add_overflow(*to, c->count, to) || *to >> 62)
			return import_wrong(t->x, t->x->path, "the lines of page %" PRIu64 " are more than can be counted",
					    c->page);
		r->first_ns = c->first || r->first_ns == FIRST_NS ? FIRST_NS : LATER_NS;
		r->first_store = !r->loads;
	}
	*end = i;
	return 0;
}

static int begin_threads(struct tabarnac *t)
{
	struct moca_change start = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = BEGIN_NS,
		.parent = MOCA_NO_TASK,
	};
	char name[24];
	int64_t task;
	int err = 0;

	start.name = name;
	for (uint32_t i = 0; i < t->threads && !err; i++) {
		snprintf(name, sizeof(name), "T%" PRIu32, i);
		task = import_trace_task(&t->x->trace, 1, i + 1);
		err = task < 0 ? (int)task :
			import_trace_change(&t->x->trace, i, &start);
		start.flags = MOCA_TASK_THREAD;
		start.parent = 0;
	}
	return err;
}

static int read_pages(struct tabarnac *t, FILE *f)
{
	size_t at = 0, end = 0, rows = 0;
	int ret, err;

	err = lines_open(&t->lines, f, t->x->path, &t->x->error);
	ret = err ? err : lines_next(&t->lines);
	err = ret < 0 ? ret : heading(t);
	while (!err && (ret = lines_next(&t->lines)) > 0)
		if (*t->lines.text)
			err = page_line(t);
	lines_close(&t->lines);
	err = err ? err : ret;
	if (err)
		return err;
	if (t->count)
		qsort(t->cells, t->count, sizeof(*t->cells), by_thread);
	err = begin_threads(t);
	if (!err)
		err = regions_tell(&t->regions, &t->x->trace, 0, BEGIN_NS);
	while (!err && at < t->count) {
		err = thread_rows(t, at, &end, &rows);
		if (!err)
			err = import_trace_counts(&t->x->trace,
						  t->cells[at].thread, 0,
						  BEGIN_NS, END_NS, t->rows,
						  rows);
		if (err == -EOVERFLOW)
			err = import_wrong(t->x, t->x->path, "all its reads and writes together are 2^64 or more, which cannot be counted");
		at = end;
	}
	return err;
}

/* The file beside, opened; *missing is 1, and NULL, where there is none. */
static FILE *beside(struct tabarnac *t, const char *end, int *missing)
{
	size_t len = strlen(t->x->path) - strlen(PAGES);

	*missing = 0;
	free(t->path);
	if (asprintf(&t->path, "%.*s%s", (int)len, t->x->path, end) < 0)
		t->path = NULL;
	if (!t->path) {
		import_wrong(t->x, t->x->path, "out of memory");
		return NULL;
	}
	if (access(t->path, F_OK) && errno == ENOENT) {
		*missing = 1;
		return NULL;
	}
	return import_open(t->x, t->path);
}

static int struct_line(struct tabarnac *t)
{
	return structures_line(&t->structures, &t->lines);
}

static int stack_line(struct tabarnac *t)
{
	const char *s = t->lines.text;
	uint64_t tid, page, size;
	char name[40];

	if (lines_decimal(&s, &tid) || comma(&s) || lines_decimal(&s, &page) ||
	    comma(&s) || lines_decimal(&s, &size) || *s)
		return lines_wrong(&t->lines, "it should be 'THREAD,PAGE,SIZE'");
	/* A stack without a limit has none. */
	if (page >= ADDRESS_MAX / PAGE || size > STACK_MAX || size > page * PAGE) {
		t->structures.odd++;
		return 0;
	}
	snprintf(name, sizeof(name), "Stack#%" PRIu64, tid);
	return structures_map(&t->structures, &t->lines, name, page * PAGE - size, size);
}

static int read_beside(struct tabarnac *t, const char *end,
		       const char *first, int *missing,
		       int (*line)(struct tabarnac *t))
{
	FILE *f = beside(t, end, missing);
	int err = 0, ret;

	if (!f)
		return *missing ? 0 : -EBADMSG;
	err = lines_open(&t->lines, f, t->path, &t->x->error);
	ret = err ? err : lines_next(&t->lines);
	err = ret < 0 ? ret : 0;
	if (!err && strcmp(t->lines.text, first))
		err = lines_wrong(&t->lines, "the heading '%s' is missing", first);
	while (!err && (ret = lines_next(&t->lines)) > 0)
		if (*t->lines.text)
			err = line(t);
	lines_close(&t->lines);
	fclose(f);
	return err ? err : ret;
}

static int tell(struct tabarnac *t)
{
	struct import *x = t->x;
	uint64_t odd = t->structures.odd;
	int err;

	x->from = "TABARNAC";
	x->reason = "imported from TABARNAC, which does not tell what it missed";
	x->left_out = odd;
	err = import_note(x, "imported from TABARNAC: sums of reads and writes of pages by thread; times are not in it, nor processes, instructions, CPUs, nodes and when a structure lived");
	if (!err)
		err = import_note(x, "process 1 and its threads 1, 2 and so on stand for those of T0, T1 and so on, whose numbers are not told");
	if (!err)
		err = import_note(x, "of a page's first touch the thread is told, and taken to have read where it did so at all");
	if (!err && t->no_structs)
		err = import_note(x, "there was no file " STRUCTS ": data structures have no names");
	if (!err && t->no_stacks)
		err = import_note(x, "there was no file " STACKS ": stacks are not told");
	if (!err && odd)
		err = import_note(x, "%" PRIu64 " structures or stacks without a size are left out",
				  odd);
	if (!err)
		err = moca_meta_set(x->meta, "collector", "%s", x->from);
	if (!err)
		err = moca_meta_set(x->meta, "exact.granularity", "%llu", PAGE);
	return err ? err : moca_meta_set(x->meta, "import.times", "none");
}

int import_tabarnac(struct import *x)
{
	struct tabarnac t = {
		.x = x,
		/* TABARNAC's rule: a page is of what its first byte is in. */
		.structures = { .trace = &x->trace, .time_ns = BEGIN_NS,
				.page_size = PAGE },
	};
	size_t len = strlen(x->path);
	FILE *f;
	int err;

	if (len < strlen(PAGES) || strcmp(x->path + len - strlen(PAGES), PAGES))
		return import_wrong(x, x->path, "its name should end with '" PAGES "': the two others, '" STRUCTS "' and '" STACKS "', are found beside it");
	f = import_open(x, x->path);
	if (!f)
		return -EBADMSG;
	err = read_pages(&t, f);
	fclose(f);
	if (!err)
		err = read_beside(&t, STRUCTS, "name,start,sz", &t.no_structs,
				  struct_line);
	if (!err)
		err = read_beside(&t, STACKS, "tid,stackmax,sz", &t.no_stacks,
				  stack_line);
	if (!err)
		err = tell(&t);
	regions_free(&t.regions);
	free(t.cells);
	free(t.rows);
	free(t.path);
	return err;
}
