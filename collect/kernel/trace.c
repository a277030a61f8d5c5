// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/kernel/heat.h"
#include "collect/kernel/task.h"
#include "lib/base/identity.h"
#include "lib/format/writer.h"

/* Records kept for all tasks before those with many are written early. */
#define ALL_RECORDS 4000000u
#define MANY_RECORDS 256u

static const char *const gap_names[] = {
	[MOCA_GAP_MAPPING] = "a mapping that must not be made to fault: its "
			     "pages are seen once at best",
	[MOCA_GAP_NOTIFIER] = "its memory is shared with a device or a virtual "
			      "machine: real faults only",
	[MOCA_GAP_RIGHTS] = "it runs with other rights: not traced",
	[MOCA_GAP_BUSY] = "another recording has this process: not traced",
	[MOCA_GAP_MEMORY] = "no memory to follow it: not traced",
	[MOCA_GAP_HELD] = "the rings were full: pages of this interval are not "
			  "seen again",
};

struct kernel_trace *kernel_trace_new(const struct kernel_trace_options *o)
{
	struct kernel_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->o = *o;
	t->begin_ns = t->now_ns = o->start_ns;
	return t;
}

void kernel_trace_free(struct kernel_trace *t)
{
	if (!t)
		return;
	kernel_task_free_all(t);
	free(t->last);
	free(t->early);
	free(t);
}

static void copy_comm(char out[17], const char comm[16])
{
	memcpy(out, comm, 16);
	out[16] = 0;
}

static void read_link(uint32_t pid, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, buf, size - 1);
	buf[n > 0 ? n : 0] = 0;
}

/* --- tasks -------------------------------------------------------------------- */

static void tell_start(struct kernel_trace *t, struct ktask *k, uint64_t time,
		       uint32_t flags, uint32_t parent, const char *name)
{
	const struct moca_change e = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = time,
		.flags = flags, .parent = parent, .name = name,
	};

	kernel_task_event(t, k, &e);
}

/* What a new process has of the one that made it. */
static void inherit(struct kernel_trace *t, struct kproc *p,
		    const struct kproc *from, uint32_t flags)
{
	if (p->space)
		return;
	if (!from)
		p->space = kernel_space_new();
	else if (flags & MOCA_TASKF_VFORK)
		p->space = kernel_space_hold(from->space);
	else
		p->space = kernel_space_copy(from->space);
	if (!p->space)
		kernel_fail(t, -ENOMEM);
	if (from) {
		p->wanted = from->wanted;
		p->begun = from->begun;
	}
}

static void judge(struct kernel_trace *t, struct kproc *p, struct ktask *k,
		  uint64_t time, const char *path)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_GAP, .time_ns = time,
		.parent = MOCA_NO_TASK, .name = "left out by the user's choice",
	};

	p->wanted = !t->o.wanted || t->o.wanted(t->o.arg, (pid_t)p->pid, path);
	if (!p->wanted)
		kernel_task_event(t, k, &e);
}

static uint32_t start_flags(const struct kernel_trace *t,
			    const struct moca_rec_task *r, int known)
{
	uint32_t flags = 0;

	if (r->flags & MOCA_TASKF_REGISTERED) {
		if (t->o.attach)
			flags |= MOCA_TASK_ATTACHED;
		return known ? flags | MOCA_TASK_THREAD : flags;
	}
	return r->flags & MOCA_TASKF_THREAD ? MOCA_TASK_THREAD :
	       r->flags & MOCA_TASKF_VFORK  ? MOCA_TASK_VFORK :
					      MOCA_TASK_FORK;
}

