// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes, their address spaces and mappings, as the events tell them. */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/format/trace.h"

#define PAGE 4096ull

static struct replay_space *space_new(struct moca_objects *o, uint32_t pid,
			       uint32_t task)
{
	struct replay_space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;
	s->id = s->origin = ++o->space_count;
	s->pid = pid;
	s->main_task = task;
	s->big.pool = s->small.pool = s->own.pool = s->seen.pool = &o->pool;
	s->maps.pool = s->roles.pool = s->stacks.pool = &o->pool;
	s->copies.pool = &o->pool;
	s->eras.pool = &o->era_pool;
	s->near_first = 1;
	return s;
}

void moca_space_put(struct moca_objects *o, struct replay_space *s)
{
	if (!s || --s->refs)
		return;
	/* Before its first exec a program is the recorder's own. */
	if (s->touched && s->maps.root) {
		o->totals.processes++;
		o->totals.without_agent += !s->agent;
	}
	moca_addrmap_clear(&s->big);
	moca_addrmap_clear(&s->small);
	moca_addrmap_clear(&s->own);
	moca_addrmap_clear(&s->seen);
	moca_addrmap_clear(&s->maps);
	moca_addrmap_clear(&s->roles);
	moca_addrmap_clear(&s->stacks);
	moca_addrmap_clear(&s->copies);
	moca_addrmap_clear(&s->eras);
	free(s->loads);
	free(s);
}

int moca_objects_may_end(struct moca_objects *o, const struct replay_space *s,
			 uint32_t id)
{
	uint32_t pid = o->table.inst[id].pid;
	const struct replay_process *p;

	if (pid == s->pid || !s->copied)
		return 1;
	for (p = o->processes[pid % PROCESS_BUCKETS]; p; p = p->next)
		if (p->pid == pid)
			return !p->space || !p->space->copied;
	return 1;
}

/* What fork makes of a space. */
static struct replay_space *space_copy(struct moca_objects *o, struct replay_space *from,
				uint32_t pid, uint32_t task)
{
	struct replay_space *s = space_new(o, pid, task);

	if (!s)
		return NULL;
	if (from->load_count) {
		s->loads = malloc(from->load_count * sizeof(*s->loads));
		if (!s->loads) {
			free(s);
			return NULL;
		}
		memcpy(s->loads, from->loads,
		       from->load_count * sizeof(*s->loads));
		s->load_count = s->load_cap = from->load_count;
	}
	moca_addrmap_copy(&s->big, &from->big);
	moca_addrmap_copy(&s->small, &from->small);
	moca_addrmap_copy(&s->own, &from->own);
	moca_addrmap_copy(&s->maps, &from->maps);
	moca_addrmap_copy(&s->roles, &from->roles);
	moca_addrmap_copy(&s->stacks, &from->stacks);
	moca_addrmap_copy(&s->copies, &from->copies);
	moca_addrmap_copy(&s->eras, &from->eras);
	s->shares = from->shares;
	s->discards = from->discards;
	s->program = from->program;
	s->agent = from->agent;
	s->thin_level = from->thin_level;
	s->thin_min = from->thin_min;
	s->copied = from->copied = from->forked = 1;
	s->origin = from->origin;
	return s;
}

static struct replay_process *find_process(struct moca_objects *o, uint32_t pid)
{
	struct replay_process **bucket = &o->processes[pid % PROCESS_BUCKETS], *p;

	for (p = *bucket; p; p = p->next)
		if (p->pid == pid)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->next = *bucket;
	*bucket = p;
	return p;
}

void moca_objects_free_spaces(struct moca_objects *o)
{
	struct replay_process *p;
	size_t i;

	for (i = 0; i < ENDED_MAX; i++) {
		moca_space_put(o, o->ended[i]);
		o->ended[i] = NULL;
	}
	for (i = 0; i < PROCESS_BUCKETS; i++) {
		while ((p = o->processes[i])) {
			o->processes[i] = p->next;
			moca_space_put(o, p->space);
			free(p);
		}
	}
}

static struct replay_task *task_state(struct moca_objects *o,
			       const struct moca_task *t)
{
	return &o->tasks[t - moca_trace_task(o->trace, 0)];
}

