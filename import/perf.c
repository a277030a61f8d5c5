// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `perf script` prints: a line for each sample and, with --show-task-events and
 * --show-mmap-events, for what happens to tasks and mappings. doc/formats/import.md
 * has the options that it is to be called with.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "import/perf-line.h"
#include "import/perf-map.h"
#include "import/perf-memory.h"
#include "import/perf-run.h"
#include "import/regions.h"
#include "lib/base/table.h"
#include "lib/format/meta.h"

#define KERNEL_HALF (1ull << 63)
#define LOST "PERF_RECORD_LOST"
/* perf mem's samples come all the time: parts of it, as intervals are. */
#define WINDOW_NS 100000000ull
#define WINDOWS_MAX (1u << 20)
#define PAGE 4096ull

/* The task that has a thread number now. */
struct holder {
	uint32_t tid;
	uint32_t task;		/* number + 1; 0: free entry */
};

static uint64_t hash_holder(const struct holder *h)
{
	return moca_mix(h->tid + 1ull);
}

static int same_holder(const struct holder *a, const struct holder *b)
{
	return a->tid == b->tid;
}

static int used_holder(const struct holder *h)
{
	return h->task != 0;
}

MOCA_TABLE(holders, struct holder, hash_holder, same_holder, used_holder);

/* What a process touched, where nothing is told of mappings. */
struct place {
	uint32_t pid;
	uint32_t task;		/* its first one's number + 1; 0: free entry */
	struct regions regions;
};

static uint64_t hash_place(const struct place *p)
{
	return moca_mix(p->pid + 1ull);
}

static int same_place(const struct place *a, const struct place *b)
{
	return a->pid == b->pid;
}

static int used_place(const struct place *p)
{
	return p->task != 0;
}

MOCA_TABLE(places, struct place, hash_place, same_place, used_place);

struct perf {
	struct import *x;
	struct lines lines;
	struct holder *holders;
	size_t cap, count;
	struct place *places;
	size_t place_cap, place_count;
	struct perf_memory memory;	/* of perf mem's samples */
	uint64_t faults, samples;	/* page faults; samples of memory */
	uint64_t kernel, nowhere, other;	/* samples left out, by why */
	uint64_t lost, mappings, cpus;
	uint64_t first_ns, last_ns;	/* of lines; 0: none yet */
	uint64_t periods, missing;	/* faults with a period; without a record */
	uint64_t unaligned, no_cpu;
	int windows;			/* samples of memory are in it */
	int apart;			/* perf could not print some of them */
};

static struct import_task *find(struct perf *p, uint32_t tid, uint32_t *task)
{
	const struct holder key = { .tid = tid };
	struct holder *h;

	if (!p->count)
		return NULL;
	h = holders_at(p->holders, p->cap, &key);
	if (!h->task)
		return NULL;
	*task = h->task - 1;
	return &p->x->trace.tasks[*task];
}

static int too_much(struct perf *p, int err)
{
	if (err != -E2BIG)
		return err;
	return lines_wrong(&p->lines, "there is more than a trace of Moca's holds: 4,194,304 tasks, or a million events of one");
}

/* A task that begins: its number or -errno. */
static int64_t begin(struct perf *p, const struct perf_line *l, uint32_t pid,
		     uint32_t tid, const struct moca_change *start)
{
	struct holder key = { .tid = tid };
	int64_t task = import_trace_task(&p->x->trace, pid, tid);
	struct holder *h;
	int err;

	if (task < 0)
		return too_much(p, (int)task);
	if (holders_fit(&p->holders, &p->cap, p->count))
		return -ENOMEM;
	h = holders_at(p->holders, p->cap, &key);
	p->count += !h->task;
	key.task = (uint32_t)task + 1;
	*h = key;
	err = import_trace_change(&p->x->trace, (uint32_t)task, start);
	return err ? too_much(p, err) : task;
}

/* The task of a line, which may be its first sign of life. */
static int64_t task_of(struct perf *p, const struct perf_line *l, uint32_t pid,
		       uint32_t tid)
{
	struct moca_change start = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = l->time_ns,
		.parent = MOCA_NO_TASK, .name = l->comm,
	};
	uint32_t task, leader;
	const struct import_task *t = find(p, tid, &task);

	if (t && !t->ended && (!pid || t->pid == pid))
		return task;
	pid = pid ? pid : tid;
	start.flags = MOCA_TASK_ATTACHED;
	if (pid != tid) {
		start.flags |= MOCA_TASK_THREAD;
		t = find(p, pid, &leader);
		if (t && !t->ended)
			start.parent = leader;
	}
	return begin(p, l, pid, tid, &start);
}

