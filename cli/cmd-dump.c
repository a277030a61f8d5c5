// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/callers.h"
#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"
#include "lib/text/text.h"
#include "report/event.h"

struct dump {
	struct moca_trace *t;
	struct moca_query query;
	uint64_t origin;
	int csv;
	int failure;			/* -errno while printing */
	int stacks;			/* print each access' call stack */
	struct moca_callers *callers;	/* for it */
	int weights;			/* not all records weigh 1 */
	int csv_counts;			/* counts alone, with their own columns */
	const struct moca_task *task;	/* of the present record */
	const struct moca_mapping *mapping;	/* of the last access */
	struct moca_cursor *accesses;	/* NULL = not asked for */
	struct moca_cursor *changes;
	const struct moca_chunk *chunk;
	size_t next;			/* access of the chunk */
	const struct moca_change *change;	/* NULL at the end */
	uint32_t change_task;
	struct moca_cursor *counts;
	const struct moca_counts *slice;	/* NULL at the end */
	size_t row;			/* of it, the next one */
	struct moca_cursor *events;
	int want_events;		/* of those, the program's own */
	int want_allocations;		/* and libmoca-alloc's */
	int want_rates;			/* and samplers' */
	const struct moca_event *event;	/* NULL at the end */
	uint32_t event_task;
};

struct flag {
	uint32_t bit;
	const char *name;
};

static const struct flag task_flags[] = {
	{ MOCA_TASK_THREAD, "thread" },	{ MOCA_TASK_FORK, "fork" },
	{ MOCA_TASK_VFORK, "vfork" },	{ MOCA_TASK_ATTACHED, "attached" },
	{ 0, NULL }
};

static const struct flag map_flags[] = {
	{ MOCA_MAP_CERTIFIED, "certified" }, { MOCA_MAP_ZAPPED, "zapped" },
	{ MOCA_MAP_STACK, "stack" },	     { MOCA_MAP_SHARED, "shared" },
	{ MOCA_MAP_FILE, "file" },	     { MOCA_MAP_MOVED, "moved" },
	{ MOCA_MAP_MOCA, "moca" },	     { MOCA_MAP_GROWS, "grows" },
	{ 0, NULL }
};

static void print_flags(uint32_t flags, const struct flag *f)
{
	const char *between = "";

	for (; f->name; f++) {
		if (!(flags & f->bit))
			continue;
		printf("%s%s", between, f->name);
		between = "+";
		flags &= ~f->bit;
	}
	if (flags)
		printf("%s0x%" PRIx32, between, flags);
	else if (!*between)
		putchar('-');
}

static const struct flag *flags_of(const struct moca_change *e)
{
	return e->type == MOCA_CHANGE_TASK_START ? task_flags : map_flags;
}

static void print_prot(uint32_t prot)
{
	printf("%c%c%c", prot & PROT_READ ? 'r' : '-',
	       prot & PROT_WRITE ? 'w' : '-', prot & PROT_EXEC ? 'x' : '-');
}

/* A name as the last column of text: quoted only when it would mislead. */
static void print_text_name(const char *name)
{
	if (!*name)
		putchar('-');
	else
		text_name(stdout, name, 0);
}

static void print_csv_name(const char *name)
{
	putchar('"');
	for (; *name; name++) {
		if (*name == '"')
			putchar('"');
		putchar(*name);
	}
	putchar('"');
}

static uint64_t since(const struct dump *d, uint64_t time_ns)
{
	return time_ns > d->origin ? time_ns - d->origin : 0;
}

static void print_time(const struct dump *d, uint64_t time_ns)
{
	uint64_t ns = since(d, time_ns);

	printf("%6" PRIu64 ".%09" PRIu64 " ", ns / 1000000000,
	       ns % 1000000000);
}

static const char *mapping_name(struct dump *d, const struct moca_access *a)
{
	const struct moca_mapping *m = d->mapping;
	uint32_t pid = d->task->pid;

	if (!m || m->pid != pid || a->addr - m->addr >= m->len ||
	    a->time_ns < m->begin_ns || (m->end_ns && a->time_ns >= m->end_ns))
		m = moca_trace_find_mapping(d->t, pid, a->addr, a->time_ns);
	d->mapping = m;
	return m ? (*m->name ? m->name : "[anonymous]") : "[unknown]";
}