static struct replay_space *parent_space(struct moca_objects *o, uint32_t parent,
				  uint32_t pid)
{
	const struct moca_task *t = moca_trace_find_task(o->trace, parent);

	return t && t->pid && t->pid != pid ? find_process(o, t->pid)->space :
					      NULL;
}

/* Who has what a space leaves: a copy of it, if that did not free it. */
struct copy {
	const struct moca_objects *o;
	const struct replay_space *of;
};

static uint32_t heir(void *arg, uint32_t id)
{
	const struct copy *c = arg;
	uint64_t addr = c->o->table.inst[id].addr;

	return moca_addrmap_find(&c->of->big, addr) == id ||
		       moca_addrmap_find(&c->of->own, addr) == id ?
		       c->of->id : 0;
}

/* The oldest copy that a process lives in, or NULL. */
static const struct replay_space *find_copy(const struct moca_objects *o,
					    const struct replay_space *s)
{
	const struct replay_space *found = NULL, *x;
	const struct replay_process *p;

	for (p = s->forked ? o->living : NULL; p; p = p->next_living) {
		x = p->space;
		if (x && x != s && x->origin == s->origin &&
		    (!found || x->id < found->id))
			found = x;
	}
	return found;
}

/* Without a copy all of it is no more. */
static int end_space(struct moca_objects *o, const struct left *l,
		     const struct replay_space *copy)
{
	struct copy c = { .o = o, .of = copy };

	if (!copy) {
		if (moca_vec_fit(o->left, o->left_cap, o->left_count + 1))
			return -ENOMEM;
		o->left[o->left_count++] = *l;
	}
	return o->heap ? moca_heap_end_all(o->heap, l->space,
					   copy ? heir : NULL, &c) : 0;
}

/*
 * The process leaves its space, which others go on in if they only borrow it: what
 * was allocated there is no more. What the last of all processes has stays: it is
 * what was alive at the end. 0 or -ENOMEM.
 */
static int leave_space(struct moca_objects *o, const struct replay_process *p,
		       uint64_t time_ns, int is_last)
{
	const struct replay_space *s = p->space;
	struct left l = { .pid = p->pid, .time_ns = time_ns }, last = o->last;

	if (!s || s->pid != p->pid)
		return 0;
	l.space = s->id;
	if (!is_last)
		return end_space(o, &l, find_copy(o, s));
	o->last = l;
	return last.space ? end_space(o, &last, NULL) : 0;
}

/* There is one more process: what the last one of those before it had is no more. */
static int count_process(struct moca_objects *o, struct replay_process *p)
{
	struct left last = o->last;

	if (!p->counted) {
		p->counted = 1;
		p->prev_living = NULL;
		p->next_living = o->living;
		if (o->living)
			o->living->prev_living = p;
		o->living = p;
	}
	o->last = (struct left){ 0 };
	return last.space ? end_space(o, &last, NULL) : 0;
}

static void uncount_process(struct moca_objects *o, struct replay_process *p)
{
	if (!p->counted)
		return;
	p->counted = 0;
	if (p->next_living)
		p->next_living->prev_living = p->prev_living;
	if (p->prev_living)
		p->prev_living->next_living = p->next_living;
	else
		o->living = p->next_living;
}

/* A process begins. */
static int start_process(struct moca_objects *o, struct replay_process *p,
			 const struct moca_task *t, const struct moca_change *e)
{
	struct replay_space *from = NULL;

	if (e->flags & (MOCA_TASK_FORK | MOCA_TASK_VFORK))
		from = parent_space(o, e->parent, p->pid);
	if (leave_space(o, p, e->time_ns, 0) || count_process(o, p))
		return -ENOMEM;
	moca_space_put(o, p->space);
	p->tasks = 1;
	if (!from) {
		p->space = space_new(o, p->pid, t->id);
	} else if (e->flags & MOCA_TASK_VFORK) {
		from->refs++;
		p->space = from;
	} else {
		p->space = space_copy(o, from, p->pid, t->id);
	}
	return p->space ? 0 : -ENOMEM;
}

int moca_space_renew(struct moca_objects *o, struct replay_space *s,
		     uint64_t first, uint64_t last)
{
	int err = moca_addrmap_set(&s->eras, first, last,
				   moca_table_era(&o->table));

	/* Without room it does not begin anew, as if it had not been told. */
	return err == -E2BIG ? 0 : err;
}