static int add(struct perf *p, int64_t task, const struct moca_change *c)
{
	struct import_task *t = &p->x->trace.tasks[task];
	struct moca_change e = *c;
	size_t n = t->change_count;

	/* What is merged of several CPUs may be told a little late. */
	if (n && e.time_ns < t->changes[n - 1].time_ns)
		e.time_ns = t->changes[n - 1].time_ns;
	return too_much(p, import_trace_change(&p->x->trace, (uint32_t)task,
					       &e));
}

static int fork_event(struct perf *p, const struct perf_line *l)
{
	struct moca_change start = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = l->time_ns,
		.parent = MOCA_NO_TASK, .name = l->comm,
	};
	uint32_t pid, tid, ppid, ptid, parent;
	const struct import_task *t;
	int64_t ret;

	if (perf_line_fork(l, &pid, &tid, &ppid, &ptid))
		return lines_wrong(&p->lines, "PERF_RECORD_FORK is not followed by (PID:TID):(PID:TID)");
	t = find(p, ptid, &parent);
	if (!t || t->ended)
		t = find(p, ppid, &parent);
	if (t && !t->ended) {
		start.parent = parent;
		start.flags = pid == ppid ? MOCA_TASK_THREAD : MOCA_TASK_FORK;
	} else if (pid != tid) {
		start.flags = MOCA_TASK_THREAD | MOCA_TASK_ATTACHED;
	}
	ret = begin(p, l, pid, tid, &start);
	return ret < 0 ? (int)ret : 0;
}

static int exit_event(struct perf *p, const struct perf_line *l)
{
	const struct moca_change end = {
		.type = MOCA_CHANGE_TASK_END, .time_ns = l->time_ns,
		.status = -1,
		.parent = MOCA_NO_TASK, .name = "",
	};
	uint32_t pid, tid, ppid, ptid, task;
	struct import_task *t;

	if (perf_line_fork(l, &pid, &tid, &ppid, &ptid))
		return lines_wrong(&p->lines, "PERF_RECORD_EXIT is not followed by (PID:TID):(PID:TID)");
	t = find(p, tid, &task);
	if (!t || t->ended)
		return 0;
	t->ended = 1;
	return add(p, task, &end);
}

static int comm_event(struct perf *p, const struct perf_line *l)
{
	char name[PERF_COMM_MAX];
	uint32_t pid, tid;
	int exec, err;
	int64_t task;
	struct moca_change c = {
		.type = MOCA_CHANGE_NAME, .time_ns = l->time_ns,
		.parent = MOCA_NO_TASK, .name = name,
	};

	if (perf_line_comm(l, name, &pid, &tid, &exec))
		return lines_wrong(&p->lines, "PERF_RECORD_COMM is not followed by NAME:PID/TID");
	/* perf itself, before it runs the program; and idle CPUs. */
	if (!tid || (!exec && !strcmp(name, "perf-exec")))
		return 0;
	task = task_of(p, l, pid, tid);
	if (task < 0)
		return (int)task;
	if (exec) {
		c.type = MOCA_CHANGE_EXEC;
		err = add(p, task, &c);
		if (err)
			return err;
		p->x->trace.tasks[task].exec =
			p->x->trace.tasks[task].change_count;
		c.type = MOCA_CHANGE_NAME;
	}
	return add(p, task, &c);
}

/* The first file that is mapped after an exec is the program. */
static int path_of_exec(struct import_task *t, const struct moca_change *map)
{
	char *path;

	if (!t->exec || *map->name != '/')
		return 0;
	path = strdup(map->name);
	if (!path)
		return -ENOMEM;
	free((char *)t->changes[t->exec - 1].name);
	t->changes[t->exec - 1].name = path;
	t->exec = 0;
	return 0;
}

