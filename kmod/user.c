// SPDX-License-Identifier: GPL-2.0-only
#include "user.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

static unsigned int user_mb = 64;
module_param(user_mb, uint, 0644);
MODULE_PARM_DESC(user_mb, "kernel memory of a user without CAP_PERFMON, MiB (default 64)");

static unsigned int user_sessions = 8;
module_param(user_sessions, uint, 0644);
MODULE_PARM_DESC(user_sessions, "sessions of such a user at a time (default 8)");

static unsigned int rate_user_tasks = 512;
module_param(rate_user_tasks, uint, 0644);
MODULE_PARM_DESC(rate_user_tasks, "processes of the rate profiler that such a user may have registered (default 512)");

static unsigned int user_cpu_permille = 50;

static int set_permille(const char *text, const struct kernel_param *p)
{
	return param_set_uint_minmax(text, p, 1, 1000);
}

static const struct kernel_param_ops permille_ops = {
	.set = set_permille, .get = param_get_uint,
};
module_param_cb(user_cpu_permille, &permille_ops, &user_cpu_permille, 0644);
MODULE_PARM_DESC(user_cpu_permille, "thousandths of a CPU that the monitors of such a user have, 1 to 1000 (default 50)");

struct moca_user {
	struct list_head node;
	kuid_t uid;
	unsigned int refs;
	u64 rests_until;
	atomic64_t bytes, sessions, sampled;
};

/* Innermost. Guards the list, refs and rests_until. */
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(users);

static bool is_profiler(const struct cred *cred)
{
	const struct cred *mine = override_creds(cred);
	bool is = perfmon_capable();

	revert_creds(mine);
	return is;
}

/*
 * A user may make namespaces with as many ids as the administrator gave him: all
 * of them are his, as its owner is.
 */
static kuid_t owner_of(const struct cred *cred)
{
	const struct user_namespace *ns = cred->user_ns;
	kuid_t uid = cred->uid;

	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/*
 * Under the lock: the user of uid, or NULL. Others that nobody holds, and whose
 * monitors need not rest any more, are moved to old.
 */
static struct moca_user *find(kuid_t uid, struct list_head *old)
{
	struct moca_user *u, *next, *found = NULL;
	u64 now = ktime_get_ns();

	list_for_each_entry_safe(u, next, &users, node) {
		if (uid_eq(u->uid, uid))
			found = u;
		else if (!u->refs && u->rests_until <= now)
			list_move(&u->node, old);
	}
	return found;
}

static void free_all(struct list_head *list)
{
	struct moca_user *u, *next;

	list_for_each_entry_safe(u, next, list, node)
		kfree(u);
}

static struct moca_user *get(const struct cred *cred)
{
	struct moca_user *made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
	kuid_t uid = owner_of(cred);
	struct moca_user *u;
	unsigned long flags;
	LIST_HEAD(old);

	if (!made)
		return NULL;
	spin_lock_irqsave(&lock, flags);
	u = find(uid, &old);
	if (!u) {
		u = made;
		made = NULL;
		u->uid = uid;
		list_add(&u->node, &users);
	}
	u->refs++;
	spin_unlock_irqrestore(&lock, flags);
	kfree(made);
	free_all(&old);
	return u;
}

int moca_user_get(const struct cred *opener, struct moca_user **u)
{
	const struct cred *who = current_cred();

	*u = NULL;
	if (is_profiler(who))
		who = opener;
	if (is_profiler(who))
		return 0;
	*u = get(who);
	return *u ? 0 : -ENOMEM;
}

/* He stays in the list: who begins anew has his rest to wait for. */
void moca_user_put(struct moca_user *u)
{
	unsigned long flags;

	if (!u)
		return;
	spin_lock_irqsave(&lock, flags);
	u->refs--;
	spin_unlock_irqrestore(&lock, flags);
}

struct moca_user *moca_user_hold(struct moca_user *u)
{
	unsigned long flags;

	if (u) {
		spin_lock_irqsave(&lock, flags);
		u->refs++;
		spin_unlock_irqrestore(&lock, flags);
	}
	return u;
}

bool moca_take(atomic64_t *taken, u64 n, u64 most)
{
	s64 have = atomic64_read(taken);

	do {
		if (n > most || have > most - n)
			return false;
	} while (!atomic64_try_cmpxchg(taken, &have, have + n));
	return true;
}

u64 moca_user_may_fill(const struct moca_user *u, u64 most)
{
	if (!u || most < 2)
		return most;
	return most - max(most / 4, 1ull);
}

int moca_user_charge(struct moca_user *u, u64 bytes)
{
	return !u || moca_take(&u->bytes, bytes,
			       (u64)READ_ONCE(user_mb) << 20) ? 0 : -ENOSPC;
}

void moca_user_uncharge(struct moca_user *u, u64 bytes)
{
	if (u)
		atomic64_sub(bytes, &u->bytes);
}

int moca_user_add_session(struct moca_user *u)
{
	return !u || moca_take(&u->sessions, 1, READ_ONCE(user_sessions)) ?
		       0 : -EUSERS;
}

void moca_user_drop_session(struct moca_user *u)
{
	if (u)
		atomic64_dec(&u->sessions);
}

int moca_user_add_sampled(struct moca_user *u)
{
	return !u || moca_take(&u->sampled, 1, READ_ONCE(rate_user_tasks)) ?
		       0 : -ENOSPC;
}

void moca_user_drop_sampled(struct moca_user *u)
{
	if (u)
		atomic64_dec(&u->sampled);
}

void moca_user_ran(struct moca_user *u, u64 ns)
{
	u64 now = ktime_get_ns(), rest;
	unsigned long flags;

	if (!u || !ns)
		return;
	/* 50 of 1,000 are his: for each ns that was used, 20 pass. */
	rest = div_u64(ns * 1000, READ_ONCE(user_cpu_permille));
	spin_lock_irqsave(&lock, flags);
	u->rests_until = max(u->rests_until, now) + rest;
	spin_unlock_irqrestore(&lock, flags);
}

u64 moca_user_rests_until(struct moca_user *u)
{
	return u ? READ_ONCE(u->rests_until) : 0;
}

void moca_user_exit(void)
{
	free_all(&users);
}
