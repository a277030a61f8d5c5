// SPDX-License-Identifier: GPL-2.0-only
#include "space.h"

#include <linux/binfmts.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <linux/wait_bit.h>

#include "compat.h"
#include "entry.h"
#include "permit.h"
#include "record.h"
#include "session.h"
#include "user-buffer.h"
#include "user.h"

struct hlist_head moca_spaces[1 << MOCA_SPACE_BITS];

/* A task of a space: found by its pointer, gone when it exits. */
struct member {
	struct hlist_node node;
	struct task_struct *task;
	struct moca_space *space;
};

#define MEMBER_BITS 12
static struct hlist_head members[1 << MEMBER_BITS];

/* Guards both tables, sessions' lists of spaces, and tasks of a space. */
static DEFINE_SPINLOCK(table_lock);

static struct member *find_member(const struct task_struct *t)
{
	struct member *m;

	hlist_for_each_entry(m, &members[hash_ptr(t, MEMBER_BITS)], node)
		if (m->task == t)
			return m;
	return NULL;
}

void moca_space_put(struct moca_space *sp)
{
	if (!refcount_dec_and_test(&sp->refs))
		return;
	mmdrop(sp->mm);
	moca_user_uncharge(sp->user, sizeof(*sp));
	moca_user_put(sp->user);
	kfree_rcu(sp, rcu);
}

/* Under the lock; takes a reference for the table. */
static void add_space(struct moca_space *sp, struct moca_session *s)
{
	static u64 last_order;

	sp->order = ++last_order;
	list_add_tail(&sp->list, &s->spaces);
	hlist_add_head_rcu(&sp->node,
			   &moca_spaces[hash_ptr(sp->mm, MOCA_SPACE_BITS)]);
}

/* Under the lock. The caller has then the table's reference. */
static void remove_space(struct moca_space *sp)
{
	hlist_del_rcu(&sp->node);
	list_del_init(&sp->list);
}

static void add_member(struct member *m, struct task_struct *t,
		       struct moca_space *sp)
{
	m->task = t;
	m->space = sp;
	sp->tasks++;
	hlist_add_head(&m->node, &members[hash_ptr(t, MEMBER_BITS)]);
}

/* Under the lock. The space, if t was its last task: no longer in the table. */
static struct moca_space *drop_member(struct member *m)
{
	struct moca_space *sp = m->space;

	hlist_del(&m->node);
	if (--sp->tasks)
		return NULL;
	remove_space(sp);
	return sp;
}

static struct moca_space *new_space(struct moca_session *s,
				    struct mm_struct *mm, u32 pid, gfp_t gfp)
{
	struct moca_space *sp;

	if (moca_user_charge(s->user, sizeof(*sp)))
		return NULL;
	sp = kzalloc(sizeof(*sp), gfp);
	if (!sp) {
		moca_user_uncharge(s->user, sizeof(*sp));
		return NULL;
	}
	sp->user = moca_user_hold(s->user);
	mmgrab(mm);
	sp->mm = mm;
	sp->session = s;
	sp->pid = pid;
	refcount_set(&sp->refs, 1);
	INIT_LIST_HEAD(&sp->list);
	INIT_LIST_HEAD(&sp->opened);
	spin_lock_init(&sp->opened_lock);
	return sp;
}

static void forbid_thp(struct moca_space *sp)
{
	if (sp->session->flags & MOCA_SETUP_KEEP_THP ||
	    moca_mm_flag(sp->mm, MOCA_MMF_NO_THP))
		return;
	moca_mm_set_flag(sp->mm, MOCA_MMF_NO_THP);
	sp->thp_off = true;
}

/*
 * Under the lock: sp comes of `from` by fork or exec. The kernel copied the flag
 * before it told us: perhaps before REGISTER set it.
 */
static void inherit_thp(struct moca_space *sp, const struct moca_space *from)
{
	sp->thp_off = from->thp_off;
	if (sp->thp_off)
		moca_mm_set_flag(sp->mm, MOCA_MMF_NO_THP);
}

static void restore(struct moca_space *sp)
{
	struct moca_walk w = { .mm = sp->mm };

	if (!mmget_not_zero(sp->mm))
		return;
	moca_walk(&w);
	mmput_async(sp->mm);
}

