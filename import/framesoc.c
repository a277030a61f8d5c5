// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CSV files of the original's importers since 2016: events, who touched a page,
 * structures and stacks. doc/formats/framesoc.md.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "import/regions.h"
#include "import/structures.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/format/meta.h"

#define THREADS_MAX 65536u
#define CHUNKS_MAX ((size_t)1 << 22)	/* 160 MiB */
#define ROWS_MAX ((size_t)1 << 22)	/* of a slice */
#define TOUCHES_MAX ((size_t)1 << 24)	/* 512 MiB */
#define COUNT_MAX 65536u		/* of an event on a CPU */
#define TIME_MAX (1ull << 61)
#define STACK_MAX (1ull << 32)
#define BEGIN_NS 1u		/* time 0 of the files: 0 is no time of a trace */
#define NO_CHUNK SIZE_MAX

enum { EVENTS, VIRTUAL, PHYSICAL, STRUCTURES, STACKS, FILES };

/* What importers look for in the names; an events' file has none of the others'. */
static const struct {
	const char *part, *end, *what;
} kinds[FILES] = {
	[EVENTS] = { "Moca-framesoc", ".csv", "events" },
	[VIRTUAL] = { "Virtual", "", "who touched virtual pages" },
	[PHYSICAL] = { "Physical", "", "who touched physical pages" },
	[STRUCTURES] = { "structs.csv", "", "structures" },
	[STACKS] = { "stackmap.csv", "", "stacks" },
};

/* An interval of a thread, from events of one begin. */
struct chunk {
	uint64_t begin, end, number;
	uint32_t thread;
	int counted;		/* its counts were begun */
};

struct thread {
	size_t at;		/* the chunk at hand; NO_CHUNK: none yet */
	uint64_t interval;	/* the last one that it is in, and 1 */
	uint64_t stack;		/* its end; 0: not told */
	char *name;		/* or NULL */
};

struct event {
	uint64_t addr, phys, reads, writes, begin, end, thread, shared;
	uint64_t cpus[LINES_CPU_WORDS];
	unsigned int cpu_count;
};

/* A thread has counts of a page. */
struct touch {
	uint64_t page;		/* its number, and 1: 0 is none */
	uint64_t thread;
};

static uint64_t hash_touch(const struct touch *t)
{
	return moca_mix(moca_mix(t->page) + t->thread);
}

static int same_touch(const struct touch *a, const struct touch *b)
{
	return a->page == b->page && a->thread == b->thread;
}

static int used_touch(const struct touch *t)
{
	return t->page != 0;
}

MOCA_TABLE(touches, struct touch, hash_touch, same_touch, used_touch);

struct framesoc {
	struct import *x;
	struct lines lines;
	char *paths[FILES];	/* NULL: there is none */
	struct chunk *chunks;
	size_t count, room;
	struct thread *threads;
	size_t thread_count, thread_room;
	struct regions regions;
	struct structures structures;
	uint64_t page_size, cpus;
	uint64_t untold;	/* CPUs that had fewer accesses than one each */
	uint64_t empty;		/* events without an access */
	/* Counts of the slice at hand. */
	struct moca_count *rows;
	size_t row_count, row_room;
	size_t slice;		/* its chunk; NO_CHUNK */
	struct touch *touches;	/* of all that were before */
	size_t touch_count, touch_cap;
	int looking;		/* events are looked at, nothing is written */
};

/* --- the files ---------------------------------------------------------- */

static int kind_of(const char *name)
{
	size_t len = strlen(name);

	for (int k = FILES; k--;) {
		size_t end = strlen(kinds[k].end);

		if (strstr(name, kinds[k].part) && len >= end &&
		    !strcmp(name + len - end, kinds[k].end))
			return k;
	}
	return FILES;
}

static int note_file(struct framesoc *f, const char *name)
{
	const char *was;
	int k = kind_of(name);

	if (k == FILES)
		return 0;
	was = f->paths[k];
	if (was)
		return import_wrong(f->x, f->x->path, "two files have %s: '%.200s' and '%.200s'",
				    kinds[k].what, strrchr(was, '/') + 1, name);
	return asprintf(&f->paths[k], "%s/%s", f->x->path, name) < 0 ?
		       (f->paths[k] = NULL, -ENOMEM) : 0;
}