static int map_event(struct perf *p, const struct perf_line *l)
{
	struct moca_change map = {
		.type = MOCA_CHANGE_MMAP, .time_ns = l->time_ns,
		.parent = MOCA_NO_TASK, .name = "",
	};
	uint32_t pid, tid;
	int64_t task;
	int ret = perf_map_parse(l->rest, &map, &pid, &tid);

	if (ret < 0)
		return lines_wrong(&p->lines, "PERF_RECORD_MMAP is not followed by PID/TID: [ADDRESS(LENGTH) @ OFFSET ...]: PROTECTION NAME");
	/* Of the kernel, or of nothing. */
	if (ret || !tid || !map.len || map.addr >= KERNEL_HALF)
		return 0;
	/* perf inject tells code that was compiled at run time in this way. */
	if ((map.addr | map.len) & (PAGE - 1) || map.len > KERNEL_HALF - map.addr) {
		p->unaligned++;
		return 0;
	}
	p->mappings++;
	task = task_of(p, l, pid, tid);
	if (task < 0)
		return (int)task;
	ret = path_of_exec(&p->x->trace.tasks[task], &map);
	return ret ? ret : add(p, task, &map);
}

static int record_event(struct perf *p, const struct perf_line *l)
{
	const char *what = l->event;

	if (!strcmp(what, "PERF_RECORD_FORK"))
		return fork_event(p, l);
	if (!strcmp(what, "PERF_RECORD_EXIT"))
		return exit_event(p, l);
	if (!strcmp(what, "PERF_RECORD_COMM"))
		return comm_event(p, l);
	if (!strcmp(what, "PERF_RECORD_MMAP") ||
	    !strcmp(what, "PERF_RECORD_MMAP2"))
		return map_event(p, l);
	if (!strncmp(what, LOST, strlen(LOST)))
		p->lost += perf_line_lost(l);
	return 0;
}

/* Of page faults alone there is one; beside processors' samples, windows of time. */
static struct import_interval interval_of(const struct perf *p,
					  const struct perf_line *l)
{
	struct import_interval v = { .number = 0 };

	if (!p->windows || l->time_ns < p->first_ns)
		return v;
	v.number = (l->time_ns - p->first_ns) / WINDOW_NS;
	/* Longer than a day: no more windows. */
	if (v.number >= WINDOWS_MAX)
		return (struct import_interval){ .number = WINDOWS_MAX };
	v.begin_ns = p->first_ns + v.number * WINDOW_NS;
	v.end_ns = v.begin_ns + WINDOW_NS - 1;
	v.clip = 1;
	return v;
}

