/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data structures of a trace, and which access went to which: one pass in
 * order of time. doc/design/objects.md says how an address gets its object.
 */
#ifndef MOCA_OBJECTS_H
#define MOCA_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

#include "analysis/sharing.h"
#include "analysis/symbols/symbols.h"

enum moca_object_kind {
	MOCA_OBJECT_HEAP,	/* allocated, told one by one */
	MOCA_OBJECT_SMALL,	/* allocated, told in bulk */
	MOCA_OBJECT_STATIC,	/* a variable of a module, or of a section */
	MOCA_OBJECT_TLS,	/* thread-local */
	MOCA_OBJECT_STACK,
	MOCA_OBJECT_CODE,	/* instructions */
	MOCA_OBJECT_FILE,	/* any other mapping of a file, by its name */
	MOCA_OBJECT_SHARED,	/* shared memory without a file */
	MOCA_OBJECT_KERNEL,	/* vdso, vvar, ... by role */
	MOCA_OBJECT_ALLOCATOR,	/* of the heap, what is no object: headers,
				   free memory */
	MOCA_OBJECT_ANONYMOUS,	/* nothing known but that it is mapped */
	MOCA_OBJECT_MOCA,	/* our own, in the program; not in the sums */
};

#define MOCA_OBJECT_NODES 64

/*
 * A row: all objects of one kind, name and site in one program, in all its
 * processes.
 */
struct moca_object {
	uint32_t id;		/* index in the table */
	enum moca_object_kind kind;
	const char *name;	/* "u", "stack #2 (worker)"; never NULL */
	const char *site;	/* "solve() at solve.c:12"; "" = has none */
	const char *program;	/* path of the executable */
	const char *module;	/* path of the ELF file that it is part of, if
				   it is a variable or a section; else NULL */
	int section;		/* of the module, what is no variable */
	const struct moca_shape *shape;	/* NULL = unknown */
	const struct moca_site *alloc;	/* HEAP, SMALL; else NULL */
	int named;		/* 1: counts as named in the share */
	uint64_t instances;	/* objects; SMALL: allocations as tallied, */
	uint64_t mapped;	/* of these, by mmap of the program's own */
	uint64_t sampled;	/* of instances, estimated by so many samples; then
				   accesses are those to the samples alone.
				   ALLOCATOR: not 0 if there are objects in it
				   that were not told */
	uint64_t size;		/* of the largest, bytes; SMALL: of all */
	uint64_t bytes;		/* of all together */
	uint64_t addr;		/* of the first; 0 for SMALL */
	uint64_t begin_ns;	/* the first one's begin, */
	uint64_t end_ns;	/* the last one's end; 0 = to the end */
	uint64_t pages;		/* distinct, touched here */
	uint64_t pages_shared;	/* of these, by two or more threads */
	uint64_t shared_written;	/* of these, written by any of them */
	uint64_t pages_split;	/* of these, seen in other objects as well: as
				   a record stands for the first access to a
				   page in an interval, accesses here are a
				   lower bound for these pages */
	uint64_t accesses;	/* of records what they weigh: so are all below */
	uint64_t reads;		/* and instruction fetches */
	uint64_t writes;	/* accesses - reads - writes: not known which */
	uint64_t wide;		/* of accesses: shared out by size, since only
				   their page is known */
	uint32_t threads;	/* that touched it */
	uint32_t processes;	/* that these are of */
	enum moca_sharing sharing;		/* by threads */
	enum moca_sharing sharing_processes;	/* by processes */
	uint32_t first_task;	/* of the first touch; MOCA_NO_TASK */
	uint64_t first_ns;
	uint64_t nodes[MOCA_OBJECT_NODES]; /* accesses by node of the page */
	uint64_t node_unknown;
	uint64_t loads, stores;	/* counted by exact mode */
};

/* One object of a row; HEAP, STATIC, STACK and mappings have these. */
struct moca_instance {
	uint32_t object;
	uint32_t pid;
	uint64_t addr;
	uint64_t size;
	uint64_t begin_ns;
	uint64_t end_ns;	/* 0 = to the end */
	uint64_t reads;
	uint64_t writes;
	uint64_t accesses;
};

/* Who touched an object: one line of `--by`. */
struct moca_toucher {
	uint32_t object;
	uint32_t task;
	struct moca_module *module;	/* NULL = in no file */
	uint64_t vaddr;			/* of the instruction; 0 = unknown */
	const char *code;		/* the name that a compiler gave it while
					   the program ran; NULL; the trace's */
	uint64_t reads;
	uint64_t writes;
	uint64_t accesses;
};