int moca_space_role(struct moca_objects *o, struct replay_space *s,
		    const struct role *r)
{
	uint32_t old = moca_addrmap_find(&s->roles, r->last);
	int err;

	err = moca_vec_fit(o->roles, o->role_cap, o->role_count + 1);
	/* The thread that had its stack or its TLS there before is gone. */
	if (!err && old && o->roles[old].task != r->task)
		err = moca_space_renew(o, s, r->addr, r->last);
	if (err)
		return err;
	o->roles[o->role_count] = *r;
	err = moca_objects_set(o, &s->roles, r->addr, r->last,
			       (uint32_t)o->role_count++);
	if (!err)
		err = moca_objects_set(o, &s->seen, r->addr, r->last, 0);
	/* Where a stack is, the mapping is for nothing else. */
	if (!err)
		err = moca_objects_set(o, &s->own, r->addr, r->last, 0);
	return err;
}

/* The executable's own block of TLS, where no agent tells it. */
static int executable_tls(struct moca_objects *o, struct replay_space *s,
			  uint32_t task, uint64_t pointer)
{
	struct role r = { .kind = ROLE_TLS, .task = task };
	uint64_t size, align;
	int above;
	size_t i;

	for (i = 0; i < s->load_count && s->loads[i].path != s->program; i++)
		;
	if (i == s->load_count)
		return 0;
	moca_module_tls(s->loads[i].module, &size, &align);
	if (!size || !align || align & (align - 1) || size > 1ull << 30 ||
	    align > 1ull << 30)
		return 0;
	/*
	 * Variant II: the block ends at the thread pointer. Variant I, arm64's: it
	 * is behind the two words that are there.
	 */
	above = moca_module_is_arm64(s->loads[i].module);
	r.addr = above ? pointer + (align > 16 ? align : 16) :
			 pointer - ((size + align - 1) & ~(align - 1));
	r.last = r.addr + size - 1;
	r.module = s->loads[i].module;
	r.own = s->loads[i].own;
	return (above ? r.addr > pointer : r.addr < pointer) && r.last >= r.addr ?
		       moca_space_role(o, s, &r) : 0;
}

const struct map *moca_space_stack_map(const struct moca_objects *o,
				       const struct replay_space *s, uint64_t addr)
{
	const struct map *m = &o->maps[moca_addrmap_find(&s->maps, addr)];

	/* In a variable, a heap or an arena: where it begins is not known. */
	if (!m->last || *m->name || m->flags & MOCA_MAP_FILE ||
	    m->has_objects || moca_addrmap_find(&s->big, addr) ||
	    moca_addrmap_find(&s->own, addr) || moca_space_load(s, addr))
		return NULL;
	return m;
}

int moca_space_thread(struct moca_objects *o, struct replay_space *s, uint32_t task,
		      uint64_t sp, uint64_t pointer)
{
	struct role r = { .kind = ROLE_STACK, .task = task };
	const struct map *m;
	int err;

	m = sp < PAGE ? NULL : moca_space_stack_map(o, s, sp - 1);
	if (!m)
		return pointer ? executable_tls(o, s, task, pointer) : 0;
	r.addr = moca_objects_stack_low(o, s, m->addr, sp);
	r.last = sp - 1;
	err = moca_space_role(o, s, &r);
	if (!err && m->last >= sp && pointer >= sp && pointer <= m->last) {
		r.kind = ROLE_THREAD;
		r.addr = sp;
		r.last = m->last;
		/* What else the kernel has merged with it is not the thread's:
		 * a control block takes less than a page. */
		if (r.last - pointer > 2 * PAGE)
			r.last = (pointer | (PAGE - 1)) + PAGE;
		err = moca_space_role(o, s, &r);
	}
	if (!err && pointer)
		err = executable_tls(o, s, task, pointer);
	return err;
}

static int start_thread(struct moca_objects *o, struct replay_process *p,
			const struct moca_task *t, const struct moca_change *e)
{
	int err;

	p->tasks++;
	if (!p->space)
		return 0;
	err = moca_space_thread(o, p->space, t->id, e->addr, e->offset);
	task_state(o, t)->stack = e->addr;
	return err;
}

