// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/collector.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "collect/fault/account.h"
#include "collect/fault/code.h"
#include "collect/fault/keep.h"
#include "collect/fault/mm.h"
#include "collect/fault/pace.h"
#include "collect/fault/phys.h"
#include "collect/fault/sample.h"
#include "collect/fault/stacks.h"
#include "collect/perf/text.h"
#include "collect/run/certificate.h"
#include "collect/run/own-faults.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"
#include "collect/run/recording.h"
#include "collect/run/waiting.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

#define BUCKETS 4096
/* Records kept for one task, and for all, before they are written early. */
#define TASK_RECORDS 32768u
/* So many wait: is there room for them? */
#define SIZE_RECORDS 1024u
/* An access on disk takes as much at most, but in the smallest chunks. */
#define RECORD_BYTES 5.0
#define ALL_RECORDS 400000u
/*
 * Resolution of a record's time, ns. Two faults of a thread are 500 ns apart
 * at least; the bits below are noise and a sixth of a record's size.
 */
#define TIME_GRAIN 32ull
/* Events kept for one task. */
#define TASK_EVENTS 512u
/* How long before a sweep zappers are asked for. */
#define PREPARE_NS 5000000ull

/* A task as the collector knows it. */
struct sampled_task {
	struct sampled_task *next;
	pid_t tid, pid;
	uint32_t id;
	int cpu;		/* of its last sample */
	int seen;		/* there was one in this interval */
	int known;		/* id and mm are */
	int ignore;
	struct mm *mm;
	struct moca_access *recs;
	size_t count, room;
	uint64_t lost;
	uint64_t faults[PAGE_FAULTS];	/* since the last account */
	struct own_count own;
	struct message *events, **events_tail;	/* to be written */
	size_t event_count;
};

struct collector {
	struct recorder *rec;
	struct recording recording;
	struct sampler *sampler;
	struct moca_writer *writer;
	struct text *text;
	struct decoder *decoder;
	struct phys *phys;
	struct stacks *stacks;	/* NULL: not asked for */
	struct account account;
	struct sampled_task *tasks[BUCKETS];
	size_t task_count;
	size_t buffered;
	uint64_t lost;		/* samples of nobody that is known; not written */
	struct moca_certificate cert;
	struct blind_spots *blind;
	uint64_t interval;
	uint64_t filled;	/* intervals that have records */
	int fills;		/* this one has */
	uint64_t begin_ns;	/* of the interval */
	int over;		/* the last one was written */
	struct account_faults ended;	/* of tasks that ended, in this window */
	uint64_t repeated;
	uint64_t samples;
	struct pollfd *polls;	/* one per ring, and two */
	/* Intervals that began with a sweep of this level; the first with none. */
	uint64_t levels[MOCA_STRIPE_RANK_MAX + 1];
	char shares[TEXT_SAMPLES_MAX];
	int sweeping;		/* address spaces are in use */
	struct message *gone;	/* MSG_SPACE_END of some, meanwhile */
	struct message *late;	/* taken, and later than samples in the rings */
};

static struct sampled_task *find_task(struct collector *c, pid_t tid)
{
	struct sampled_task *t = c->tasks[tid % BUCKETS];

	while (t && t->tid != tid)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->id = MOCA_NO_TASK;
	t->next = c->tasks[tid % BUCKETS];
	c->tasks[tid % BUCKETS] = t;
	c->task_count++;
	return t;
}