static void on_task(struct kernel_trace *t, const struct moca_rec_task *r)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_TASK_START, .time_ns = r->rec.time_ns,
		.parent = MOCA_NO_TASK,
	};
	struct ktask *k = kernel_task(t, r->rec.tid), *parent;
	char comm[17], path[4096];
	struct kproc *p;

	if (k && !k->implicit) {	/* its end was lost */
		kernel_task_end(t, k, r->rec.time_ns, 0);
		k = NULL;
	}
	p = kernel_proc(t, r->pid, 1);
	parent = r->parent ? kernel_task(t, r->parent) : NULL;
	e.flags = start_flags(t, r, p && p->tasks);
	if (k && k->proc == p) {	/* it was seen before */
		k->implicit = 0;
		p->tasks++;
		return;
	}
	if (k)
		kernel_task_end(t, k, r->rec.time_ns, 0);
	k = p ? kernel_task_new(t, r->rec.tid, p) : NULL;
	if (!k) {
		kernel_fail(t, -ENOMEM);
		return;
	}
	inherit(t, p, parent ? parent->proc : NULL, r->flags);
	p->tasks++;
	if (parent)
		e.parent = parent->id;
	if (e.flags & MOCA_TASK_THREAD) {
		e.addr = r->stack;
		e.offset = r->tls;
	}
	copy_comm(comm, r->comm);
	e.name = comm;
	kernel_task_event(t, k, &e);
	if (!(r->flags & MOCA_TASKF_REGISTERED))
		return;
	if (!t->o.attach && r->pid == (uint32_t)t->o.root) {
		p->begun = 0;
	} else if (p->tasks == 1) {
		read_link(p->pid, path, sizeof(path));
		judge(t, p, k, r->rec.time_ns, path);
	}
}

/* A task that the module did not tell of: a thread that the kernel made. */
static struct ktask *make_implicit(struct kernel_trace *t, uint32_t tid,
				   uint32_t pid, uint64_t time)
{
	struct kproc *p = kernel_proc(t, pid, 1);
	char name[17] = "", path[96];
	struct ktask *k, *leader;
	FILE *f;

	if (!p)
		goto no_memory;
	leader = p->tasks ? kernel_task_of(t, p) : NULL;
	inherit(t, p, NULL, 0);
	k = p->space ? kernel_task_new(t, tid, p) : NULL;
	if (!k)
		goto no_memory;
	k->implicit = 1;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = 0;
	if (f)
		fclose(f);
	tell_start(t, k, time, leader ? MOCA_TASK_THREAD : MOCA_TASK_ATTACHED,
		   leader ? leader->id : MOCA_NO_TASK, name);
	return k;

no_memory:
	kernel_fail(t, -ENOMEM);
	return NULL;
}

static void on_exec(struct kernel_trace *t, const struct moca_rec_exec *r)
{
	struct moca_change e = {
		.type = MOCA_CHANGE_EXEC, .time_ns = r->rec.time_ns,
		.parent = MOCA_NO_TASK, .name = r->path,
	};
	struct ktask *k = kernel_task(t, r->old_tid), *leader;

	/* A thread that is not the leader takes the leader's number. */
	leader = kernel_task(t, r->rec.tid);
	if (k && leader && k != leader)
		kernel_task_end(t, leader, r->rec.time_ns, 0);
	if (k && k->tid != r->rec.tid)
		kernel_task_rename(t, k, r->rec.tid);
	if (!k)
		k = leader ? leader : make_implicit(t, r->rec.tid, r->pid,
						    r->rec.time_ns);
	if (!k)
		return;
	kernel_space_drop(k->proc->space);
	k->proc->space = kernel_space_new();
	if (!k->proc->space)
		kernel_fail(t, -ENOMEM);
	k->proc->begun = 1;
	kernel_task_event(t, k, &e);
	judge(t, k->proc, k, r->rec.time_ns, r->path);
}

static void on_end(struct kernel_trace *t, const struct moca_rec_exit *r)
{
	struct ktask *k = kernel_task(t, r->rec.tid);

	if (k)
		kernel_task_end(t, k, r->rec.time_ns, r->status);
}

static void on_name(struct kernel_trace *t, const struct moca_rec_name *r)
{
	struct ktask *k = kernel_task(t, r->rec.tid);
	char comm[17];
	const struct moca_change e = {
		.type = MOCA_CHANGE_NAME, .time_ns = r->rec.time_ns,
		.parent = MOCA_NO_TASK, .name = comm,
	};

	if (!k || !k->proc->begun)
		return;
	copy_comm(comm, r->comm);
	kernel_task_event(t, k, &e);
}

/* --- memory ------------------------------------------------------------------- */

struct piece_args {
	struct kernel_trace *t;
	struct ktask *k;
};