/*
 * Who starts a task is not within an allocator: what it touched is no object that is
 * yet to be told, and comes before what the task touches. It may tell nothing more
 * for long, as who waits for its children.
 */
static int release_parent(struct moca_objects *o, const struct moca_change *e)
{
	const struct moca_task *t = moca_trace_find_task(o->trace, e->parent);

	return t ? moca_objects_release(o, task_state(o, t), 0, 0, 0) : 0;
}

static int start_task(struct moca_objects *o, const struct moca_task *t,
		      const struct moca_change *e)
{
	struct replay_task *state = task_state(o, t);
	struct replay_process *p = find_process(o, e->pid);
	int err;

	if (!p)
		return -ENOMEM;
	err = release_parent(o, e);
	if (err)
		return err;
	state->process = p;
	state->stack = 0;
	if (state->early) {
		state->early = 0;
		if (!(e->flags & MOCA_TASK_THREAD))
			return 0;
		p->tasks -= p->tasks != 0;
	}
	/* Known by a buffer of events only: it says nothing of processes. */
	if (t->flags & MOCA_TASK_EVENTS)
		return 0;
	/* Of a process that is attached to, each thread begins by itself. */
	if (e->flags & MOCA_TASK_ATTACHED && p->tasks) {
		p->tasks++;
		return 0;
	}
	if (!(e->flags & MOCA_TASK_THREAD))
		return start_process(o, p, t, e);
	return start_thread(o, p, t, e);
}

static int end_task(struct moca_objects *o, const struct moca_task *t,
		    uint64_t time_ns)
{
	struct replay_task *state = task_state(o, t);
	struct replay_process *p = state->process;
	int err;

	state->stack = 0;
	if (!p || t->flags & MOCA_TASK_EVENTS)
		return 0;
	if (p->tasks)
		p->tasks--;
	if (p->tasks)
		return 0;
	uncount_process(o, p);
	err = leave_space(o, p, time_ns, !o->living);
	/* An access may come to us a little late: keep it for a while. */
	if (p->space) {
		moca_space_put(o, o->ended[o->ended_at]);
		o->ended[o->ended_at] = p->space;
		o->ended_at = (o->ended_at + 1) % ENDED_MAX;
		p->ended_id = p->space->id;
	}
	p->space = NULL;
	return err;
}

/* What has become of a process that ended lately, or NULL. */
static struct replay_space *ended_space(const struct moca_objects *o,
				 const struct replay_process *p)
{
	size_t i;

	for (i = 0; i < ENDED_MAX; i++)
		if (o->ended[i] && o->ended[i]->id == p->ended_id)
			return o->ended[i];
	return NULL;
}

/* Clocks differ a little: it touches memory before it is told. 0 or -ENOMEM. */
static int start_early(struct moca_objects *o, const struct moca_task *t,
		       struct replay_task *state)
{
	const struct moca_change e = {
		.type = MOCA_CHANGE_TASK_START,
		.time_ns = t->start_ns,
		.pid = t->pid,
		.tid = t->tid,
		.parent = t->parent,
		.flags = t->flags,
		.name = t->name,
	};
	int err = start_task(o, t, &e);

	if (!err)
		state->early = !(t->flags & MOCA_TASK_EVENTS);
	return err;
}

struct replay_space *moca_objects_space(struct moca_objects *o,
					const struct moca_task *t,
					struct replay_task *state)
{
	struct replay_process *p;
	struct replay_space *s;

	if (!state->process && start_early(o, t, state))
		return NULL;
	p = state->process;
	if (p->space)
		return p->space;
	s = ended_space(o, p);
	if (!s)
		s = p->space = space_new(o, p->pid, t->id);
	return s;
}

static int exec(struct moca_objects *o, const struct moca_task *t,
		const struct moca_change *e)
{
	struct replay_task *state = task_state(o, t);
	struct replay_process *p = state->process;

	if (!p)
		p = state->process = find_process(o, t->pid);
	if (!p)
		return -ENOMEM;
	if (leave_space(o, p, e->time_ns, 0))
		return -ENOMEM;
	moca_space_put(o, p->space);
	p->space = space_new(o, p->pid, t->id);
	if (!p->space)
		return -ENOMEM;
	moca_objects_new_space(o, t, p->space, e->time_ns);
	state->stack = 0;
	p->space->program = moca_strings_intern(&o->table.strings, e->name);
	return p->space->program ? 0 : -ENOMEM;
}