/* What is there already is seen from its next access on; and was accessed before. */
static void sweep_first(struct moca_space *sp)
{
	const bool inject = !(sp->session->flags & MOCA_SETUP_NO_INJECT);
	struct moca_walk w = {
		.mm = sp->mm, .inject = inject, .look = !inject,
		.split = !(sp->session->flags & MOCA_SETUP_KEEP_THP),
		.heat = sp->session->heat, .sp = sp,
	};

	if ((inject || w.heat) && READ_ONCE(sp->session->running) &&
	    mmget_not_zero(sp->mm)) {
		moca_walk(&w);
		mmput_async(sp->mm);
	}
}

/*
 * Under the lock: who stops or lets go of the space waits for what we do with it,
 * and the space is there until then, even if its tasks end meanwhile.
 */
static void pin(struct moca_space *sp)
{
	refcount_inc(&sp->refs);
	atomic_inc(&sp->session->busy);
}

static void unpin_session(struct moca_session *s)
{
	if (atomic_dec_and_test(&s->busy))
		wake_up_var(&s->busy);
}

struct moca_session *moca_space_pin(struct moca_space *sp)
{
	struct moca_session *s = NULL;
	unsigned long flags;

	spin_lock_irqsave(&table_lock, flags);
	if (moca_space_find(sp->mm) == sp) {
		s = sp->session;
		pin(sp);
	}
	spin_unlock_irqrestore(&table_lock, flags);
	return s;
}

void moca_space_unpin(struct moca_space *sp, struct moca_session *s)
{
	moca_space_put(sp);
	unpin_session(s);
}

/*
 * In a task that was forked or that has executed another program, before the
 * first instruction of its own: so nothing of it goes unseen. The session may be
 * gone: then the space is in no table. While it is busy it waits for us.
 */
static void first_work(struct callback_head *head)
{
	struct moca_space *sp = container_of(head, struct moca_space, first);
	struct moca_session *s = moca_space_pin(sp);

	if (s) {
		sweep_first(sp);
		WRITE_ONCE(sp->fresh, false);
		moca_space_unpin(sp, s);
	}
	moca_space_put(sp);
	/* moca_space_exit() waits until we are really out of this code. */
	module_put(THIS_MODULE);
}

static void add_first_work(struct moca_space *sp, struct task_struct *t)
{
	refcount_inc(&sp->refs);
	__module_get(THIS_MODULE);
	WRITE_ONCE(sp->fresh, true);
	init_task_work(&sp->first, first_work);
	if (!task_work_add(t, &sp->first, TWA_RESUME))
		return;
	/* It is about to die. */
	module_put(THIS_MODULE);
	refcount_dec(&sp->refs);
}

/* ---- what tasks do: tracepoints, preemption is off ---- */

/*
 * Under the lock: child is a new member, of its parent's space or of one of its
 * own. Of what is not followed, huge pages are as they were; false faults that
 * it has a copy of the kernel repairs.
 */
static void follow(struct moca_space *from, struct task_struct *parent,
		   struct task_struct *child)
{
	bool shares = child->mm == parent->mm;
	struct moca_session *s = from->session;
	struct moca_space *sp = NULL;
	struct member *m = NULL;
	u32 what = 0;

	if (shares || !(s->flags & MOCA_SETUP_NO_FOLLOW))
		m = kmalloc(sizeof(*m), MOCA_ATOMIC);
	if (m && !shares)
		sp = new_space(s, child->mm, moca_session_pid(s, child),
			       MOCA_ATOMIC);
	if (!m || (!shares && !sp)) {
		kfree(m);
		if (!shares && from->thp_off)
			moca_mm_clear_flag(child->mm, MOCA_MMF_NO_THP);
		if (!(s->flags & MOCA_SETUP_NO_FOLLOW))
			moca_record_gap(s, moca_session_tid(s, child),
					moca_session_pid(s, child),
					MOCA_GAP_MEMORY, 0, 0);
		return;
	}
	if (sp) {
		inherit_thp(sp, from);
		add_space(sp, s);
		add_first_work(sp, child);
	}
	add_member(m, child, sp ?: from);
	if (shares)
		what = same_thread_group(child, parent) ? MOCA_TASKF_THREAD :
							  MOCA_TASKF_VFORK;
	moca_record_task(s, child, parent, what);
}

