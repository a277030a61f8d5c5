/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of a recording as the collector of native memory knows them: what was
 * seen of each and is not written yet. Collector thread.
 */
#ifndef MOCA_NATIVE_TASKS_H
#define MOCA_NATIVE_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/native/space.h"
#include "collect/run/own-faults.h"
#include "collect/run/recording.h"
#include <moca/types.h>

struct message;

struct native_task {
	struct native_task *next;
	pid_t tid, pid;
	uint32_t id;
	int known;		/* id and space are */
	int ignore;
	struct native_space *space;
	struct moca_access *recs;
	size_t count, room;
	uint64_t lost;
	uint64_t repeated, natural;	/* faults since the last account */
	struct own_count own;
	struct message *events, **events_tail;
	size_t event_count;
	uint64_t event_ns;	/* of the last */
};

#define NATIVE_BUCKETS 4096u

struct native_tasks {
	struct recording *recording;	/* borrowed */
	struct moca_certificate *cert;	/* borrowed: records, chunks, lost */
	struct native_task *buckets[NATIVE_BUCKETS];
	uint64_t interval, begin_ns;	/* that goes on */
	size_t buffered;		/* records */
	uint64_t lost;			/* of nobody that is known; not written */
};

/* Made where it is not there. NULL: no memory. */
struct native_task *native_task(struct native_tasks *ts, pid_t tid);
/* A task of the address space, to tell what happens to it; NULL: none. */
struct native_task *native_task_of(const struct native_tasks *ts,
				   const struct native_space *s);
typedef void (*native_task_visit)(struct native_task *t, void *arg);
void native_task_each(const struct native_tasks *ts, native_task_visit visit,
		      void *arg);

void native_task_access(struct native_tasks *ts, struct native_task *t,
			const struct moca_access *a);
/*
 * Samples were lost behind those of last, or NULL: the kernel does not say whose. Where
 * nobody is known whose they may be, the chunk that is written next tells of them.
 */
void native_tasks_lose(struct native_tasks *ts, struct native_task *last,
		       uint64_t lost);
/* Keeps m; its time is raised to that of the task's last event. */
void native_task_event(struct native_tasks *ts, struct native_task *t,
		       struct message *m);
/* A change of the collector's own, at that time; its name is copied. */
void native_task_change(struct native_tasks *ts, struct native_task *t,
			const struct moca_change *e);
/* What is kept of all is written: the interval ends. */
void native_tasks_cut(struct native_tasks *ts, uint64_t end_ns);
/* What is kept of one; more: the interval goes on. */
void native_task_write(struct native_tasks *ts, struct native_task *t,
		       uint64_t end_ns, int more);
/* The same, and it is forgotten. */
void native_task_end(struct native_tasks *ts, pid_t tid, uint64_t end_ns);
void native_tasks_free(struct native_tasks *ts);

#endif
