/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space as the fault way has it. Two threads meet in it, under
 * mm->lock: the supervisor, whose it is but for what is said below, and the
 * collector, which sweeps.
 */
#ifndef MOCA_FAULT_MEMORY_H
#define MOCA_FAULT_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "collect/fault/region.h"
#include "collect/ptrace/stub.h"
#include "collect/ptrace/task.h"

/* The memfd: planes of USER_END bytes, then the stub. */
#define MEMFD_STUB   (1ull << 62)
#define MEMFD_PLANES (MEMFD_STUB / USER_END)

struct base;
struct extent;

enum mm_state {
	MM_NATIVE,	/* not moved: real faults only */
	MM_MOVED,	/* private memory is on the memfd */
};

/* See freeze.h. */
struct freeze_state {
	uint64_t bytes;		/* that were frozen; 0: nothing is told */
	uint64_t since_ns;
	uint64_t wait_ns;	/* without a fork, before a thaw */
	uint64_t thawed_ns;	/* when it was complete last */
	uint64_t copied;	/* bytes that others may still use as well */
	atomic_ullong next_ns;	/* when a thaw may be asked for; 0: never */
	atomic_int wanted;	/* as want_zapper */
	struct extent *looked;	/* frozen pages that were touched in ... */
	uint64_t looked_start, looked_end;
	size_t looked_count, looked_room;
};

#define KEEP_WINDOWS 8u

/* See keep.h. */
struct keep {
	struct extent *kept;	/* offsets in the memfd, of pages without a mapping */
	size_t count, room;
	uint64_t bytes;		/* their sum */
	uint64_t since_ns;	/* when the first of them came */
	uint64_t peak;		/* bytes of pages of the program's, at most so far */
	struct extent *taken;	/* addresses, mapped over kept pages: keep_look */
	size_t taken_count, taken_room;
	struct {
		uint64_t off;
		char *at;	/* NULL: there is none */
	} windows[KEEP_WINDOWS];
	unsigned int next_window;
};

#define MM_OURS 4	/* two libraries, and some to spare */

/* Stacks of so many threads stay mapped: unwinding reads them in faults. */
#define HOT_STACKS 64u

struct mm {
	struct space space;	/* must come first */
	enum mm_state state;
	int memfd;		/* -1 unless MM_MOVED */
	int remote_fd;		/* its number in the program */
	int uffd;		/* -1: none */
	int wp_async;		/* it lets writes go on by themselves */
	uint64_t memfd_dev, memfd_ino;
	struct stub_data *stub;
	uint64_t brk;		/* page aligned end of the heap, 0 = unknown */
	struct filecopy *copies;	/* what REGION_FILE_COPY is of */
	int keyed;		/* it has protection keys */
	int policies;		/* the program made some (mbind) */
	int populates;		/* mlockall(MCL_FUTURE) */
	int locked;		/* some was locked once */
	unsigned int listed;	/* closes of remote_fd that followed a listing */
	int busy;		/* munmap may fail, or the kernel write */
	int sealed;		/* the memfd cannot shrink: keep.h */
	struct keep keep;
	uint64_t gone_off, gone_bytes; /* in memfd: unmapped since the last stop */
	unsigned int plane;	/* of the memfd, for new mappings: freeze.h */
	size_t moved;		/* regions for which mm_is_moved holds */
	struct base *base;	/* its own memfd, once it was frozen; or NULL */
	struct base **bases;	/* in use by its regions */
	size_t base_count;
	struct freeze_state freeze;

	/* Taken by the supervisor to change regions, by the collector to zap. */
	pthread_mutex_t lock;
	struct region_map regions;
	uint64_t stack_start, stack_end;
	struct {
		uint64_t start, end;
	} ours[MM_OURS];	/* ours.h; empty: start is end */
	pid_t zapper;		/* 0: none */
	int zapper_fd;		/* pidfd of it */
	uint32_t zap_seq;	/* as in the stub's page, which the program can
				   write to */
	atomic_int zap_lost;	/* no answer: ended, to be told yet */
	atomic_int want_zapper;	/* the collector asks for one */
	atomic_int no_zapper;	/* there cannot be one: subreaper.h */
	uint64_t asked_ns;	/* when it did */
	uint64_t start_ns;
	int dead;		/* no task is left */
	int untold;		/* what was mapped before, or is mapped from now
				   on, is not told */
	int refused;		/* errno: a fork's child that could not have a
				   memfd, and runs natively */

	int witnessed;		/* by witness.h, from its begin on */

	/* The collector's alone. */
	struct pageset *pages;
	struct places *places;	/* of pages that went; phys.h */
	struct certify_range *ranges;	/* that the witness told of */
	int looked_at;		/* it did, at least once */
	int threaded;		/* it has, or had, several tasks */
	uint64_t hot[HOT_STACKS];	/* stack pointers of its tasks, as seen last, by
					   number; 0: none */
	double refault;		/* share of zapped pages that fault again */
	int swept;		/* by a sweep of all, to its end */
	uint64_t zapped;	/* pages let go by the last sweep */
	uint64_t repeated;	/* of such pages seen since then */
	uint64_t again;		/* the same: written to, once back */
	struct {		/* of its tasks: pace.h */
		uint32_t id;
		int cpu;
	} first, next;
	uint32_t turn;		/* whose it was last */
	int zap_cpu;		/* where its zapper works in this sweep; -1: any */
};

/* Of a task's, or a message's, space; NULL: none. */
static inline struct mm *mm_of(struct space *s)
{
	return (struct mm *)s;
}

/* All of the recorder, under recorder.space_lock. */
static inline struct mm *mm_first(const struct recorder *rec)
{
	return mm_of(rec->spaces);
}

static inline struct mm *mm_next(const struct mm *mm)
{
	return mm_of(mm->space.next);
}

static inline uint64_t plane_offset(unsigned int plane, uint64_t addr)
{
	return ((uint64_t)plane << 47) | addr;
}

#endif
