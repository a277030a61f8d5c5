/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the supervisor to the collector: what happened to tasks and address
 * spaces, in order of time. Any thread may push; the collector takes all.
 */
#ifndef MOCA_RUN_QUEUE_H
#define MOCA_RUN_QUEUE_H

#include <stdint.h>
#include <sys/types.h>

#include <moca/types.h>

struct space;

/* Pages [start, end) of an address space, bytes. */
struct extent {
	uint64_t start, end;
};

/* Pages [start, end), bytes, that were on one NUMA node. */
struct placed {
	uint64_t start, end;
	int node;
};

enum message_kind {
	MSG_EVENT,	/* event of task id; name is the message's own */
	MSG_TASK,	/* tid is task id, of that address space, from now on */
	MSG_TASK_END,
	MSG_IGNORE,	/* tid is one of our own: no samples of it */
	MSG_PREFILL,	/* extents hold data that nobody touched yet */
	MSG_DROP,	/* [start, end) goes; extents are its existing pages */
	MSG_WITNESS,	/* the mapping [start, end), event.name, has pages at
			   extents, as its page tables say */
	MSG_SPACE_END,	/* it has no tasks any more */
};

struct message {
	struct message *next;
	uint64_t time_ns;
	enum message_kind kind;
	pid_t tid, pid;
	pid_t former;		/* MSG_TASK: its thread id until now, or 0 */
	pid_t inner_tid;	/* MSG_TASK: its number for itself; 0: as tid */
	uint32_t task;
	struct space *space;
	uint64_t start, end;
	int certified;		/* MSG_DROP: the extents are the whole truth */
	int filled;		/* MSG_PREFILL: enum page_filled */
	struct extent *extents;
	size_t extent_count;
	struct placed *placed;	/* MSG_DROP, _WITNESS: where pages are until now;
				   freed with the message */
	size_t placed_count;
	struct moca_change event;
};

struct queue;
struct jit;

/* jit: is told of all messages, by who pushes them; borrowed. */
struct queue *queue_new(struct jit *jit);

/*
 * A message with room for n extents, and a copy of name. Stamped with the time
 * of the push. NULL: no memory; it counts as lost.
 */
struct message *message_new(struct queue *q, enum message_kind kind, size_t n,
			    const char *name);
/* Such a message of space's [start, end), with a copy of extents[n]. */
struct message *message_of_extents(struct queue *q, enum message_kind kind,
				   struct space *space, uint64_t start,
				   uint64_t end, const struct extent *extents,
				   size_t n, const char *name);
void message_free(struct message *m);
void queue_push(struct queue *q, struct message *m);
/*
 * Look at all messages that nobody took yet, oldest first. They stay what they
 * are until the caller takes them.
 */
void queue_visit(struct queue *q,
		 void (*visit)(const struct message *m, void *arg), void *arg);
/* All messages, oldest first, or NULL. */
struct message *queue_take(struct queue *q);
/* Put them behind those of *list. The first of them, or NULL. */
struct message *queue_append(struct queue *q, struct message **list);
/* There was no memory for what n messages tell. Any thread. */
void queue_lose(struct queue *q, uint64_t n);
/* An agent could not tell n of its changes. Any thread. */
void queue_miss(struct queue *q, uint64_t n);
/* How many were lost, and missed, once all other threads have ended. */
uint64_t queue_lost(const struct queue *q);
uint64_t queue_missed(const struct queue *q);
/* Wake the collector before its next tick. */
void queue_wake(struct queue *q);
/* Readable after queue_wake, until queue_awake. */
void queue_awake(struct queue *q);
int queue_fd(const struct queue *q);

#endif
