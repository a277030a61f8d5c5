/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmocatrace inside a program. Everything here may run in a signal handler,
 * at any instruction of the program or of itself; so: no locks, no malloc, no
 * cancellation points (raw system calls), errno kept by the entry points.
 */
#ifndef MOCA_AGENT_TRACE_EMITTER_H
#define MOCA_AGENT_TRACE_EMITTER_H

#include <stdint.h>

#include <moca/trace.h>

#include "lib/ring/producer.h"
#include "lib/ring/protocol.h"
#include "lib/ring/refused.h"
#include "lib/ring/registry.h"

#define ID_BITS 14
#define ID_MASK ((1u << ID_BITS) - 1)

/*
 * A thread's buffer in one trace. A writer inside keeps its pointer whatever
 * happens: a trace that takes the place of another while writers are inside
 * gets a member of its own, and a fork's child finds memory to finish in.
 */
struct agent_member {
	struct moca_ring ring;
	/* epoch << ID_BITS while the ring is usable; 0: it is not. */
	uint32_t id_base;
	uint32_t closing;	/* the trace is gone; the last one out detaches */
	uint32_t retired;	/* and frees: no table has it any more */
	void *map;
	size_t map_len;
};

/* What a thread has of one slot of the registry. */
struct agent_slot {
	struct agent_member *member;	/* NULL: never joined */
	uint64_t lost;		/* events dropped while there was no ring and no
				   doorbell page, */
	uint32_t lost_base;	/* of this trace; 0: not known */
	uint32_t refused_base;	/* the thread was counted as refused by it */
	enum moca_refusal refusal;	/* why it was, at last */
	uint32_t retry_base;	/* refused by this trace: */
	uint32_t retry_generation; /* while the registry is as it was, */
	uint64_t retry_ns;	/* not again before this time */
};

/*
 * A thread. In memory that a fork wipes: a child finds zeros, and begins anew.
 * Never unmapped, but given to another thread: so all can be listed.
 */
struct agent_thread {
	uint32_t live;
	int32_t tid;		/* 0: free */
	struct agent_thread *next;
	struct agent_slot slots[MOCA_TRACE_SLOTS];
};

/*
 * The process. Wiped by fork as well; not by vfork, whose child runs in its
 * parent's memory and finds another's pid.
 */
struct agent_process {
	int pid;
	uint64_t incarnation;
	struct agent_thread *threads;
	uint64_t lost;		/* by threads without memory for a state */
	/* A collector that does not answer is asked more and more rarely. */
	struct {
		uint32_t base;
		uint32_t timeouts;
		uint64_t retry_ns;
	} patience[MOCA_TRACE_SLOTS];
};

_Static_assert(MOCA_TRACE_SLOTS == MOCA_REGISTRY_SLOTS, "slots");

extern __thread struct agent_thread *agent_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* init.c: the process */
extern const struct moca_registry *agent_registry;
extern char agent_dir[];
extern struct agent_process *agent_process;

/* Is this slot's trace recording, and are we asked to take part? */
int agent_slot_ours(const struct moca_registry_slot *s);
uint32_t agent_slot_base(const struct moca_registry_slot *s);

/* Memory that a fork's child finds zeroed; NULL: there is none. */
void *agent_map_wiped(size_t len);
/* Set what a fork has wiped. */
void agent_process_set(void);
/*
 * libmoca-alloc was told that a system call more might end the process
 * (include/abi/agent.h).
 */
static inline int agent_is_silent(void)
{
	return *moca_trace_generation == MOCA_GENERATION_NONE;
}

/*
 * Around a join and a detach: a handler could want to do the same, or leave by
 * longjmp and never come back. Only here; events themselves mask nothing.
 */
void agent_block_signals(uint64_t *before);
void agent_restore_signals(const uint64_t *before);

/* incarnation.c: the same for all copies of the library in a process' image. */
uint64_t agent_incarnation(int pid);

/* thread.c: the calling thread's state, set up if need be; NULL: no memory. */
struct agent_thread *agent_thread_make(void);

static inline struct agent_thread *agent_thread_get(void)
{
	struct agent_thread *t = agent_self;

	return __builtin_expect(t && t->live, 1) ? t : agent_thread_make();
}

void agent_thread_init(void);
/* Let go of traces that are gone, unless a writer is inside. */
void agent_thread_sweep(struct agent_thread *t);

/* member.c. Signals are blocked by the caller. */
/* The slot's member, ready to join; another one if writers are inside. */
struct agent_member *agent_member_fresh(struct agent_slot *s);
/* The ring is usable from now on; what was dropped meanwhile is told in it. */
void agent_member_attached(struct agent_slot *s, uint32_t base);
/* Give the buffer back: the collector will find that the thread has ended. */
void agent_member_detach(struct agent_member *m);
/* The last writer has left a trace that is gone. Blocks signals itself. */
void agent_member_close(struct agent_member *m);
/* fork: in the parent before, in the child after. */
void agent_member_fork_prepare(void);
void agent_member_fork_child(void);

/* join.c: ask the collector of slot number `slot`. 0 or -errno. */
int agent_join(struct agent_slot *s, struct agent_member *m, unsigned slot,
	       const struct moca_registry_slot *r);
/* The ids of these events, with one request; at least of the first one. */
int agent_request_ids(struct moca_trace_event *const *events, unsigned n,
		      unsigned slot, const struct moca_registry_slot *r);
int agent_report_lost(uint64_t count, unsigned slot,
		      const struct moca_registry_slot *r);

/* doorbell.c: the page that this trace's collector gave; NULL: none. */
struct moca_doorbell *agent_doorbell_map(unsigned slot,
					 const struct moca_registry_slot *r,
					 int fd);
/* The same of an earlier thread of the process, or its parent; base 0: any. */
struct moca_doorbell *agent_doorbell(unsigned slot, uint32_t base);
/* Requests that the collector has answered so far, modulo 2^32. */
uint32_t agent_doorbell_served(unsigned slot, uint32_t base);

/* lost.c: an event of trace base (0: unknown) in this slot was dropped. */
void agent_lost(struct agent_slot *s, unsigned slot, uint32_t base);
/* What is to be told with a request for a buffer. */
uint64_t agent_lost_of(const struct agent_slot *s, uint32_t base);
/* The thread has asked for a buffer or an id, in vain. */
void agent_refused(struct agent_slot *s, unsigned slot, uint32_t base,
		   int error);
/* Tell all traces what was dropped for lack of a buffer: of t, of all. */
void agent_report_thread(struct agent_thread *t);
void agent_report_all(void);

#endif
