// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/native/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/native/space.h"
#include "collect/native/tasks.h"
#include "collect/native/witness.h"
#include "collect/perf/decode.h"
#include "collect/perf/text.h"
#include "collect/run/certificate.h"
#include "collect/run/control.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"
#include "lib/format/meta.h"
#include "lib/format/writer.h"

/* As in collect/fault: the bits below are noise, and a sixth of a record. */
#define TIME_GRAIN 32ull
/* A sample adds that much of a false fault to one that comes anyway. */
#define NATURAL_SHARE 0.4
/* Gaps of single mappings that a process is told of. */
#define GAPS_MAX 64
/* Of a task that is not told of yet. */
#define EARLY_RECORDS 64
/* A mapping of a file that is told by itself, bytes. */
#define LARGE_FILE (1ull << 20)

struct native_collector {
	struct recorder *rec;
	struct recording recording;
	struct sampler *sampler;
	struct text *text;
	struct decoder *decoder;
	struct control control;
	struct native_tasks tasks;
	struct native_witness witness;
	struct moca_certificate cert;
	struct pollfd *polls;	/* one per ring, and two */
	uint64_t samples;
	uint64_t apart;		/* samples of Moca's own and the kernel's memory */
	uint64_t untraced;	/* of tasks that nobody told of */
	uint64_t refused;	/* bytes that are not watched, at most at once */
	double returns;		/* faults of the interval that goes on */
	uint64_t account_ns, cpu_ns, stopped_ns;	/* accounted already */
	struct message *gone, **gone_tail;	/* ends that came during a sweep */
	int sweeping, over, halted;
};

/* --- samples -------------------------------------------------------------------- */

/* The recorder must not read what is protected, which would open it: files only. */
static uint8_t type_of(const struct native_collector *c,
		       const struct native_task *t, const struct sample *s)
{
	const struct native_space *sp = t->space;
	int open = !sp || native_space_state(sp, s->ip) != NATIVE_PROTECTED;
	const struct code_space space = { .id = sp ? sp->space.id : -1,
					  .pid = open ? (pid_t)s->pid : 0 };

	return decoder_type(c->decoder, &space, s);
}

/* Counts the page; what the fault was. */
static enum page_fault see(struct native_collector *c, struct native_space *s,
			   uint64_t addr)
{
	enum native_state state = native_space_state(s, addr);
	enum page_fault f;
	struct page_block *b;
	unsigned int p = (addr >> 12) % BLOCK_PAGES;

	if (!s->pages)
		s->pages = pageset_new();
	if (!s->pages)
		return PAGE_REPEATED;
	f = pageset_fault(s->pages, addr);
	native_witness_sample(&c->witness, s, addr);
	if (state == NATIVE_APART)
		c->apart++;
	if (f != PAGE_TOUCHED)
		return f != PAGE_REPEATED || state == NATIVE_PROTECTED ? f :
								PAGE_AGAIN;
	if (state != NATIVE_PROTECTED && state != NATIVE_UNKNOWN) {
		c->cert.pages_other += state != NATIVE_APART;
		return f;
	}
	b = pageset_block(s->pages, addr, 0);
	c->cert.pages_seen++;
	/* The witness may have counted it before. */
	if (!b || !(b->exists[p / 64] >> (p % 64) & 1))
		c->cert.pages_touched++;
	return f;
}

/* The task is known. */
static void count(struct native_collector *c, struct native_task *t,
		  const struct moca_access *a)
{
	enum page_fault f = t->space ? see(c, t->space, a->addr) : PAGE_TOUCHED;

	if (f == PAGE_REPEATED) {
		t->repeated++;
		own_faults_add(c->rec->own_faults, &t->own, t->pid, t->tid,
			       a->time_ns);
	} else {
		t->natural++;
	}
	if (f == PAGE_REPEATED || f == PAGE_TOUCHED)
		c->returns++;
}

