/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of exact mode's collector share.
 *
 * Two threads, as in collect/fault: the supervisor (ptrace; inject.c) makes
 * arenas; the harvester (harvest.c, slot.c, rows.c) has them from the message
 * that tells of them on. What both touch is said below.
 */
#ifndef MOCA_EXACT_COLLECTOR_H
#define MOCA_EXACT_COLLECTOR_H

#include <stdatomic.h>
#include <stdint.h>

#include "collect/exact/record.h"
#include "collect/ptrace/task.h"
#include "include/abi/exact-arena.h"
#include "lib/format/meta.h"
#include "lib/format/writer.h"
#include "lib/ring/clock-ns.h"
#include <moca/types.h>

/* Why a program image runs uncounted. Names: exact_reason_names. */
enum exact_reason {
	EXACT_32BIT,
	EXACT_SECCOMP,
	EXACT_RIGHTS,
	EXACT_LIMIT,		/* RLIMIT_AS */
	EXACT_MACHINE,		/* no vDSO, no FSGSBASE */
	EXACT_INJECTION,	/* something failed */
	EXACT_GRANULARITY,	/* it counts itself, by another granule */
	EXACT_SANITIZER,	/* it must be alone */
	EXACT_HOSTILE,		/* nonsense in an arena */
	EXACT_UNWRITTEN,	/* counted, and there was no room for it */
	EXACT_REASONS
};

/* The recording; one per process. */
struct exact {
	struct moca_exact_options opt;
	unsigned int shift;	/* log2 of a granule */
	long begun;	/* supervisor: tasks that were made */
	/* Both threads. */
	atomic_ulong reasons[EXACT_REASONS];
	/* Why the heap of a program begins below translated code; NULL: none does. */
	_Atomic(const char *) heap_stays;
	int heap_told;		/* harvester */
	char left[200];		/* why the first of these was left alone */
	atomic_ulong ended;	/* tasks that the harvester is done with */
	struct harvest *harvest;
};
extern struct exact moca_exact_recording;
extern const char *const exact_reason_names[EXACT_REASONS];

struct pageset;

/* An address space of exact mode. */
struct exact_space {
	struct space space;		/* must come first */
	struct exact_arena *arena;	/* set once, by the supervisor; NULL: none */
	struct pageset *pages;		/* the harvester's */
	uint32_t chart;			/* the same: struct moca_exact_slot */
};

/* Of a task's, or a message's, space; NULL: none. */
static inline struct exact_space *exact_space_of(struct space *s)
{
	return (struct exact_space *)s;
}

/* --- inject.c, image.c: supervisor ----------------------------------------- */

int exact_after_exec(struct recorder *rec, struct task *t, const char *path);
void exact_after_fork(struct recorder *rec, struct task *t, struct task *child);

/* Also keeps programs that make threads all the time from being ahead of the
 * harvester, who frees their slots. */
void exact_before_child(struct recorder *rec, const struct task *t,
			struct task *child);

/* An ELF file's PT_LOAD segments, as they are to lie in memory. */
struct exact_image {
	const uint8_t *file;
	size_t len;
	uint64_t span;		/* bytes of memory, whole pages */
	uint64_t entry;		/* from the begin of the memory */
};
/* The agent, and libZydis' file. 0; -ENOEXEC, or -errno. Once per process. */
int exact_image_agent(struct exact_image *im);
int exact_image_zydis(struct exact_image *im);

/* --- counting.c: supervisor ------------------------------------------------ */

struct exact_counting {
	unsigned int shift;	/* log2 of the granule that it was built for */
	uint64_t setup;		/* where it wants struct moca_exact_setup */
};
/*
 * Does the program that has just been started count itself? Its program headers
 * are phnum at phdr. 1 and *c, or 0.
 */
int exact_counts_itself(pid_t pid, uint64_t phdr, uint64_t phnum,
			struct exact_counting *c);
/* The same of an executable file: its granule's shift; 0: it does not. */
unsigned int exact_built_for(const char *path);

/* --- arena.c -------------------------------------------------------------- */

struct counted_task;
struct tally;

/* A slot as the harvester knows it. */
struct exact_view {
	struct moca_exact_slot *head;	/* and the ring of events; NULL: not
					   mapped */
	struct counted_task *task;		/* whose counts these are; or NULL */
	struct tally *tally;		/* what was read of it; NULL: nothing */
	uint64_t gaps[MOCA_EXACT_GAP_COUNT];	/* accounted already */
	struct moca_exact_apart apart;		/* the same */
	uint64_t lost;
	uint64_t told_ns;	/* until when its counts were written */
};