/* One line for each function, the innermost first. */
static void print_stack(struct dump *d, const struct moca_access *a)
{
	const struct moca_caller *c;
	int i, cut = 0, n;

	n = moca_callers_stack(d->callers, d->task->pid, a->time_ns, a->stack,
			       &c, &cut);
	if (n < 0)
		d->failure = n;
	if (n == 0)
		puts("#     no call stack");
	for (i = 0; i < n; i++) {
		printf("#     %s ", i ? "by" : "in");
		print_text_name(c[i].name);
		if (c[i].file) {
			fputs(" at ", stdout);
			print_text_name(c[i].file);
			printf(":%u", c[i].line);
		}
		puts(c[i].inlined ? " (inlined)" : "");
	}
	if (n > 0 && cut)
		puts("#     by [the callers of this are not known]");
}

static void print_access(struct dump *d, const struct moca_access *a)
{
	const struct moca_task *t = d->task;

	print_time(d, a->time_ns);
	printf("%5" PRIu32 " %7" PRIu32 " %7" PRIu32 " %3u %c %c 0x%012" PRIx64
	       " 0x%012" PRIx64 " ",
	       t->id, t->pid, t->tid, a->cpu, trace_type_letter(a->type),
	       trace_mode_letter(a->mode), a->addr, a->ip);
	if (a->phys)
		printf("0x%010" PRIx64 " ", a->phys);
	else
		printf("%12s ", "-");
	if (a->node < 0)
		printf("%2s ", "-");
	else
		printf("%2d ", a->node);
	if (d->weights)
		printf("%4u ", a->weight);
	print_text_name(mapping_name(d, a));
	putchar('\n');
	if (d->stacks)
		print_stack(d, a);
}

static void csv_access(struct dump *d, const struct moca_access *a)
{
	const struct moca_task *t = d->task;

	printf("access,%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
	       ",%u,%c,%c,0x%" PRIx64 ",0x%" PRIx64 ",",
	       since(d, a->time_ns), t->id, t->pid, t->tid, a->cpu,
	       trace_type_letter(a->type), trace_mode_letter(a->mode), a->addr,
	       a->ip);
	if (a->phys)
		printf("0x%" PRIx64, a->phys);
	putchar(',');
	if (a->node >= 0)
		printf("%d", a->node);
	fputs(",,,,,,,", stdout);
	print_csv_name(mapping_name(d, a));
	if (d->weights)
		printf(",%u", a->weight);
	putchar('\n');
}

/* What a mapping is of: "memfd 0:1 1034", device and inode. */
static void print_identity(const struct moca_change *e)
{
	static const char *const names[] = {
		[MOCA_MEMORY_PRIVATE] = "private",
		[MOCA_MEMORY_FILE] = "file",
		[MOCA_MEMORY_MEMFD] = "memfd",
		[MOCA_MEMORY_SYSV] = "sysv",
		[MOCA_MEMORY_ANONYMOUS] = "shared-anonymous",
		[MOCA_MEMORY_HUGETLB] = "hugetlb",
	};

	if (!e->ino)
		return;
	printf(" of=%s:%" PRIu64 ":%" PRIu64 ":%" PRIu64,
	       e->memory < sizeof(names) / sizeof(*names) && names[e->memory] ?
		       names[e->memory] : "unknown",
	       e->dev >> 32, e->dev & UINT32_MAX, e->ino);
}