static void tell_piece(void *arg, const struct moca_rec_mapping *m,
		       uint64_t start, uint64_t end)
{
	struct piece_args *a = arg;
	struct moca_change e = {
		.type = MOCA_CHANGE_MMAP, .time_ns = m->rec.time_ns,
		.addr = start, .len = end - start, .prot = m->prot,
		.parent = MOCA_NO_TASK, .name = m->path,
	};
	const struct moca_identity of = moca_identity_of(
		m->path, moca_identity_dev(m->dev >> 20, m->dev & 0xfffff),
		m->inode, 0);

	e.memory = of.memory;
	e.dev = of.dev;
	e.ino = of.ino;
	if (kernel_space_own(a->k->proc->space, m))
		e.flags |= MOCA_MAP_MOCA;
	if (!(m->flags & MOCA_MAPF_UNSAFE))
		e.flags |= MOCA_MAP_CERTIFIED |
			   (a->t->o.injects ? MOCA_MAP_ZAPPED : 0);
	if (m->flags & MOCA_MAPF_STACK)
		e.flags |= MOCA_MAP_STACK;
	if (m->flags & MOCA_MAPF_SHARED)
		e.flags |= MOCA_MAP_SHARED;
	if (m->flags & MOCA_MAPF_FILE) {
		e.flags |= MOCA_MAP_FILE;
		e.offset = m->offset + (start - m->start);
	}
	if (!m->path[0])
		e.name = m->flags & MOCA_MAPF_STACK ? "[stack]" :
			 m->flags & MOCA_MAPF_HEAP  ? "[heap]" : "";
	kernel_task_event(a->t, a->k, &e);
}

static void on_mapping(struct kernel_trace *t,
		       const struct moca_rec_mapping *r)
{
	struct ktask *k = kernel_task(t, r->rec.tid);
	struct kproc *p = k ? k->proc : kernel_proc(t, r->pid, 0);
	struct piece_args a = { t, k };
	int err;

	if (!p || !p->begun || !p->space)
		return;
	if (!k)
		a.k = kernel_task_of(t, p);
	if (!a.k)
		return;
	err = kernel_space_map(p->space, r, tell_piece, &a);
	if (err)
		kernel_fail(t, err);
}

static void on_gap(struct kernel_trace *t, const struct moca_rec_gap *r)
{
	struct kproc *p = kernel_proc(t, r->pid, 0);
	struct ktask *k = kernel_task(t, r->rec.tid);
	struct moca_change e = {
		.type = MOCA_CHANGE_GAP, .time_ns = r->rec.time_ns,
		.parent = MOCA_NO_TASK, .name = "for a reason that this moca "
						"does not know",
	};

	if (r->reason == MOCA_GAP_HELD)
		t->held++;
	if (r->reason < sizeof(gap_names) / sizeof(*gap_names) &&
	    gap_names[r->reason])
		e.name = gap_names[r->reason];
	if (r->addr + r->len >= r->addr) {
		e.addr = r->addr;
		e.len = r->len;
	}
	if (!k && p)
		k = kernel_task_of(t, p);
	if (!k)		/* of all: as if of the first program */
		k = kernel_task(t, (uint32_t)t->o.root);
	if (k)
		kernel_task_event(t, k, &e);
}

/* The entry of a page, or the free one where it would be. */
static struct early *early_at(const struct kernel_trace *t, uint64_t page,
			      uint32_t pid)
{
	size_t i = (page * 31 + pid) * 0x9e3779b97f4a7c15ull >> 20;

	for (;; i++) {
		struct early *e = &t->early[i & (t->early_size - 1)];

		if (!e->page || (e->page == page && e->pid == pid))
			return e;
	}
}

static int grow_early(struct kernel_trace *t)
{
	struct kernel_trace from = { .early = t->early,
				     .early_size = t->early_size };
	size_t size = t->early_size ? 2 * t->early_size : 1024;
	struct early *p = calloc(size, sizeof(*p));

	if (!p)
		return -ENOMEM;
	t->early = p;
	t->early_size = size;
	for (size_t i = 0; i < from.early_size; i++)
		if (from.early[i].page)
			*early_at(t, from.early[i].page, from.early[i].pid) =
				from.early[i];
	free(from.early);
	return 0;
}

void kernel_trace_ahead(void *trace, const struct moca_rec_access *a)
{
	struct kernel_trace *t = trace;
	uint64_t page = (a->addr >> 12) + 1;
	struct early *e;

	if (2 * t->early_count >= t->early_size && grow_early(t)) {
		kernel_fail(t, -ENOMEM);
		return;
	}
	e = early_at(t, page, a->pid);
	t->early_count += !e->page;
	*e = (struct early){ page, a->pid };
}

