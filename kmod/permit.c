// SPDX-License-Identifier: GPL-2.0-only
#include "permit.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "compat.h"

/* Capabilities in ns count for all namespaces below it. */
static bool may_profile(struct user_namespace *ns)
{
	return ns_capable(ns, CAP_PERFMON) || ns_capable(ns, CAP_SYS_PTRACE) ||
	       ns_capable(ns, CAP_SYS_ADMIN);
}

/*
 * All ids must be the caller's real ones: a program that changed one of them
 * has rights that the caller may not have. So has one with more capabilities,
 * and one that is root of a namespace of its own.
 */
static bool same_owner(const struct cred *me, const struct cred *t)
{
	return uid_eq(me->uid, t->uid) && uid_eq(me->uid, t->euid) &&
	       uid_eq(me->uid, t->suid) && gid_eq(me->gid, t->gid) &&
	       gid_eq(me->gid, t->egid) && gid_eq(me->gid, t->sgid) &&
	       me->user_ns == t->user_ns &&
	       cap_issubset(t->cap_permitted, me->cap_permitted);
}

static bool may_see_memory(struct task_struct *t)
{
	struct user_namespace *ns;
	bool may = true;

	/* Without memory (kernel threads, zombies) there is none to hide. */
	rcu_read_lock();
	task_lock(t);
	if (t->mm) {
		ns = moca_hidden_in(t);
		may = !ns || may_profile(ns);
	}
	task_unlock(t);
	rcu_read_unlock();
	return may;
}

static bool may_trace(struct task_struct *t)
{
	const struct cred *cred;
	bool may;

	rcu_read_lock();
	cred = __task_cred(t);
	may = same_owner(current_cred(), cred) || may_profile(cred->user_ns);
	rcu_read_unlock();
	/*
	 * A task that takes on other credentials stops being dumpable first:
	 * having seen the old ones, do not see the old dumpability.
	 */
	smp_rmb();
	return may && may_see_memory(t);
}

bool moca_may_trace(struct task_struct *t)
{
	return same_thread_group(t, current) || may_trace(t);
}

bool moca_cred_may_trace(const struct cred *cred, struct task_struct *t)
{
	const struct cred *mine = override_creds(cred);
	bool may = may_trace(t);

	revert_creds(mine);
	return may;
}

bool moca_file_may_trace(struct file *f, struct task_struct *t)
{
	const struct cred *mine;
	bool may;

	if (!moca_may_trace(t))
		return false;
	mine = override_creds(f->f_cred);
	may = moca_may_trace(t);
	revert_creds(mine);
	return may;
}
