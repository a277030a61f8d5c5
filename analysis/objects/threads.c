// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What will be, which explains what is before it: where threads will have their
 * stacks, and when processes exec.
 */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <stdlib.h>

/* From the first write to a new stack to its thread's begin, at most. */
#define PREPARE_NS 100000000ull
/* From what the kernel does for an exec to its end, at most. */
#define EXEC_NS 50000000ull

static int by_place(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct exec *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int add_exec(struct moca_objects *o, const struct moca_change *e)
{
	int err = moca_vec_fit(o->execs, o->exec_cap, o->exec_count + 1);

	if (!err)
		o->execs[o->exec_count++] = (struct exec){ e->pid,
							   e->time_ns };
	return err;
}

int moca_objects_exec_soon(const struct moca_objects *o, uint32_t pid,
			   uint64_t time_ns)
{
	const struct exec *x = o->execs;
	size_t lo = 0, hi = o->exec_count, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (x[mid].pid < pid ||
		    (x[mid].pid == pid && x[mid].time_ns < time_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < o->exec_count && x[lo].pid == pid &&
	       x[lo].time_ns - time_ns < EXEC_NS;
}

int moca_objects_find_threads(struct moca_objects *o)
{
	const struct moca_change *e;
	struct moca_cursor *c;
	uint32_t task;
	int ret = moca_cursor_open(&c, o->trace, NULL);

	if (ret)
		return ret;
	while ((ret = moca_cursor_change(c, &e, &task)) > 0) {
		if (e->type == MOCA_CHANGE_EXEC) {
			ret = add_exec(o, e);
			if (ret)
				break;
		}
		if (e->type != MOCA_CHANGE_TASK_START || !e->addr ||
		    !(e->flags & MOCA_TASK_THREAD))
			continue;
		ret = moca_vec_fit(o->threads, o->thread_cap, o->thread_count + 1);
		if (ret)
			break;
		o->threads[o->thread_count++] = (struct thread){
			.pid = e->pid, .task = task, .stack = e->addr,
			.pointer = e->offset, .start_ns = e->time_ns,
		};
	}
	moca_cursor_close(c);
	if (o->thread_count)
		qsort(o->threads, o->thread_count, sizeof(*o->threads),
		      by_place);
	if (o->exec_count)
		qsort(o->execs, o->exec_count, sizeof(*o->execs), by_time);
	return ret;
}

/* The first one at or behind (pid, stack, time). */
static size_t first_thread(const struct moca_objects *o, uint32_t pid,
			   uint64_t stack, uint64_t time_ns)
{
	const struct thread key = { .pid = pid, .stack = stack,
				    .start_ns = time_ns };
	size_t lo = 0, hi = o->thread_count, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (by_place(&o->threads[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The task with that number, which there is. */
static const struct replay_task *task_of(const struct moca_objects *o, uint32_t id)
{
	size_t lo = 0, hi = moca_trace_task_count(o->trace), mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (moca_trace_task(o->trace, mid)->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return &o->tasks[lo];
}

uint64_t moca_objects_stack_low(const struct moca_objects *o,
				const struct replay_space *s, uint64_t low,
				uint64_t sp)
{
	size_t i = first_thread(o, s->pid, sp, 0);
	const struct thread *x;
	const struct replay_task *t;

	while (i--) {
		x = &o->threads[i];
		if (x->pid != s->pid || x->stack <= low)
			break;
		t = task_of(o, x->task);
		if (t->stack == x->stack && t->process &&
		    t->process->space == s)
			return x->stack;
	}
	return low;
}

const struct thread *moca_objects_next_thread(const struct moca_objects *o,
					      uint32_t pid, uint64_t first,
					      uint64_t last, uint64_t time_ns)
{
	const struct thread *t, *next = NULL;
	uint64_t stack = first;
	size_t i;

	/* Place by place: of each, many may have begun before. */
	while (stack != UINT64_MAX) {
		i = first_thread(o, pid, stack + 1, 0);
		t = &o->threads[i];
		if (i == o->thread_count || t->pid != pid || t->stack > last)
			break;
		stack = t->stack;
		i = first_thread(o, pid, stack, time_ns);
		t = &o->threads[i];
		if (i < o->thread_count && t->pid == pid &&
		    t->stack == stack && t->start_ns - time_ns < PREPARE_NS &&
		    (!next || t->start_ns < next->start_ns))
			next = t;
	}
	return next;
}
