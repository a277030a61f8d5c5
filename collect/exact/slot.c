// SPDX-License-Identifier: GPL-2.0-or-later
/* One slot: its events, gaps and counts. Nothing in it is believed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "collect/exact/harvest.h"
#include "collect/ptrace/maps.h"
#include "collect/run/jit.h"
#include "collect/run/own.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"

#define NAME_MAX_BYTES 4095u
#define RING (MOCA_EXACT_EVENTS_SIZE - 1)
/* Nobody loses more events between two looks. */
#define MISSED_MAX (1ull << 32)

uint32_t slot_state(struct exact_arena *a, unsigned int n)
{
	struct moca_exact_slot *s = exact_arena_slot(a, n);

	/* Pairs with the agent's: what it wrote before is there. */
	return s ? __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) :
		   MOCA_EXACT_FREE;
}

static void hostile(struct exact_view *v, const char *what)
{
	moca_debug("slot of task %u: %s", v->task ? v->task->id : 0, what);
	atomic_fetch_add(&moca_exact_recording.reasons[EXACT_HOSTILE], 1);
}

/* --- events ----------------------------------------------------------------- */

static void copy_out(const uint8_t *ring, uint64_t at, void *buf, size_t len)
{
	size_t begin = at & RING, first = MOCA_EXACT_EVENTS_SIZE - begin;

	if (first > len)
		first = len;
	memcpy(buf, ring + begin, first);
	memcpy((uint8_t *)buf + first, ring, len - first);
}

static int of_the_agent(uint32_t type)
{
	return type == MOCA_CHANGE_NAME || type == MOCA_CHANGE_MMAP ||
	       type == MOCA_CHANGE_MUNMAP || type == MOCA_CHANGE_DISCARD ||
	       type == MOCA_CHANGE_GAP;
}

/* The agent tells what it is called; what it is of, only the kernel knows. */
static void identify(struct moca_change *e)
{
	struct moca_identity of = { .memory = MOCA_MEMORY_PRIVATE };
	struct stat st;
	struct vma v;

	/* What mremap moved is told without what it was. */
	if (e->flags & (MOCA_MAP_SHARED | MOCA_MAP_MOVED)) {
		of.memory = MOCA_MEMORY_UNKNOWN;
		if (!maps_find((pid_t)e->pid, e->addr, &v)) {
			of = maps_identity(&v);
			if (v.shared)
				e->flags |= MOCA_MAP_SHARED;
			if (e->flags & MOCA_MAP_MOVED)
				e->offset = v.offset + (e->addr - v.start);
			free(v.name);
		}
	} else if (e->flags & MOCA_MAP_FILE) {
		of.memory = MOCA_MEMORY_UNKNOWN;
		if (!stat(e->name, &st))
			of = moca_identity_of(e->name,
					      moca_identity_dev(
						      major(st.st_dev),
						      minor(st.st_dev)),
					      st.st_ino, 0);
	}
	if (!strcmp(e->name, MOCA_EXACT_CACHE) ||
	    own_is((pid_t)e->pid, e->name, of.dev, of.ino))
		e->flags |= MOCA_MAP_MOCA;
	e->memory = of.memory;
	e->dev = of.dev;
	e->ino = of.ino;
}

static void take_event(struct harvest *h, const struct counted_task *t,
		       const struct moca_exact_event *x, const char *name)
{
	struct moca_change e = {
		.type = x->type, .addr = x->addr, .len = x->len,
		.offset = x->offset, .flags = x->flags, .prot = x->prot,
		.pid = t->pid, .tid = t->tid, .parent = MOCA_NO_TASK,
		.name = name,
	};

	if (e.type == MOCA_CHANGE_MMAP)
		identify(&e);
	tracer_clock_cover(&h->clock, x->clock);
	e.time_ns = tracer_clock_ns(&h->clock, x->clock);
	if (e.type == MOCA_CHANGE_GAP && e.flags & MOCA_GAP_NATIVE) {
		natives_add(&h->natives, t->id, t->name, t->pid, t->tid,
			    e.time_ns, e.len, name);
		e.len = 0;	/* no bytes: its CPU time */
	}
	jit_change(h->rec->jit, t->id, &e);
	events_add(h, (struct counted_task *)t, &e);
}

