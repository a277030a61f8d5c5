/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer's two calls: update and switch. A thread of a program under a
 * session writes events into a buffer that it maps, and the session gets what it
 * hands over. One buffer for each thread and session.
 *
 * A program opens /dev/moca. MOCA_IOC_UPDATE with session 0, again and again until
 * it says session 0, tells it of all sessions that have it: the first time, and
 * whenever it gets signal SIGRTMIN+3 of the C library. It maps each buffer,
 * shared, from what it has opened, by the thread that was told. It fills it from the
 * begin on, says MOCA_IOC_SWITCH with so many bytes, and begins anew. A session
 * that is no more active gets a last switch, after which the buffer is gone; so is
 * one of a session that has ended (MOCA_IOC_UPDATE with its id: ESRCH).
 *
 * A buffer that is handed out, or was switched, is zero. Of a thread that ends or
 * execs without a switch, what there is up to the last byte that is not zero is
 * handed over, rounded up to eight.
 *
 * Children have no buffers mapped: they ask anew.
 */
#ifndef MOCA_KMOD_USER_BUFFER_H
#define MOCA_KMOD_USER_BUFFER_H

#include <linux/list.h>
#include <linux/types.h>

struct moca_session;
struct task_struct;
struct vm_area_struct;

/* Of a session; it is part of it. Private to user-buffer.c. */
struct moca_buffers {
	struct list_head node;		/* of all sessions, by id */
	struct list_head buffers;
	struct moca_session *session;
	u64 id;				/* from 1 */
	unsigned int users;		/* calls under way */
	bool closing;
	u32 active, filter, bytes;
};

/* The session can be found by programs from now on. */
void moca_buffers_init(struct moca_buffers *b, struct moca_session *s);
/*
 * It cannot any more, and nobody is handing over anything to it: to be called
 * while its rings and its tasks are there. May sleep.
 */
void moca_buffers_release(struct moca_buffers *b);

/* The ioctls, with their argument as it came. 0 or -errno. May sleep. */
long moca_buffers_control(struct moca_buffers *b, void __user *arg);
long moca_buffers_update(void __user *arg);
long moca_buffers_switch(void __user *arg);

/* For mmap of any descriptor of /dev/moca: is it a buffer's? Then map it. */
bool moca_buffers_has_offset(const struct vm_area_struct *vma);
int moca_buffers_mmap(struct vm_area_struct *vma);

/* The current task ends, or has execed. Does not sleep. */
void moca_buffers_task_gone(struct task_struct *t);

/* At unload, when there are no sessions and no tracepoints any more. */
void moca_buffers_exit(void);

/* --- what session.c has for this ------------------------------------------- */

/* Is the current task under it? Called without locks. */
bool moca_session_has_current(struct moca_session *s);
/* Calls fn, which does not sleep, for each thread under it. */
void moca_session_each_task(struct moca_session *s,
			    void (*fn)(struct task_struct *t));
/* And moca_session_put_events() of session.h, in any context. */

#endif