struct exact_arena {
	struct exact_arena *next;	/* harvester */
	int known;			/* harvester: it is in its list */
	int fd;
	unsigned int number;
	atomic_uint spaces;	/* address spaces that have it: the supervisor
				   adds one for a fork, the harvester takes one
				   away when it is told of the end */
	struct exact_view *views;	/* MOCA_EXACT_SLOTS */
	unsigned int mapped;	/* no view from here on has a head or a tally */
	struct moca_exact_shared before;	/* accounted already */
	uint8_t gone[MOCA_EXACT_SLOTS];	/* charts whose process is, and which are
					   their children's */
	struct counted_task *unbound;		/* tasks whose slot is not known yet */
};

/* Of a memfd (its owner from now on), as large as it must be. NULL: errno. */
struct exact_arena *exact_arena_new(int fd);
/* Which files are ours, for its agents. 0 or -errno. */
int exact_arena_tell_own(struct exact_arena *a);
void exact_arena_free(struct exact_arena *a);
/* Slots that were ever taken, at most MOCA_EXACT_SLOTS. */
unsigned int exact_arena_used(struct exact_arena *a);
/* A slot's first page and its events. NULL: errno. */
struct moca_exact_slot *exact_arena_slot(struct exact_arena *a, unsigned int n);
/* Give a slot's memory back, and the slot to whoever needs one. */
void exact_arena_release(struct exact_arena *a, unsigned int n);
/* The chart of a process that is gone; its number + 1, of the program. */
void exact_arena_free_chart(struct exact_arena *a, uint32_t chart);
/* Bytes of memory that it takes now. */
uint64_t exact_arena_memory(const struct exact_arena *a);
/* Read len bytes of slot n. 0 or -errno. */
int exact_arena_read(const struct exact_arena *a, unsigned int n,
		     uint64_t offset, void *buf, size_t len);

/* --- rows.c -------------------------------------------------------------- */

/* Where rows go, at most 65,536 at a time, sorted; more: others follow. */
typedef int (*exact_rows_put)(void *arg, const struct moca_count *rows,
			      size_t n, int more);

/* What is to be counted now: the log as it was, before the end. */
struct exact_slice {
	uint64_t log_count;
	uint64_t begin_ns, end_ns;	/* first touches are told as in between */
	int last;		/* nothing needs to be kept for another */
};

struct tally *exact_tally_new(void);
void exact_tally_free(struct tally *t);
/*
 * What was counted in slot n since the last call. 0, or -errno: of put, of
 * memory, or of reading. clock tells the times of first touches.
 */
int exact_tally_rows(struct tally *t, const struct exact_arena *a,
		     unsigned int n, const struct exact_slice *slice,
		     const struct tracer_clock *clock, exact_rows_put put,
		     void *arg);

/* --- harvest.c ----------------------------------------------------------- */

struct exact_totals {
	uint64_t loads, stores;
	uint64_t rows, chunks, pages;
	int pages_unknown;	/* there was no memory to count some */
	uint64_t gaps[MOCA_EXACT_GAP_COUNT];
	uint64_t regions, blocks, instructions, code_bytes, invalidated, loops;
	uint64_t translating;	/* CPU time of it, ns */
	struct moca_exact_apart apart;	/* of all slots; may be nonsense */
	uint64_t program_cpu_ns;
	/* Of tasks, as they were asked: on a CPU, and waiting for one. */
	uint64_t run_ns, wait_ns;
	uint64_t memory;	/* of arenas, at its peak, bytes */
	uint64_t slices;
	uint64_t bytes;		/* of the trace */
};

int harvest_new(struct harvest **out, struct recorder *rec,
		struct moca_meta *meta, struct moca_writer *writer);
/* The program is about to begin. */
void harvest_begin(struct harvest *h, pid_t pid);
void harvest_run(struct harvest *h, atomic_int *finished);
const struct exact_totals *harvest_totals(struct harvest *h);
/* What recording cost: exact_cost. */
void harvest_cost(struct harvest *h, char *buf, size_t size);
/* Which task is not counted from when on, and why: a line, if there is one. */
void harvest_say_natives(const struct harvest *h);

/* --- cost.c --------------------------------------------------------------- */

/*
 * The program has ended and all is written: what it cost, into the trace's keys and
 * as a part of the last line.
 */
struct shares;
void exact_cost(struct recorder *rec, struct exact_totals *t,
		const struct shares *shares, struct moca_meta *m, char *buf, size_t size);

/* What was counted or not, into the trace's metadata. record.c */
void exact_describe_totals(struct moca_meta *m, const struct exact_totals *t);
/* Everything that was not counted, of all kinds. */
uint64_t exact_gaps(const struct exact_totals *t);

#endif