static void on_sample(struct native_collector *c, const struct sample *s)
{
	struct native_task *t = native_task(&c->tasks, (pid_t)s->tid);
	struct moca_access a = {
		.addr = s->addr, .ip = s->ip, .cpu = s->cpu,
		.time_ns = s->time_ns & ~(TIME_GRAIN - 1),
		.node = MOCA_NODE_UNKNOWN, .type = s->type, .mode = s->mode,
		.weight = 1,
	};

	if (!t || t->ignore || s->addr >= USER_END)
		return;
	/* Before it is told of, a task runs no code but ours (inject.c). */
	if (!t->known && s->mode == MOCA_MODE_USER)
		return;
	t->pid = (pid_t)s->pid;
	c->samples++;
	if (a.type == MOCA_ACCESS_UNKNOWN)
		a.type = type_of(c, t, s);
	if (t->known)
		count(c, t, &a);
	else if (t->count >= EARLY_RECORDS)
		c->untraced++;
	if (t->known || t->count < EARLY_RECORDS)
		native_task_access(&c->tasks, t, &a);
}

static void take_samples(struct native_collector *c, uint64_t until)
{
	struct native_task *last = NULL;
	uint64_t lost;
	struct sample s;
	int got;

	for (unsigned int cpu = 0; cpu < sampler_cpus(c->sampler); cpu++)
		while ((got = sampler_next(c->sampler, cpu, until, &s, &lost))) {
			if (got == 1) {
				on_sample(c, &s);
				last = native_task(&c->tasks, (pid_t)s.tid);
				continue;
			}
			native_tasks_lose(&c->tasks, last, lost);
		}
}

/* --- messages ------------------------------------------------------------------- */

struct by_id {
	uint32_t id;
	struct native_space *space;
};

static void visit_by_id(struct native_task *t, void *arg)
{
	struct by_id *b = arg;

	if (t->known && t->id == b->id)
		b->space = t->space;
}

struct tell_args {
	struct native_collector *c;
	struct native_space *s;
	struct native_task *t;
	enum moca_change_type type;	/* the others are left out */
	uint64_t time_ns;
};

static void tell_one(void *arg, const struct moca_change *e, int ended)
{
	struct tell_args *a = arg;
	struct moca_change change = *e;

	if (e->type != a->type)
		return;
	change.time_ns = a->time_ns;
	text_note(a->c->text, a->s->space.id, e);
	native_task_change(&a->c->tasks, a->t, &change);
}

static void forget_ended(void *arg, const struct moca_change *e, int ended)
{
	struct native_space *s = arg;

	if (ended && s->pages)
		pageset_clear(s->pages, e->addr, e->addr + e->len);
}

/*
 * What is mapped anew may have been so since the last look (0: since the task's last
 * event), and what is gone until now: accesses in between are of it.
 */
static void tell_changes(struct native_collector *c, struct native_space *s,
			 struct native_task *t, const struct native_maps *before,
			 const struct native_maps *now, uint64_t since,
			 uint64_t until)
{
	struct tell_args a = { c, s, t, MOCA_CHANGE_MMAP, since };

	native_maps_differ(before, now, t->pid, tell_one, &a);
	a.type = MOCA_CHANGE_MUNMAP;
	a.time_ns = until;
	native_maps_differ(before, now, t->pid, tell_one, &a);
}

static void gap(struct native_collector *c, struct native_task *t,
		uint64_t time_ns, uint64_t addr, uint64_t len, const char *why)
{
	const struct moca_change e = {
		.type = MOCA_CHANGE_GAP, .time_ns = time_ns, .addr = addr,
		.len = len, .parent = MOCA_NO_TASK, .name = why,
	};

	native_task_change(&c->tasks, t, &e);
}

static int is_new(const struct native_maps *before, const struct vma *v)
{
	const struct vma *o = maps_at(&before->list, v->start);

	return !o || o->start != v->start || o->ino != v->ino ||
	       o->prot != v->prot;
}