/* The changes from n on go behind the one at `from`: they are in order of time. */
static int put_behind(struct import_task *t, size_t from, size_t n)
{
	size_t more = t->change_count - n, later = n - from - 1;
	struct moca_change *at = t->changes + from + 1;
	struct moca_change *kept;

	if (!more || !later)
		return 0;
	kept = malloc(later * sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	memcpy(kept, at, later * sizeof(*kept));
	memmove(at, t->changes + n, more * sizeof(*kept));
	memcpy(at + more, kept, later * sizeof(*kept));
	free(kept);
	return 0;
}

/* Where there is no mapping so far, and may be none. 0 or -errno. */
static int add_place(struct perf *p, uint32_t task, uint64_t addr)
{
	const struct place key = {
		.pid = p->x->trace.tasks[task].pid, .task = task + 1,
	};
	struct place *to;
	int err;

	if (p->mappings)
		return 0;
	if (places_fit(&p->places, &p->place_cap, p->place_count))
		return -ENOMEM;
	to = places_at(p->places, p->place_cap, &key);
	if (!to->task) {
		*to = key;
		p->place_count++;
	}
	err = regions_add(&to->regions, addr);
	return err == -E2BIG ? lines_wrong(&p->lines, "there are too many places in memory, and no mapping is told") : err;
}

/* Mappings that are as old as the process, or as its last program. */
static int tell_places(struct perf *p)
{
	int err = 0;

	for (size_t i = 0; i < p->place_cap && !err && !p->mappings; i++) {
		struct place *at = &p->places[i];
		struct import_task *t;
		size_t n, from = 0;

		if (!at->task)
			continue;
		t = &p->x->trace.tasks[at->task - 1];
		n = t->change_count;
		for (size_t k = 0; k < n; k++)
			if (t->changes[k].type == MOCA_CHANGE_EXEC)
				from = k;
		err = regions_tell(&at->regions, &p->x->trace, at->task - 1,
				   t->changes[from].time_ns);
		if (!err)
			err = put_behind(t, from, n);
	}
	return err == -E2BIG ? import_wrong(p->x, p->x->path, "there are too many places in memory, and no mapping is told") : err;
}

static void free_places(struct perf *p)
{
	for (size_t i = 0; i < p->place_cap; i++)
		regions_free(&p->places[i].regions);
	free(p->places);
}

static int access_type(const struct perf *p, const struct perf_line *l)
{
	int type = l->has_source ? perf_memory_type(l->source) :
				   MOCA_ACCESS_UNKNOWN;

	return type ? type : p->x->type;
}

static int sample(struct perf *p, const struct perf_line *l)
{
	struct moca_access a = {
		.addr = l->addr, .ip = l->ip, .time_ns = l->time_ns,
		.phys = l->phys & ~4095ull, .cpu = (uint16_t)l->cpu,
		.node = MOCA_NODE_UNKNOWN, .weight = 1,
		.type = (uint8_t)access_type(p, l),
		.mode = l->ip >= KERNEL_HALF ? MOCA_MODE_KERNEL : MOCA_MODE_USER,
	};
	struct import_interval interval = interval_of(p, l);
	int64_t task;
	int ret;

	if (l->addr >= KERNEL_HALF || !l->tid) {
		p->kernel++;
		return 0;
	}
	if (!l->addr) {
		p->nowhere++;
		return 0;
	}
	task = task_of(p, l, l->pid, l->tid);
	if (task < 0)
		return (int)task;
	ret = import_trace_access(&p->x->trace, (uint32_t)task,
				  &interval, &a);
	if (!ret)
		ret = add_place(p, (uint32_t)task, l->addr);
	if (ret)
		return ret;
	p->no_cpu += !l->has_cpu;
	if (l->has_cpu && l->cpu >= p->cpus)
		p->cpus = l->cpu + 1;
	if (!l->has_source || !perf_memory_told(l->source)) {
		p->faults++;
		p->periods += l->period != 0;
		if (l->period > 1)
			p->missing += l->period - 1;
		return 0;
	}
	p->samples++;
	return perf_memory_add(&p->memory, (uint32_t)task, l);
}

static int is_fault(const char *event)
{
	static const char *const names[] = {
		"page-faults", "faults", "minor-faults", "major-faults",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(event, names[i], n) &&
		    (!event[n] || event[n] == ':'))
			return 1;
	}
	return 0;
}

/* What has no time was before all that has one. 0 or -EBADMSG. */
static int in_order(struct perf *p, const struct perf_line *l)
{
	if (!l->time_ns)
		return 0;
	if (l->time_ns < p->last_ns)
		return lines_wrong(&p->lines, "its time is before that of a line before: perf script sorts by time, so this file was put together or cut");
	p->last_ns = l->time_ns;
	return 0;
}

static int line(struct perf *p)
{
	struct perf_line l;
	const char *why;
	int ret = perf_line_parse(&l, p->lines.text, &why), record;

	if (ret > 0)
		return 0;
	if (ret)
		return lines_wrong(&p->lines, "%s", why);
	record = !strncmp(l.event, "PERF_RECORD_", strlen("PERF_RECORD_"));
	/* Times of the trace are above 0: a record's 0 is what was before it. */
	if (l.time_ns || !record)
		l.time_ns++;
	if (l.time_ns && !p->first_ns)
		p->first_ns = l.time_ns;
	if (record && strncmp(l.event, LOST, strlen(LOST)) && in_order(p, &l))
		return -EBADMSG;
	if (record)
		return record_event(p, &l);
	if (!is_fault(l.event) && !strchr(l.rest, '|')) {
		p->other++;
		return 0;
	}
	if (perf_line_fields(&l, &why))
		return lines_wrong(&p->lines, "%s", why);
	return in_order(p, &l) ? -EBADMSG : sample(p, &l);
}

/* Of how many page faults a sample is one. */
static int tell_faults(struct perf *p)
{
	if (p->missing)
		return import_note(p->x, "page faults were sampled: %" PRIu64 " samples stand for %" PRIu64 " more faults, of which there is no record (perf record -c 1 records each)",
				   p->faults, p->missing);
	if (p->faults > p->periods)
		return import_note(p->x, "of %" PRIu64 " page faults the period is not told: where perf sampled them, as it does without -c 1, most have no record",
				   p->faults - p->periods);
	return 0;
}