static int find_files(struct framesoc *f)
{
	DIR *dir = opendir(f->x->path);
	struct dirent *e;
	int err = 0;

	if (!dir)
		return import_wrong(f->x, f->x->path, "it is no directory that can be read (%s): give the one that has the CSV files",
				    strerror(errno));
	while (!err && (e = readdir(dir)))
		err = note_file(f, e->d_name);
	closedir(dir);
	if (!err && !f->paths[EVENTS])
		return import_wrong(f->x, f->x->path, "there is no file of events in it: its name has 'Moca-framesoc' and ends with '.csv'");
	return err;
}

/* The next line that is no comment and not empty, without blanks: as lines_next(). */
static int next_line(struct framesoc *f)
{
	int ret;

	do {
		ret = lines_next(&f->lines);
	} while (ret > 0 && (*f->lines.text == '#' ||
			     !f->lines.text[strspn(f->lines.text, " \t")]));
	return ret;
}

/* All of a file: its first line, then each other one. */
static int read_file(struct framesoc *f, int kind,
		     int (*first)(struct framesoc *f),
		     int (*line)(struct framesoc *f))
{
	FILE *file;
	int ret;

	if (!f->paths[kind])
		return 0;
	file = import_open(f->x, f->paths[kind]);
	if (!file)
		return -EBADMSG;
	ret = lines_open(&f->lines, file, f->paths[kind], &f->x->error);
	if (!ret)
		ret = next_line(f);
	if (!ret)
		ret = lines_wrong(&f->lines, "the file has no line");
	if (ret > 0 && first)
		ret = first(f);
	while (ret >= 0 && (ret = next_line(f)) > 0)
		ret = line(f);
	lines_close(&f->lines);
	fclose(file);
	return ret;
}

/* Behind blanks a comma, and blanks again; or what the line ends with. */
static int behind(const char **s, char c)
{
	lines_blanks(s);
	if (**s != c)
		return -EINVAL;
	*s += c != 0;
	lines_blanks(s);
	return 0;
}

/* --- events ------------------------------------------------------------- */

static int parse_event(struct framesoc *f, struct event *e)
{
	const char *s = f->lines.text;
	size_t digits;

	lines_blanks(&s);
	if (lines_hex(&s, &e->addr) || behind(&s, ',') ||
	    lines_hex(&s, &e->phys) || behind(&s, ',') ||
	    lines_decimal(&s, &e->reads) || behind(&s, ',') ||
	    lines_decimal(&s, &e->writes) || behind(&s, ',') ||
	    lines_mask(&s, e->cpus, &digits) || behind(&s, ',') ||
	    lines_decimal(&s, &e->begin) || behind(&s, ',') ||
	    lines_decimal(&s, &e->end) || behind(&s, ',') ||
	    lines_decimal(&s, &e->thread) || behind(&s, ',') ||
	    lines_decimal(&s, &e->shared) || behind(&s, 0) || e->shared > 1)
		return lines_wrong(&f->lines, "it should be 'VIRTUAL,PHYSICAL,READS,WRITES,CPUS,BEGIN,END,THREAD,SHARED'");
	if (digits > f->cpus)
		f->cpus = digits;
	e->cpu_count = 0;
	for (size_t i = 0; i < LINES_CPU_WORDS; i++)
		e->cpu_count += (unsigned)__builtin_popcountll(e->cpus[i]);
	return 0;
}

static int check_event(struct framesoc *f, const struct event *e)
{
	if (e->addr >> 63)
		return lines_wrong(&f->lines, "the address is none of a program's");
	if (e->end < e->begin || e->end >= TIME_MAX)
		return lines_wrong(&f->lines, "it ends before it begins, or beyond any time");
	if (e->thread >= THREADS_MAX)
		return lines_wrong(&f->lines, "there are more than %u threads",
				   THREADS_MAX);
	if (e->cpu_count && (e->reads > COUNT_MAX || e->writes > COUNT_MAX))
		return lines_wrong(&f->lines, "there are more than %u reads or writes of a page on a CPU, which page faults cannot be",
				   COUNT_MAX);
	return 0;
}

