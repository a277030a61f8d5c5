// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is at an address that no object covers: by role, by module, by mapping.
 * Once per page, variable and process: it is remembered in the space.
 */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "include/abi/stub-place.h"
#include "lib/format/trace.h"

#define PAGE 4096ull
/* Where the stub was in traces of 0.1. */
#define STUB_BEFORE 0x6f6d0000ull
#define VDSO_SIZE 0x10000ull		/* and its data, at most */
#define STACK_GROWS (1ull << 30)	/* below a main stack, at most */

/* What is looked for, and what it is a part of. */
struct seek {
	struct moca_objects *o;
	struct replay_space *s;
	uint64_t addr;
	uint64_t ip;		/* of the first access */
	unsigned mode;		/* enum moca_access_mode, likewise */
	uint64_t time_ns;
	/* The answer holds for these: within the page, around addr. */
	uint64_t first;
	uint64_t last;
	const struct map *map;		/* NULL = none */
	const struct role *role;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Never beyond addr itself, whatever a broken file says. */
static void clip(struct seek *k, uint64_t first, uint64_t last)
{
	if (first > k->first && first <= k->addr)
		k->first = first;
	if (last < k->last && last >= k->addr)
		k->last = last;
}

/*
 * The row and its object [addr, addr + size), the only one at that address.
 */
static int64_t place(struct seek *k, enum moca_object_kind kind,
		     const char *name, const char *site, int named,
		     uint64_t addr, uint64_t size, uint64_t begin_ns)
{
	struct moca_objects *o = k->o;
	const char *program = moca_space_program(o, k->s);
	int64_t row;

	if (!name || !site || !program)
		return -ENOMEM;
	row = moca_table_row(&o->table, program, kind, name, site);
	if (row < 0)
		return row;
	o->table.rows[row].o.named = named;
	return moca_table_place(&o->table, (uint32_t)row, k->s->id, k->s->pid,
				addr, size, begin_ns);
}

static const char *intern(struct seek *k, const char *text)
{
	return moca_strings_intern(&k->o->table.strings, text);
}

static const char *task_name(struct moca_objects *o, uint32_t id)
{
	const struct moca_task *t = moca_trace_find_task(o->trace, id);

	return t ? t->name : "";
}

static uint64_t later(const struct seek *k, uint64_t begin, uint32_t task)
{
	const struct moca_task *t = moca_trace_find_task(k->o->trace, task);

	return t && t->start_ns > begin ? t->start_ns : begin;
}

/*
 * Since when it is there: its mapping, or its process or task (MOCA_NO_TASK: none), if
 * that came later. What is looked up at the end of a slice was there before.
 */
static uint64_t since(const struct seek *k, uint32_t task)
{
	uint64_t begin = k->map ? k->map->begin_ns : k->time_ns;

	begin = later(k, later(k, begin, k->s->main_task), task);
	return begin < k->time_ns ? begin : k->time_ns;
}

static int64_t stack(struct seek *k, uint32_t task, uint64_t first,
		     uint64_t last)
{
	return place(k, MOCA_OBJECT_STACK,
		     moca_objects_text(k->o, "stack #%" PRIu32 " (%s)", task,
				       task_name(k->o, task)),
		     intern(k, ""), 1, first, last - first + 1, since(k, task));
}

/* Its row is of that file; id: what place returned. */
static int64_t part_of(struct seek *k, int64_t id, const char *path, int section)
{
	struct moca_table *t = &k->o->table;

	if (id < 0)
		return id;
	path = intern(k, path);
	if (!path)
		return -ENOMEM;
	t->rows[t->inst_key[id].row].o.module = path;
	t->rows[t->inst_key[id].row].o.section = section;
	return id;
}

/* A variable, and how its row looks. base: where its vaddr 0 would be. */
static int64_t variable(struct seek *k, const struct moca_variable *v,
			struct moca_module *m, uint64_t base)
{
	struct moca_objects *o = k->o;
	const char *site;
	int64_t id;