static int by_time(const void *a, const void *b)
{
	const struct moca_access *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Records come ring by ring: a task that moved between CPUs is out of order. */
static void sort_records(struct sampled_task *t)
{
	for (size_t i = 1; i < t->count; i++)
		if (t->recs[i].time_ns < t->recs[i - 1].time_ns) {
			qsort(t->recs, t->count, sizeof(*t->recs), by_time);
			return;
		}
}

static void write_task(struct collector *c, struct sampled_task *t, uint64_t end_ns,
		       int more)
{
	struct moca_chunk_info info = {
		.task = t->id, .interval = c->interval,
		.begin_ns = c->begin_ns, .end_ns = end_ns, .more = more,
	};
	uint64_t before;
	size_t done = 0;
	int ret = 0;

	if (!t->known || (!t->count && !t->lost))
		return;
	info.lost = t->lost + c->lost;
	c->lost = 0;
	sort_records(t);
	for (size_t i = 0; i < t->count && t->recs[i].time_ns < c->begin_ns; i++)
		/* Stamped just before the cut, committed just behind it. */
		t->recs[i].time_ns = c->begin_ns;
	if (!c->recording.failed)
		phys_fill(c->phys, t->mm, t->tid, t->recs, t->count);
	if (!c->recording.failed)
		ret = stacks_write(c->stacks, c->writer);
	while (!c->recording.failed && !ret && (done < t->count || info.lost)) {
		size_t n = t->count - done;

		if (n > TASK_RECORDS)
			n = TASK_RECORDS;
		info.more = more || done + n < t->count;
		before = moca_now_ns();
		waiting_begin(WAITING_DISK, 0);
		ret = moca_writer_accesses(c->writer, &info, t->recs + done, n);
		waiting_end(WAITING_DISK);
		account_write(&c->account, moca_now_ns() - before);
		if (ret)
			break;
		done += n;
		c->fills = 1;
		c->cert.chunks++;
		c->cert.records += n;
		c->cert.lossy_chunks += info.lost != 0;
		info.lost = 0;
	}
	if (ret)
		recording_fail(&c->recording, ret, "write the trace");
	c->buffered -= t->count;
	t->count = 0;
	t->lost = 0;
	recording_check_size(&c->recording);
}

static void write_events(struct collector *c, struct sampled_task *t)
{
	struct moca_change *list = NULL;
	struct message *m, *next;
	size_t n = 0;
	int ret = 0;

	if (!t->event_count)
		return;
	if (!c->recording.failed)
		list = malloc(t->event_count * sizeof(*list));
	for (m = t->events; m && list; m = m->next)
		list[n++] = m->event;
	if (list)
		ret = moca_writer_changes(c->writer, t->events->task, list, n);
	else if (!c->recording.failed)
		ret = -ENOMEM;
	free(list);
	for (m = t->events; m; m = next) {
		next = m->next;
		message_free(m);
	}
	t->events = NULL;
	t->event_count = 0;
	if (ret)
		recording_fail(&c->recording, ret, "write the trace");
}

typedef void (*visit_task)(struct collector *c, struct sampled_task *t, void *arg);

static void each_task(struct collector *c, visit_task visit, void *arg)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct sampled_task *t = c->tasks[i], *next; t; t = next) {
			next = t->next;
			visit(c, t, arg);
		}
}

static void visit_write(struct collector *c, struct sampled_task *t, void *arg)
{
	own_faults_tell(c->rec->own_faults, &t->own, t->pid, t->tid);
	write_events(c, t);
	write_task(c, t, *(uint64_t *)arg, 0);
}

static void visit_relieve(struct collector *c, struct sampled_task *t, void *arg)
{
	if (t->count >= 256)
		write_task(c, t, *(uint64_t *)arg, 1);
}

/* Elsewhere a page is copied recorded and not: nothing is saved. */
static int on_memfd(struct mm *mm, uint64_t addr)
{
	const struct region *r;
	int ret;

	pthread_mutex_lock(&mm->lock);
	r = moca_regions_find(&mm->regions, addr);
	ret = r && r->kind == REGION_MEMFD;
	pthread_mutex_unlock(&mm->lock);
	return ret;
}

/* What a fault is, and what its record stands for. */
struct seen {
	enum page_fault fault;
	uint16_t weight;
	int ours, undone;	/* the last sweep let the page go; any sweep did */
};

static struct seen see(struct sampled_task *t, uint64_t addr)
{
	struct seen s = { PAGE_TOUCHED, 1, 1, 0 };
	struct mm *mm = t->mm;

