// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The harvester: follows what the supervisor tells, looks into the arenas, and
 * writes the trace.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/exact/harvest.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"
#include "lib/ring/clock.h"

#define TICK_NS 20000000ull
/* A task is asked so often how long it waited, and at most so many in a tick. */
#define WAIT_NS 100000000ull
#define WAITS 16

struct counted_task *harvest_task(struct harvest *h, uint32_t id)
{
	struct counted_task *t = h->tasks[id % BUCKETS];

	while (t && t->id != id)
		t = t->next;
	return t;
}

static struct counted_task *get_task(struct harvest *h, uint32_t id)
{
	struct counted_task *t = harvest_task(h, id);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->id = id;
	t->parent = MOCA_NO_TASK;
	t->slot = -1;
	t->next = h->tasks[id % BUCKETS];
	h->tasks[id % BUCKETS] = t;
	return t;
}

/* --- which slot is whose -------------------------------------------------- */

static void unlist(struct counted_task *t)
{
	struct counted_task **p = &t->arena->unbound;

	while (*p && *p != t)
		p = &(*p)->sibling;
	if (*p)
		*p = t->sibling;
	t->sibling = NULL;
}

static void bind(struct harvest *h, struct counted_task *t, unsigned int n)
{
	struct exact_view *v = &t->arena->views[n];

	unlist(t);
	v->task = t;
	t->slot = (int)n;
	events_place(t, v->head);
}

/* Slots without a task that say tid, and began before slot n. */
static unsigned int count_older(struct exact_arena *a, unsigned int n,
				uint32_t tid)
{
	uint64_t began = a->views[n].head->start_clock;
	unsigned int used = exact_arena_used(a), count = 0;

	for (unsigned int i = 0; i < used; i++) {
		const struct moca_exact_slot *s =
			a->views[i].task ? NULL : exact_arena_slot(a, i);

		count += s && slot_state(a, i) != MOCA_EXACT_FREE &&
			 __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE) == tid &&
			 s->start_clock < began;
	}
	return count;
}

/*
 * The task of a slot that has none yet. Several have the number that it says where
 * each is the first of a PID namespace of its own: the older slot is the older
 * task's. The list has the newest first.
 */
static void find_owner(struct harvest *h, struct exact_arena *a, unsigned int n)
{
	const struct moca_exact_slot *s = a->views[n].head;
	uint32_t tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE);
	unsigned int same = 0, older;
	struct counted_task *t;

	for (t = tid ? a->unbound : NULL; t; t = t->sibling)
		same += (uint32_t)t->inner_tid == tid;
	older = same > 1 ? count_older(a, n, tid) : 0;
	if (older >= same)
		return;
	for (t = a->unbound; t; t = t->sibling)
		if ((uint32_t)t->inner_tid == tid && --same == older) {
			bind(h, t, n);
			return;
		}
}

/* --- ends ------------------------------------------------------------------ */

/* Its thread writes no more: take what is there, and give it back. */
static void end_slot(struct harvest *h, struct exact_arena *a, unsigned int n,
		     uint64_t end_ns)
{
	struct counted_task *t = a->views[n].task;

	if (t) {
		slot_drain(h, a, n);
		slot_count(h, a, n, end_ns, 1);
		t->slot = -1;
	}
	harvest_memory(h);
	exact_arena_release(a, n);
}

/* The task has no more to do with the arena. */
static void leave(struct harvest *h, struct counted_task *t, uint64_t now)
{
	struct exact_arena *a = t->arena;
	unsigned int n, used;

	if (!a) {
		t->space = NULL;
		return;
	}
	/* One that came and went between two looks. */
	used = t->slot < 0 && t->fresh ? exact_arena_used(a) : 0;
	for (n = 0; n < used && t->slot < 0; n++)
		if (slot_state(a, n) != MOCA_EXACT_FREE && !a->views[n].task)
			find_owner(h, a, n);
	/* It is freed with the process, also where no sample asked for it. */
	if (t->slot >= 0 && t->space)
		t->space->chart = a->views[t->slot].head->chart;
	share_before(h, now);
	if (t->slot >= 0)
		end_slot(h, a, t->slot, now);
	else
		unlist(t);
	t->arena = NULL;
	t->space = NULL;
}

static void end_arena(struct harvest *h, struct exact_arena *a)
{
	struct exact_arena **p = &h->arenas;
	unsigned int used = exact_arena_used(a);

	for (unsigned int n = 0; n < used; n++)
		if (slot_state(a, n) != MOCA_EXACT_FREE)
			slot_stray(h, a, n);
	slot_shared(h, a, 1);
	harvest_memory(h);
	while (*p && *p != a)
		p = &(*p)->next;
	if (*p)
		*p = a->next;
	exact_arena_free(a);
}