/* Mappings that are new and cannot be watched: by name and size. */
static void tell_refused(struct native_collector *c, struct native_space *s,
			 struct native_task *t, const struct native_maps *before,
			 uint64_t time_ns)
{
	const struct native_maps *m = &s->now;
	uint64_t bytes = 0, small = 0, n = 0;
	char text[300];

	for (size_t i = 0; i < m->list.count; i++) {
		const struct vma *v = &m->list.items[i];
		uint64_t len = v->end - v->start;

		if (m->states[i] != NATIVE_REFUSED && m->states[i] != NATIVE_TAKEN)
			continue;
		bytes += len;
		if (!is_new(before, v) || s->gaps >= GAPS_MAX)
			continue;
		if (len < LARGE_FILE && m->states[i] == NATIVE_REFUSED) {
			small += len;
			n++;
			continue;
		}
		s->gaps++;
		snprintf(text, sizeof(text), "%.200s, %.1f MB: %s: first touches "
			 "only", v->name[0] ? v->name : "anonymous memory",
			 (double)len / 1e6, m->states[i] == NATIVE_TAKEN ?
			 "another userfaultfd has it" :
			 "the kernel does not protect such memory");
		gap(c, t, time_ns, v->start, len, text);
	}
	if (n && s->gaps++ < GAPS_MAX) {
		snprintf(text, sizeof(text), "%lu mapping%s of files, %.1f MB in "
			 "all: the kernel does not protect such memory: first "
			 "touches only", n, PLURAL(n), (double)small / 1e6);
		gap(c, t, time_ns, 0, 0, text);
	}
	c->refused = bytes > c->refused ? bytes : c->refused;
}

/* The supervisor has made it; its mappings are told, or follow from its parent's. */
static void first_look(struct native_collector *c, struct native_space *s,
		       struct native_task *t, const struct native_space *parent,
		       uint64_t time_ns)
{
	const struct native_maps none = { 0 };

	s->pid = t->pid;
	s->looked_ns = time_ns;
	if (!s->told && parent && parent->told) {
		tell_changes(c, s, t, &parent->now, &s->now, time_ns, time_ns);
		text_fork(c->text, s->space.id, parent->space.id);
	} else if (!s->told) {
		tell_changes(c, s, t, &none, &s->now, time_ns, time_ns);
	}
	s->told = 1;
	tell_refused(c, s, t, parent ? &parent->now : &none, time_ns);
}

static void on_event(struct native_collector *c, struct message *m)
{
	struct native_task *t = native_task(&c->tasks, (pid_t)m->event.tid);
	struct by_id parent = { m->event.parent, NULL };
	uint64_t time_ns = m->event.time_ns;
	struct native_space *s;
	int fork = m->event.type == MOCA_CHANGE_TASK_START &&
		   m->event.flags & MOCA_TASK_FORK;

	if (!t || c->recording.failed) {
		if (!t)
			queue_lose(c->rec->queue, 1);
		message_free(m);
		return;
	}
	s = t->space;
	if (s)
		text_note(c->text, s->space.id, &m->event);
	native_task_event(&c->tasks, t, m);
	/* Pairs with the supervisor's store. */
	if (fork && s &&
	    atomic_load_explicit(&s->ready, memory_order_acquire)) {
		native_task_each(&c->tasks, visit_by_id, &parent);
		first_look(c, s, t, parent.space, time_ns);
	}
}

static void on_task(struct native_collector *c, const struct message *m)
{
	struct native_space *s = m->space ? native_space_of(m->space) : NULL;
	struct native_task *t;

	if (m->former)
		native_task_end(&c->tasks, m->former, m->time_ns);
	t = native_task(&c->tasks, m->tid);
	if (!t) {
		queue_lose(c->rec->queue, 1);
		return;
	}
	/* What it did before an exec was in other memory. */
	if (t->known && t->space != s)
		native_task_write(&c->tasks, t, m->time_ns, 1);
	t->id = m->task;
	t->pid = m->pid;
	t->space = s;
	/* The kernel writes a new task's number before it is told of. */
	for (size_t i = 0; !t->known && i < t->count; i++)
		count(c, t, &t->recs[i]);
	t->known = 1;
}