/* --- mappings ----------------------------------------------------------- */

const struct load *moca_space_load(const struct replay_space *s, uint64_t addr)
{
	size_t i;

	for (i = s->load_count; i--;)
		if (addr >= s->loads[i].first && addr <= s->loads[i].last)
			return &s->loads[i];
	return NULL;
}

static int add_module(struct moca_objects *o, struct moca_module *m)
{
	size_t i;
	int err;

	for (i = o->module_count; i--;)
		if (o->modules[i] == m)
			return 0;
	err = moca_vec_fit(o->modules, o->module_cap, o->module_count + 1);
	if (!err)
		o->modules[o->module_count++] = m;
	return err;
}

/*
 * Is it a file of code that cannot be read any more? What never had a place on
 * a disk, and what is no ELF file, is none.
 */
static int is_gone(struct moca_module *module, const struct map *m)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(m->name), d = sizeof(deleted) - 1;
	int err;

	if (!(m->prot & PROT_EXEC) || !strncmp(m->name, "/memfd:", 7) ||
	    !strncmp(m->name, "/dev/", 5) || !strncmp(m->name, "/SYSV", 5) ||
	    (n > d && !strcmp(m->name + n - d, deleted)))
		return 0;
	err = moca_module_error(module);
	return err && err != -ENOEXEC && err != -ENOMEM;
}

/* A file was mapped: is it a module that is new here? */
static int add_load(struct moca_objects *o, struct replay_space *s,
		    const struct map *m)
{
	const struct load *old = moca_space_load(s, m->addr);
	uint64_t vaddr, low, high;
	struct moca_module *module;
	struct load *l;
	int err;

	/* What was moved to private memory is told without its offset. */
	if (old && old->path == m->name && m->flags & MOCA_MAP_CERTIFIED)
		return 0;
	module = moca_symbols_module(o->symbols, m->name);
	if (!module)
		return -ENOMEM;
	if (is_gone(module, m))
		return add_module(o, module);
	if (moca_module_vaddr(module, m->offset, &vaddr) ||
	    moca_module_span(module, &low, &high) || high <= low)
		return 0;
	vaddr = m->addr - vaddr;
	if (old && old->path == m->name && old->bias == vaddr)
		return 0;
	err = moca_vec_fit(s->loads, s->load_cap, s->load_count + 1);
	if (!err)
		err = add_module(o, module);
	if (err)
		return err;
	l = &s->loads[s->load_count];
	*l = (struct load){ .module = module, .path = m->name, .bias = vaddr,
			    .first = vaddr + low, .last = vaddr + high - 1,
			    .own = (m->flags & MOCA_MAP_MOCA) != 0 };
	/* A file that is not what was mapped gives nonsense: leave it. */
	if (l->first <= l->last && m->addr >= l->first && m->addr <= l->last)
		s->load_count++;
	return 0;
}

static int add_map(struct moca_objects *o, struct replay_space *s,
		   const struct moca_change *e)
{
	const struct map *old;
	struct map m = {
		.addr = e->addr,
		.offset = e->offset,
		.begin_ns = e->time_ns,
		.flags = e->flags,
		.prot = e->prot,
	};
	int err;

	if (!e->len)
		return 0;
	m.last = last_byte(e->addr, e->len);
	m.name = moca_strings_intern(&o->table.strings, e->name);
	if (!m.name)
		return -ENOMEM;
	moca_map_identify(o, &m, e);
	/* The same once more, as when its protection changes. */
	old = &o->maps[moca_addrmap_find(&s->maps, m.addr)];
	if (old->last == m.last && old->addr == m.addr &&
	    old->name == m.name && old->offset == m.offset && old->of == m.of &&
	    (old->flags & MOCA_MAP_FILE) == (m.flags & MOCA_MAP_FILE) &&
	    old == &o->maps[moca_addrmap_find(&s->maps, m.last)])
		return 0;
	err = moca_vec_fit(o->maps, o->map_cap, o->map_count + 1);
	if (err)
		return err;
	moca_space_mapped(s, &m);
	o->maps[o->map_count] = m;
	err = moca_objects_set(o, &s->maps, m.addr, m.last,
			       (uint32_t)o->map_count++);
	if (!err)
		err = moca_objects_set(o, &s->seen, m.addr, m.last, 0);
	if (!err && m.flags & MOCA_MAP_FILE && m.name[0] == '/')
		err = add_load(o, s, &m);
	/* It is there, even if the program allocates nothing. */
	if (m.flags & MOCA_MAP_MOCA && strstr(m.name, "/libmoca-alloc.so"))
		s->agent = 1;
	return err;
}