static int tell(struct perf *p)
{
	struct import *x = p->x;
	int err;

	err = p->samples ? import_note(x, "imported from perf script: %" PRIu64 " samples of loads and stores by the processor%s; each stands for many accesses, a number that is not known",
				       p->samples, p->faults ? ", and page faults" : "") :
			   import_note(x, "imported from perf script: samples of page faults only, which are first touches and touches of what the kernel took away");
	if (!err)
		err = import_note(x, "perf does not tell when memory is unmapped or moved: a mapping is taken to last until another one is in its place");
	if (!err && !p->mappings)
		err = import_note(x, "no mapping is told (perf script --show-mmap-events, perf record -d tell them): runs of touched blocks of 2 MiB stand for them");
	if (!err)
		err = tell_faults(p);
	if (!err && p->unaligned)
		err = import_note(x, "%" PRIu64 " mappings that are not of whole pages, or not the program's, are left out",
				  p->unaligned);
	if (!err && p->no_cpu)
		err = import_note(x, "of %" PRIu64 " samples the CPU is not told: CPU 0 stands in its place (perf record --sample-cpu, perf script -F ...,cpu tell it)",
				  p->no_cpu);
	if (!err && p->apart)
		err = import_note(x, "samples of memory accesses were recorded beside events without a data source: perf script prints the sources of all events or of none, so these are among those left out; record them by themselves");
	if (!err && x->type)
		err = import_note(x, "accesses of unknown type were told to be %ss when they were imported",
				  x->type == MOCA_ACCESS_WRITE ? "write" : "read");
	if (!err && p->kernel)
		err = import_note(x, "%" PRIu64 " samples of the kernel's own memory or of idle CPUs are left out",
				  p->kernel);
	if (!err && p->nowhere)
		err = import_note(x, "%" PRIu64 " samples that perf has no address of are left out",
				  p->nowhere);
	if (!err && p->other)
		err = import_note(x, "%" PRIu64 " samples of other events are left out",
				  p->other);
	if (!err && p->lost) {
		char text[80];

		snprintf(text, sizeof(text), "perf lost %" PRIu64 " events while it recorded",
			 p->lost);
		err = moca_meta_add_loss(x->meta, text);
	}
	x->left_out = p->kernel + p->nowhere + p->other;
	x->from = p->samples ? "perf mem" : "perf script";
	x->reason = p->samples ?
		"imported from perf mem: samples tell which accesses there were, not which there were not" :
		"imported from perf script: samples of page faults only";
	if (!err)
		err = moca_meta_set(x->meta, "collector", "%s", x->from);
	if (!err && p->cpus)
		err = moca_meta_set(x->meta, "cpus", "%" PRIu64, p->cpus);
	return err;
}

static int read_all(struct perf *p)
{
	int ret = 0, err = 0;

	while (!err && (ret = lines_next(&p->lines)) > 0)
		err = line(p);
	err = err ? err : ret;
	if (!err && !p->samples && !p->faults)
		return import_wrong(p->x, p->x->path, "it has no sample of a page fault or of an access that could be imported: %" PRIu64 " samples are of other events or of the kernel's memory (perf record -e page-faults -c 1 -d records page faults, perf mem record accesses)",
				    p->other + p->kernel + p->nowhere);
	return err;
}

int import_perf(struct import *x)
{
	struct perf p = { .x = x };
	struct perf_run run;
	FILE *f = perf_run_open(&run, x);
	int err = f ? lines_open(&p.lines, f, x->path, &x->error) : -EBADMSG;

	p.windows = run.memory;
	p.apart = run.apart;
	perf_memory_init(&p.memory, x->dirfd, &x->trace);
	if (!err)
		err = read_all(&p);
	lines_close(&p.lines);
	if (f)
		err = perf_run_close(&run, x, f, err);
	if (!err)
		err = tell_places(&p);
	if (!err)
		err = tell(&p);
	if (!err)
		err = perf_memory_end(&p.memory);
	perf_memory_free(&p.memory);
	free(p.holders);
	free_places(&p);
	return err;
}