struct forget {
	const struct native_space *s;
	struct native_collector *c;
};

static void visit_forget(struct native_task *t, void *arg)
{
	const struct forget *f = arg;

	if (t->space != f->s)
		return;
	native_task_write(&f->c->tasks, t, moca_now_ns(), 1);
	t->space = NULL;
}

static void forget_space(struct native_collector *c, struct native_space *s)
{
	struct forget f = { s, c };

	native_task_each(&c->tasks, visit_forget, &f);
	native_witness_forget(&c->witness, s);
	text_forget(c->text, s->space.id);
	space_free(c->rec, &s->space);
}

/* s->now is new. */
static void looked(struct native_collector *c, struct native_space *s,
		   struct native_task *t, struct native_maps *before,
		   uint64_t now_ns)
{
	tell_changes(c, s, t, before, &s->now, s->looked_ns, now_ns);
	native_maps_differ(before, &s->now, t->pid, forget_ended, s);
	tell_refused(c, s, t, before, now_ns);
	native_maps_free(before);
	s->looked_ns = now_ns;
}

static void tell_unseen(void *arg, struct native_space *s, uint64_t start,
			uint64_t end)
{
	struct native_collector *c = arg;
	struct native_task *t = native_task_of(&c->tasks, s);

	if (s->unseen_told || !t)
		return;
	s->unseen_told = 1;
	gap(c, t, s->looked_ns, start, end - start,
	    "pages were touched that have no record of this interval: by the kernel "
	    "without a fault (direct I/O, process_vm_readv, io_uring), or as they "
	    "were protected (the first of the process is told)");
}

/* The supervisor's, at the end of a process. Samples until then are in. */
static void last_look(struct native_collector *c, struct message *m)
{
	struct native_space *s = native_space_of(m->space);
	struct native_task *t = native_task_of(&c->tasks, s);
	struct native_maps before;

	if (!s->pages)
		s->pages = pageset_new();
	pthread_mutex_lock(&s->lock);
	before = s->now;
	if (s->last.list.count) {
		s->now = s->last;
		memset(&s->last, 0, sizeof(s->last));
	} else {
		memset(&before, 0, sizeof(before));
	}
	pthread_mutex_unlock(&s->lock);
	if (!s->pages || !t || !before.list.count) {
		native_maps_free(&before);
		return;
	}
	native_witness_begin(&c->witness);
	native_witness_look(&c->witness, s);
	for (size_t i = 0; i < m->extent_count; i++)
		native_witness_add(&c->witness, s, m->extents[i].start,
				   m->extents[i].end);
	looked(c, s, t, &before, m->time_ns);
	s->told = 1;
	native_witness_judge(&c->witness, &c->cert, tell_unseen, c);
}

/* In their order: a last look is told of a task that is there. */
static void on_end(struct native_collector *c, struct message *m)
{
	struct native_task *t;

	switch (m->kind) {
	case MSG_WITNESS:
		last_look(c, m);
		break;
	case MSG_TASK_END:
		/* Since a sweep began another may have taken its number. */
		t = native_task(&c->tasks, m->tid);
		if (t && t->id == m->task)
			native_task_end(&c->tasks, m->tid, m->time_ns);
		break;
	default:
		forget_space(c, native_space_of(m->space));
		break;
	}
}

static void on_message(struct native_collector *c, struct message *m)
{
	struct native_task *t;

	switch (m->kind) {
	case MSG_EVENT:
		on_event(c, m);
		return;
	case MSG_TASK:
		on_task(c, m);
		break;
	case MSG_IGNORE:
		t = native_task(&c->tasks, m->tid);
		if (t)
			t->ignore = 1;
		break;
	case MSG_WITNESS:
	case MSG_TASK_END:
	case MSG_SPACE_END:
		if (!c->sweeping) {
			on_end(c, m);
			break;
		}
		m->next = NULL;
		*c->gone_tail = m;
		c->gone_tail = &m->next;
		return;
	case MSG_PREFILL:
	case MSG_DROP:
		break;		/* of memory that is moved */
	}
	message_free(m);
}

