/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmocatrace inside a program. Everything here may run in a signal handler,
 * at any instruction of the program or of itself; so: no locks, no malloc, no
 * cancellation points (raw system calls), errno kept by the entry points.
 */
#ifndef MOCA_AGENT_TRACE_INTERNAL_H
#define MOCA_AGENT_TRACE_INTERNAL_H

#include <stdint.h>

#include <moca/trace.h>

#include "lib/ring/producer.h"
#include "lib/ring/protocol.h"
#include "lib/ring/registry.h"

#define ID_BITS 14
#define ID_MASK ((1u << ID_BITS) - 1)

/* A thread's dealings with one slot of the registry. */
struct agent_slot {
	struct moca_ring ring;
	/* epoch << ID_BITS while the ring is usable; 0: it is not. */
	uint32_t id_base;
	uint32_t closing;	/* the trace is gone, writers are inside */
	uint32_t retry_base;	/* after a refusal: by this trace, */
	uint64_t retry_ns;	/* not before this time */
	uint64_t lost;		/* events dropped while there was no ring */
	void *map;
	size_t map_len;
};

/* Lies in memory that a fork wipes: a child finds zeros, and begins anew. */
struct agent_thread {
	uint32_t live;
	struct agent_slot slots[MOCA_TRACE_SLOTS];
};

_Static_assert(MOCA_TRACE_SLOTS == MOCA_REGISTRY_SLOTS, "slots");

extern __thread struct agent_thread *agent_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* init.c: the process */
extern const struct moca_registry *agent_registry;
extern char agent_dir[];
/*
 * Which process this is. Wiped by fork, so that a child sets it anew; not by
 * vfork, whose child runs in its parent's memory and finds another's pid.
 */
struct agent_process {
	int pid;
	uint64_t incarnation;
};
extern struct agent_process *agent_process;

/* Is this slot's trace recording, and are we asked to take part? */
int agent_slot_ours(const struct moca_registry_slot *s);
uint32_t agent_slot_base(const struct moca_registry_slot *s);

/* thread.c: the calling thread's state, set up if need be; NULL: no memory. */
struct agent_thread *agent_thread_get(void);
void agent_thread_init(void);
/* The ring is usable from now on; what was dropped meanwhile is told in it. */
void agent_slot_attached(struct agent_slot *s, uint32_t base);
/*
 * Give the ring back: the collector will find the thread has ended. Signals are
 * blocked: a handler would do the same, or join the next trace.
 */
void agent_slot_detach(struct agent_slot *s);
/* The last writer has left a trace that is gone. */
void agent_slot_close(struct agent_slot *s);
/* Let go of traces that are gone, unless a writer is inside. */
void agent_thread_sweep(struct agent_thread *t);

/*
 * Around a join and a detach: a handler could want to do the same, or leave by
 * longjmp and never come back. Only here; events themselves mask nothing.
 */
void agent_block_signals(uint64_t *before);
void agent_restore_signals(const uint64_t *before);

/* join.c: ask the collector. 0 or -errno. */
int agent_join(struct agent_slot *s, unsigned slot,
	       const struct moca_registry_slot *r);
int agent_request_id(struct moca_trace_event *e,
		     const struct moca_registry_slot *r, uint32_t *id);
void agent_report_lost(struct agent_slot *s,
		       const struct moca_registry_slot *r);

#endif
