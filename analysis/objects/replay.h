/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the pass share: processes, their address spaces, and what
 * is known of each byte of these at the moment that the pass has come to.
 */
#ifndef MOCA_ANALYSIS_OBJECTS_REPLAY_H
#define MOCA_ANALYSIS_OBJECTS_REPLAY_H

#include <moca/reader.h>

#include "analysis/identity.h"
#include "analysis/objects/addrmap.h"
#include "analysis/objects/heap.h"
#include "analysis/objects/objects.h"
#include "analysis/objects/table.h"
#include "lib/base/vec.h"

/* A mapping, as a MOCA_CHANGE_MMAP told it; parts of it may be gone. */
struct map {
	uint64_t addr;
	uint64_t last;		/* inclusive */
	uint64_t offset;
	uint64_t begin_ns;
	const char *name;	/* interned */
	uint32_t flags;		/* MOCA_MAP_* */
	uint32_t prot;
	uint32_t inst;		/* of what has no finer name; 0 = not yet */
	int has_objects;	/* an allocator works in it */
	uint32_t of;		/* number of o->identities; 0 = nobody else's */
	uint64_t delta;		/* from an address to that in moca_memory_of */
};

/* What has become of one of o->identities. */
struct shared {
	uint32_t inst;		/* 0 = no object yet */
	uint32_t pid;		/* of the first process that used it */
	const char *program;	/* likewise, interned */
	int processes;		/* there were others */
};

/* An ELF file at its place. */
struct load {
	struct moca_module *module;
	const char *path;	/* interned */
	uint64_t bias;		/* address - link-time address */
	uint64_t first;		/* addresses of all its segments */
	uint64_t last;
	int own;		/* a library of Moca's */
};

/* What a range is, other than by its mapping. */
enum role_kind {
	ROLE_STACK = 1,
	ROLE_THREAD = 2,	/* control block, and TLS that is not known */
	ROLE_TLS = 3,		/* a module's block of thread-local storage */
};

struct role {
	enum role_kind kind;
	uint32_t task;		/* number */
	uint64_t addr;
	uint64_t last;
	struct moca_module *module;	/* ROLE_TLS */
	int own;		/* ROLE_TLS: of a library of Moca's */
};

/*
 * An address space between exec and exec. Layers, of which the first that has
 * an id at an address tells what is there: big, small, own, seen.
 */
struct replay_space {
	uint32_t refs;		/* processes: more than one during vfork; and
				   accesses that wait */
	uint32_t id;
	uint32_t pid;
	uint32_t main_task;	/* number */
	const char *program;	/* interned; NULL = not known yet */
	struct load *loads;
	size_t load_count, load_cap;
	struct moca_addrmap big;	/* instances: objects told one by one */
	struct moca_addrmap small;	/* in bulk */
	struct moca_addrmap own;	/* what the program mapped itself */
	struct moca_addrmap seen;	/* found by seek() for all the rest */
	struct moca_addrmap maps;	/* index of struct map */
	struct moca_addrmap roles;	/* index of struct role */
	struct moca_addrmap stacks;	/* by id << 12: index of struct binding */
	struct moca_addrmap copies;	/* pages of private mappings of files
					   that it has written: 1 */
	struct moca_addrmap eras;	/* of what was given back, since then */
	uint64_t near_first, near_last;	/* where near_map is what is mapped */
	uint32_t near_map;
	int shares;		/* has memory that others may map, too */
	int discards;		/* gave contents back, and kept the mapping */
	int copied;		/* layers are or were shared with another */
	int forked;		/* there is a copy of it */
	uint32_t origin;	/* id of the first of all that are copies */
	int agent;		/* libmoca-alloc told something */
	uint64_t thin_level;	/* as of MOCA_ALLOC's `thinned`; 0: it tells all */
	uint64_t thin_min;
	int touched;
};

