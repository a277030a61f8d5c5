/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The address spaces that are traced, and the tasks that use them. An address
 * space belongs to one session at most. The fault path looks one up by RCU and
 * takes no lock; all else is rare and under one spinlock.
 */
#ifndef MOCA_KMOD_SPACE_H
#define MOCA_KMOD_SPACE_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/rculist.h>
#include <linux/hash.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>

struct moca_session;
struct moca_user;

/* Memory for what a traced task does: charged to its cgroup. May fail. */
#define MOCA_ATOMIC (GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT)

#define MOCA_KNOWN 256		/* mappings that were told of lately */

struct moca_space {
	struct hlist_node node;		/* by mm; RCU */
	struct list_head list;		/* of the session */
	u64 order;			/* in that list: it rises */
	struct mm_struct *mm;		/* its struct is held, not its users */
	struct moca_session *session;	/* borrowed: outlives it in the table */
	struct moca_user *user;		/* who is charged for it; held */
	refcount_t refs;
	u32 pid;			/* as the session's opener sees it */
	int tasks;			/* under the lock */
	bool thp_off;			/* we forbade huge pages */
	bool told_unsafe;
	bool fresh;			/* its first sweep is to come: pages were
					   touched before that, by the kernel's
					   exec, say */
	u32 known[MOCA_KNOWN];		/* hashes of mappings; racy, harmless */
	struct callback_head first;	/* work of its first task */
	struct list_head opened;	/* ranges to be closed (opened.c) */
	spinlock_t opened_lock;
	struct rcu_head rcu;
};

#define MOCA_SPACE_BITS 10
extern struct hlist_head moca_spaces[1 << MOCA_SPACE_BITS];

/* Whether it is worth to look mm up. Any context. */
static __always_inline bool moca_space_maybe(const struct mm_struct *mm)
{
	return READ_ONCE(moca_spaces[hash_ptr(mm, MOCA_SPACE_BITS)].first);
}

/* Under RCU, or with preemption off. */
static __always_inline struct moca_space *
moca_space_find(const struct mm_struct *mm)
{
	struct hlist_head *h = &moca_spaces[hash_ptr(mm, MOCA_SPACE_BITS)];
	struct moca_space *sp;

	hlist_for_each_entry_rcu(sp, h, node, 1)
		if (sp->mm == mm)
			return sp;
	return NULL;
}

void moca_space_put(struct moca_space *sp);

/*
 * The session of a space that is held: who stops it or lets go of the space
 * waits until unpin. NULL: the space is no session's any more.
 */
struct moca_session *moca_space_pin(struct moca_space *sp);
void moca_space_unpin(struct moca_space *sp, struct moca_session *s);

/*
 * Put the address space of process t under s, with all tasks that use it now.
 * 0; -ESRCH it has none (any more); -EBUSY it is another session's; -ENOMEM.
 * After 0 the caller, who may hold locks of t's until then, has to call
 * moca_space_registered() without them: the first sweep takes long.
 */
int moca_space_register(struct moca_session *s, struct task_struct *t,
			struct moca_space **made);
void moca_space_registered(struct moca_session *s, struct moca_space *made);
/*
 * Take it away again. 0, or -ENOENT: it is not there. After 0 the caller has to
 * call moca_space_unregistered(), in the same way: it takes the false faults away.
 */
int moca_space_unregister(struct moca_session *s, struct task_struct *t,
			  struct moca_space **gone);
void moca_space_unregistered(struct moca_session *s, struct moca_space *gone);
/* All of a session's. May sleep. */
void moca_space_unregister_all(struct moca_session *s);
/* Take all false faults of the session away, after it was stopped. */
void moca_space_restore_all(struct moca_session *s);

/*
 * The session's spaces one by one, each held: start with NULL; NULL at the end.
 * All that are there from begin to end; what comes meanwhile may be left out.
 */
struct moca_space *moca_space_next(struct moca_session *s,
				   struct moca_space *prev);

/* CPU time of the session's tasks so far that live, in ns; 0 if it went back. */
u64 moca_space_cpu_ns(struct moca_session *s);
/* Follow tasks from now on, and no longer: each session once. 0 or -errno. */
int moca_space_follow(void);
void moca_space_unfollow(void);
/* At unload. */
void moca_space_exit(void);

#endif