/*
 * Bytes [begin, end) of an object and the accesses to them: one page's worth,
 * or less at its ends. The same range of all objects of a row is one.
 */
struct moca_range {
	uint32_t object;
	uint64_t begin;
	uint64_t end;
	uint64_t reads;
	uint64_t writes;
	uint64_t accesses;
};

#define MOCA_SPACE_SHARED (1u << 31)	/* of numbers of spaces: of a memory */
#define MOCA_NO_PAGE ((1u << 29) - 1)	/* there are more pages than this */

/* An access and what it went to, for those who look at each. */
struct moca_observed {
	uint64_t addr;		/* of shared memory: where it was mapped first */
	uint64_t ip;
	uint64_t time_ns;
	uint64_t interval;	/* number of the trace's interval */
	uint32_t task;
	uint32_t space;		/* address space: a process between two execs;
				   or a memory that several may map */
	uint32_t key;		/* for moca_objects_row_of */
	uint32_t page;		/* a number of this key, space and page: from 0
				   by their first access; or MOCA_NO_PAGE */
	uint16_t cpu;		/* as these of struct moca_access */
	int16_t node;
	uint8_t type;
	uint8_t anew;		/* the first access to the page, or the first
				   since its memory was mapped, allocated or
				   given back; and then: */
	uint16_t era;		/* another number each time that the kernel got
				   the memory back, but for chance */
	uint16_t weight;	/* as of struct moca_access */
	uint8_t rank;		/* of its stripe by MOCA_STRIPE_CORE_KEY; 0
				   where nothing was sampled */
	uint32_t stack;		/* as of struct moca_access */
};
#define MOCA_ERAS 0xfffu

/*
 * A row of counts, or its share for one object: see doc/design/exact-views.md.
 * Shares of a row add up to it.
 */
struct moca_counted {
	uint32_t task;
	uint32_t space;		/* as of struct moca_observed */
	uint32_t key;		/* for moca_objects_row_of */
	int shared;		/* the granule has other objects, too */
	uint64_t addr;		/* of the granule */
	uint64_t granularity;	/* bytes */
	uint64_t slice;
	uint64_t begin_ns, end_ns;	/* of the slice */
	uint64_t loads, stores;
	uint64_t first_ns;	/* 0: not first touched here */
};

/* An access of which it is known what it went to. */
struct moca_settled {
	const struct moca_access *access;
	uint64_t addr;		/* as these of struct moca_observed */
	uint64_t interval;
	uint32_t space;
	uint64_t n;		/* its number among the task's, from 0 */
	size_t task_index;	/* in the trace */
	uint32_t task;
	uint32_t key;		/* for moca_objects_row_of */
};

struct moca_objects_options {
	size_t size;		/* of this struct */
	uint64_t begin_ns, end_ns;	/* accesses only of this time; 0 */
	uint32_t task;		/* with one_task */
	int one_task;
	int instances;		/* keep struct moca_instance */
	int touchers;		/* keep struct moca_toucher */
	/*
	 * If not NULL, called for each access, of a task by time; key is for
	 * moca_objects_row_of.
	 */
	void (*each)(void *arg, uint32_t task,
		     const struct moca_access *access, uint32_t key);
	void *each_arg;
	int ranges;		/* keep struct moca_range */
	/* Instances, touchers, ranges only of this name, or these: a glob */
	const char *name;
	/* If not NULL, called for each access, as each is. */
	void (*observe)(void *arg, const struct moca_observed *x);
	void *observe_arg;
	/* If not NULL, called for each row of counts: of a task by slices. */
	void (*counted)(void *arg, const struct moca_counted *x);
	void *counted_arg;
	/*
	 * For those who look at each access themselves: rows have names, sites,
	 * instances and lives, but of accesses nothing is summed up. What observe
	 * is told has no pages and eras. Ranges and touchers are not kept.
	 */
	int keys_only;
	/*
	 * If not NULL, called for each access. Without each and observe one that
	 * waits for an object to be told comes behind later ones of its task.
	 */
	void (*settled)(void *arg, const struct moca_settled *x);
	void *settled_arg;
	int heap_stacks;	/* keep struct moca_heap_stack */
	int events_only;	/* no accesses and no counts: allocations alone */
};

struct moca_objects;