static void print_change(struct dump *d, const struct moca_change *e)
{
	char status[80];

	print_time(d, e->time_ns);
	printf("%5" PRIu32 " %7" PRIu32 " %7" PRIu32 " %s", d->task->id,
	       e->pid ? e->pid : d->task->pid, e->tid ? e->tid : d->task->tid,
	       trace_change_name(e->type));
	if (e->type == MOCA_CHANGE_TASK_START) {
		if (e->parent != MOCA_NO_TASK)
			printf(" parent=%" PRIu32, e->parent);
		fputs(" flags=", stdout);
		print_flags(e->flags, task_flags);
	}
	if (e->type == MOCA_CHANGE_TASK_END &&
	    !(d->task->flags & MOCA_TASK_EVENTS)) {
		trace_status(status, sizeof(status), e->status);
		printf(" %s", status);
	}
	if (e->type >= MOCA_CHANGE_MMAP && (e->addr || e->len))
		printf(" 0x%" PRIx64 "-0x%" PRIx64, e->addr, e->addr + e->len);
	if (e->type == MOCA_CHANGE_MMAP) {
		putchar(' ');
		print_prot(e->prot);
		printf(" offset=0x%" PRIx64 " flags=", e->offset);
		print_flags(e->flags, map_flags);
		print_identity(e);
	}
	if (*e->name) {
		putchar(' ');
		print_text_name(e->name);
	}
	putchar('\n');
}

static void csv_change(struct dump *d, const struct moca_change *e)
{
	printf("%s,%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",,,,",
	       trace_change_name(e->type), since(d, e->time_ns), d->task->id,
	       e->pid ? e->pid : d->task->pid, e->tid ? e->tid : d->task->tid);
	if (e->type >= MOCA_CHANGE_MMAP)
		printf("0x%" PRIx64 ",,,,%" PRIu64 ",", e->addr, e->len);
	else
		fputs(",,,,,", stdout);
	if (e->type == MOCA_CHANGE_MMAP) {
		printf("%" PRIu64 ",", e->offset);
		print_prot(e->prot);
		putchar(',');
	} else {
		fputs(",,", stdout);
	}
	if (e->type == MOCA_CHANGE_MMAP || e->type == MOCA_CHANGE_TASK_START)
		print_flags(e->flags, flags_of(e));
	putchar(',');
	if (e->type == MOCA_CHANGE_TASK_START && e->parent != MOCA_NO_TASK)
		printf("%" PRIu32, e->parent);
	putchar(',');
	if (e->type == MOCA_CHANGE_TASK_END &&
	    !(d->task->flags & MOCA_TASK_EVENTS))
		printf("%d", e->status);
	putchar(',');
	print_csv_name(e->name);
	puts(d->weights ? "," : "");
}

static void print_event(struct dump *d, const struct moca_event *m)
{
	const struct moca_task *t = d->task;

	if (d->csv) {
		printf("event,%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
		       ",,,,,,,,,,,,,,\"",
		       since(d, m->time_ns), t->id, t->pid, t->tid);
		event_print(stdout, m, 1);
		puts(d->weights ? "\"," : "\"");
		return;
	}
	print_time(d, m->time_ns);
	printf("%5" PRIu32 " %7" PRIu32 " %7" PRIu32 " event ", t->id, t->pid,
	       t->tid);
	event_print(stdout, m, 0);
	putchar('\n');
}

/* Where a row of counts is; of its time the first moment at which that is known. */
static const char *counts_mapping(struct dump *d, const struct moca_count *r)
{
	struct moca_access a = { .addr = r->addr, .time_ns = r->first_ns ?
				 r->first_ns : d->slice->begin_ns };
	const char *name = mapping_name(d, &a);

	if (d->mapping)
		return name;
	a.time_ns = d->slice->end_ns;
	return mapping_name(d, &a);
}

static void print_row(struct dump *d, const struct moca_count *r)
{
	const struct moca_counts *c = d->slice;
	const struct moca_task *t = d->task;
	uint64_t first = r->first_ns ? since(d, r->first_ns) : 0;

	if (d->csv) {
		printf("counts,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32
		       ",%" PRIu32 ",%" PRIu64 ",0x%" PRIx64 ",%" PRIu64
		       ",%" PRIu64 ",%" PRIu64 ",",
		       since(d, c->begin_ns), since(d, c->end_ns), t->id,
		       t->pid, t->tid, c->slice, r->addr, c->granularity,
		       r->loads, r->stores);
		if (r->first_ns)
			printf("%" PRIu64 ",%c,", first,
			       r->first_store ? 'W' : 'R');
		else
			fputs(",,", stdout);
		print_csv_name(counts_mapping(d, r));
		putchar('\n');
		return;
	}
	print_time(d, c->begin_ns);
	printf("%5" PRIu32 " %7" PRIu32 " %7" PRIu32 " counts 0x%012" PRIx64
	       " loads=%" PRIu64 " stores=%" PRIu64 " slice=%" PRIu64
	       " until=%" PRIu64 ".%09" PRIu64,
	       t->id, t->pid, t->tid, r->addr, r->loads, r->stores, c->slice,
	       since(d, c->end_ns) / 1000000000,
	       since(d, c->end_ns) % 1000000000);
	if (r->first_ns)
		printf(" first=%" PRIu64 ".%09" PRIu64 ",%c",
		       first / 1000000000, first % 1000000000,
		       r->first_store ? 'W' : 'R');
	putchar(' ');
	print_text_name(counts_mapping(d, r));
	putchar('\n');
}