static void pump(struct native_collector *c, uint64_t until)
{
	struct message *m = queue_take(c->rec->queue), *next;

	/* Messages first: samples before them are in the rings by now. */
	sampler_snapshot(c->sampler);
	decoder_turn(c->decoder);
	for (; m; m = next) {
		next = m->next;
		take_samples(c, m->time_ns);
		on_message(c, m);
	}
	take_samples(c, until);
}

/* --- sweeps --------------------------------------------------------------------- */

struct look {
	struct native_collector *c;
	struct native_space *s;
};

static void on_touched(void *arg, uint64_t start, uint64_t end)
{
	const struct look *l = arg;

	native_witness_add(&l->c->witness, l->s, start, end);
}

static void sweep_space(struct native_collector *c, struct native_space *s,
			uint64_t now_ns)
{
	struct look l = { c, s };
	struct native_task *t = native_task_of(&c->tasks, s);
	struct native_maps before = s->now, now;
	int err;

	if (!s->pages)
		s->pages = pageset_new();
	if (!s->pages || !t)
		return;
	pthread_mutex_lock(&s->lock);
	if (s->last.list.count) {
		/* The supervisor has looked since: its message comes first. */
		pthread_mutex_unlock(&s->lock);
		return;
	}
	native_witness_look(&c->witness, s);
	err = native_space_protect(s, s->pid ? s->pid : t->pid, &before,
				   on_touched, &l, &now);
	if (!err)
		s->now = now;
	pthread_mutex_unlock(&s->lock);
	if (err)
		s->gone |= err == -ESRCH;
	else
		looked(c, s, t, &before, now_ns);
}

static int is_swept(struct space *space)
{
	struct native_space *s = native_space_of(space);

	/* Pairs with the supervisor's store. */
	return atomic_load_explicit(&s->ready, memory_order_acquire) && s->told &&
	       !s->gone;
}

static void sweep_all(struct native_collector *c, uint64_t now_ns)
{
	struct space *s;

	/* None is freed meanwhile but by us; new ones come in front. */
	pthread_mutex_lock(&c->rec->space_lock);
	s = c->rec->spaces;
	pthread_mutex_unlock(&c->rec->space_lock);
	for (; s; s = s->next)
		if (is_swept(s))
			sweep_space(c, native_space_of(s), now_ns);
}

static void sweep(struct native_collector *c)
{
	uint64_t now = moca_now_ns();
	struct message *m, *next;
	double returns;

	pump(c, now);
	returns = c->returns;
	c->returns = 0;
	native_tasks_cut(&c->tasks, now);
	c->sweeping = 1;
	c->gone = NULL;
	c->gone_tail = &c->gone;
	native_witness_begin(&c->witness);
	sweep_all(c, now);
	/* Samples until the look's end tell what it saw. */
	pump(c, UINT64_MAX);
	native_witness_judge(&c->witness, &c->cert, tell_unseen, c);
	c->sweeping = 0;
	for (m = c->gone; m; m = next) {
		next = m->next;
		on_message(c, m);
	}
	c->gone = NULL;
	control_swept(&c->control, now, returns, 1);
	moca_debug("interval %lu: %.0f faults; swept in %.1f ms",
		   c->tasks.interval, returns, (moca_now_ns() - now) / 1e6);
}

/* --- what it costs -------------------------------------------------------------- */

struct busiest {
	double repeated, natural;
};

static void visit_busiest(struct native_task *t, void *arg)
{
	struct busiest *b = arg;

	if (t->repeated + t->natural > b->repeated + b->natural) {
		b->repeated = (double)t->repeated;
		b->natural = (double)t->natural;
	}
	t->repeated = t->natural = 0;
}

/* So long tasks stood still for us so far, ns. */
static uint64_t stopped(const struct native_collector *c)
{
	uint64_t sum = 0;

	for (int k = COST_EXEC; k <= COST_STOP; k++)
		sum += atomic_load(&c->rec->costs.kind[k].ns);
	return sum;
}