/* 0; -ENOMEM, or as the reader says. options may be NULL. */
int moca_objects_compute(struct moca_objects **out, struct moca_trace *t,
			 const struct moca_objects_options *options);
void moca_objects_free(struct moca_objects *o);
/* Has the trace counts, and no records of accesses? */
int moca_objects_exact_only(const struct moca_trace *t);

/* Rows in no order; the array belongs to o. */
const struct moca_object *moca_objects_rows(const struct moca_objects *o,
					    size_t *count);
/* The row that the accesses of that key are counted in. */
const struct moca_object *moca_objects_row_of(const struct moca_objects *o,
					      uint32_t key);
/* Keys are below this. */
size_t moca_objects_key_count(const struct moca_objects *o);
const struct moca_instance *moca_objects_instances(const struct moca_objects *o,
						   size_t *count);
const struct moca_toucher *moca_objects_touchers(const struct moca_objects *o,
						 size_t *count);
const struct moca_range *moca_objects_ranges(const struct moca_objects *o,
					     size_t *count);
/* What a task allocated by one call stack. */
struct moca_heap_stack {
	uint32_t task;
	uint64_t time_ns;	/* of the first time */
	const struct moca_site_frame *frames;	/* the innermost first */
	size_t count;
	int cut;		/* so many frames that some may be missing */
	uint64_t allocations, bytes;
	/* Bytes of those whose ends are told: alive when most of all were ... */
	uint64_t at_peak;
	uint64_t at_end;	/* ... and when the trace ended */
};
struct moca_heap_totals {
	uint64_t allocations, bytes;
	uint64_t estimated;	/* of the bytes: by samples */
	uint64_t without_lives;	/* of the bytes: when they ended is not told */
	uint64_t peak, peak_ns, end;	/* bytes of all that have lives */
};
/* Of moca_objects_options.heap_stacks, by no order; the array belongs to o. */
const struct moca_heap_stack *
moca_objects_heap_stacks(const struct moca_objects *o, size_t *count);
/* All zeros without heap_stacks. */
void moca_objects_heap_totals(const struct moca_objects *o,
			      struct moca_heap_totals *out);
/*
 * When an instance ended, or its process did, or began another program; 0: it was
 * there at the end. What the last process to end had was there at the end.
 */
uint64_t moca_objects_end_of(const struct moca_objects *o,
			     const struct moca_instance *i);

/*
 * Functions that allocate and could not be watched, and why: "NAME: reason".
 * The first MOCA_UNSEEN_MAX.
 */
#define MOCA_UNSEEN_MAX 16
const char *const *moca_objects_unseen(const struct moca_objects *o,
				       size_t *count);
struct moca_symbols *moca_objects_symbols(struct moca_objects *o);

/* Sums, of all but MOCA_OBJECT_MOCA. */
struct moca_objects_totals {
	uint64_t accesses, reads, writes;
	uint64_t named;		/* accesses of named rows */
	uint64_t own;		/* accesses of MOCA_OBJECT_MOCA */
	/*
	 * Exact mode counted: of these are all but the last. Accesses, reads and
	 * writes above and of rows are then what was counted, if exact_only:
	 * the trace has no records of accesses.
	 */
	uint64_t loads, stores;
	uint64_t own_loads, own_stores;
	int exact_only;
	uint64_t allocations;	/* events of objects, and in bulk: */
	uint64_t small, small_bytes;
	uint64_t skipped;	/* small ones of which nothing is known */
	/*
	 * Small ones as above, and frees, are counted exactly even where stacks
	 * were sampled:
	 */
	uint64_t freed, freed_bytes;	/* 0: an old trace does not know */
	uint64_t samples;	/* that stand for all others */
	uint64_t thin_level;	/* one in 2^thin_level, at most; 0: all told */
	uint64_t thin_min;	/* of objects below this, at most, bytes */
	uint64_t thin_ns;	/* from this time on, at first */
	uint64_t lost;		/* events of libmoca-alloc that were dropped */
	uint64_t processes;	/* program images, and of these: */
	uint64_t without_agent;	/* whose allocations were not recorded */
	uint64_t changed_files;	/* modules newer than the trace,
				   or gone */
	uint64_t refused;	/* events of libmoca-alloc that make no sense */
	int no_identities;	/* what mappings are of was not recorded: memory
				   that processes share counts for each */
};
void moca_objects_totals(const struct moca_objects *o,
			 struct moca_objects_totals *out);

#endif