static void take_events(struct harvest *h, struct exact_view *v)
{
	const uint8_t *ring = (uint8_t *)v->head + MOCA_EXACT_EVENTS;
	/* Pairs with the agent's after it has written an event. */
	uint64_t head = __atomic_load_n(&v->head->events_head,
					__ATOMIC_ACQUIRE);
	uint64_t tail = v->head->events_tail;
	struct moca_exact_event x;
	char name[NAME_MAX_BYTES + 1];

	if (head - tail > MOCA_EXACT_EVENTS_SIZE || (head | tail) & 7) {
		hostile(v, "positions of its events");
		tail = head;
	}
	while (tail != head) {
		size_t len;

		if (head - tail < sizeof(x))
			break;
		copy_out(ring, tail, &x, sizeof(x));
		len = x.size - sizeof(x);
		if (x.size < sizeof(x) || x.size & 7 || x.size > head - tail ||
		    len > sizeof(name) + 7 || !of_the_agent(x.type))
			break;
		len = len > NAME_MAX_BYTES ? NAME_MAX_BYTES : len;
		copy_out(ring, tail + sizeof(x), name, len);
		name[len] = 0;
		take_event(h, v->task, &x, name);
		tail += x.size;
	}
	if (tail != head)
		hostile(v, "an event");
	/* Pairs with the agent's look for room: we have read what is below. */
	__atomic_store_n(&v->head->events_tail, head, __ATOMIC_RELEASE);
}

/* They only grow; what is less than before is nonsense. */
static void take_growth(uint64_t now, uint64_t *before, uint64_t *sum)
{
	if (now <= *before)
		return;
	if (__builtin_add_overflow(*sum, now - *before, sum))
		*sum = UINT64_MAX;
	*before = now;
}

/* They may go back, so what is added is modulo 2^64, as they are. */
static void take_apart(struct exact_view *v, struct exact_totals *t)
{
	const struct moca_exact_apart now = v->head->apart;

	t->apart.strings += now.strings - v->apart.strings;
	t->apart.granules += now.granules - v->apart.granules;
	t->apart.stretched += now.stretched - v->apart.stretched;
	t->apart.helped += now.helped - v->apart.helped;
	t->apart.exits += now.exits - v->apart.exits;
	v->apart = now;
}

void slot_drain(struct harvest *h, struct exact_arena *a, unsigned int n)
{
	struct exact_view *v = &a->views[n];
	uint64_t lost = 0;

	take_events(h, v);
	for (int i = 0; i < MOCA_EXACT_GAP_COUNT; i++)
		take_growth(v->head->gaps[i], &v->gaps[i], &h->totals.gaps[i]);
	take_apart(v, &h->totals);
	take_growth(v->head->events_lost, &v->lost, &lost);
	if (lost > MISSED_MAX) {
		hostile(v, "its lost events");
		lost = 1;
	}
	if (lost)
		queue_miss(h->rec->queue, lost);
}

/* --- counts ------------------------------------------------------------------- */

struct put {
	struct harvest *h;
	struct counted_task *task;
	struct moca_chunk_info info;
};

static void add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static int put_rows(void *arg, const struct moca_count *rows, size_t n,
		    int more)
{
	struct put *p = arg;
	struct harvest *h = p->h;
	struct exact_totals *t = &h->totals;
	struct pageset *pages = p->task->space ? p->task->space->pages : NULL;
	int err, fresh;

	if (!n)
		return 0;
	if (!recording_goes_on(&h->recording)) {
		atomic_fetch_add(&moca_exact_recording.reasons[EXACT_UNWRITTEN], 1);
		return 0;
	}
	p->info.more = more;
	err = moca_writer_counts(h->writer, &p->info,
				 moca_exact_recording.shift, rows, n);
	if (err == -EINVAL)
		return err;	/* what the program left there is nonsense */
	if (err) {
		atomic_fetch_add(&moca_exact_recording.reasons[EXACT_UNWRITTEN], 1);
		recording_fail(&h->recording, err, "write the trace");
		return 0;
	}
	t->chunks++;
	t->rows += n;
	for (size_t i = 0; i < n; i++) {
		add(&t->loads, rows[i].loads);
		add(&t->stores, rows[i].stores);
		fresh = pages ? pageset_see(pages, rows[i].addr) : 0;
		t->pages_unknown |= fresh < 0;
		t->pages += fresh > 0;
	}
	recording_check_written(&h->recording);
	return 0;
}