static int is_early(const struct kernel_trace *t,
		    const struct moca_rec_access *a)
{
	return t->early_count &&
	       early_at(t, (a->addr >> 12) + 1, a->pid)->page;
}

/* Who touched the page, as far as can be known. */
static struct ktask *swept_by(struct kernel_trace *t, struct kproc *p,
			      uint64_t time)
{
	struct ktask *leader = kernel_task_of(t, p);

	if (p->tasks == 1 && leader && !leader->implicit && leader->tid)
		return leader;
	if (p->unknown)
		return p->unknown;
	p->unknown = kernel_task_alone(t, p);
	if (!p->unknown) {
		kernel_fail(t, -ENOMEM);
		return NULL;
	}
	tell_start(t, p->unknown, time, MOCA_TASK_THREAD,
		   leader ? leader->id : MOCA_NO_TASK, kernel_trace_unknown);
	return p->unknown;
}

static void on_access(struct kernel_trace *t, const struct moca_rec_access *r,
		      uint32_t cpu)
{
	int swept = (r->flags & MOCA_ACC_SWEPT) != 0;
	struct moca_access a = {
		.addr = r->addr, .ip = r->ip, .time_ns = r->rec.time_ns,
		.phys = r->pfn << 12, .node = r->node, .weight = 1,
		.cpu = (uint16_t)(cpu < UINT16_MAX ? cpu : UINT16_MAX),
		.mode = r->flags & (MOCA_ACC_KERNEL | MOCA_ACC_DIRECT) ?
				MOCA_MODE_KERNEL : MOCA_MODE_USER,
		.type = r->flags & MOCA_ACC_EXEC  ? MOCA_ACCESS_EXEC :
			r->flags & MOCA_ACC_WRITE ? MOCA_ACCESS_WRITE :
						    MOCA_ACCESS_READ,
	};
	struct ktask *k = swept ? NULL : kernel_task(t, r->rec.tid);
	struct kproc *p = swept ? kernel_proc(t, r->pid, 0) : NULL;

	if (swept && is_early(t, r))
		return;
	if (swept && p)
		k = p->begun && p->wanted ?
			    swept_by(t, p, r->rec.time_ns) : NULL;
	else if (!k)
		k = make_implicit(t, r->rec.tid, r->pid, r->rec.time_ns);
	if (!k || !k->proc->begun || !k->proc->wanted || !k->proc->space)
		return;
	if (swept) {
		a.type = MOCA_ACCESS_UNKNOWN;
		a.mode = MOCA_MODE_USER;
		a.cpu = k->cpu;
		t->swept++;
	} else {
		k->cpu = a.cpu;
	}
	t->has_phys |= r->pfn != 0;
	kernel_space_touch(k->proc->space, r->addr, !swept, &t->cert);
	if (r->flags & MOCA_ACC_FALSE) {
		k->repeated++;
		own_faults_add(*t->o.own_faults, &k->own, (pid_t)k->proc->pid,
			       (pid_t)k->tid, r->rec.time_ns);
	} else if (!swept) {
		k->natural++;
	}
	kernel_task_access(t, k, &a);
	t->last_id = k->id;
}

static void on_heat(struct kernel_trace *t, const struct moca_rec_heat *r)
{
	const struct kproc *p = kernel_proc(t, r->pid, 0);

	if (!p || (p->begun && p->wanted))
		kernel_heat_pages(t->o.heat, r);
}

/* --- what comes out of the rings ------------------------------------------------ */

static void visit_relieve(struct kernel_trace *t, struct ktask *k, void *arg)
{
	if (k->count >= MANY_RECORDS)
		kernel_task_write(t, k, t->now_ns, 1);
}