static void end_task(struct harvest *h, struct counted_task *t, uint64_t now)
{
	struct counted_task **p = &h->tasks[t->id % BUCKETS];

	leave(h, t, now);
	natives_end(&h->natives, t->id);
	events_write(h, t);
	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	free(t->events);
	free(t);
	atomic_fetch_add(&moca_exact_recording.ended, 1);
}

/* --- messages ------------------------------------------------------------- */

static void on_task(struct harvest *h, const struct message *m)
{
	struct exact_space *space = exact_space_of(m->space);
	struct counted_task *t = get_task(h, m->task);
	struct exact_arena *a;

	if (!t) {
		queue_lose(h->rec->queue, 1);
		return;
	}
	if (t->space && t->space != space)
		leave(h, t, m->time_ns);
	t->space = space;
	t->tid = m->tid;
	t->inner_tid = m->inner_tid ? m->inner_tid : m->tid;
	t->pid = m->pid;
	/* Set by the supervisor before it told, or while we look: once. */
	a = space ? __atomic_load_n(&space->arena, __ATOMIC_ACQUIRE) : NULL;
	if (!a || t->arena)
		return;
	if (!a->known) {
		a->known = 1;
		a->next = h->arenas;
		h->arenas = a;
	}
	t->arena = a;
	t->fresh = 1;
	t->sibling = a->unbound;
	a->unbound = t;
}

static void on_space_end(struct harvest *h, struct exact_space *space,
			 uint64_t now)
{
	struct exact_arena *a = space->arena;

	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct counted_task *t = h->tasks[i]; t; t = t->next)
			if (t->space == space)
				leave(h, t, now);
	pages_end(h, space);
	if (a)
		exact_arena_free_chart(a, space->chart);
	space_free(h->rec, &space->space);
	if (a && atomic_fetch_sub(&a->spaces, 1) == 1)
		end_arena(h, a);
}

static void on_message(struct harvest *h, const struct message *m)
{
	struct counted_task *t;

	if (m->kind != MSG_EVENT)
		share_before(h, m->time_ns);
	switch (m->kind) {
	case MSG_EVENT:
		t = get_task(h, m->task);
		if (t)
			events_add(h, t, &m->event);
		else
			queue_lose(h->rec->queue, 1);
		break;
	case MSG_TASK:
		on_task(h, m);
		break;
	case MSG_TASK_END:
		t = harvest_task(h, m->task);
		if (t)
			end_task(h, t, m->time_ns);
		break;
	case MSG_SPACE_END:
		on_space_end(h, exact_space_of(m->space), m->time_ns);
		break;
	default:
		break;	/* of page accesses */
	}
}

static void pump(struct harvest *h)
{
	struct message *m = queue_take(h->rec->queue), *next;

	for (; m; m = next) {
		next = m->next;
		on_message(h, m);
		message_free(m);
	}
}

/* --- the loop ---------------------------------------------------------------- */

typedef void (*visit_slot)(struct harvest *h, struct exact_arena *a,
			   unsigned int n);

static void each_slot(struct harvest *h, visit_slot visit)
{
	for (struct exact_arena *a = h->arenas; a; a = a->next) {
		unsigned int used = exact_arena_used(a);

		for (unsigned int n = 0; n < used; n++)
			if (slot_state(a, n) != MOCA_EXACT_FREE)
				visit(h, a, n);
	}
}

/* How long a task waits for a CPU, of what it runs: of some, now and then. */
static void look_wait(struct harvest *h, struct counted_task *t)
{
	uint64_t now = moca_now_ns(), run, wait;

	if (!h->waits_left || now < t->looked_ns + WAIT_NS)
		return;
	h->waits_left--;
	t->looked_ns = now;
	if (moca_proc_schedstat(t->pid, t->tid, &run, &wait) ||
	    run < t->run_ns || wait < t->wait_ns)
		return;
	h->totals.run_ns += run - t->run_ns;
	h->totals.wait_ns += wait - t->wait_ns;
	t->run_ns = run;
	t->wait_ns = wait;
}

static void look(struct harvest *h, struct exact_arena *a, unsigned int n)
{
	if (!a->views[n].task)
		find_owner(h, a, n);
	if (!a->views[n].task)
		return;
	/* Before the events: ENDED is the last that it wrote. */
	if (slot_state(a, n) == MOCA_EXACT_ENDED)
		end_slot(h, a, n, 0);
	else {
		slot_drain(h, a, n);
		look_wait(h, a->views[n].task);
	}
}