static uint64_t clock_ns(struct harvest *h, uint64_t clock)
{
	tracer_clock_cover(&h->clock, clock);
	return tracer_clock_ns(&h->clock, clock);
}

/* From its begin, or where the last slice ended, to its end, or now. */
static void set_times(struct harvest *h, const struct exact_view *v,
		      uint64_t end_ns, int last, struct moca_chunk_info *info)
{
	const struct moca_exact_slot *s = v->head;
	uint64_t now = moca_now_ns();

	info->begin_ns = v->told_ns ? v->told_ns :
				      clock_ns(h, s->start_clock);
	info->end_ns = end_ns ? end_ns : now;
	if (last && s->end_clock)
		info->end_ns = clock_ns(h, s->end_clock);
	/* The program's clocks may say anything. */
	if (info->end_ns > now)
		info->end_ns = now;
	if (info->begin_ns < h->rec->start_ns)
		info->begin_ns = h->rec->start_ns;
	if (info->begin_ns > info->end_ns)
		info->begin_ns = info->end_ns;
}

void slot_count(struct harvest *h, struct exact_arena *a, unsigned int n,
		uint64_t end_ns, int last)
{
	struct exact_view *v = &a->views[n];
	struct put p = { .h = h, .task = v->task };
	struct exact_slice s = { .last = last };
	struct exact_space *space = v->task->space;
	uint64_t begin = moca_thread_cpu_ns();
	int err = last ? slot_finish_loop(a, n, v->head) : 0;

	if (err == -EINVAL)
		hostile(v, "its loop");
	else if (err)
		recording_fail(&h->recording, err, "write the trace");
	/* Before the counters: pairs with the agent's after an entry. */
	s.log_count = __atomic_load_n(&v->head->log_count, __ATOMIC_ACQUIRE);
	if (!v->tally)
		v->tally = exact_tally_new();
	if (space && !space->pages)
		space->pages = pageset_new();
	h->totals.pages_unknown |= space && !space->pages;
	p.info.task = v->task->id;
	p.info.interval = h->slice;
	set_times(h, v, end_ns, last, &p.info);
	v->told_ns = p.info.end_ns;
	s.begin_ns = p.info.begin_ns;
	s.end_ns = p.info.end_ns;
	err = v->tally ? exact_tally_rows(v->tally, a, n, &s, &h->clock,
					  put_rows, &p) : -ENOMEM;
	if (last)
		moca_debug("task %u: %lu entries of the log to rows in %.1f ms "
			   "of CPU time", v->task->id, s.log_count,
			   (moca_thread_cpu_ns() - begin) / 1e6);
	if (err == -EINVAL)
		hostile(v, "its counts");
	else if (err)
		recording_fail(&h->recording, err, "write the trace");
}

void slot_stray(struct harvest *h, struct exact_arena *a, unsigned int n)
{
	struct exact_view *v = &a->views[n];

	/* It was made, and its thread never began: nothing is lost. */
	if (!v->head->log_count)
		return;
	hostile(v, "no task is known that it is of");
}

void pages_end(struct harvest *h, struct exact_space *space)
{
	pageset_free(space->pages);
	space->pages = NULL;
}

/* --- what is of all slots ------------------------------------------------------ */

void slot_shared(struct harvest *h, struct exact_arena *a, int last)
{
	struct moca_exact_slot *s = exact_arena_slot(a, 0);
	const struct moca_exact_shared *x;
	struct moca_exact_shared *b = &a->before;
	struct exact_totals *t = &h->totals;

	if (!s)
		return;
	x = (const void *)((char *)s + MOCA_EXACT_SHARED);
	take_growth(x->regions, &b->regions, &t->regions);
	take_growth(x->blocks, &b->blocks, &t->blocks);
	take_growth(x->instructions, &b->instructions, &t->instructions);
	take_growth(x->code_bytes, &b->code_bytes, &t->code_bytes);
	take_growth(x->invalidated, &b->invalidated, &t->invalidated);
	take_growth(x->loops, &b->loops, &t->loops);
	take_growth(x->translating, &b->translating, &t->translating);
}