struct replay_process {
	uint32_t pid;
	size_t tasks;		/* alive */
	/* In moca_objects.living, if it is counted. */
	int counted;
	struct replay_process *prev_living, *next_living;
	struct replay_space *space;	/* NULL: not begun, or ended */
	uint32_t ended_id;	/* of the space that it had, among o->ended */
	struct replay_process *next;	/* in the hash chain */
};

/* A thread that will begin, and where its stack and its TLS will be. */
struct thread {
	uint32_t pid;
	uint32_t task;		/* number */
	uint64_t stack;		/* initial stack pointer */
	uint64_t pointer;	/* thread pointer */
	uint64_t start_ns;
};

/* A process that left its space for good, and none has that memory now. */
struct left {
	uint32_t pid;
	uint32_t space;		/* id */
	uint64_t time_ns;
};

/* A process that will exec. */
struct exec {
	uint32_t pid;
	uint64_t time_ns;
};

/* What is known of a task. */
struct replay_task {
	struct replay_process *process;	/* NULL: not known yet */
	uint64_t stack;		/* initial stack pointer; 0 = unknown */
	int early;		/* an access came before its TASK_START */
	struct pending *pending;	/* accesses that wait: pending.c */
	size_t pending_count, pending_cap;
	size_t held;		/* of these, and since: what is told of late */
	uint64_t held_since;	/* interval of the first, or of what goes on */
	/* The last one to free memory; whether one came back behind another. */
	uint64_t walk_ip, walk_at;
	int walk_ended;
	uint64_t taken;		/* accesses so far */
	/* An object that it handed to realloc. */
	struct replay_space *realloc_space;
	uint64_t realloc_addr;
	uint32_t realloc_id;	/* instance; 0 = none */
	uint64_t realloc_begin;	/* its begin: ids are used again */
};

/* A call stack of allocations, the same in all processes. */
struct site {
	struct moca_site_frame *frames;
	size_t count;
	struct moca_site site;
	const char *name;	/* interned */
	const char *text;	/* interned: "f() at file.c:12" */
};

/* A site in a program, and its rows. */
struct binding {
	const char *program;
	uint32_t site;		/* index; 0 = unknown site */
	int64_t heap;		/* row; -1 = none yet */
	int64_t small;
	uint32_t small_inst;	/* 0 = none yet */
};

#define PROCESS_BUCKETS 4096
#define ENDED_MAX 16
#define TEXT_LEN 512	/* names that are put together */

enum alloc_event {
	ALLOC_NONE, ALLOC_STACK, ALLOC_ALLOC, ALLOC_FREE, ALLOC_UNMAP,
	ALLOC_SMALL, ALLOC_TALLY, ALLOC_SKIPPED, ALLOC_THREAD, ALLOC_TLS,
	ALLOC_DETOUR, ALLOC_THINNED, ALLOC_SAMPLE, ALLOC_SIZED, ALLOC_FREED,
};
#define ALLOC_EVENTS (ALLOC_FREED + 1)
#define ALLOC_FIELDS 5		/* of an event, at most */

/* Where the fields are that a type of events begins with, while these are numbers. */
struct alloc_layout {
	const struct moca_event_type *type;	/* NULL: none yet */
	size_t count;
	size_t at[ALLOC_FIELDS];	/* in the payload */
	size_t len;			/* of all of these */
};

