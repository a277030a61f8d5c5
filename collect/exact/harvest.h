/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the harvester share: one thread's, all of it. */
#ifndef MOCA_EXACT_HARVEST_H
#define MOCA_EXACT_HARVEST_H

#include "collect/exact/collector.h"
#include "collect/exact/native.h"
#include "collect/exact/share.h"
#include "collect/run/recording.h"

#define BUCKETS 4096
#define TASK_EVENTS 512u	/* kept for one task */

/* A task as the harvester knows it. */
struct counted_task {
	struct counted_task *next;	/* of the same bucket */
	uint32_t id;
	uint32_t parent;	/* number, or MOCA_NO_TASK */
	pid_t tid, pid;
	char name[16];		/* told last */
	pid_t inner_tid;	/* what its slot says */
	struct exact_space *space;	/* told last; NULL: it left it */
	struct exact_arena *arena;	/* NULL: it is not counted */
	int slot;		/* of the arena; -1: not known, or given back */
	int fresh;		/* it has had none in this arena yet */
	struct counted_task *sibling;	/* of arena->unbound */
	struct kept *events;	/* to be written */
	size_t event_count, event_room;
	uint64_t last_ns;	/* of the events that were written; 0: none was */
	/* As of looked_ns: on a CPU, and waiting for one. */
	uint64_t looked_ns, run_ns, wait_ns;
};

struct harvest {
	struct recorder *rec;
	struct recording recording;
	struct moca_writer *writer;
	struct tracer_clock clock;
	struct exact_arena *arenas;
	struct counted_task *tasks[BUCKETS];
	uint64_t slice;		/* number of the slice */
	uint64_t next_slice_ns;	/* 0: there are none */
	struct exact_totals totals;
	unsigned int waits_left;	/* tasks to be asked in this look */
	struct natives natives;
	struct share share;
};

/* --- events.c -------------------------------------------------------------- */

/* A copy of an event of t, to be written. */
void events_add(struct harvest *h, struct counted_task *t, const struct moca_change *e);
/* The task's slot is known: where its stack and its thread-local storage are. */
void events_place(struct counted_task *t, const struct moca_exact_slot *s);
void events_write(struct harvest *h, struct counted_task *t);
/* harvest.c: NULL: it ended, or never was. */
struct counted_task *harvest_task(struct harvest *h, uint32_t id);

/* --- slot.c ------------------------------------------------------------------ */

/* MOCA_EXACT_FREE also when it cannot be looked at. */
uint32_t slot_state(struct exact_arena *a, unsigned int n);
/* Take its events, of which the program is told, and its gaps. */
void slot_drain(struct harvest *h, struct exact_arena *a, unsigned int n);
/* Write its rows. last: it will not change; end_ns: when it ended, if it did not
 * say that itself. */
void slot_count(struct harvest *h, struct exact_arena *a, unsigned int n,
		uint64_t end_ns, int last);
/*
 * loop.c: its thread is gone: count what the loop that it was in has done. 0,
 * -EINVAL: what is there is nonsense, or another -errno.
 */
int slot_finish_loop(const struct exact_arena *a, unsigned int n,
		     struct moca_exact_slot *s);
/* A slot that is nobody's, at the end. */
void slot_stray(struct harvest *h, struct exact_arena *a, unsigned int n);
/* What an arena's processes did together. last: it ends. */
void slot_shared(struct harvest *h, struct exact_arena *a, int last);
/* The address space is gone. */
void pages_end(struct harvest *h, struct exact_space *space);

/* --- harvest.c ----------------------------------------------------------- */

/* See how much memory the arenas take. */
void harvest_memory(struct harvest *h);

#endif