	if (mm && !mm->pages)
		mm->pages = pageset_new();
	if (!mm || !mm->pages)
		return s;
	s.fault = pageset_fault(mm->pages, addr);
	s.undone = pageset_undone(mm->pages, addr);
	s.weight = pageset_weigh(mm->pages, addr, s.fault, &s.ours);
	if (s.fault == PAGE_UNSHARED && !on_memfd(mm, addr))
		s.fault = PAGE_AGAIN;
	return s;
}

/* The kernel does not say whose samples it lost: where none is known, the next chunk's. */
static void on_lost(struct collector *c, struct sampled_task *last, uint64_t lost)
{
	c->cert.lost += lost;
	*(last && last->known ? &last->lost : &c->lost) += lost;
}

static void append(struct collector *c, struct sampled_task *t,
		   const struct sample *s, uint16_t weight)
{
	const struct sampled_task *process;
	struct moca_access *a;

	if (moca_vec_fit(t->recs, t->room, t->count + 1)) {
		on_lost(c, t, 1);
		return;
	}
	a = &t->recs[t->count++];
	c->buffered++;
	*a = (struct moca_access){
		.addr = s->addr, .ip = s->ip,
		.time_ns = s->time_ns & ~(TIME_GRAIN - 1), .cpu = s->cpu,
		.node = MOCA_NODE_UNKNOWN, .type = s->type, .mode = s->mode,
		.weight = weight,
	};
	/* A thread may be here before it is told of; its process is the same. */
	process = t->mm || !s->stack.known ? t : find_task(c, t->pid);
	a->stack = stacks_number(c->stacks, process && process->mm ?
				 process->mm->space.id : -1, &s->stack);
	if (s->stack.known && process && process->mm)
		process->mm->hot[t->tid % HOT_STACKS] = s->stack.sp;
	if (t->count >= TASK_RECORDS && t->known)
		write_task(c, t, s->time_ns, 1);
	else if (!(c->buffered % SIZE_RECORDS))
		recording_check_size(&c->recording);
}

/* Whose it is; NULL: no memory. */
static struct sampled_task *on_sample(struct collector *c, struct sample *s)
{
	struct sampled_task *t = find_task(c, s->tid);
	enum page_fault fault;
	struct seen seen;

	if (!t || t->ignore || s->addr >= USER_END ||
	    (s->addr >= STUB_BASE && s->addr < STUB_BASE + STUB_SIZE))
		return t;
	t->pid = s->pid;
	c->samples++;
	if (s->type == MOCA_ACCESS_UNKNOWN)
		s->type = code_type(c->decoder, t->mm, s);
	seen = see(t, s->addr);
	fault = seen.fault;
	t->faults[fault]++;
	t->cpu = s->cpu;
	t->seen = 1;
	if (seen.ours && fault == PAGE_REPEATED)
		t->mm->repeated++;
	else if (seen.ours && (fault == PAGE_AGAIN || fault == PAGE_UNSHARED))
		t->mm->again++;
	if (seen.undone && (fault == PAGE_REPEATED || fault == PAGE_AGAIN))
		own_faults_add(c->rec->own_faults, &t->own, t->pid, t->tid,
			       s->time_ns);
	append(c, t, s, seen.weight);
	return t;
}

static void take_samples(struct collector *c, uint64_t until)
{
	struct sampled_task *last = NULL;
	uint64_t lost;
	struct sample s;
	int got;

	for (unsigned int cpu = 0; cpu < sampler_cpus(c->sampler); cpu++)
		while ((got = sampler_next(c->sampler, cpu, until, &s, &lost))) {
			if (got == 2)
				on_lost(c, last, lost);
			else
				last = on_sample(c, &s);
		}
	if (c->buffered > ALL_RECORDS) {
		uint64_t now = moca_now_ns();

		each_task(c, visit_relieve, &now);
	}
}