static int need_threads(struct framesoc *f, size_t n)
{
	if (moca_vec_fit(f->threads, f->thread_room, n))
		return -ENOMEM;
	for (; f->thread_count < n; f->thread_count++)
		f->threads[f->thread_count] = (struct thread){ .at = NO_CHUNK };
	return 0;
}

/* The first time: which chunks and places there are. */
static int look_at(struct framesoc *f, const struct event *e)
{
	struct thread *t;
	struct chunk *k;
	int err = need_threads(f, e->thread + 1);

	if (err)
		return err;
	t = &f->threads[e->thread];
	k = t->at == NO_CHUNK ? NULL : &f->chunks[t->at];
	if (!k || k->begin != e->begin || k->end != e->end) {
		if (k && e->begin < k->end)
			return lines_wrong(&f->lines, "it begins before that of a line before of its thread ended");
		if (f->count == CHUNKS_MAX)
			return lines_wrong(&f->lines, "there are more than %zu intervals of threads",
					   CHUNKS_MAX);
		k = moca_vec_add(f->chunks, f->count, f->room);
		if (!k)
			return -ENOMEM;
		*k = (struct chunk){ .begin = e->begin, .end = e->end,
				     .thread = (uint32_t)e->thread };
		t->at = f->count - 1;
	}
	err = regions_add(&f->regions, e->addr);
	return err == -E2BIG ? lines_wrong(&f->lines, "there are too many places in memory") : err;
}