static int note_ring(struct kernel_trace *t, unsigned int ring)
{
	uint32_t *p;

	if (ring < t->last_count)
		return 0;
	p = realloc(t->last, (ring + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (unsigned int i = t->last_count; i <= ring; i++)
		p[i] = MOCA_NO_TASK;
	t->last = p;
	t->last_count = ring + 1;
	return 0;
}

struct by_id {
	uint32_t id;
	struct ktask *k;
};

static void visit_id(struct kernel_trace *t, struct ktask *k, void *arg)
{
	struct by_id *b = arg;

	if (k->id == b->id)
		b->k = k;
}

/* The module does not say whose: it is told of whom the ring told last. */
static void on_lost(struct kernel_trace *t, uint32_t id, uint64_t lost)
{
	struct by_id b = { id, NULL };

	if (id == MOCA_NO_TASK)
		b.id = t->last_id;
	kernel_task_each(t, visit_id, &b);
	if (b.k)
		b.k->lost += lost;
	else if (b.id < t->task_count)
		kernel_task_write_lost(t, b.id, lost);
}

void kernel_trace_lost(struct kernel_trace *t, uint64_t lost)
{
	on_lost(t, MOCA_NO_TASK, lost);
}

void kernel_trace_take(struct kernel_trace *t, const struct kernel_item *item)
{
	const struct moca_rec *r = item->rec;

	if (note_ring(t, item->ring)) {
		kernel_fail(t, -ENOMEM);
		return;
	}
	if (!r) {
		on_lost(t, t->last[item->ring], item->lost);
		return;
	}
	if (r->time_ns > t->now_ns)
		t->now_ns = r->time_ns;
	switch (r->type) {
	case MOCA_REC_ACCESS:
		on_access(t, (const void *)r, item->cpu);
		t->last[item->ring] = t->last_id;
		break;
	case MOCA_REC_TASK:
		on_task(t, (const void *)r);
		break;
	case MOCA_REC_EXEC:
		on_exec(t, (const void *)r);
		break;
	case MOCA_REC_EXIT:
		on_end(t, (const void *)r);
		break;
	case MOCA_REC_NAME:
		on_name(t, (const void *)r);
		break;
	case MOCA_REC_MAPPING:
		on_mapping(t, (const void *)r);
		break;
	case MOCA_REC_GAP:
		on_gap(t, (const void *)r);
		break;
	case MOCA_REC_HEAT:
		on_heat(t, (const void *)r);
		break;
	case MOCA_REC_LOOK:
		kernel_heat_look(t->o.heat, (const void *)r);
		break;
	}
	if (t->buffered > ALL_RECORDS)
		kernel_task_each(t, visit_relieve, NULL);
}

static void visit_write(struct kernel_trace *t, struct ktask *k, void *arg)
{
	kernel_task_write(t, k, *(uint64_t *)arg, 0);
}

void kernel_trace_cut(struct kernel_trace *t, uint64_t interval,
		      uint64_t end_ns)
{
	uint64_t end = end_ns ? end_ns : t->now_ns;

	t->interval = interval;
	if (end < t->begin_ns)
		end = t->begin_ns;
	kernel_task_each(t, visit_write, &end);
	t->begin_ns = end;
	t->interval = interval + 1;
	if (t->early_count)
		memset(t->early, 0, t->early_size * sizeof(*t->early));
	t->early_count = 0;
}

/* --- what is asked -------------------------------------------------------------- */

int kernel_trace_error(const struct kernel_trace *t)
{
	return t->error;
}

const struct moca_certificate *kernel_trace_certificate(
	const struct kernel_trace *t)
{
	return &t->cert;
}

uint32_t kernel_trace_tasks(const struct kernel_trace *t)
{
	return t->task_count;
}

uint64_t kernel_trace_records(const struct kernel_trace *t)
{
	return t->records;
}

uint64_t kernel_trace_swept(const struct kernel_trace *t)
{
	return t->swept;
}

uint64_t kernel_trace_held(const struct kernel_trace *t)
{
	return t->held;
}

int kernel_trace_has_phys(const struct kernel_trace *t)
{
	return t->has_phys;
}

static void visit_busiest(struct kernel_trace *t, struct ktask *k, void *arg)
{
	struct kernel_trace_faults *f = arg;

	if (k->repeated > f->repeated)
		f->repeated = k->repeated;
	if (k->natural > f->natural)
		f->natural = k->natural;
	k->repeated = k->natural = 0;
}

void kernel_trace_busiest(struct kernel_trace *t,
			  struct kernel_trace_faults *out)
{
	*out = (struct kernel_trace_faults){ 0 };
	kernel_task_each(t, visit_busiest, out);
}