static void cut_slot(struct harvest *h, struct exact_arena *a, unsigned int n)
{
	if (a->views[n].task)
		slot_count(h, a, n, 0, 0);
}

static void cut_slice(struct harvest *h, uint64_t now)
{
	each_slot(h, cut_slot);
	/* One that took longer than it should: its successors are left out. */
	h->slice = (now - h->rec->start_ns) / moca_exact_recording.opt.slice_ns;
	h->next_slice_ns = h->rec->start_ns +
			   (h->slice + 1) * moca_exact_recording.opt.slice_ns;
}

void harvest_memory(struct harvest *h)
{
	uint64_t sum = 0;

	for (struct exact_arena *a = h->arenas; a; a = a->next)
		sum += exact_arena_memory(a);
	if (sum > h->totals.memory)
		h->totals.memory = sum;
}

static int second(void *arg, uint64_t now, struct status_now *s)
{
	struct harvest *h = arg;

	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct counted_task *t = h->tasks[i]; t; t = t->next)
			events_write(h, t);
	return 0;
}

static void describe(void *arg, uint64_t now)
{
	struct harvest *h = arg;
	struct exact_totals *t = &h->totals;

	for (struct exact_arena *a = h->arenas; a; a = a->next)
		slot_shared(h, a, 0);
	t->slices = h->slice + 1;
	t->bytes = moca_writer_bytes(h->writer);
	natives_describe(&h->natives, h->recording.meta);
	exact_describe_totals(h->recording.meta, t);
}

/* A counter of 16 bytes becomes a row of at most 4 on disk. */
static uint64_t waiting_bytes(void *arg)
{
	struct harvest *h = arg;
	uint64_t room = h->rec->opt->max_size / 2;

	return h->totals.memory / 4 < room ? h->totals.memory / 4 : room;
}

/* Counts are worth nothing before they are written. */
static void cut(void *arg)
{
	each_slot(arg, cut_slot);
}

static const struct recording_ops ops = {
	.waiting_bytes = waiting_bytes,
	.cut = cut,
	.second = second,
	.describe = describe,
	.full_note = "recording ended at --max-size: what was counted from "
		     "there on is not in the trace",
};

void harvest_begin(struct harvest *h, pid_t pid)
{
	share_open(h, pid);
}

void harvest_run(struct harvest *h, atomic_int *finished)
{
	struct pollfd p[2];
	uint64_t now, next, began;
	int last;

	do {
		began = moca_now_ns();
		/* Before the pump, so that nothing is left behind. */
		last = atomic_load(finished);
		tracer_clock_tick(&h->clock);
		pump(h);
		h->waits_left = WAITS;
		each_slot(h, look);
		share_before(h, began);
		if (last)
			share_settle(h, began);
		harvest_memory(h);
		natives_look(&h->natives);
		now = moca_now_ns();
		if (h->next_slice_ns && now >= h->next_slice_ns)
			cut_slice(h, now);
		recording_tick(&h->recording, now);
		next = now + TICK_NS;
		if (h->next_slice_ns && h->next_slice_ns < next)
			next = h->next_slice_ns;
		if (!last)
			recording_wait(&h->recording, p, 0, next);
	} while (!last);
	share_close(h);
	recording_end(&h->recording);
}

void harvest_say_natives(const struct harvest *h)
{
	natives_say(&h->natives, h->rec->dir, h->rec->start_ns);
}

void harvest_cost(struct harvest *h, char *buf, size_t size)
{
	exact_cost(h->rec, &h->totals, &h->share.sums, h->recording.meta, buf,
		   size);
}

const struct exact_totals *harvest_totals(struct harvest *h)
{
	return &h->totals;
}

int harvest_new(struct harvest **out, struct recorder *rec,
		struct moca_meta *meta, struct moca_writer *writer)
{
	struct harvest *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	err = recording_init(&h->recording, rec, meta, writer, &ops, h);
	if (err) {
		free(h);
		return err;
	}
	h->rec = rec;
	h->writer = writer;
	/* The agent's clock, whatever this machine's is like. */
	err = tracer_clock_init(&h->clock, MOCA_CLOCK_TSC);
	if (err) {
		recording_free(&h->recording);
		free(h);
		return err;
	}
	if (moca_exact_recording.opt.slice_ns)
		h->next_slice_ns = rec->start_ns + moca_exact_recording.opt.slice_ns;
	*out = h;
	return 0;
}