/* Each access on another of the event's CPUs, in turn. */
static int put_accesses(struct framesoc *f, const struct event *e,
			const struct chunk *k)
{
	const struct import_interval interval = {
		.number = k->number, .begin_ns = BEGIN_NS + k->begin,
		.end_ns = BEGIN_NS + k->end,
	};
	struct moca_access a = {
		.addr = e->addr, .phys = e->phys & ~(uint64_t)4095,
		.time_ns = interval.begin_ns, .weight = 1,
		.node = MOCA_NODE_UNKNOWN,
	};
	unsigned int cpu = LINES_CPUS - 1;
	int err = 0;

	for (uint64_t i = 0; i < e->reads + e->writes && !err; i++) {
		do
			cpu = (cpu + 1) % LINES_CPUS;
		while (!(e->cpus[cpu / 64] >> (cpu % 64) & 1));
		a.cpu = (uint16_t)cpu;
		a.type = i < e->reads ? MOCA_ACCESS_READ : MOCA_ACCESS_WRITE;
		err = import_trace_access(&f->x->trace, (uint32_t)e->thread,
					  &interval, &a);
	}
	if (e->cpu_count > e->reads + e->writes)
		f->untold += e->cpu_count - (e->reads + e->writes);
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct moca_count *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The first row of a thread and a page tells that: at the begin of its slice. */
static int note_first(struct framesoc *f, const struct chunk *k,
		      struct moca_count *r)
{
	const struct touch key = { r->addr / 4096 + 1, k->thread };
	struct touch *t;

	if (touches_fit(&f->touches, &f->touch_cap, f->touch_count))
		return -ENOMEM;
	t = touches_at(f->touches, f->touch_cap, &key);
	if (t->page)
		return 0;
	if (f->touch_count == TOUCHES_MAX)
		return import_wrong(f->x, f->paths[EVENTS], "threads touched more than %zu pages",
				    TOUCHES_MAX);
	*t = key;
	f->touch_count++;
	r->first_ns = BEGIN_NS + k->begin;
	r->first_store = !r->loads;
	return 0;
}

/* Lines of one page are one row. */
static int join_rows(struct framesoc *f)
{
	struct moca_count *r = f->rows;
	size_t n = 0;

	qsort(r, f->row_count, sizeof(*r), by_address);
	for (size_t i = 0; i < f->row_count; i++) {
		if (!n || r[n - 1].addr != r[i].addr)
			r[n++] = r[i];
		else if (__builtin_add_overflow(r[n - 1].loads, r[i].loads,
						&r[n - 1].loads) ||
			 __builtin_add_overflow(r[n - 1].stores, r[i].stores,
						&r[n - 1].stores))
			return -EOVERFLOW;
	}
	f->row_count = n;
	return 0;
}

static int note_firsts(struct framesoc *f, const struct chunk *k)
{
	int err = 0;

	for (size_t i = 0; i < f->row_count && !err; i++)
		err = note_first(f, k, &f->rows[i]);
	return err;
}

static int flush_counts(struct framesoc *f)
{
	const struct chunk *k = &f->chunks[f->slice];
	int err;

	if (!f->row_count)
		return 0;
	err = join_rows(f);
	if (!err)
		err = note_firsts(f, k);
	if (!err)
		err = import_trace_counts(&f->x->trace, k->thread, k->number,
					  BEGIN_NS + k->begin, BEGIN_NS + k->end,
					  f->rows, f->row_count);
	f->row_count = 0;
	return err == -EOVERFLOW ? import_wrong(f->x, f->paths[EVENTS], "all its reads and writes together are 2^64 or more, which cannot be counted") : err;
}

/* What was counted, as exact mode does: of no CPU. */
static int put_counts(struct framesoc *f, const struct event *e, size_t chunk)
{
	int err = chunk == f->slice ? 0 : flush_counts(f);
	struct moca_count *r;

	if (err)
		return err;
	if (f->row_count == ROWS_MAX)
		return lines_wrong(&f->lines, "there are more than %zu lines of one interval of a thread",
				   ROWS_MAX);
	if (chunk != f->slice && f->chunks[chunk].counted)
		return lines_wrong(&f->lines, "it is not beside the others of its interval and thread");
	f->slice = chunk;
	f->chunks[chunk].counted = 1;
	r = moca_vec_add(f->rows, f->row_count, f->row_room);
	if (!r)
		return -ENOMEM;
	*r = (struct moca_count){ .addr = e->addr & ~(uint64_t)4095,
				  .loads = e->reads, .stores = e->writes };
	return 0;
}

static int event_line(struct framesoc *f)
{
	struct event e;
	struct thread *t;
	size_t at;
	int err = parse_event(f, &e);

	if (!err)
		err = check_event(f, &e);
	if (err || f->looking)
		return err ? err : look_at(f, &e);
	/* A thread's chunks are one after the other now. */
	t = e.thread < f->thread_count ? &f->threads[e.thread] : NULL;
	at = t ? t->at : NO_CHUNK;
	if (at < f->count &&
	    (f->chunks[at].begin != e.begin || f->chunks[at].end != e.end))
		at = ++t->at;
	if (at >= f->count || f->chunks[at].thread != e.thread ||
	    f->chunks[at].begin != e.begin || f->chunks[at].end != e.end)
		return lines_wrong(&f->lines, "the file was changed while it was read");
	f->empty += !e.reads && !e.writes;
	if (!e.reads && !e.writes)
		return 0;
	return e.cpu_count ? put_accesses(f, &e, &f->chunks[at]) :
			     put_counts(f, &e, at);
}

/* --- intervals ---------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int by_thread(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/*
 * Intervals are of all threads: one ends where one of these has its next chunk, or where
 * all that are in it have ended.
 */
static void number_intervals(struct framesoc *f)
{
	uint64_t number = 0, end = 0;
	size_t i;

	qsort(f->chunks, f->count, sizeof(*f->chunks), by_begin);
	for (i = 0; i < f->count; i++) {
		struct chunk *k = &f->chunks[i];
		struct thread *t = &f->threads[k->thread];

		if (i && (t->interval == number + 1 || k->begin >= end)) {
			number++;
			end = 0;
		}
		k->number = number;
		t->interval = number + 1;
		end = k->end > end ? k->end : end;
	}
	qsort(f->chunks, f->count, sizeof(*f->chunks), by_thread);
	for (i = f->count; i--;)
		f->threads[f->chunks[i].thread].at = i;
}

/* --- producers ---------------------------------------------------------- */

/* The first line is the size of a page. */
static int page_size_line(struct framesoc *f)
{
	const char *s = f->lines.text;
	uint64_t size;

	lines_blanks(&s);
	if (lines_decimal(&s, &size) || behind(&s, 0) || size < 4096 ||
	    size > 1u << 30 || size & (size - 1))
		return lines_wrong(&f->lines, "it should be the size of a page");
	if (f->page_size && f->page_size != size)
		return lines_wrong(&f->lines, "pages have %" PRIu64 " bytes in the other file",
				   f->page_size);
	f->page_size = size;
	return 0;
}

/* ADDRESS,THREAD,...: events say the same, so that it is checked alone. */
static int producer_line(struct framesoc *f)
{
	const char *s = f->lines.text;
	uint64_t addr, thread;

	lines_blanks(&s);
	if (lines_hex(&s, &addr) || (lines_blanks(&s), *s != ','))
		goto wrong;
	while (!behind(&s, ','))
		if (lines_decimal(&s, &thread))
			goto wrong;
	if (!behind(&s, 0))
		return 0;
wrong:
	return lines_wrong(&f->lines, "it should be 'ADDRESS,THREAD,...'");
}

/* --- structures and stacks ---------------------------------------------- */

static int structure_line(struct framesoc *f)
{
	return structures_line(&f->structures, &f->lines);
}

/*
 * "stack #2 (worker)", as our own export has it: that thread, if there is one; *name is
 * "worker)".
 */
static struct thread *thread_of(struct framesoc *f, const char *text,
				const char **name)
{
	static const char begin[] = "stack #";
	const char *s = text + sizeof(begin) - 1;
	uint64_t number;
	size_t len;

	if (strncmp(text, begin, sizeof(begin) - 1) ||
	    lines_decimal(&s, &number) || number >= f->thread_count)
		return NULL;
	len = strlen(s);
	*name = s + 2;
	return len > 2 && s[0] == ' ' && s[1] == '(' && s[len - 1] == ')' ?
		       &f->threads[number] : NULL;
}

/* The first time: which thread it is of. */
static int look_at_stack(struct framesoc *f, uint64_t end)
{
	const char *name;
	struct thread *t = thread_of(f, f->lines.text, &name);

	if (!t || t->stack)
		return 0;
	t->name = strndup(name, strlen(name) - 1);
	t->stack = end;
	return t->name ? 0 : -ENOMEM;
}

/* What a thread begins on has no name; that of the first one is the kernel's. */
static int map_stack(struct framesoc *f, uint64_t end, uint64_t size)
{
	const char *name = f->lines.text, *of;
	const struct thread *t = thread_of(f, name, &of);

	if (t && t->stack == end)
		name = t == f->threads ? "[stack]" : "";
	return structures_map(&f->structures, &f->lines, name, end - size, size);
}

/* NAME,TOP PAGE,SIZE: the line becomes its name. */
static int stack_line(struct framesoc *f)
{
	char *text = f->lines.text, *size = strrchr(text, ','), *page = NULL;
	const char *s, *p;
	uint64_t n, top;

	if (size) {
		*size = 0;
		page = strrchr(text, ',');
	}
	if (!page || page == text)
		goto wrong;
	*page = 0;
	s = size + 1;
	p = page + 1;
	lines_blanks(&s);
	lines_blanks(&p);
	if (lines_decimal(&p, &top) || behind(&p, 0) ||
	    lines_decimal(&s, &n) || behind(&s, 0))
		goto wrong;
	if (!n || n > STACK_MAX ||
	    top >= STRUCTURES_ADDRESS_MAX / f->page_size ||
	    n > (top + 1) * f->page_size) {
		f->structures.odd += !f->looking;
		return 0;
	}
	top = (top + 1) * f->page_size;
	return f->looking ? look_at_stack(f, top) : map_stack(f, top, n);
wrong:
	return lines_wrong(&f->lines, "it should be 'NAME,TOP PAGE,SIZE'");
}

/* --- all of it ---------------------------------------------------------- */

/* Threads begin where their stacks end, which the first one maps before. */
static int begin_threads(struct framesoc *f)
{
	struct import_trace *x = &f->x->trace;
	int err = f->thread_count ? 0 : need_threads(f, 1);

	for (size_t i = 0; i < f->thread_count && !err; i++) {
		const struct thread *t = &f->threads[i];
		const struct moca_change start = {
			.type = MOCA_CHANGE_TASK_START, .time_ns = BEGIN_NS,
			.parent = i ? 0 : MOCA_NO_TASK,
			.flags = i ? MOCA_TASK_THREAD : 0,
			.addr = i ? t->stack : 0,
			.name = t->name ? t->name : "",
		};
		int64_t task = import_trace_task(x, 1, (uint32_t)i + 1);

		err = task < 0 ? (int)task :
			import_trace_change(x, (uint32_t)i, &start);
	}
	return err;
}

static int note_what_is_missing(struct framesoc *f)
{
	struct import *x = f->x;
	int err = 0;

	for (int k = VIRTUAL; k < FILES && !err; k++)
		if (!f->paths[k] && k != PHYSICAL)
			err = import_note(x, "there was no file of %s%s",
					  kinds[k].what, k == VIRTUAL ?
					  ": pages are taken to have 4096 bytes" : "");
	if (!err && f->untold)
		err = import_note(x, "%" PRIu64 " CPUs of events have no access: there were fewer accesses than CPUs",
				  f->untold);
	if (!err && f->structures.odd)
		err = import_note(x, "%" PRIu64 " structures or stacks without a size are left out",
				  f->structures.odd);
	if (!err && f->empty)
		err = import_note(x, "%" PRIu64 " events without reads and writes are left out",
				  f->empty);
	return err;
}

static int tell(struct framesoc *f)
{
	struct import *x = f->x;
	int err;

	x->from = "the original Moca's CSV files";
	x->reason = "imported from CSV files of the original Moca, which do not tell what it missed";
	x->left_out = f->structures.odd + f->empty;
	err = import_note(x, "imported from CSV files of the original Moca: processes, instructions, nodes, when a structure lived and the moment of an access in its interval are not in them; all threads are taken to be of one process, and structures, and runs of other touched blocks of 2 MiB, to be mappings");
	if (!err)
		err = import_note(x, "process 1 and its threads 1, 2 and so on stand for those of threads 0, 1 and so on, whose numbers are not told");
	if (!err)
		err = import_note(x, "whether the program or the kernel accessed is not in them: all accesses are told as the program's; of an event on several CPUs they are on each of these in turn");
	if (!err)
		err = !x->trace.loads && !x->trace.stores ? 0 :
			import_note(x, "a thread's first touch of a page is told at the begin of its slice, and taken to be a read where it read at all");
	if (!err)
		err = note_what_is_missing(f);
	if (!err)
		err = moca_meta_set(x->meta, "collector", "%s", x->from);
	if (!err)
		err = moca_meta_set(x->meta, "page_size", "%" PRIu64, f->page_size);
	if (!err && x->trace.loads + x->trace.stores)
		err = moca_meta_set(x->meta, "exact.granularity", "4096");
	if (!err && x->trace.records)
		err = moca_meta_set(x->meta, "read_write_source", "the original Moca's faults");
	return err ? err : moca_meta_set(x->meta, "cpus", "%" PRIu64, f->cpus);
}

static int write_events(struct framesoc *f)
{
	int err;

	number_intervals(f);
	f->slice = NO_CHUNK;
	err = read_file(f, EVENTS, NULL, event_line);
	return err ? err : flush_counts(f);
}

int import_framesoc(struct import *x)
{
	struct framesoc f = {
		.x = x, .looking = 1,
		.structures = { .trace = &x->trace, .time_ns = BEGIN_NS },
	};
	int err = find_files(&f);

	if (!err)
		err = read_file(&f, VIRTUAL, page_size_line, producer_line);
	if (!err)
		err = read_file(&f, PHYSICAL, page_size_line, producer_line);
	f.page_size = f.page_size ? f.page_size : 4096;
	f.structures.page_size = f.page_size;
	if (!err)
		err = read_file(&f, EVENTS, NULL, event_line);
	if (!err)
		err = read_file(&f, STACKS, NULL, stack_line);
	f.looking = 0;
	if (!err)
		err = begin_threads(&f);
	if (!err)
		err = regions_tell(&f.regions, &x->trace, 0, BEGIN_NS);
	if (!err)
		err = read_file(&f, STRUCTURES, NULL, structure_line);
	if (!err)
		err = read_file(&f, STACKS, NULL, stack_line);
	if (!err)
		err = write_events(&f);
	if (!err)
		err = tell(&f);
	for (size_t i = 0; i < f.thread_count; i++)
		free(f.threads[i].name);
	for (int k = 0; k < FILES; k++)
		free(f.paths[k]);
	regions_free(&f.regions);
	free(f.threads);
	free(f.chunks);
	free(f.rows);
	free(f.touches);
	return err;
}