static void on_fork(void *unused, struct task_struct *parent,
		    struct task_struct *child)
{
	unsigned long flags;
	struct member *m;

	spin_lock_irqsave(&table_lock, flags);
	m = find_member(parent);
	/* A new thread is in its process' list before we are called: REGISTER
	 * may have found it there. */
	if (m && child->mm && !find_member(child))
		follow(m->space, parent, child);
	spin_unlock_irqrestore(&table_lock, flags);
}

/*
 * The session of t, which waits for us until unpin; NULL: none. Not to be asked
 * under the lock is who may trace whom: that takes task_lock(), and a task is
 * renamed (on_rename) with its own held.
 */
static struct moca_session *pin_session(struct task_struct *t)
{
	struct moca_session *s = NULL;
	unsigned long flags;
	struct member *m;

	spin_lock_irqsave(&table_lock, flags);
	m = find_member(t);
	if (m) {
		s = m->space->session;
		atomic_inc(&s->busy);
	}
	spin_unlock_irqrestore(&table_lock, flags);
	return s;
}

/* Under the lock: m's task has the new space sp, or none (NULL). */
static struct moca_space *change_space(struct member *m, struct moca_space *sp)
{
	struct moca_space *old = m->space, *gone;
	struct task_struct *t = m->task;

	if (sp)
		inherit_thp(sp, old);
	else if (old->thp_off)
		moca_mm_clear_flag(t->mm, MOCA_MMF_NO_THP);
	gone = drop_member(m);
	if (sp) {
		add_space(sp, old->session);
		add_member(m, t, sp);
		add_first_work(sp, t);
	}
	return gone;
}

/*
 * t is alone in its process now and has a new address space. Who may not see
 * the new program (it has other rights) does not.
 */
static void on_exec(void *unused, struct task_struct *t, pid_t old_tid,
		    struct linux_binprm *bprm)
{
	struct moca_session *s = pin_session(t);
	struct moca_space *sp = NULL, *gone = NULL;
	unsigned long flags;
	struct member *m;
	bool may;

	moca_buffers_task_gone(t);
	if (!s)
		return;
	may = moca_cred_may_trace(s->cred, t);
	if (may)
		sp = new_space(s, t->mm, moca_session_pid(s, t),
			       MOCA_ATOMIC);
	spin_lock_irqsave(&table_lock, flags);
	m = find_member(t);
	if (m && m->space->session != s)
		m = NULL;	/* it changed hands meanwhile */
	if (m) {
		moca_record_exec(s, t, old_tid, bprm->filename);
		if (!sp)
			moca_record_gap(s, moca_session_tid(s, t),
					moca_session_pid(s, t),
					may ? MOCA_GAP_MEMORY :
					      MOCA_GAP_RIGHTS, 0, 0);
		gone = change_space(m, sp);
	}
	spin_unlock_irqrestore(&table_lock, flags);
	if (m && !sp)
		kfree(m);
	else if (!m && sp)
		moca_space_put(sp);
	if (gone)
		moca_space_put(gone);
	unpin_session(s);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
static void on_exit(void *unused, struct task_struct *t, bool group_dead)
#else
static void on_exit(void *unused, struct task_struct *t)
#endif
{
	struct moca_space *gone = NULL;
	unsigned long flags;
	struct member *m;

	moca_buffers_task_gone(t);
	spin_lock_irqsave(&table_lock, flags);
	m = find_member(t);
	if (m) {
		moca_record_exit(m->space->session, t);
		gone = drop_member(m);
	}
	spin_unlock_irqrestore(&table_lock, flags);
	kfree(m);
	if (gone)
		moca_space_put(gone);
}

static void on_rename(void *unused, struct task_struct *t, const char *comm)
{
	unsigned long flags;
	struct member *m;

	spin_lock_irqsave(&table_lock, flags);
	m = find_member(t);
	if (m)
		moca_record_name(m->space->session, t, comm);
	spin_unlock_irqrestore(&table_lock, flags);
}

/* ---- sessions ---- */

/* Under the lock. Memory for members was made before: their number may grow. */
static int add_all_members(struct moca_session *s, struct moca_space *sp,
			   struct task_struct *leader)
{
	struct task_struct *t;
	int err = -ESRCH;