	if (v->file)
		site = moca_objects_text(o, "%s:%u", base_name(v->file),
					 v->line);
	else
		site = intern(k, base_name(moca_module_path(m)));
	id = place(k, v->tls ? MOCA_OBJECT_TLS : MOCA_OBJECT_STATIC,
		   intern(k, v->name), site, 1, base + v->vaddr, v->size,
		   since(k, v->tls && k->role ? k->role->task : MOCA_NO_TASK));
	if (id >= 0)
		o->table.rows[o->table.inst_key[id].row].o.shape = v->shape;
	return part_of(k, id, moca_module_path(m), 0);
}

/*
 * The variable at vaddr, or NULL; else the gap around it is clipped to what is
 * between its neighbours. Variables are disjoint, sorted by tls and vaddr.
 */
static const struct moca_variable *find_variable(struct seek *k,
						 struct moca_module *m,
						 uint64_t base, int tls)
{
	const struct moca_variable *v, *found;
	size_t lo = 0, hi = moca_module_variables(m, &v), n = hi, mid;
	uint64_t vaddr = k->addr - base;

	found = moca_module_variable(m, vaddr, tls);
	if (found && found->size && vaddr - found->vaddr < found->size) {
		clip(k, base + found->vaddr,
		     base + found->vaddr + found->size - 1);
		return found;
	}
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (v[mid].tls < tls ||
		    (v[mid].tls == tls && v[mid].vaddr <= vaddr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && v[lo - 1].tls == tls && v[lo - 1].size)
		clip(k, base + v[lo - 1].vaddr + v[lo - 1].size, UINT64_MAX);
	if (lo < n && v[lo].tls == tls)
		clip(k, 0, base + v[lo].vaddr - 1);
	return NULL;
}

/* Of a module, what is no variable: by section. */
static int64_t section(struct seek *k, const struct load *l)
{
	const char *name = moca_module_section(l->module, k->addr - l->bias);
	const char *file = base_name(l->path);
	int code = k->map && k->map->prot & PROT_EXEC;
	int64_t id;

	/* Sections may begin and end anywhere: is all of it in one? */
	if (strcmp(moca_module_section(l->module, k->first - l->bias), name) ||
	    strcmp(moca_module_section(l->module, k->last - l->bias), name))
		clip(k, k->addr & ~15ull, k->addr | 15);
	if (!*name)
		name = code ? "code" : "headers";
	id = place(k, code ? MOCA_OBJECT_CODE : MOCA_OBJECT_STATIC,
		   moca_objects_text(k->o, "%s of %s", name, file),
		   intern(k, l->path), 1, l->first, 0, since(k, MOCA_NO_TASK));
	return part_of(k, id, l->path, 1);
}

static int64_t own(struct seek *k, const char *name)
{
	return place(k, MOCA_OBJECT_MOCA,
		     intern(k, *name ? name : "memory of libmoca"),
		     intern(k, ""), 1,
		     k->map ? k->map->addr : k->first, 0,
		     since(k, MOCA_NO_TASK));
}

static int64_t module(struct seek *k, const struct load *l)
{
	const struct moca_variable *v;

	if (l->own)
		return own(k, base_name(l->path));
	clip(k, l->first, l->last);
	if (k->map && k->map->prot & PROT_EXEC)
		return section(k, l);
	v = find_variable(k, l->module, l->bias, 0);
	return v ? variable(k, v, l->module, l->bias) : section(k, l);
}

static int64_t by_role(struct seek *k)
{
	const struct role *r = k->role;
	const struct moca_variable *v;

	if (r->kind == ROLE_STACK)
		return stack(k, r->task, r->addr, r->last);
	if (r->kind == ROLE_TLS) {
		if (r->own)
			return own(k, base_name(moca_module_path(r->module)));
		v = find_variable(k, r->module, r->addr, 1);
		if (v)
			return variable(k, v, r->module, r->addr);
		return place(k, MOCA_OBJECT_TLS,
			     moca_objects_text(k->o, "TLS of %s",
				base_name(moca_module_path(r->module))),
			     intern(k, ""), 1, r->addr, r->last - r->addr + 1,
			     since(k, r->task));
	}
	return place(k, MOCA_OBJECT_TLS,
		     moca_objects_text(k->o, "thread #%" PRIu32 " (%s)",
				       r->task, task_name(k->o, r->task)),
		     moca_objects_text(k->o, "control block and TLS"), 1,
		     r->addr, r->last - r->addr + 1, since(k, r->task));
}

/*
 * The object of a shared mapping, which is one in all processes: of the whole
 * memory, as it is mapped first. named: it has a name of its own.
 */
static int64_t shared_map(struct seek *k, enum moca_object_kind kind,
			  const char *name, const char *site, int named)
{
	struct map *m = (struct map *)k->map;
	const char *program = moca_space_program(k->o, k->s);
	const struct moca_memory_of *of;
	struct shared *x;
	int64_t row, id;

	if (!name || !site || !program)
		return -ENOMEM;
	of = moca_space_memory(k->o, m, &x);
	row = moca_table_row(&k->o->table, program, kind, name, site);
	if (row < 0)
		return row;
	k->o->table.rows[row].o.named = named;
	id = moca_table_place(&k->o->table, (uint32_t)row,
			      moca_space_number(m), k->s->pid, of->addr,
			      of->len, m->begin_ns);
	if (id > 0)
		x->inst = m->inst = (uint32_t)id;
	return id;
}

/* The object that a shared mapping's memory has by now; 0: none. */
static uint32_t known_shared(struct seek *k)
{
	struct map *m = (struct map *)k->map;
	struct shared *x;

	if (!moca_space_memory(k->o, m, &x))
		return 0;
	moca_space_use(k->o, k->s, x, moca_space_program(k->o, k->s));
	m->inst = x->inst;
	return x->inst;
}

/* A mapping that is one object, told apart from others only by its place. */
static int64_t whole_map(struct seek *k, enum moca_object_kind kind,
			 const char *name, int named)
{
	struct map *m = (struct map *)k->map;
	struct shared *x;
	int64_t id;

	if (m->inst)
		return m->inst;
	if (moca_space_memory(k->o, m, &x))
		return shared_map(k, kind, name, intern(k, ""), named);
	id = place(k, kind, name, intern(k, ""), named, m->addr,
		   m->last - m->addr + 1, m->begin_ns);
	if (id > 0)
		m->inst = (uint32_t)id;
	return id;
}

/*
 * Nobody says what it is for, but who touched it first does: the loader, or our
 * own libraries.
 */
static int64_t by_first_touch(struct seek *k)
{
	const struct load *l = k->ip ? moca_space_load(k->s, k->ip) : NULL;
	const char *base = l ? base_name(l->path) : "";
	struct map *m = (struct map *)k->map;
	int64_t id = 0;

	if (m->inst)
		return m->inst;
	if (l && l->own)
		id = own(k, base);
	else if (!strncmp(base, "ld-linux", 8) || !strncmp(base, "ld.so", 5))
		id = place(k, MOCA_OBJECT_ALLOCATOR,
			   moca_objects_text(k->o, "memory of %s", base),
			   intern(k, ""), 1, 0, 0, m->begin_ns);
	if (id > 0)
		m->inst = (uint32_t)id;
	return id;
}

static int64_t anonymous(struct seek *k)
{
	struct moca_objects *o = k->o;
	struct map *m = (struct map *)k->map;
	const struct moca_memory_of *of;
	const char *site, *name;
	struct shared *x;
	int64_t id;

	if (m->inst)
		return m->inst;
	name = moca_objects_text(o, "AnonymousStruct#%" PRIu32,
				 ++o->anonymous);
	of = moca_space_memory(o, m, &x);
	site = moca_objects_text(o, "0x%" PRIx64 ", %" PRIu64 " bytes",
				 of ? of->addr : m->addr,
				 of ? of->len : m->last - m->addr + 1);
	if (of)
		return shared_map(k, MOCA_OBJECT_SHARED, name, site, 0);
	id = place(k, m->flags & MOCA_MAP_SHARED ? MOCA_OBJECT_SHARED :
						   MOCA_OBJECT_ANONYMOUS,
		   name, site, 0, m->addr, m->last - m->addr + 1, m->begin_ns);
	if (id > 0)
		m->inst = (uint32_t)id;
	return id;
}

static int is_kernel(const char *name)
{
	return !strcmp(name, "[vdso]") || !strncmp(name, "[vvar", 5) ||
	       !strcmp(name, "[vsyscall]") || !strcmp(name, "[uprobes]");
}

/* Memory that has a name without being a file of the disk. */
static int is_shared_memory(const char *name)
{
	return !strncmp(name, "/memfd:", 7) || !strncmp(name, "/SYSV", 5) ||
	       !strncmp(name, "/dev/shm/", 9) ||
	       !strncmp(name, "/dev/zero", 9);
}

static int64_t by_map(struct seek *k)
{
	const struct map *m = k->map;
	const struct moca_memory_of *of;
	const struct load *l;
	struct shared *x;
	int64_t id;

	if (m->flags & MOCA_MAP_STACK || !strcmp(m->name, "[stack]"))
		return stack(k, k->s->main_task, m->addr, m->last);
	if (m->flags & MOCA_MAP_MOCA)
		return own(k, base_name(m->name));
	id = known_shared(k);
	if (id)
		return id;
	/* A module's mapping, or the anonymous rest of its .bss. */
	l = moca_space_load(k->s, k->addr);
	if (l && (m->name == l->path || !*m->name))
		return module(k, l);
	if (is_kernel(m->name))
		return whole_map(k, MOCA_OBJECT_KERNEL, m->name, 1);
	if (!strcmp(m->name, "[heap]"))
		return place(k, MOCA_OBJECT_ALLOCATOR, intern(k, "[heap]"),
			     intern(k, ""), 0, 0, 0, m->begin_ns);
	of = moca_space_memory(k->o, m, &x);
	/* What the kernel calls /dev/zero is of no file that anybody knows. */
	if (of && of->memory == MOCA_MEMORY_ANONYMOUS)
		return anonymous(k);
	/* They have names by their keys, which most have in common: 0. */
	if (of && of->memory == MOCA_MEMORY_SYSV)
		return whole_map(k, MOCA_OBJECT_SHARED,
				 moca_objects_text(k->o, "SysV segment %" PRIu64,
						   of->ino - 1), 1);
	if (*m->name == '/' || m->flags & MOCA_MAP_FILE)
		return whole_map(k, is_shared_memory(m->name) ?
					    MOCA_OBJECT_SHARED :
					    MOCA_OBJECT_FILE,
				 m->name, 1);
	if (*m->name)
		return whole_map(k, MOCA_OBJECT_ANONYMOUS, m->name, 1);
	id = m->flags & MOCA_MAP_SHARED ? 0 : by_first_touch(k);
	return id ? id : anonymous(k);
}

/* Below a stack that has grown, or really nothing. */
static int64_t by_nothing(struct seek *k)
{
	uint64_t begin, end;
	const struct map *m;
	uint32_t id;

	if (k->addr - STUB_BASE < STUB_SIZE || k->addr - STUB_BEFORE < STUB_SIZE)
		return own(k, "recorder");
	/*
	 * The kernel sets a program up before its mappings are told. Of a program that
	 * itself touches memory none may ever be told: a 32-bit one.
	 */
	if (k->mode == MOCA_MODE_KERNEL &&
	    (!k->s->maps.root ||
	     moca_objects_exec_soon(k->o, k->s->pid, k->time_ns)))
		return place(k, MOCA_OBJECT_KERNEL, intern(k, "[exec]"),
			     intern(k, "before the program's first mapping"),
			     1, 0, 0, k->time_ns);
	if (k->addr < UINT64_MAX - STACK_GROWS &&
	    moca_addrmap_next(&k->s->maps, k->addr, k->addr + STACK_GROWS,
			      &begin, &end, &id)) {
		m = &k->o->maps[id];
		if (m->flags & MOCA_MAP_STACK)
			return stack(k, k->s->main_task, m->addr, m->last);
	}
	/* The recorder tells of all code but the kernel's own, and its data. */
	if (k->mode == MOCA_MODE_USER && k->ip && k->s->maps.root &&
	    k->addr - k->ip + VDSO_SIZE < 2 * VDSO_SIZE &&
	    !moca_addrmap_find(&k->s->maps, k->ip))
		return place(k, MOCA_OBJECT_KERNEL,
			     intern(k, k->ip == k->addr ? "[vdso]" : "[vvar]"),
			     intern(k, ""), 1, 0, 0, k->time_ns);
	return place(k, MOCA_OBJECT_ANONYMOUS, intern(k, "[unknown]"),
		     intern(k, "no mapping is known"), 0, 0, 0, k->time_ns);
}

/* The role at addr; and no other one in k's range. */
static void find_role(struct seek *k)
{
	uint64_t begin, end, at = k->first;
	uint32_t id;

	while (moca_addrmap_next(&k->s->roles, at, k->last, &begin, &end,
				 &id)) {
		if (begin > k->addr) {
			clip(k, 0, begin - 1);
			return;
		}
		if (end >= k->addr) {
			k->role = &k->o->roles[id];
			clip(k, begin, end);
			return;
		}
		at = end + 1;
		clip(k, at, UINT64_MAX);
	}
}

/*
 * Who makes a thread writes its TLS and its control block before it begins. 1:
 * the mapping is for a thread, whose roles are there now; 0; -errno.
 */
static int expect_thread(struct seek *k)
{
	const struct map *m = k->map;
	const struct thread *t;
	int err;

	if (*m->name || m->flags & (MOCA_MAP_SHARED | MOCA_MAP_FILE))
		return 0;
	t = moca_objects_next_thread(k->o, k->s->pid, m->addr, m->last,
				     k->time_ns);
	if (!t)
		return 0;
	err = moca_space_thread(k->o, k->s, t->task, t->stack, t->pointer);
	return err ? err : 1;
}

int64_t moca_objects_seek(struct moca_objects *o, struct replay_space *s,
			  uint64_t addr, const struct moca_access *a)
{
	struct seek k = { .o = o, .s = s, .addr = addr, .ip = a->ip,
			  .mode = a->mode,
			  .time_ns = a->time_ns,
			  .first = addr & ~(PAGE - 1),
			  .last = addr | (PAGE - 1) };
	uint32_t map = moca_addrmap_find(&s->maps, addr);
	int64_t id;
	int err = 0;

	find_role(&k);
	if (map)
		k.map = &o->maps[map];
	if (map && !k.role)
		err = expect_thread(&k);
	if (err < 0)
		return err;
	if (err) {
		k.first = addr & ~(PAGE - 1);
		k.last = addr | (PAGE - 1);
		find_role(&k);
	}
	if (k.role)
		id = by_role(&k);
	else if (map)
		id = by_map(&k);
	else
		id = by_nothing(&k);
	if (id < 0)
		return id;
	err = moca_objects_set(o, &s->seen, k.first, k.last, (uint32_t)id);
	return err ? err : id;
}