static void account(struct native_collector *c)
{
	uint64_t cpu = moca_thread_cpu_ns(), now = moca_now_ns();
	uint64_t still = stopped(c);
	struct control_window w = { 0 };
	struct busiest b = { 0, 0 };

	native_task_each(&c->tasks, visit_busiest, &b);
	w.busiest_ns = b.repeated * c->control.fault_ns +
		       b.natural * c->control.natural_ns +
		       (double)estimate_since(still, c->stopped_ns) +
		       /* All CPUs are taken to be busy with the program. */
		       (double)estimate_since(cpu, c->cpu_ns) / c->control.cpus;
	w.wall_ns = (double)estimate_since(now, c->account_ns);
	control_settle(&c->control, &w);
	control_returned(&c->control, now, b.repeated, 1);
	c->cpu_ns = cpu;
	c->account_ns = now;
	c->stopped_ns = still;
}

static int second(void *arg, uint64_t now, struct status_now *s)
{
	struct native_collector *c = arg;

	account(c);
	s->records = c->samples;
	s->slowdown = control_slowdown(&c->control, now);
	s->intervals = c->tasks.interval + 1;
	s->lost = c->cert.lost;
	return 1;
}

/* Nothing more is written: the program's memory is its own again. */
static void halt(void *arg)
{
	struct native_collector *c = arg;
	struct space *s;

	sampler_stop(c->sampler);
	c->halted = 1;
	pthread_mutex_lock(&c->rec->space_lock);
	s = c->rec->spaces;
	pthread_mutex_unlock(&c->rec->space_lock);
	for (; s; s = s->next) {
		struct native_space *n = native_space_of(s);

		if (!is_swept(s))
			continue;
		pthread_mutex_lock(&n->lock);
		if (n->uffd >= 0)
			close(n->uffd);
		n->uffd = -1;
		pthread_mutex_unlock(&n->lock);
	}
}

static void describe(void *arg, uint64_t now)
{
	struct native_collector *c = arg;
	struct moca_meta *m = c->recording.meta;
	const struct moca_certificate k = certificate_after(
		&c->cert, c->recording.failed);

	if (control_wall(&c->control, now).told)
		moca_meta_set(m, "slowdown_estimate", "%.4f",
			      control_slowdown(&c->control, now));
	moca_meta_set(m, "fault_ns", "%.0f", c->control.fault_ns);
	moca_meta_set(m, "intervals", "%lu", c->tasks.interval + !c->over);
	if (c->recording.failed)
		moca_meta_set(m, "certificate.reason", "%s", CERTIFICATE_FAILED);
	certificate_describe(&k, m);
	moca_meta_set(m, "native.looked_at", "%lu", c->witness.touched);
	moca_meta_set(m, "native.unseen", "%lu", c->witness.unseen);
	moca_meta_set(m, "native.unlooked", "%lu", c->witness.unlooked);
	moca_meta_set(m, "native.unwatched_bytes", "%lu", c->refused);
	moca_meta_set(m, "native.untraced", "%lu", c->untraced);
	if (c->witness.lost && !moca_meta_get(m, "native.lost")) {
		moca_meta_set(m, "native.lost", "%lu", c->witness.lost);
		moca_meta_add_loss(m, "there was no memory to look at all "
				   "touched pages: some that have no record may "
				   "not be counted");
	}
}

static const struct recording_ops ops = {
	.halt = halt,
	.second = second,
	.describe = describe,
};

static void wait_for_work(struct native_collector *c, uint64_t until)
{
	recording_wait(&c->recording, c->polls,
		       sampler_polls(c->sampler, c->polls), until);
	sampler_polled(c->sampler, c->polls);
}

static void visit_untraced(struct native_task *t, void *arg)
{
	uint64_t *sum = arg;

	*sum += t->known ? 0 : t->count;
}