struct moca_objects {
	struct moca_trace *trace;
	struct moca_objects_options opt;
	struct moca_symbols *symbols;
	struct moca_table table;
	struct moca_addrpool pool;
	struct moca_addrpool era_pool;	/* discards must not take objects' room */
	struct moca_objects_totals totals;
	struct replay_process *processes[PROCESS_BUCKETS];
	struct replay_space *ended[ENDED_MAX];	/* the last ones, for late accesses */
	size_t ended_at;
	struct replay_process *living;	/* processes that have not ended */
	struct left last;		/* the last one that did; space 0: none */
	struct left *left;		/* all others, and execs; by pid, time */
	size_t left_count, left_cap;
	struct replay_task *tasks;		/* by the trace's index */
	uint32_t space_count;		/* ids given */
	struct map *maps;		/* [0] is none, as in all of these */
	size_t map_count, map_cap;
	struct thread *threads;		/* by pid, stack, start_ns */
	size_t thread_count, thread_cap;
	struct exec *execs;		/* by pid, time_ns */
	size_t exec_count, exec_cap;
	struct role *roles;
	size_t role_count, role_cap;
	struct site *sites;
	size_t site_count, site_cap;
	struct moca_index site_index;
	struct binding *bindings;
	size_t binding_count, binding_cap;
	struct moca_index binding_index;
	uint8_t alloc_types[16384];	/* enum alloc_event, by id of type */
	struct alloc_layout layouts[ALLOC_EVENTS];
	int sampled;			/* not all accesses weigh 1 */
	int alloc_used;			/* there is a type of libmoca-alloc */
	const char *unseen[MOCA_UNSEEN_MAX];	/* interned */
	size_t unseen_count;
	size_t pending_count;		/* of all tasks */
	uint64_t held_since;		/* no task holds what is older */
	uint64_t now;			/* what the pass has come to */
	struct pending *spare;		/* room for them, of no task */
	size_t spare_cap;
	struct moca_identities identities;
	struct shared *shared;		/* by number of these */
	uint32_t *pids;			/* of tasks, by number */
	uint32_t anonymous;		/* numbered so far */
	struct moca_module **modules;	/* used, for what changed */
	size_t module_count, module_cap;
	struct slice **slices;	/* counts whose time has begun */
	size_t slice_count, slice_cap;
	uint64_t next_end;		/* of these, the first to end */
	struct part *parts;		/* of a granule: scratch */
	size_t part_count, part_cap;
	int crediting;
	struct moca_object *rows;	/* the result */
	size_t row_count;
	struct moca_instance *instances;
	size_t instance_count;
	struct moca_toucher *touchers;
	size_t toucher_count;
	struct moca_range *ranges;
	size_t range_count;
	struct moca_heap *heap;		/* NULL: not wanted */
	struct moca_heap_stack *heap_stacks;
	size_t heap_stack_count;
};

/* The last byte of [addr, addr + len), len > 0, in the address space. */
static inline uint64_t last_byte(uint64_t addr, uint64_t len)
{
	return addr + (len - 1) < addr ? UINT64_MAX : addr + (len - 1);
}