static void print_heading(const struct dump *d)
{
	if (d->csv_counts) {
		printf("kind,time_ns,end_ns,task,pid,tid,slice,address,length,loads,stores,first_ns,first_type,name\n");
		return;
	}
	if (d->csv) {
		printf("kind,time_ns,task,pid,tid,cpu,type,mode,address,ip,physical,node,length,offset,prot,flags,parent,status,name%s\n",
		       d->weights ? ",weight" : "");
		return;
	}
	printf("#     time (s)   task     pid     tid cpu T M %-14s %-14s %-12s  N %smapping\n",
	       "address", "ip", "physical", d->weights ? "   W " : "");
}

/* Load the next access into d->chunk and d->next. 1, 0 at the end, -errno. */
static int fill_access(struct dump *d)
{
	int ret;

	while (!d->chunk || d->next == d->chunk->count) {
		if (!d->accesses)
			return 0;
		d->next = 0;
		d->chunk = NULL;
		ret = moca_cursor_chunk(d->accesses, &d->chunk);
		if (ret <= 0) {
			d->chunk = NULL;
			return ret;
		}
	}
	return 1;
}

/* The next slice that has rows. 1, 0 at the end, -errno. */
static int fill_counts(struct dump *d)
{
	int ret;

	d->row = 0;
	do {
		d->slice = NULL;
		if (!d->counts)
			return 0;
		ret = moca_cursor_counts(d->counts, &d->slice);
		if (ret <= 0) {
			d->slice = NULL;
			return ret;
		}
	} while (!d->slice->count);
	return 1;
}

/* Do the counts at hand come before a record of a task at a time? */
static int counts_before(const struct dump *d, uint32_t task, uint64_t time_ns)
{
	return d->slice->task < task || (d->slice->task == task &&
					   d->slice->begin_ns < time_ns);
}

static int counts_next(const struct dump *d)
{
	return d->slice &&
	       (!d->change || counts_before(d, d->change_task,
					   d->change->time_ns)) &&
	       (!d->event || counts_before(d, d->event_task,
					    d->event->time_ns)) &&
	       (!d->chunk || counts_before(d, d->chunk->task,
			d->chunk->accesses[d->next].time_ns));
}

static int wanted(const struct dump *d, const struct moca_change *e)
{
	const struct moca_query *q = &d->query;

	if (e->time_ns < q->begin_ns || (q->end_ns && e->time_ns >= q->end_ns))
		return 0;
	if (!q->addr_begin && !q->addr_end)
		return 1;
	/* Of a range of addresses, only what happened to it. */
	return e->type >= MOCA_CHANGE_MMAP && e->addr + e->len > q->addr_begin &&
	       (!q->addr_end || e->addr < q->addr_end);
}

static int fill_change(struct dump *d)
{
	int ret;

	do {
		d->change = NULL;
		if (!d->changes)
			return 0;
		ret = moca_cursor_change(d->changes, &d->change, &d->change_task);
		if (ret <= 0) {
			d->change = NULL;
			return ret;
		}
	} while (!wanted(d, d->change));
	return 1;
}

static int fill_event(struct dump *d)
{
	int ret;

	do {
		d->event = NULL;
		if (!d->events)
			return 0;
		ret = moca_cursor_event(d->events, &d->event,
					 &d->event_task);
		if (ret <= 0) {
			d->event = NULL;
			return ret;
		}
	} while (trace_is_allocation(d->event->type) ? !d->want_allocations :
		 trace_is_rate(d->event->type) ? !d->want_rates :
						  !d->want_events);
	return 1;
}