static void visit_faults(struct collector *c, struct sampled_task *t, void *arg)
{
	struct account_faults *f = arg;
	double saved = account_saved(&c->account, t->faults,
				     t->mm && t->mm->threaded);
	double ns = account_price(&c->account, t->faults) - saved;

	f->saved_ns += saved;
	if (ns > f->busiest_ns) {
		f->busiest_ns = ns;
		f->busiest = t->tid;
	}
	if (t->faults[PAGE_REPEATED] > f->busiest_repeated)
		f->busiest_repeated = t->faults[PAGE_REPEATED];
	for (int i = 0; i < PAGE_FAULTS; i++)
		f->count[i] += t->faults[i];
	memset(t->faults, 0, sizeof(t->faults));
}

/* Write what is left of a task, and forget it. */
static void end_task(struct collector *c, pid_t tid, uint64_t now)
{
	struct sampled_task **p = &c->tasks[tid % BUCKETS], *t;

	while (*p && (*p)->tid != tid)
		p = &(*p)->next;
	t = *p;
	if (!t)
		return;
	own_faults_tell(c->rec->own_faults, &t->own, t->pid, t->tid);
	write_events(c, t);
	write_task(c, t, now, 0);
	visit_faults(c, t, &c->ended);
	c->ended.busiest = 0;
	*p = t->next;
	c->task_count--;
	free(t->recs);
	free(t);
}

static void on_task(struct collector *c, const struct message *m)
{
	struct mm *mm = mm_of(m->space);
	struct sampled_task *t;

	if (m->former)
		end_task(c, m->former, m->time_ns);
	t = find_task(c, m->tid);
	if (!t) {
		queue_lose(c->rec->queue, 1);
		return;
	}
	/* What it did before an exec was in other memory. */
	if (t->mm && t->mm != mm)
		write_task(c, t, m->time_ns, 1);
	t->id = m->task;
	t->pid = m->pid;
	if (!t->mm && mm) {
		/* Samples that were here first. */
		t->mm = mm;
		for (size_t i = 0; i < t->count; i++)
			t->recs[i].weight =
				see(t, t->recs[i].addr).weight;
	}
	t->mm = mm;
	if (mm && t->tid != t->pid)
		mm->threaded = 1;
	t->known = 1;
}

/* What is kept of an address space is written, while its pages are known. */
static void write_mm(struct collector *c, struct mm *mm, uint64_t now)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct sampled_task *t = c->tasks[i]; t; t = t->next)
			if (t->mm == mm)
				write_task(c, t, now, 1);
	phys_forget(mm);
}

/* Where pages were that go now. */
static void on_placed(struct collector *c, struct message *m)
{
	struct mm *mm = mm_of(m->space);

	if (!m->placed_count)
		return;
	if (phys_went(mm, m->time_ns, m->placed, m->placed_count))
		write_mm(c, mm, m->time_ns);
	m->placed = NULL;
}

static void on_drop(struct collector *c, struct message *m)
{
	on_placed(c, m);
	certify_drop(c->blind, &c->cert, m);
}

static void forget_mm(struct collector *c, struct mm *mm)
{
	write_mm(c, mm, moca_now_ns());
	certify_end(c->blind, &c->cert, mm);
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct sampled_task *t = c->tasks[i]; t; t = t->next)
			if (t->mm == mm)
				t->mm = NULL;
	text_forget(c->text, mm->space.id);
	space_free(c->rec, &mm->space);
}

struct by_id {
	uint32_t id;
	const struct mm *mm;
};

static void visit_by_id(struct collector *c, struct sampled_task *t, void *arg)
{
	struct by_id *b = arg;

	if (t->known && t->id == b->id)
		b->mm = t->mm;
}

/* Where the code of a process is from, for when it is gone. */
static void note_text(struct collector *c, const struct sampled_task *t,
		      const struct moca_change *e)
{
	struct by_id parent = { e->parent, NULL };

	if (!t->mm)
		return;
	text_note(c->text, t->mm->space.id, e);
	stacks_changed(c->stacks);
	if (e->type == MOCA_CHANGE_TASK_START && e->flags & MOCA_TASK_FORK) {
		each_task(c, visit_by_id, &parent);
		if (parent.mm)
			text_fork(c->text, t->mm->space.id, parent.mm->space.id);
	}
}

