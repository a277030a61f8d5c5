// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/run/jit.h"
#include "lib/base/vec.h"
#include "lib/format/writer.h"

/* Records of one task that are written early; at most 65,536. */
#define TASK_RECORDS 32768u
#define TASK_EVENTS 512u
/* Resolution of times, as in collect/fault. */
#define TIME_GRAIN 32ull

void kernel_fail(struct kernel_trace *t, int err)
{
	if (!t->error)
		t->error = err;
}

struct kproc *kernel_proc(struct kernel_trace *t, uint32_t pid, int create)
{
	struct kproc **bucket = &t->procs[pid % TASK_BUCKETS], *p;

	for (p = *bucket; p; p = p->next)
		if (p->pid == pid)
			return p;
	if (!create)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->wanted = 1;
	p->begun = 1;
	p->next = *bucket;
	*bucket = p;
	return p;
}

static void free_proc(struct kernel_trace *t, struct kproc *p)
{
	struct kproc **at = &t->procs[p->pid % TASK_BUCKETS];

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	kernel_space_drop(p->space);
	free(p);
}

struct ktask *kernel_task(const struct kernel_trace *t, uint32_t tid)
{
	struct ktask *k = t->tasks[tid % TASK_BUCKETS];

	while (k && k->tid != tid)
		k = k->next;
	return k;
}

static void link_task(struct kernel_trace *t, struct ktask *k)
{
	struct ktask **bucket = &t->tasks[k->tid % TASK_BUCKETS];

	k->next = *bucket;
	*bucket = k;
}

static void unlink_task(struct kernel_trace *t, struct ktask *k)
{
	struct ktask **at = &t->tasks[k->tid % TASK_BUCKETS];

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
}

struct ktask *kernel_task_alone(struct kernel_trace *t, struct kproc *p)
{
	struct ktask *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->id = t->task_count++;
	k->proc = p;
	return k;
}

struct ktask *kernel_task_new(struct kernel_trace *t, uint32_t tid,
			      struct kproc *p)
{
	struct ktask *k = kernel_task_alone(t, p);

	if (!k)
		return NULL;
	k->tid = tid;
	link_task(t, k);
	return k;
}

void kernel_task_rename(struct kernel_trace *t, struct ktask *k, uint32_t tid)
{
	unlink_task(t, k);
	k->tid = tid;
	link_task(t, k);
}

struct ktask *kernel_task_of(const struct kernel_trace *t,
			     const struct kproc *p)
{
	struct ktask *k = kernel_task(t, p->pid);

	if (k && k->proc == p)
		return k;
	for (unsigned int i = 0; i < TASK_BUCKETS; i++)
		for (k = t->tasks[i]; k; k = k->next)
			if (k->proc == p)
				return k;
	return p->unknown;
}

static void write_events(struct kernel_trace *t, struct ktask *k)
{
	int err = 0;

	if (!k->event_count)
		return;
	if (!t->error)
		err = moca_writer_changes(t->o.writer, k->id, k->events,
					 k->event_count);
	if (err)
		kernel_fail(t, err);
	for (size_t i = 0; i < k->event_count; i++)
		free((char *)k->events[i].name);
	k->event_count = 0;
}

void kernel_task_event(struct kernel_trace *t, struct ktask *k,
		       const struct moca_change *e)
{
	/*
	 * Times keep the order in which the rings came out: accesses are told by
	 * the grain, and none before the interval, which begins where the last
	 * one ended on any CPU. So no event precedes what came before it, nor is
	 * it as old as another task's access that was moved to the begin.
	 */
	uint64_t least = t->begin_ns + 1;
	struct moca_change *to, told = *e;

	told.name = e->name ? e->name : "";
	if (k->proc)
		told.pid = (uint32_t)k->proc->pid;
	if (t->o.jit)
		jit_change(t->o.jit, k->id, &told);
	if (least < k->last_ns)
		least = k->last_ns;
	if (least < k->event_ns)
		least = k->event_ns;
	if (k->event_count == TASK_EVENTS)
		write_events(t, k);
	if (moca_vec_fit(k->events, k->event_room, k->event_count + 1)) {
		kernel_fail(t, -ENOMEM);
		return;
	}
	to = &k->events[k->event_count];
	*to = *e;
	to->name = strdup(e->name ? e->name : "");
	if (!to->name) {
		kernel_fail(t, -ENOMEM);
		return;
	}
	to->pid = k->proc->pid;
	to->tid = k->tid;
	if (to->time_ns < least)
		to->time_ns = least;
	k->event_ns = to->time_ns;
	k->event_count++;
}

static void write_chunk(struct kernel_trace *t, struct moca_chunk_info *info,
			const struct moca_access *recs, size_t n)
{
	int err;

	if (t->error)
		return;
	err = moca_writer_accesses(t->o.writer, info, recs, n);
	if (err) {
		kernel_fail(t, err);
		return;
	}
	t->cert.chunks++;
	t->cert.records += n;
	t->cert.lost += info->lost;
	t->cert.lossy_chunks += info->lost != 0;
}