/* Is a record of a task at a time to be printed before the access? */
static int before_access(const struct dump *d, uint32_t task, uint64_t time_ns)
{
	if (!d->chunk || task != d->chunk->task)
		return !d->chunk || task < d->chunk->task;
	return time_ns <= d->chunk->accesses[d->next].time_ns;
}

/* The change before the event? Both exist. */
static int change_first(const struct dump *d)
{
	if (d->change_task != d->event_task)
		return d->change_task < d->event_task;
	return d->change->time_ns <= d->event->time_ns;
}

static void set_task(struct dump *d, uint32_t id)
{
	static const struct moca_task none = { .name = "" };
	size_t i;

	if (d->task && d->task->id == id)
		return;
	i = trace_task_index(d->t, id);
	d->task = i == SIZE_MAX ? &none : moca_trace_task(d->t, i);
}

/* Print what is next of all. 1, 0 at the end, -errno. */
static int dump_next(struct dump *d)
{
	int ret = fill_access(d);

	if (ret < 0)
		return ret;
	if (counts_next(d)) {
		set_task(d, d->slice->task);
		print_row(d, &d->slice->rows[d->row++]);
		ret = d->row == d->slice->count ? fill_counts(d) : 1;
		return ret < 0 ? ret : 1;
	}
	if (d->change && (!d->event || change_first(d)) &&
	    before_access(d, d->change_task, d->change->time_ns)) {
		set_task(d, d->change_task);
		(d->csv ? csv_change : print_change)(d, d->change);
		ret = fill_change(d);
	} else if (d->event && (!d->change || !change_first(d)) &&
		   before_access(d, d->event_task, d->event->time_ns)) {
		set_task(d, d->event_task);
		print_event(d, d->event);
		ret = fill_event(d);
	} else if (d->chunk) {
		set_task(d, d->chunk->task);
		(d->csv ? csv_access : print_access)(
			d, &d->chunk->accesses[d->next]);
		d->next++;
		ret = d->failure ? d->failure : 1;
	} else {
		return 0;
	}
	return ret < 0 ? ret : 1;
}

static int dump_all(struct dump *d)
{
	int ret = fill_change(d);

	if (ret >= 0)
		ret = fill_counts(d);
	if (ret >= 0)
		ret = fill_event(d);
	if (ret >= 0)
		do
			ret = dump_next(d);
		while (ret > 0 && !ferror(stdout));
	return ret < 0 ? ret : 0;
}

static int dump(struct dump *d, const char *path, int accesses, int changes,
		int counts)
{
	int err = 0;

	if (accesses)
		err = moca_cursor_open(&d->accesses, d->t, &d->query);
	if (!err && changes)
		err = moca_cursor_open(&d->changes, d->t, &d->query);
	if (!err && counts)
		err = moca_cursor_open(&d->counts, d->t, &d->query);
	if (!err && (d->want_events || d->want_allocations || d->want_rates))
		err = moca_cursor_open(&d->events, d->t, &d->query);
	if (!err && d->stacks)
		err = moca_callers_open(&d->callers, d->t, NULL);
	if (!err) {
		print_heading(d);
		err = dump_all(d);
	}
	moca_cursor_close(d->accesses);
	moca_cursor_close(d->changes);
	moca_cursor_close(d->counts);
	moca_cursor_close(d->events);
	moca_callers_close(d->callers);
	if (err) {
		moca_error("dump: cannot read the trace '%s': %s", path,
			   strerror(-err));
		return 1;
	}
	return trace_warn_damage("dump", d->t, path);
}

static const char about[] =
	"Print every record of a trace, task after task and by time within a task.\n"
	"An access has the columns: time since the start of the recording in seconds, task, process (pid), thread (tid), CPU, type (R read, W write, X instruction fetch, ? unknown), mode (U user, K inside a system call), address, instruction pointer, physical address, NUMA node and the mapping's name; - is unknown.\n"
	"A change, of a task or a mapping, has time, task, pid, tid, its kind and what belongs to it; an event, which the program itself emitted, its facility, name and fields; counts, of exact mode, a granule's address, its loads and stores from that time until the one told, and when the thread touched it first, if in that time, by a read or a write. With --csv counts are shown by --counts alone.";

