// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks that go on natively, as their agents tell, and what they did since. */
#include "collect/exact/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/plural.h"
#include "lib/base/proc.h"
#include "lib/base/vec.h"

#define KEY "exact.native"
#define WHY_MAX 400

struct native {
	uint32_t task;
	pid_t pid, tid;		/* 0: it ended, or is not asked any more */
	uint64_t time_ns;
	uint64_t before_ns;	/* CPU time of the thread until then */
	uint64_t now_ns;	/* and in all, as of the last look */
	char name[16];
	char why[WHY_MAX];
};

static void look(struct native *n)
{
	uint64_t ns, wait_ns;
	int err;

	if (!n->tid)
		return;
	err = moca_proc_schedstat(n->pid, n->tid, &ns, &wait_ns);
	if (err && err != -ENODATA) {
		n->tid = 0;
		return;
	}
	if (ns > n->now_ns)
		n->now_ns = ns;
}

void natives_add(struct natives *l, uint32_t task, const char *name,
		 pid_t pid, pid_t tid, uint64_t time_ns, uint64_t cpu_ns,
		 const char *why)
{
	struct native *n;

	if (l->count == NATIVES_MAX || moca_vec_fit(l->items, l->room, l->count + 1)) {
		l->more++;
		return;
	}
	n = &l->items[l->count++];
	memset(n, 0, sizeof(*n));
	n->task = task;
	n->pid = pid;
	n->tid = tid;
	n->time_ns = time_ns;
	n->before_ns = n->now_ns = cpu_ns;
	snprintf(n->why, sizeof(n->why), "%s", why);
	snprintf(n->name, sizeof(n->name), "%s", name);
}

void natives_look(struct natives *l)
{
	for (size_t i = 0; i < l->count; i++)
		look(&l->items[i]);
}

void natives_end(struct natives *l, uint32_t task)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].task == task)
			l->items[i].tid = 0;
}

void natives_describe(const struct natives *l, struct moca_meta *meta)
{
	char line[WHY_MAX + 100];

	moca_meta_unset(meta, KEY);
	if (l->more)
		moca_meta_set(meta, KEY "_more", "%zu", l->more);
	for (size_t i = 0; i < l->count; i++) {
		const struct native *n = &l->items[i];

		snprintf(line, sizeof(line), "%u %lu %lu %lu %s", n->task,
			 n->time_ns, n->before_ns, n->now_ns - n->before_ns,
			 n->why);
		moca_meta_add(meta, KEY, line);
	}
}

void natives_say(const struct natives *l, const char *dir, uint64_t start_ns)
{
	const struct native *n = l->items;
	size_t others = l->count + l->more - 1;
	char more[80] = "";

	if (!l->count)
		return;
	if (others)
		snprintf(more, sizeof(more), "; nor of %zu other task%s", others,
			 PLURAL(others));
	moca_say("%s: from %.2f s on nothing of task %u (%s) is counted: %s; "
		 "at least %.2f s of its CPU time since then, %.2f s before%s", dir,
		 n->time_ns > start_ns ? (n->time_ns - start_ns) / 1e9 : 0,
		 n->task, n->name, n->why, (n->now_ns - n->before_ns) / 1e9,
		 n->before_ns / 1e9, more);
}
