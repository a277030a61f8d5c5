// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes of tasks and mappings, by time, and events: they are of tasks that live
 * at that moment; a process begins once, by a parent that lives; ranges of mappings
 * are whole pages.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/check/rules.h"
#include "analysis/trace.h"
#include "lib/base/table.h"

#define PAGE 4096u

struct process {
	uint64_t pid;		/* + 1; 0 = none */
	uint64_t tasks;		/* alive */
	int image;		/* runs one whose rows are told, or may */
};

static uint64_t process_hash(const struct process *p)
{
	return moca_mix(p->pid);
}

static int process_same(const struct process *a, const struct process *b)
{
	return a->pid == b->pid;
}

static int process_used(const struct process *p)
{
	return p->pid != 0;
}

MOCA_TABLE(process, struct process, process_hash, process_same, process_used);

struct processes {
	struct process *entries;
	size_t cap, count;
};

/* Valid until the next call. */
static struct process *process_of(struct meaning *m, uint32_t pid)
{
	struct process key = { .pid = pid + 1ull }, *e;
	struct processes *all = m->processes;

	if (!all)
		all = m->processes = calloc(1, sizeof(*all));
	if (!all || process_fit(&all->entries, &all->cap, all->count))
		return NULL;
	e = process_at(all->entries, all->cap, &key);
	if (!e->pid) {
		*e = key;
		all->count++;
	}
	return e;
}

static void wrong(struct meaning *m, const struct moca_timeline_item *i,
		  const char *why)
{
	static const char *const names[] = {
		"", "start", "end", "exec", "name", "mmap", "munmap",
		"discard", "gap", "segv",
	};
	char file[64];

	meaning_wrong(m, RULE_CHANGES, "%s, change %" PRIu64 " (%s): %s",
		      meaning_file(i->task->id, file, sizeof(file)),
		      meaning_number(m, i), i->change->type <= MOCA_CHANGE_SEGV ?
			names[i->change->type] : "unknown", why);
}

/* A process that is killed in the midst of clone(2) leaves a child, which is seen
 * when it stops for the first time: after its parent's end. */
static int may_be_orphan(struct meaning *m, const struct moca_task *parent)
{
	const struct process *p = process_of(m, parent->pid);

	return p && !p->tasks;
}

/* The file of a task may be missing where a recording was cut off. */
static void check_parent(struct meaning *m, const struct moca_timeline_item *i)
{
	const struct moca_change *e = i->change;
	const struct moca_task *parent;

	if (e->parent == MOCA_NO_TASK)
		return;
	parent = meaning_task(m, e->parent);
	if (!parent) {
		if (!moca_trace_truncated(m->t))
			wrong(m, i, "its parent is no task of the trace");
		return;
	}
	if (parent->flags & MOCA_TASK_EVENTS)
		wrong(m, i, "its parent is no task of the trace");
	else if (parent->id >= i->task->id)
		wrong(m, i, "its parent has a higher number");
	else if (parent->start_ns > e->time_ns)
		wrong(m, i, "its parent begins later");
	else if (parent->end_ns && parent->end_ns < e->time_ns &&
		 (e->flags & MOCA_TASK_THREAD || !may_be_orphan(m, parent)))
		wrong(m, i, "its parent had ended");
	else if (e->flags & MOCA_TASK_THREAD && parent->pid != e->pid)
		wrong(m, i, "it is a thread of another process than its parent's");
	else if (e->flags & (MOCA_TASK_FORK | MOCA_TASK_VFORK) &&
		 parent->pid == e->pid)
		wrong(m, i, "it is a process with its parent's number");
}

static int start(struct meaning *m, const struct moca_timeline_item *i)
{
	const struct moca_change *e = i->change;
	struct process *p;

	check_parent(m, i);
	p = process_of(m, e->pid);
	if (!p)
		return -ENOMEM;
	m->vforks += !!(e->flags & MOCA_TASK_VFORK);
	if (e->flags & MOCA_TASK_THREAD) {
		if (!p->tasks)
			wrong(m, i, "no other thread of its process lives");
		p->tasks++;
	} else if (e->flags & MOCA_TASK_ATTACHED) {
		/* One of several, none of which is the other's child. */
		p->tasks++;
		p->image = 1;
	} else {
		if (p->tasks)
			wrong(m, i, "its process lives already");
		p->tasks = 1;
		p->image = (e->flags & (MOCA_TASK_FORK | MOCA_TASK_VFORK)) != 0;
	}
	return 0;
}

static void check_range(struct meaning *m, const struct moca_timeline_item *i)
{
	const struct moca_change *e = i->change;

	if (!e->len)
		wrong(m, i, "it is of no bytes");
	else if (e->type != MOCA_CHANGE_DISCARD && (e->addr % PAGE || e->len % PAGE))
		wrong(m, i, "it is not of whole pages");
	if (e->pid && e->pid != i->task->pid)
		wrong(m, i, "it is of another process than its task");
}

int changes_change(struct meaning *m, const struct moca_timeline_item *i)
{
	const struct moca_change *e = i->change;
	const struct moca_task *t = i->task;
	struct process *p;

	if (t->flags & MOCA_TASK_EVENTS)
		return 0;
	switch (e->type) {
	case MOCA_CHANGE_TASK_START:
		/* A stream of events has one of its own. */
		return e->time_ns == t->start_ns ? start(m, i) : 0;
	case MOCA_CHANGE_TASK_END:
		if (e->time_ns != t->end_ns)
			return 0;
		p = process_of(m, t->pid);
		if (!p)
			return -ENOMEM;
		if (!p->tasks)
			wrong(m, i, "no thread of its process lives");
		else
			p->tasks--;
		return 0;
	case MOCA_CHANGE_MMAP:
	case MOCA_CHANGE_MUNMAP:
	case MOCA_CHANGE_DISCARD:
		check_range(m, i);
		break;
	case MOCA_CHANGE_EXEC:
		p = process_of(m, t->pid);
		if (!p)
			return -ENOMEM;
		/* The recorder's own child touched nothing that counts. */
		m->execs += p->image != 0;
		p->image = 1;
		break;
	case MOCA_CHANGE_GAP:
		return 0;
	}
	if (t->end_ns && e->time_ns > t->end_ns)
		wrong(m, i, "its task had ended");
	else if (e->time_ns < t->start_ns)
		wrong(m, i, "its task had not begun");
	return 0;
}

void changes_event(struct meaning *m, const struct moca_timeline_item *i)
{
	const struct moca_task *t = i->task;
	uint64_t at = i->time_ns;

	/* The sampler's are in the first task's name, and begin before it. */
	if (t->flags & MOCA_TASK_EVENTS || trace_is_rate(i->event->type))
		return;
	if (at >= t->start_ns && (!t->end_ns || at <= t->end_ns))
		return;
	meaning_wrong(m, RULE_CHANGES, "task %" PRIu32 ", event %" PRIu64 " (%s:%s): it is %" PRIu64 " ns %s",
		      t->id, meaning_number(m, i), i->event->type->facility,
		      i->event->type->name,
		      at < t->start_ns ? t->start_ns - at : at - t->end_ns,
		      at < t->start_ns ? "before its task's begin" :
					 "behind its task's end");
}

void changes_free(struct meaning *m)
{
	if (!m->processes)
		return;
	free(m->processes->entries);
	free(m->processes);
}