	rcu_read_lock();
	for_each_thread(leader, t) {
		struct member *m;

		if (t->mm != sp->mm || find_member(t))
			continue;
		m = kmalloc(sizeof(*m), MOCA_ATOMIC);
		if (!m) {
			err = -ENOMEM;
			break;
		}
		add_member(m, t, sp);
		moca_record_task(s, t, NULL, MOCA_TASKF_REGISTERED |
				 (t == leader ? 0 : MOCA_TASKF_THREAD));
		err = 0;
	}
	rcu_read_unlock();
	return err;
}

static void drop_all_members(struct moca_space *sp)
{
	struct hlist_node *next;
	struct member *m;

	for (int i = 0; i < ARRAY_SIZE(members) && sp->tasks; i++)
		hlist_for_each_entry_safe(m, next, &members[i], node)
			if (m->space == sp) {
				hlist_del(&m->node);
				kfree(m);
				sp->tasks--;
			}
}

int moca_space_register(struct moca_session *s, struct task_struct *t,
			struct moca_space **made)
{
	struct moca_space *sp, *old;
	struct mm_struct *mm = get_task_mm(t);
	unsigned long flags;
	int err;

	if (!mm)
		return -ESRCH;
	sp = new_space(s, mm, moca_session_pid(s, t), GFP_KERNEL_ACCOUNT);
	if (!sp) {
		mmput(mm);
		return -ENOMEM;
	}
	sp->fresh = true;
	spin_lock_irqsave(&table_lock, flags);
	old = moca_space_find(mm);
	if (old) {
		err = old->session == s ? -EEXIST : -EBUSY;
	} else {
		add_space(sp, s);
		err = add_all_members(s, sp, t->group_leader);
		if (err) {
			drop_all_members(sp);
			remove_space(sp);
		} else {
			pin(sp);
			forbid_thp(sp);
		}
	}
	spin_unlock_irqrestore(&table_lock, flags);
	if (err) {
		moca_space_put(sp);
		mmput(mm);
		return err;
	}
	*made = sp;
	return 0;
}

void moca_space_registered(struct moca_session *s, struct moca_space *sp)
{
	struct mm_struct *mm = sp->mm;

	sweep_first(sp);
	WRITE_ONCE(sp->fresh, false);
	moca_space_unpin(sp, s);
	mmput(mm);
}

/* No fault looks at what was taken out of the table, and no first sweep. */
static void wait_unused(struct moca_session *s)
{
	synchronize_rcu();
	wait_var_event(&s->busy, !atomic_read(&s->busy));
}

/* Of a session that is stopped, or when sp is in no table any more. */
static void let_go(struct moca_space *sp)
{
	if (sp->thp_off)
		moca_mm_clear_flag(sp->mm, MOCA_MMF_NO_THP);
	restore(sp);
	moca_space_put(sp);
}

int moca_space_unregister(struct moca_session *s, struct task_struct *t,
			  struct moca_space **gone)
{
	struct moca_space *sp = NULL;
	unsigned long flags;
	struct member *m;

	spin_lock_irqsave(&table_lock, flags);
	m = find_member(t);
	if (m && m->space->session == s) {
		sp = m->space;
		drop_all_members(sp);
		remove_space(sp);
	}
	spin_unlock_irqrestore(&table_lock, flags);
	*gone = sp;
	return sp ? 0 : -ENOENT;
}

void moca_space_unregistered(struct moca_session *s, struct moca_space *sp)
{
	wait_unused(s);
	let_go(sp);
}

void moca_space_unregister_all(struct moca_session *s)
{
	struct moca_space *sp, *next;
	unsigned long flags;
	LIST_HEAD(all);

	spin_lock_irqsave(&table_lock, flags);
	list_for_each_entry_safe(sp, next, &s->spaces, list) {
		drop_all_members(sp);
		hlist_del_rcu(&sp->node);
		list_move_tail(&sp->list, &all);
	}
	spin_unlock_irqrestore(&table_lock, flags);
	wait_unused(s);
	list_for_each_entry_safe(sp, next, &all, list) {
		list_del_init(&sp->list);
		let_go(sp);
	}
}

void moca_space_restore_all(struct moca_session *s)
{
	struct moca_space *sp = NULL;

	wait_unused(s);
	while ((sp = moca_space_next(s, sp)))
		restore(sp);
}

struct moca_space *moca_space_next(struct moca_session *s,
				   struct moca_space *prev)
{
	struct moca_space *sp, *next = NULL;
	unsigned long flags;

