// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of traced tasks, by thread id. Supervisor thread only. */
#include <stdlib.h>
#include <unistd.h>

#include "collect/ptrace/tasks.h"

#include "collect/ptrace/subreaper.h"

#define BUCKETS 4096

static struct task *table[BUCKETS];
static unsigned int count, departures;

struct task *tasks_find(pid_t tid)
{
	struct task *t = table[tid % BUCKETS];

	while (t && t->tid != tid)
		t = t->hash_next;
	return t;
}

static void insert(struct task *t)
{
	t->hash_next = table[t->tid % BUCKETS];
	table[t->tid % BUCKETS] = t;
}

static void unlink_task(struct task *t)
{
	struct task **p = &table[t->tid % BUCKETS];

	while (*p != t)
		p = &(*p)->hash_next;
	*p = t->hash_next;
	departures++;
}

struct task *tasks_add(pid_t tid)
{
	struct task *t;

	while (!(t = calloc(1, sizeof(*t))))
		usleep(1000);
	t->tid = tid;
	t->pid = tid;
	t->id = MOCA_NO_TASK;
	t->filtered = 1;
	insert(t);
	count++;
	return t;
}

struct task *tasks_add_own(pid_t tid)
{
	struct task *t = tasks_find(tid);

	if (!t)
		t = tasks_add(tid);
	t->own = 1;
	t->stop = TASK_RUNNING;
	count--;
	return t;
}

void tasks_remove(struct task *t)
{
	unlink_task(t);
	count -= !t->own;
	if (t->tid == t->pid)
		subreaper_set(t->pid, 0);
	free(t);
}

void tasks_rename(struct task *t, pid_t tid)
{
	unlink_task(t);
	t->tid = tid;
	insert(t);
}

struct task *tasks_next(struct task *t)
{
	unsigned int i = 0;

	if (t && t->hash_next)
		return t->hash_next;
	if (t)
		i = t->tid % BUCKETS + 1;
	for (; i < BUCKETS; i++)
		if (table[i])
			return table[i];
	return NULL;
}

unsigned int tasks_count(void)
{
	return count;
}

unsigned int tasks_departures(void)
{
	return departures;
}