void native_collector_run(struct native_collector *c, atomic_int *finished)
{
	uint64_t now, next;
	int last;

	c->account_ns = c->control.last_sweep_ns = moca_now_ns();
	do {
		/* Before the pump, so that nothing is left behind. */
		last = atomic_load(finished);
		pump(c, UINT64_MAX);
		now = moca_now_ns();
		if (recording_goes_on(&c->recording) && !last &&
		    control_due(&c->control, now, c->returns, 1)) {
			account(c);
			if (control_due(&c->control, now, c->returns, 1))
				sweep(c);
		}
		now = moca_now_ns();
		recording_tick(&c->recording, now);
		next = c->recording.next_second_ns;
		if (recording_goes_on(&c->recording)) {
			uint64_t at = control_next(&c->control, now, c->returns,
						   1);

			next = at < next ? at : next;
		}
		if (!last)
			wait_for_work(c, next);
	} while (!last);
	native_tasks_lose(&c->tasks, NULL, sampler_untold(c->sampler));
	native_tasks_cut(&c->tasks, moca_now_ns());
	native_task_each(&c->tasks, visit_untraced, &c->untraced);
	c->over = 1;
	account(c);
	recording_end(&c->recording);
}

void native_collector_summary(struct native_collector *c)
{
	const struct moca_certificate k = certificate_after(
		&c->cert, c->recording.failed);
	const struct estimate e = control_wall(&c->control, moca_now_ns());
	uint32_t tasks = c->rec->task_count;
	uint64_t intervals = c->tasks.interval;
	char seen[512], cost[96], unseen[128] = "";

	estimate_wall(&e, cost, sizeof(cost));
	if (c->witness.unseen)
		snprintf(unseen, sizeof(unseen), " of %lu touches that were "
			 "looked at %lu had no record;", c->witness.touched,
			 c->witness.unseen);
	moca_say("%s: %s, %lu record%s, %lu lost, %lu of %lu chunk%s lossy;%s %u "
		 "task%s, %lu interval%s, %.1f MB; %s, of faults, sweeps and "
		 "stops; on native memory.", c->rec->dir,
		 certificate_sentence(&k, c->recording.failed ?
			CERTIFICATE_FAILED : NULL, seen, sizeof(seen)),
		 k.records, PLURAL(k.records), k.lost, k.lossy_chunks, k.chunks,
		 PLURAL(k.chunks), unseen, tasks, PLURAL(tasks), intervals,
		 PLURAL(intervals), (double)moca_writer_bytes(
			c->recording.writer) / 1e6, cost);
}

int native_collector_create(struct native_collector **out, struct recorder *rec,
			    struct sampler *sampler, struct moca_writer *writer,
			    struct moca_meta *meta, double price_ns)
{
	struct native_collector *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->rec = rec;
	c->tasks.recording = &c->recording;
	c->tasks.cert = &c->cert;
	c->tasks.begin_ns = rec->start_ns;
	c->text = text_new();
	c->decoder = c->text ? decoder_new(c->text) : NULL;
	c->polls = calloc(sampler_cpus(sampler) + 2, sizeof(*c->polls));
	if (recording_init(&c->recording, rec, meta, writer, &ops, c) ||
	    !c->decoder || !c->polls) {
		native_collector_destroy(c);
		return -ENOMEM;
	}
	c->sampler = sampler;
	control_init(&c->control, rec->opt->budget, rec->opt->interval_ns,
		     price_ns, (unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
		     rec->start_ns);
	c->control.natural_ns = price_ns * NATURAL_SHARE;
	control_grow(&c->control, (double)rec->opt->credit_ns,
		     rec->opt->shortest_ns);
	*out = c;
	return 0;
}

void native_collector_destroy(struct native_collector *c)
{
	if (!c)
		return;
	native_tasks_free(&c->tasks);
	native_witness_free(&c->witness);
	decoder_free(c->decoder);
	text_free(c->text);
	recording_free(&c->recording);
	free(c->polls);
	sampler_close(c->sampler);
	free(c);
}