/* Keeps m; events are written many at a time. */
static void on_event(struct collector *c, struct message *m)
{
	struct sampled_task *t = find_task(c, m->event.tid);

	if (!t || c->recording.failed) {
		if (!t)
			queue_lose(c->rec->queue, 1);
		message_free(m);
		return;
	}
	note_text(c, t, &m->event);
	if (m->event.type == MOCA_CHANGE_GAP && !m->event.len &&
	    !strstr(m->event.name, "allocations"))
		certify_reason(c->blind, m->event.name);
	/* A task that is left runs on; the message that it is over follows. */
	t->ignore |= m->event.type == MOCA_CHANGE_TASK_END;
	/* A thread that executed a program took over another's number. */
	if (t->events && t->events->task != m->task)
		write_events(c, t);
	m->next = NULL;
	if (!t->events)
		t->events_tail = &t->events;
	*t->events_tail = m;
	t->events_tail = &m->next;
	if (++t->event_count >= TASK_EVENTS)
		write_events(c, t);
}

static void on_message(struct collector *c, struct message *m)
{
	struct mm *mm = mm_of(m->space);
	struct sampled_task *t;

	switch (m->kind) {
	case MSG_EVENT:
		on_event(c, m);
		return;
	case MSG_TASK:
		on_task(c, m);
		break;
	case MSG_TASK_END:
		end_task(c, m->tid, m->time_ns);
		break;
	case MSG_IGNORE:
		t = find_task(c, m->tid);
		if (t)
			t->ignore = 1;
		break;
	case MSG_PREFILL:
		if (!mm->pages)
			mm->pages = pageset_new();
		for (size_t i = 0; mm->pages && i < m->extent_count; i++)
			pageset_prefill(mm->pages, m->extents[i].start,
					m->extents[i].end, m->filled);
		break;
	case MSG_DROP:
		on_drop(c, m);
		break;
	case MSG_WITNESS:
		on_placed(c, m);
		mm->looked_at = 1;
		certify_witness(c->blind, m);
		break;
	case MSG_SPACE_END:
		if (c->sweeping) {
			m->next = c->gone;
			c->gone = m;
			return;
		}
		forget_mm(c, mm);
		break;
	}
	message_free(m);
}

/*
 * Samples before a message that is taken are in the rings by the snapshot, and what
 * is told after that waits until the next time, as do the samples behind it.
 */
static void pump(struct collector *c)
{
	struct message *m = c->late, *next;

	queue_append(c->rec->queue, &m);
	sampler_snapshot(c->sampler);
	c->late = queue_append(c->rec->queue, &m);
	decoder_turn(c->decoder);
	for (; m != c->late; m = next) {
		next = m->next;
		/* Samples may have to be written before m is dealt with. */
		phys_taken(c->phys, m);
		take_samples(c, m->time_ns);
		phys_taken(c->phys, next);
		on_message(c, m);
	}
	phys_taken(c->phys, c->late);
	take_samples(c, c->late ? c->late->time_ns : UINT64_MAX);
}

void collector_pump(struct collector *c)
{
	pump(c);
	/* Then all that was there when this began is dealt with. */
	if (c->late)
		pump(c);
}

uint64_t collector_room(const struct collector *c)
{
	return sampler_room(c->sampler);
}

/* Bring what was spent up to date. */
static void account(struct collector *c)
{
	struct account_faults f = c->ended;

	c->ended = (struct account_faults){ 0 };
	account_look(&c->account);
	each_task(c, visit_faults, &f);
	c->repeated += f.count[PAGE_REPEATED];
	account_window(&c->account, &f);
	keep_expire(c->rec);
}

