/* SPDX-License-Identifier: GPL-2.0-only */
/* A session: one open descriptor of /dev/moca, its rings, its monitor thread. */
#ifndef MOCA_KMOD_SESSION_H
#define MOCA_KMOD_SESSION_H

#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <uapi/moca.h>

#include "ring.h"
#include "user-buffer.h"

struct moca_heat;
struct moca_page_set;
struct moca_user;

struct moca_session {
	struct mutex lock;		/* set-up, start, stop, ticks */
	bool ready;			/* set up */
	bool running;			/* records are written */
	u32 flags;			/* MOCA_SETUP_* */
	u64 id;
	const struct cred *cred;	/* of the opener */
	struct pid_namespace *pid_ns;
	bool sees_frames;		/* may know physical addresses */
	struct moca_user *user;		/* who is charged; NULL: a profiler */
	u64 charged;			/* bytes, of rings and the page set */

	u32 cpus;			/* rings[cpu]; may be NULL */
	struct moca_ring **rings;
	struct moca_ring *own;		/* the monitor's: under lock */
	u32 list_rings;			/* rings as user space numbers them */
	struct moca_ring **list;
	u64 ring_stride;
	wait_queue_head_t readers;

	struct task_struct *monitor;
	u64 interval, begin_ns;
	u64 base_ns, length_ns;		/* asked for; with the budget's factor */
	u32 budget_permille, fault_ns;
	struct moca_heat *heat;		/* NULL: not asked for */
	struct moca_page_set *seen;	/* pages with a record in an interval */
	u64 cpu_ns, last_false;		/* at the last tick */
	struct {
		atomic64_t looked, injected, ns;
	} opened;			/* by opened.c, since the last tick */

	struct moca_totals sums;	/* what is not in the rings */
	atomic64_t homeless;		/* lost on CPUs without a ring */

	struct list_head spaces;	/* under the lock of space.c */
	atomic_t busy;			/* first sweeps under way */
	struct moca_buffers buffers;	/* of its programs; when it is ready */
};

struct moca_session *moca_session_create(void);
/* Undo everything. May sleep. */
void moca_session_destroy(struct moca_session *s);

/* As the ioctls of the same names; in and out as in uapi/moca.h. */
int moca_session_setup(struct moca_session *s, struct moca_setup *setup);
int moca_session_start(struct moca_session *s);
int moca_session_stop(struct moca_session *s);
int moca_session_pace(struct moca_session *s, const struct moca_pace *pace);
int moca_session_tick(struct moca_session *s);
int moca_session_look(struct moca_session *s);
void moca_session_totals(struct moca_session *s, struct moca_totals *t);

/* A number of a task or process as the session's opener sees it. */
static inline u32 moca_session_tid(const struct moca_session *s,
				   struct task_struct *t)
{
	return s->pid_ns == &init_pid_ns ? t->pid :
					   task_pid_nr_ns(t, s->pid_ns);
}

static inline u32 moca_session_pid(const struct moca_session *s,
				   struct task_struct *t)
{
	return s->pid_ns == &init_pid_ns ? t->tgid :
					   task_tgid_nr_ns(t, s->pid_ns);
}

/*
 * Write a record into this CPU's ring: begin returns room (or NULL), and in any
 * case end must follow. Interrupts are off in between. Any context but NMI.
 */
void *moca_put_begin(struct moca_session *s, u16 type, size_t bytes, u32 tid,
		     unsigned long *irq);
void moca_put_end(unsigned long irq);

/* Hand over what a program emitted, in pieces that fit (user-buffer.c). */
void moca_session_put_events(struct moca_session *s, u32 tid, u32 pid,
			     const void *data, size_t len, u32 flags);

#endif