int cmd_dump(int argc, char **argv)
{
	struct dump d = { .query = { .size = sizeof(d.query) } };
	uint64_t task = UINT64_MAX, from = 0, to = UINT64_MAX;
	const char *range = NULL, *path;
	int accesses = 0, changes = 0, counts = 0, all, first, ret;
	const struct option_spec specs[] = {
		OPT_UINT(0, "task", &task, "N", "only this task, by its number in the trace"),
		OPT_DURATION(0, "from", &from, "only from this time after the start on"),
		OPT_DURATION(0, "to", &to, "only before this time after the start"),
		OPT_STRING(0, "address", &range, "A-B", "only addresses from A to before B, in hexadecimal"),
		OPT_FLAG(0, "accesses", &accesses, "only the accesses"),
		OPT_FLAG(0, "changes", &changes, "only the changes of tasks and mappings, and gaps"),
		OPT_FLAG(0, "counts", &counts, "only the counts, of exact mode"),
		OPT_FLAG(0, "events", &d.want_events, "only the events, which the program emitted"),
		OPT_FLAG(0, "allocations", &d.want_allocations, "only the events of allocations, which are not shown else"),
		OPT_FLAG(0, "rates", &d.want_rates, "only the samples of page faults and CPU time, which are not shown else"),
		OPT_FLAG(0, "stacks", &d.stacks, "below each access its call stack, by names (of a recording with --stacks)"),
		OPT_FLAG(0, "csv", &d.csv, "comma-separated values, with a heading and times in ns"),
		OPT_END
	};

	first = moca_options_parse_mixed(specs, argc, argv,
					 "moca dump [OPTIONS] DIR", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	path = trace_operand(argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	if (range && trace_addresses(range, &d.query)) {
		moca_error("dump: option '--address' needs a range such as 7f0000000000-7f0000400000, not '%s'",
			   range);
		return EXIT_USAGE;
	}
	if (d.csv && counts && (accesses || changes || d.want_events ||
				d.want_allocations)) {
		moca_error("dump: '--counts --csv' has other columns than the rest: ask for it alone");
		return EXIT_USAGE;
	}
	if (d.csv && d.stacks) {
		moca_error("dump: '--stacks' goes with the text form only: 'moca query DIR \"SELECT * FROM stacks\" --csv' has call stacks as values");
		return EXIT_USAGE;
	}
	if (to <= from) {
		moca_error("dump: '--to' must be later than '--from', which is 0 if it is not given");
		return EXIT_USAGE;
	}
	d.t = trace_open("dump", path);
	if (!d.t)
		return EXIT_USAGE;
	if (d.stacks && !moca_trace_stack_count(d.t)) {
		moca_error("dump: '%s' has no call stacks: 'moca record --stacks' records them", path);
		moca_trace_close(d.t);
		return EXIT_USAGE;
	}
	d.origin = trace_origin(d.t);
	d.weights = moca_trace_has_weights(d.t);
	if (from)
		d.query.begin_ns = trace_after(d.t, from);
	if (to != UINT64_MAX)
		d.query.end_ns = trace_after(d.t, to);
	if (task != UINT64_MAX) {
		d.query.task = task;
		d.query.one_task = 1;
	}
	if (task != UINT64_MAX &&
	    (task > UINT32_MAX || trace_task_index(d.t, task) == SIZE_MAX)) {
		moca_error("dump: '%s' has no task %" PRIu64 " ('moca info --all %s' lists its tasks)",
			   path, task, path);
		ret = EXIT_USAGE;
	} else {
		all = !accesses && !changes && !counts && !d.want_events &&
		      !d.want_allocations && !d.want_rates;
		d.csv_counts = d.csv && counts;
		/* Events have no address: only if they are asked for. */
		d.want_events |= all && !range;
		/* As CSV, counts have columns of their own. */
		ret = dump(&d, path, accesses || all, changes || all,
			   counts || (all && !d.csv));
	}
	moca_trace_close(d.t);
	return ret;
}