	spin_lock_irqsave(&table_lock, flags);
	/* One that was taken out meanwhile leads nowhere: look for its place. */
	if (prev && !list_empty(&prev->list)) {
		if (!list_is_last(&prev->list, &s->spaces))
			next = list_next_entry(prev, list);
	} else {
		list_for_each_entry(sp, &s->spaces, list) {
			if (prev && sp->order <= prev->order)
				continue;
			next = sp;
			break;
		}
	}
	if (next)
		refcount_inc(&next->refs);
	spin_unlock_irqrestore(&table_lock, flags);
	if (prev)
		moca_space_put(prev);
	return next;
}

u64 moca_space_cpu_ns(struct moca_session *s)
{
	unsigned long flags;
	struct member *m;
	u64 sum = 0;

	spin_lock_irqsave(&table_lock, flags);
	for (int i = 0; i < ARRAY_SIZE(members); i++)
		hlist_for_each_entry(m, &members[i], node)
			if (m->space->session == s)
				sum += m->task->se.sum_exec_runtime;
	spin_unlock_irqrestore(&table_lock, flags);
	return sum;
}

bool moca_session_has_current(struct moca_session *s)
{
	unsigned long flags;
	struct member *m;
	bool has;

	spin_lock_irqsave(&table_lock, flags);
	m = find_member(current);
	has = m && m->space->session == s;
	spin_unlock_irqrestore(&table_lock, flags);
	return has;
}

void moca_session_each_task(struct moca_session *s,
			    void (*fn)(struct task_struct *t))
{
	unsigned long flags;
	struct member *m;

	spin_lock_irqsave(&table_lock, flags);
	for (int i = 0; i < ARRAY_SIZE(members); i++)
		hlist_for_each_entry(m, &members[i], node)
			if (m->space->session == s)
				fn(m->task);
	spin_unlock_irqrestore(&table_lock, flags);
}

/* ---- tracepoints, which are not exported but can be found by name ---- */

static struct probe {
	const char *name;
	void *fn;
	struct tracepoint *tp;
	bool on;
} probes[] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
	{ "task_rename", on_rename },
};

static void match(struct tracepoint *tp, void *unused)
{
	for (int i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
}

static void probes_off(void)
{
	for (int i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].on)
			tracepoint_probe_unregister(probes[i].tp, probes[i].fn,
						    NULL);
		probes[i].on = false;
	}
	tracepoint_synchronize_unregister();
}

static int probes_on(void)
{
	int err;

	for_each_kernel_tracepoint(match, NULL);
	for (int i = 0; i < ARRAY_SIZE(probes); i++) {
		err = probes[i].tp ? tracepoint_probe_register(probes[i].tp,
							       probes[i].fn,
							       NULL) : -ENOENT;
		if (err) {
			pr_err("moca: cannot follow tasks: tracepoint %s: %d\n",
			       probes[i].name, err);
			probes_off();
			return err;
		}
		probes[i].on = true;
	}
	return 0;
}

static DEFINE_MUTEX(users_lock);
static int users;

int moca_space_follow(void)
{
	int err;

	mutex_lock(&users_lock);
	err = users ? 0 : probes_on();
	users += !err;
	mutex_unlock(&users_lock);
	return err;
}

void moca_space_unfollow(void)
{
	mutex_lock(&users_lock);
	if (!--users)
		probes_off();
	mutex_unlock(&users_lock);
}

void moca_space_exit(void)
{
	/* The last first_work may still be on its way out of our code. */
	synchronize_rcu_tasks();
	rcu_barrier();
}