/* Interned text in the form of printf; NULL: no memory. */
const char *moca_objects_text(struct moca_objects *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* As moca_addrmap_set; but what a hostile trace goes too far in is counted. */
int moca_objects_set(struct moca_objects *o, struct moca_addrmap *m,
		     uint64_t first, uint64_t last, uint32_t id);

/* --- spaces.c: processes, mappings, threads ----------------------------- */

/* An event of the trace. 0 or -errno. */
int moca_objects_change(struct moca_objects *o, const struct moca_task *t,
		       const struct moca_change *e);
/* The space that the task lives in, whose state that is; NULL: no memory. */
struct replay_space *moca_objects_space(struct moca_objects *o,
					const struct moca_task *t,
					struct replay_task *state);
void moca_space_put(struct moca_objects *o, struct replay_space *s);
void moca_objects_free_spaces(struct moca_objects *o);
/* The module that holds addr, or NULL. */
const struct load *moca_space_load(const struct replay_space *s, uint64_t addr);
/* The memory of [first, last] begins anew, if there is room to note it. 0 or -errno. */
int moca_space_renew(struct moca_objects *o, struct replay_space *s,
		     uint64_t first, uint64_t last);
/* [first, last] is of that role from now on. 0 or -errno. */
int moca_space_role(struct moca_objects *o, struct replay_space *s,
		    const struct role *r);
/*
 * The stack and the control block of a thread, in the mapping that holds its
 * initial stack pointer. 0 or -errno.
 */
int moca_space_thread(struct moca_objects *o, struct replay_space *s, uint32_t task,
		      uint64_t stack, uint64_t pointer);
/*
 * The mapping at addr, if it can be a thread's stack and nothing else is known
 * to be in it; or NULL.
 */
const struct map *moca_space_stack_map(const struct moca_objects *o,
				       const struct replay_space *s, uint64_t addr);
/*
 * Does the object end with its memory in s? Not when s has it by a fork, and
 * the process that made it goes on.
 */
int moca_objects_may_end(struct moca_objects *o, const struct replay_space *s,
			 uint32_t id);
/* What the program is called; never NULL but for want of memory. */
const char *moca_space_program(struct moca_objects *o, struct replay_space *s);

/* The row of a program's allocator, for all its heaps; or -ENOMEM. */
int64_t moca_objects_allocator_row(struct moca_objects *o,
				   const char *program);

/* --- allocs.c: what libmoca-alloc told ---------------------------------- */

int moca_objects_alloc_types(struct moca_objects *o);
int moca_objects_alloc(struct moca_objects *o, const struct moca_task *t,
		       const struct moca_event *m);
/* All objects in the range end. 0 or -errno. */
int moca_objects_end_range(struct moca_objects *o, struct replay_space *s,
			   uint64_t first, uint64_t last, uint64_t time_ns);

/* --- sites.c: call stacks ----------------------------------------------- */

/* The binding of a stack of n return addresses; index, or -ENOMEM. */
int64_t moca_objects_binding(struct moca_objects *o, struct replay_space *s,
			     const uint64_t *frames, size_t n);
/* Its row for HEAP or SMALL; -ENOMEM. */
int64_t moca_objects_binding_row(struct moca_objects *o, uint32_t binding,
				 enum moca_object_kind kind);

/* --- threads.c: what is known ahead ------------------------------------- */

/* Find all threads and execs of the trace. 0 or -errno. */
int moca_objects_find_threads(struct moca_objects *o);
/* Does the process exec soon after time? */
int moca_objects_exec_soon(const struct moca_objects *o, uint32_t pid,
			   uint64_t time_ns);
/*
 * The top of another thread's stack that lives now, below sp in the same
 * mapping, which begins at low; or low.
 */
uint64_t moca_objects_stack_low(const struct moca_objects *o,
				const struct replay_space *s, uint64_t low,
				uint64_t sp);
/* The first one to begin soon after time with its stack there, or NULL. */
const struct thread *moca_objects_next_thread(const struct moca_objects *o,
					      uint32_t pid, uint64_t first,
					      uint64_t last, uint64_t time_ns);

/* --- pending.c: accesses that wait for an object to be told ------------- */

#define PENDING_MAX 65536	/* of a task, */
#define PENDING_ALL 1000000	/* of all of them: some 130 MB */
/*
 * No call of an allocator goes on for so many intervals, but where it fills or copies
 * memory, from its begin to its end by one loop (pending.c). Without a limit, what a
 * thread that allocates no more did came behind all that others did later: who used a
 * page in turn, and who first, was lost.
 */
#define PENDING_INTERVALS 3

/*
 * Count what waits of a task. What is free memory of [first, last] was touched
 * by the allocator on behalf of that instance; 0 = none. 0 or -ENOMEM.
 */
int moca_objects_release(struct moca_objects *o, struct replay_task *t,
			 uint64_t first, uint64_t last, uint32_t id);
/* Count an access, whose hit was prefetched. 0 or -ENOMEM. */
int moca_objects_count(struct moca_objects *o, struct moca_hit *h,
		       const struct replay_space *s);
/* May what waits come behind later accesses of its task? */
static inline int moca_objects_unordered(const struct moca_objects *o)
{
	return o->opt.settled && !o->opt.each && !o->opt.observe;
}
/* Does any access of the task wait now, for the order of others? */
static inline int moca_objects_waits(const struct moca_objects *o,
				     const struct replay_task *t)
{
	/* Who is called for each access gets them in order. */
	return t->held && (o->opt.each || o->opt.observe || o->opt.settled);
}
/* What has waited long enough, of all tasks. 0 or -ENOMEM. */
int moca_objects_release_waited(struct moca_objects *o, uint64_t interval);
/* As that, before an access of that interval is looked at. */
static inline int moca_objects_release_late(struct moca_objects *o,
					    uint64_t interval)
{
	return o->pending_count &&
		       interval >= o->held_since + PENDING_INTERVALS ?
		       moca_objects_release_waited(o, interval) : 0;
}
/* One more of a task whose accesses wait, or are counted with them. 0 or -ENOMEM. */
static inline int moca_objects_hold_one(struct moca_objects *o,
					struct replay_task *t, uint64_t interval)
{
	int err = t->held == PENDING_MAX ||
			  (t->held && o->pending_count >= PENDING_ALL) ?
			  moca_objects_release(o, t, 0, 0, 0) : 0;

	if (!t->held) {
		t->held_since = interval;
		t->walk_at = UINT64_MAX;
		t->walk_ended = 0;
	}
	if (!o->pending_count || interval < o->held_since)
		o->held_since = interval;
	t->held++;
	o->pending_count++;
	return err;
}
/* 1: it waits for what its thread tells next; 0: count it now; -ENOMEM. */
int moca_objects_hold(struct moca_objects *o, struct replay_task *t,
		      const struct moca_hit *h, struct replay_space *s);
int moca_objects_release_all(struct moca_objects *o);
void moca_objects_free_pending(struct moca_objects *o);

/* --- shared.c: memory that several mappings are of ------------------------ */

int moca_objects_shared_init(struct moca_objects *o);
void moca_objects_shared_free(struct moca_objects *o);
/* What m is of, as e told. */
void moca_map_identify(const struct moca_objects *o, struct map *m,
		       const struct moca_change *e);
/* m was mapped; [first, last] is no more. */
void moca_space_mapped(struct replay_space *s, const struct map *m);
void moca_space_unmapped(struct replay_space *s, uint64_t first, uint64_t last);
/*
 * Set h->where and h->at if the page is not the process's own. 0 or -ENOMEM. For
 * accesses to memory that is mapped from elsewhere: what is in s->big is, at
 * most, where s->shares.
 */
int moca_space_locate(struct moca_objects *o, struct replay_space *s,
		      struct moca_hit *h);
/* What a shared mapping is of, with what became of it; NULL: m is not shared. */
const struct moca_memory_of *moca_space_memory(const struct moca_objects *o,
					       const struct map *m,
					       struct shared **out);
/* The number that h->where has in it. */
uint32_t moca_space_number(const struct map *m);
/* A process of that program uses it. */
void moca_space_use(struct moca_objects *o, const struct replay_space *s,
		    struct shared *x, const char *program);

/* --- counts.c: what exact mode counted ---------------------------------- */

/* The slice of these rows of a task begins. 0 or -errno. */
int moca_objects_counts(struct moca_objects *o, const struct moca_task *t,
			const struct moca_counts *c);
/* The pass has come to time_ns: count what has ended. 0 or -errno. */
int moca_objects_settle(struct moca_objects *o, uint64_t time_ns);
/*
 * What is at [first, last] of the space that m is a layer of will change: credit
 * what is there now. 0 or -errno.
 */
int moca_objects_changing(struct moca_objects *o, const struct moca_addrmap *m,
			  uint64_t first, uint64_t last);
/* The task executes another program. */
void moca_objects_new_space(struct moca_objects *o, const struct moca_task *t,
			    struct replay_space *s, uint64_t time_ns);
void moca_objects_free_counts(struct moca_objects *o);

/* --- seek.c: what no layer has ------------------------------------------ */

/*
 * The instance at addr, which is remembered in s->seen; a is the first access
 * to it. Id or -ENOMEM.
 */
int64_t moca_objects_seek(struct moca_objects *o, struct replay_space *s,
			  uint64_t addr, const struct moca_access *a);

#endif