static struct moca_chunk_info chunk_info(const struct kernel_trace *t,
					 uint32_t id, uint64_t end_ns)
{
	return (struct moca_chunk_info){
		.task = id, .interval = t->interval, .begin_ns = t->begin_ns,
		.end_ns = end_ns > t->begin_ns ? end_ns : t->begin_ns,
	};
}

void kernel_task_write(struct kernel_trace *t, struct ktask *k,
		       uint64_t end_ns, int more)
{
	struct moca_chunk_info info = chunk_info(
		t, k->id, end_ns > k->last_ns ? end_ns : k->last_ns);

	own_faults_tell(*t->o.own_faults, &k->own, (pid_t)k->proc->pid,
			(pid_t)k->tid);
	write_events(t, k);
	if (!k->count && !k->lost)
		return;
	info.lost = k->lost;
	info.more = more;
	write_chunk(t, &info, k->recs, k->count);
	t->buffered -= k->count;
	k->count = 0;
	k->lost = 0;
}

void kernel_task_write_lost(struct kernel_trace *t, uint32_t id, uint64_t lost)
{
	struct moca_chunk_info info = chunk_info(t, id, t->now_ns);

	info.lost = lost;
	write_chunk(t, &info, NULL, 0);
}

void kernel_task_access(struct kernel_trace *t, struct ktask *k,
			const struct moca_access *a)
{
	struct moca_access *to;
	uint64_t least;

	if (k->count >= TASK_RECORDS)
		kernel_task_write(t, k, k->last_ns, 1);
	to = moca_vec_add(k->recs, k->count, k->room);
	if (!to) {
		k->lost++;
		return;
	}
	*to = *a;
	to->time_ns &= ~(TIME_GRAIN - 1);
	/* A chunk's times begin with the interval and never decrease. Nor does
	 * an access precede the task's last event (kernel_task_event). */
	least = k->last_ns > t->begin_ns ? k->last_ns : t->begin_ns;
	if (least < k->event_ns)
		least = k->event_ns;
	if (to->time_ns < least)
		to->time_ns = least;
	k->last_ns = to->time_ns;
	t->buffered++;
	t->records++;
}

static void free_task(struct ktask *k)
{
	for (size_t i = 0; i < k->event_count; i++)
		free((char *)k->events[i].name);
	free(k->events);
	free(k->recs);
	free(k);
}

static void finish(struct kernel_trace *t, struct ktask *k, uint64_t time_ns,
		   int status)
{
	const struct moca_change end = {
		.type = MOCA_CHANGE_TASK_END, .time_ns = time_ns,
		.status = status, .parent = MOCA_NO_TASK,
	};

	kernel_task_event(t, k, &end);
	kernel_task_write(t, k, time_ns, 0);
	if (k->tid)
		unlink_task(t, k);
	free_task(k);
}

/* The tasks that nobody will tell the end of. */
static void end_implicit(struct kernel_trace *t, struct kproc *p,
			 uint64_t time_ns)
{
	for (unsigned int i = 0; i < TASK_BUCKETS; i++)
		for (struct ktask *k = t->tasks[i], *next; k; k = next) {
			next = k->next;
			if (k->proc == p && k->implicit)
				finish(t, k, time_ns, 0);
		}
}

void kernel_task_end(struct kernel_trace *t, struct ktask *k, uint64_t time_ns,
		     int status)
{
	struct kproc *p = k->proc;
	int told = !k->implicit;

	finish(t, k, time_ns, status);
	if (!told || --p->tasks)
		return;
	end_implicit(t, p, time_ns);
	if (p->unknown)
		finish(t, p->unknown, time_ns, 0);
	free_proc(t, p);
}

void kernel_task_each(struct kernel_trace *t, kernel_task_visit visit,
		      void *arg)
{
	for (unsigned int i = 0; i < TASK_BUCKETS; i++)
		for (struct ktask *k = t->tasks[i], *next; k; k = next) {
			next = k->next;
			visit(t, k, arg);
		}
	for (unsigned int i = 0; i < TASK_BUCKETS; i++)
		for (struct kproc *p = t->procs[i]; p; p = p->next)
			if (p->unknown)
				visit(t, p->unknown, arg);
}

static void visit_free(struct kernel_trace *t, struct ktask *k, void *arg)
{
	free_task(k);
}

void kernel_task_free_all(struct kernel_trace *t)
{
	kernel_task_each(t, visit_free, NULL);
	memset(t->tasks, 0, sizeof(t->tasks));
	for (unsigned int i = 0; i < TASK_BUCKETS; i++)
		while (t->procs[i])
			free_proc(t, t->procs[i]);
}