static int remove_map(struct moca_objects *o, struct replay_space *s,
		      const struct moca_change *e)
{
	uint64_t first = e->addr, last, at, begin, end;
	struct shared *x;
	struct map *m;
	uint32_t id;
	size_t i;
	int err;

	if (!e->len)
		return 0;
	last = last_byte(e->addr, e->len);
	for (at = first; moca_addrmap_next(&s->maps, at, last, &begin, &end,
					   &id);) {
		m = &o->maps[id];
		if (m->addr >= first && m->last <= last && m->inst &&
		    !(moca_space_memory(o, m, &x) && x->processes) &&
		    moca_objects_may_end(o, s, m->inst))
			moca_table_end(&o->table, m->inst, e->time_ns, 0);
		if (end >= last)
			break;
		at = end + 1;
	}
	for (i = 0; i < s->load_count;) {
		if (s->loads[i].first >= first && s->loads[i].first <= last)
			s->loads[i] = s->loads[--s->load_count];
		else
			i++;
	}
	moca_space_unmapped(s, first, last);
	err = moca_space_renew(o, s, first, last);
	if (!err)
		err = moca_objects_end_range(o, s, first, last, e->time_ns);
	if (!err)
		err = moca_objects_set(o, &s->maps, first, last, 0);
	if (!err)
		err = moca_objects_set(o, &s->roles, first, last, 0);
	if (!err)
		err = moca_objects_set(o, &s->seen, first, last, 0);
	return err;
}

const char *moca_space_program(struct moca_objects *o, struct replay_space *s)
{
	uint64_t at = 0, begin, end;
	const struct map *m;
	uint32_t id;

	if (s->program)
		return s->program;
	/* It ran before the recording: the lowest file is the program. */
	while (moca_addrmap_next(&s->maps, at, UINT64_MAX, &begin, &end, &id)) {
		m = &o->maps[id];
		if (m->flags & MOCA_MAP_FILE && m->name[0] == '/') {
			s->program = m->name;
			return s->program;
		}
		at = m->last > end ? m->last : end;
		if (at == UINT64_MAX)
			break;
		at++;
	}
	return moca_strings_intern(&o->table.strings, "");
}

int moca_objects_change(struct moca_objects *o, const struct moca_task *t,
		       const struct moca_change *e)
{
	struct replay_space *s;
	int err;

	switch (e->type) {
	case MOCA_CHANGE_TASK_START:
		return start_task(o, t, e);
	case MOCA_CHANGE_TASK_END:
		err = moca_objects_release(o, task_state(o, t), 0, 0, 0);
		return err ? err : end_task(o, t, e->time_ns);
	case MOCA_CHANGE_EXEC:
		err = moca_objects_release(o, task_state(o, t), 0, 0, 0);
		return err ? err : exec(o, t, e);
	case MOCA_CHANGE_MMAP:
	case MOCA_CHANGE_MUNMAP:
		s = moca_objects_space(o, t, task_state(o, t));
		if (!s)
			return -ENOMEM;
		return e->type == MOCA_CHANGE_MMAP ? add_map(o, s, e) :
						    remove_map(o, s, e);
	case MOCA_CHANGE_DISCARD:
		s = moca_objects_space(o, t, task_state(o, t));
		if (!s)
			return -ENOMEM;
		s->discards = 1;
		return e->len ? moca_space_renew(o, s, e->addr,
						 last_byte(e->addr, e->len)) :
				0;
	}
	return 0;
}