static void cut(struct collector *c)
{
	struct sampled_task first = { .known = 1 };
	uint64_t now = moca_now_ns();

	collector_pump(c);
	each_task(c, visit_write, &now);
	/* Lost samples of an unknown task: a chunk of task 0 without records tells them. */
	first.lost = c->lost;
	c->lost = 0;
	write_task(c, &first, now, 0);
	phys_forget_all(c->rec);
	c->interval++;
	c->filled += c->fills;
	c->fills = 0;
	c->begin_ns = now;
}

/* The pump that a sweep makes between its slices frees none that it has listed. */
static uint64_t let_go(struct collector *c, unsigned int level)
{
	struct message *m;
	uint64_t pages;
	int done;

	c->sweeping = 1;
	pages = sweep_all(c->rec, c, level, &done);
	c->sweeping = 0;
	/* Else the last sample is what goes on. */
	if (done >= 0)
		c->levels[done]++;
	while ((m = c->gone)) {
		c->gone = m->next;
		on_message(c, m);
	}
	return pages;
}

static void visit_turn(struct collector *c, struct sampled_task *t, void *arg)
{
	if (t->seen && t->known && t->mm && pace_shares_cpu(t->tid))
		pace_offer(t->mm, t->id, t->cpu);
	t->seen = 0;
}

static void sweep(struct collector *c, unsigned int level, double expected)
{
	uint64_t before, after, pages, cpu;

	cut(c);
	pace_learn(c->rec);
	cpu = pace_zappers_cpu_ns(c->rec);
	each_task(c, visit_turn, NULL);
	pace_turn(&c->account);
	before = moca_now_ns();
	pages = let_go(c, level);
	/* What it brings back is due now as well. */
	sweep_ask_thaw(c->rec, before);
	after = moca_now_ns();
	account_sweep(&c->account, before, after - before,
		      estimate_since(pace_zappers_cpu_ns(c->rec), cpu),
		      expected);
	moca_debug("interval %lu: %lu pages let go in %.1f ms, level %u",
		   c->interval, pages, (after - before) / 1e6, level);
}

static void halt(void *arg)
{
	struct collector *c = arg;

	sampler_stop(c->sampler);
}

static int second(void *arg, uint64_t now, struct status_now *s)
{
	struct collector *c = arg;

	account(c);
	sweep_ask_thaw(c->rec, now);
	s->records = c->samples;
	s->slowdown = account_slowdown(&c->account);
	s->intervals = c->interval + 1;
	s->lost = c->cert.lost;
	return 1;
}

static void describe(void *arg, uint64_t now)
{
	struct collector *c = arg;
	struct moca_meta *m = c->recording.meta;
	int failed = c->recording.failed;
	const struct moca_certificate k = certificate_after(&c->cert, failed);

	account_describe(&c->account, m);
	stacks_describe(c->stacks, m);
	/* The one that goes on counts as well. */
	moca_meta_set(m, "intervals", "%lu", c->interval + !c->over);
	sample_describe(c->levels, m, c->shares);
	if (failed)
		certify_reason(c->blind, CERTIFICATE_FAILED);
	certify_describe(c->blind, &k, m);
}

/* By those that were written, once they are enough. */
static uint64_t waiting_bytes(void *arg)
{
	const struct collector *c = arg;
	uint64_t n = moca_writer_access_count(c->writer);
	double each = RECORD_BYTES;

	if (n >= SIZE_RECORDS)
		each = fmin(each, moca_writer_access_bytes(c->writer) / (double)n);
	return c->buffered * each;
}

static const struct recording_ops ops = {
	.waiting_bytes = waiting_bytes,
	.halt = halt,
	.second = second,
	.describe = describe,
};

static void wait_for_work(struct collector *c, uint64_t until)
{
	recording_wait(&c->recording, c->polls,
		       sampler_polls(c->sampler, c->polls), until);
	sampler_polled(c->sampler, c->polls);
}

void collector_run(struct collector *c, atomic_int *finished)
{
	struct recorder *rec = c->rec;
	int last;

	account_begin(&c->account);
	do {
		uint64_t now, next, at;
		int level;
		double pages = 0;

		/* Before the pump, so that nothing is left behind. */
		last = atomic_load(finished);
		collector_pump(c);
		now = moca_now_ns();
		next = c->recording.next_second_ns;
		at = pace_at(&c->account);
		if (rec->opt->zap && now + PREPARE_NS >= at)
			sweep_prepare(rec, now);
		if (rec->opt->zap && recording_goes_on(&c->recording) &&
		    now >= at) {
			if (account_due(&c->account))
				account(c);
			level = pace_level(&c->account, now, &pages);
			if (level >= 0)
				sweep(c, (unsigned int)level, pages);
		}
		now = moca_now_ns();
		recording_tick(&c->recording, now);
		if (rec->opt->zap && recording_goes_on(&c->recording)) {
			at = pace_next(&c->account, now, pages);
			if (at > now + PREPARE_NS)
				at -= PREPARE_NS;
			next = at < next ? at : next;
		}
		if (!last)
			wait_for_work(c, next);
	} while (!last);
	on_lost(c, NULL, sampler_untold(c->sampler));
	cut(c);
	c->over = 1;
	account(c);
	recording_end(&c->recording);
}

void collector_attached(struct collector *c)
{
	sampler_start(c->sampler);
}

void collector_detached(struct collector *c)
{
	sampler_stop(c->sampler);
}

int collector_create(struct collector **out, struct recorder *rec,
		     struct sampler *sampler, struct moca_writer *writer,
		     struct moca_meta *meta, struct task_clock *clock)
{
	struct collector *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->rec = rec;
	c->sampler = sampler;
	c->writer = writer;
	c->begin_ns = rec->start_ns;
	c->levels[0] = 1;
	c->text = text_new();
	c->decoder = c->text ? decoder_new(c->text) : NULL;
	c->phys = phys_new(c->text, rec->queue);
	c->stacks = stacks_new(c->text, rec->opt->stack_bytes);
	c->blind = certify_new();
	c->polls = calloc(sampler_cpus(sampler) + 2, sizeof(*c->polls));
	if (recording_init(&c->recording, rec, meta, writer, &ops, c) ||
	    !c->decoder || !c->phys || !c->stacks || !c->blind || !c->polls) {
		collector_destroy(c);
		return -ENOMEM;
	}
	account_init(&c->account, rec, clock);
	moca_meta_set(meta, "phys_source", "%s",
		      phys_addresses(c->phys) ? "pagemap" : "none");
	moca_meta_set(meta, "node_source", "%s",
		      "kernel");
	if (!phys_addresses(c->phys))
		moca_meta_add(meta, "note",
			      "physical addresses are unknown: they need "
			      "CAP_SYS_ADMIN (run as root to have them)");
	*out = c;
	return 0;
}

void collector_destroy(struct collector *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct sampled_task *t = c->tasks[i], *next; t; t = next) {
			next = t->next;
			free(t->recs);
			free(t);
		}
	decoder_free(c->decoder);
	stacks_free(c->stacks);
	text_free(c->text);
	phys_free(c->phys);
	certify_free(c->blind);
	recording_free(&c->recording);
	free(c->polls);
	account_free(&c->account);
	sampler_close(c->sampler);
	free(c);
}

void collector_totals(const struct collector *c, struct collector_totals *t)
{
	memset(t, 0, sizeof(*t));
	t->certificate = certificate_after(&c->cert, c->recording.failed);
	t->blind = c->blind;
	t->tasks = c->rec->task_count;
	t->intervals = c->interval;
	t->filled = c->filled;
	t->bytes = moca_writer_bytes(c->writer);
	t->repeated = c->repeated;
	t->shares = c->shares;
}

void collector_cost(struct collector *c, char *buf, size_t size)
{
	account_end(&c->account);
	account_describe(&c->account, c->recording.meta);
	account_sentence(&c->account, buf, size);
}
