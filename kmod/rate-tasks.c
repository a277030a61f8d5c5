// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is sampled, and when. A process is its signal_struct: the counts of
 * threads that ended are there, those of others are added up. What the kernel
 * counts is only read.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/seqlock.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "permit.h"
#include "rate.h"
#include "user.h"

#define HZ_MAX 1000u
#define TASKS_MAX 65536u

static unsigned int rate_tasks = 4096;

static int set_tasks(const char *text, const struct kernel_param *p)
{
	return param_set_uint_minmax(text, p, 1, TASKS_MAX);
}

static const struct kernel_param_ops tasks_ops = {
	.set = set_tasks, .get = param_get_uint,
};
module_param_cb(rate_tasks, &tasks_ops, &rate_tasks, 0444);
MODULE_PARM_DESC(rate_tasks,
		 "how many processes may be registered at once, 1 to 65536 (default 4096)");

static unsigned long rate_cost_ns;
module_param(rate_cost_ns, ulong, 0444);
MODULE_PARM_DESC(rate_cost_ns, "time that sampling took, ns (to be read)");

/* A registered process. Small: all are walked in each round. */
struct entry {
	struct task_struct *task;	/* one of its threads */
	u64 ran_ns;		/* that task's when it was looked at */
	bool alone;		/* it was the only thread, and not ending */
	struct pid *pid;
	u64 cpu_ns;		/* of the process, as told */
	unsigned long minor, major;
	struct moca_user *user;	/* whose it is; NULL: a profiler's */
};

/* One that has ended, whose number was not taken back yet. */
struct ended {
	struct pid *pid;
	kuid_t uid;
};

/* All of this is under `lock`. */
static DEFINE_MUTEX(lock);
static struct entry *entries;
static unsigned int count;
static struct ended *ended;		/* the oldest first */
static unsigned int ended_count;
static struct moca_rate_sum sum;	/* not yet told */
static bool sampling;

static struct hrtimer timer;
static struct workqueue_struct *queue;
static struct work_struct work;

/* --- how often -------------------------------------------------------------- */

static unsigned int rate_hz = 20;

static int set_hz(const char *text, const struct kernel_param *p)
{
	int err = param_set_uint_minmax(text, p, 1, HZ_MAX);

	/* At load there is nobody to be told yet. */
	mutex_lock(&lock);
	if (!err && entries)
		moca_rate_buffer_note(rate_hz, count);
	mutex_unlock(&lock);
	return err;
}

static const struct kernel_param_ops hz_ops = {
	.set = set_hz, .get = param_get_uint,
};
module_param_cb(rate_hz, &hz_ops, &rate_hz, 0644);
MODULE_PARM_DESC(rate_hz, "samples per second, 1 to 1000 (default 20)");

/* --- what a process did ---------------------------------------------------- */

static void add_up(struct task_struct *task, struct moca_rate_sum *s)
{
	struct signal_struct *sig = task->signal;
	struct task_struct *t;
	unsigned long flags;
	int seq, again = 0;

	/* A thread that ends moves its counts while we look: then look again. */
	rcu_read_lock();
	do {
		seq = again;
		flags = read_seqbegin_or_lock_irqsave(&sig->stats_lock, &seq);
		s->minor = sig->min_flt;
		s->major = sig->maj_flt;
		s->cpu_ns = sig->sum_sched_runtime;
		for_each_thread(task, t) {
			s->minor += t->min_flt;
			s->major += t->maj_flt;
			s->cpu_ns += READ_ONCE(t->se.sum_exec_runtime);
		}
		again = 1;
	} while (need_seqretry(&sig->stats_lock, seq));
	done_seqretry_irqrestore(&sig->stats_lock, seq, flags);
	rcu_read_unlock();
}

/* Its leader, with a reference. NULL: it was reaped. */
static struct task_struct *leader_of(struct pid *pid)
{
	return get_pid_task(pid, PIDTYPE_TGID);
}

static bool is_dead(struct task_struct *leader)
{
	return leader->exit_state && thread_group_empty(leader);
}

/* What is new since then goes into the sum. */
static void look_at(struct entry *e)
{
	struct moca_rate_sum now;
	u64 ran_ns = READ_ONCE(e->task->se.sum_exec_runtime);

	add_up(e->task, &now);
	/* A count that a thread is just raising may seem to go back. */
	if (now.minor > e->minor) {
		sum.minor += now.minor - e->minor;
		e->minor = now.minor;
	}
	if (now.major > e->major) {
		sum.major += now.major - e->major;
		e->major = now.major;
	}
	if (now.cpu_ns > e->cpu_ns) {
		sum.cpu_ns += now.cpu_ns - e->cpu_ns;
		e->cpu_ns = now.cpu_ns;
	}
	e->ran_ns = ran_ns;
}

/*
 * A process of one thread whose time on a CPU stands still has not faulted, has
 * made no thread and has not ended: that is one reading. What a thread that is
 * running has not been charged for, it has with the next clock tick.
 */
static bool at_rest(const struct entry *e)
{
	return e->alone && e->ran_ns == READ_ONCE(e->task->se.sum_exec_runtime);
}

/* --- the table ------------------------------------------------------------- */

static struct entry *find(const struct pid *pid)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (entries[i].pid == pid)
			return &entries[i];
	return NULL;
}

static void forget_ended(unsigned int i)
{
	put_pid(ended[i].pid);
	ended_count--;
	memmove(&ended[i], &ended[i + 1], (ended_count - i) * sizeof(*ended));
}

static void remember_ended(struct pid *pid, kuid_t uid)
{
	if (ended_count == rate_tasks)
		forget_ended(0);
	ended[ended_count].pid = get_pid(pid);
	ended[ended_count++].uid = uid;
}

static void drop(struct entry *e)
{
	look_at(e);
	put_task_struct(e->task);
	put_pid(e->pid);
	moca_user_drop_sampled(e->user);
	moca_user_put(e->user);
	*e = entries[--count];
}

static void take_sample(void)
{
	moca_rate_buffer_put(&sum);
	memset(&sum, 0, sizeof(sum));
}

/* All that is known is told, and no more samples are taken. */
static void stop_if_empty(void)
{
	if (count || !sampling)
		return;
	sampling = false;
	hrtimer_cancel(&timer);
	take_sample();
}

/* --- rounds ---------------------------------------------------------------- */

static ktime_t period(void)
{
	return ns_to_ktime(NSEC_PER_SEC / READ_ONCE(rate_hz));
}

static enum hrtimer_restart tick(struct hrtimer *t)
{
	queue_work(queue, &work);
	/* From when it was due, not from now: so it does not drift. */
	hrtimer_forward_now(t, period());
	return HRTIMER_RESTART;
}

static void start(void)
{
	u64 every = ktime_to_ns(period());

	if (sampling)
		return;
	sampling = true;
	/* At multiples of the period: who reads knows when. */
	hrtimer_start(&timer, ns_to_ktime((div64_u64(ktime_get_ns(), every) +
					   1) * every), HRTIMER_MODE_ABS);
}

/* The leader may be another thread by now (exec). False: it was reaped. */
static bool renew(struct entry *e)
{
	struct task_struct *t = leader_of(e->pid);
	kuid_t uid;

	if (!t) {
		rcu_read_lock();
		uid = __task_cred(e->task)->uid;
		rcu_read_unlock();
		remember_ended(e->pid, uid);
		drop(e);
		return false;
	}
	put_task_struct(e->task);
	e->task = t;
	look_at(e);
	e->alone = t->signal->nr_threads == 1 && !(t->flags & PF_EXITING);
	return true;
}

static void look_at_all(void)
{
	unsigned int i = 0;

	while (i < count) {
		if (at_rest(&entries[i]) || renew(&entries[i]))
			i++;
		if (!(i % 64))
			cond_resched();
	}
}

static void take_round(struct work_struct *unused)
{
	u64 begin;

	mutex_lock(&lock);
	if (sampling) {
		begin = ktime_get_ns();
		look_at_all();
		if (count)
			take_sample();
		else
			stop_if_empty();
		moca_rate_buffer_note(rate_hz, count);
		rate_cost_ns += ktime_get_ns() - begin;
	}
	mutex_unlock(&lock);
}

/* --- what the file in /proc asks for ---------------------------------------- */

/* The process of thread nr. */
static struct task_struct *find_leader(pid_t nr)
{
	struct task_struct *t;

	rcu_read_lock();
	t = pid_task(find_vpid(nr), PIDTYPE_PID);
	if (t) {
		t = t->group_leader;
		get_task_struct(t);
	}
	rcu_read_unlock();
	return t;
}

/* One of the slots, and of those that its user may have. 0 or -errno. */
static int take_slot(struct file *f, struct moca_user **user)
{
	int err = moca_user_get(f->f_cred, user);

	if (err)
		return err;
	err = count >= moca_user_may_fill(*user, rate_tasks) ?
		      -ENOSPC : moca_user_add_sampled(*user);
	if (err)
		moca_user_put(*user);
	return err;
}

static int add(struct file *f, struct task_struct *leader)
{
	struct moca_rate_sum now;
	struct moca_user *user;
	struct pid *pid;
	struct entry *e;
	int err;

	if (is_dead(leader))
		return -ESRCH;
	/* Gone meanwhile: the next thread of it leads, or none. */
	pid = get_task_pid(leader, PIDTYPE_TGID);
	if (!pid)
		return -ESRCH;
	if (find(pid)) {
		put_pid(pid);
		return -EEXIST;
	}
	err = take_slot(f, &user);
	if (err) {
		put_pid(pid);
		return err;
	}
	add_up(leader, &now);
	e = &entries[count++];
	*e = (struct entry){
		.task = get_task_struct(leader), .pid = pid,
		.cpu_ns = now.cpu_ns, .minor = now.minor, .major = now.major,
		.user = user,
	};
	start();
	return 0;
}

int moca_rate_register(struct file *f, pid_t nr)
{
	struct task_struct *leader = find_leader(nr);
	int err;

	if (!leader)
		return -ESRCH;
	mutex_lock(&lock);
	err = moca_file_may_trace(f, leader) ? add(f, leader) : -EPERM;
	moca_rate_buffer_note(rate_hz, count);
	mutex_unlock(&lock);
	put_task_struct(leader);
	return err;
}

static int unregister_ended(pid_t nr)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	unsigned int i;

	for (i = 0; i < ended_count; i++) {
		if (pid_nr_ns(ended[i].pid, ns) != nr)
			continue;
		if (!uid_eq(ended[i].uid, current_uid()) &&
		    !capable(CAP_PERFMON) && !capable(CAP_SYS_ADMIN))
			return -EPERM;
		forget_ended(i);
		return 0;
	}
	return -ENOENT;
}

static int unregister_live(struct file *f, struct task_struct *leader)
{
	struct pid *pid = get_task_pid(leader, PIDTYPE_TGID);
	struct entry *e = find(pid);

	put_pid(pid);
	if (!e)
		return -ENOENT;
	if (!moca_file_may_trace(f, leader))
		return -EPERM;
	drop(e);
	stop_if_empty();
	return 0;
}

/* One that was reaped since the last round is still in the table. */
static int unregister_reaped(struct file *f, pid_t nr)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (pid_nr_ns(entries[i].pid, ns) != nr)
			continue;
		if (!moca_file_may_trace(f, entries[i].task))
			return -EPERM;
		drop(&entries[i]);
		stop_if_empty();
		return 0;
	}
	return -ENOENT;
}

int moca_rate_unregister(struct file *f, pid_t nr)
{
	struct task_struct *leader = find_leader(nr);
	int err = -ENOENT;

	mutex_lock(&lock);
	if (leader)
		err = unregister_live(f, leader);
	if (err == -ENOENT)
		err = unregister_reaped(f, nr);
	if (err == -ENOENT)
		err = unregister_ended(nr);
	moca_rate_buffer_note(rate_hz, count);
	mutex_unlock(&lock);
	if (leader)
		put_task_struct(leader);
	return err;
}

void moca_rate_list(struct file *f, struct seq_file *m)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct task_struct *t;
	unsigned int i;
	pid_t nr;

	mutex_lock(&lock);
	for (i = 0; i < count; i++) {
		nr = pid_nr_ns(entries[i].pid, ns);
		t = nr ? leader_of(entries[i].pid) : NULL;
		if (!t)
			continue;
		if (moca_file_may_trace(f, t))
			seq_printf(m, "%d\n", nr);
		put_task_struct(t);
	}
	mutex_unlock(&lock);
}

/* --- load and unload -------------------------------------------------------- */

int moca_rate_tasks_init(void)
{
	entries = vcalloc(rate_tasks, sizeof(*entries));
	ended = vcalloc(rate_tasks, sizeof(*ended));
	/* Ahead of others: a late sample is of a wrong time. */
	queue = alloc_workqueue("moca-rate", WQ_UNBOUND | WQ_HIGHPRI, 1);
	if (!entries || !ended || !queue)
		goto err_free;
	INIT_WORK(&work, take_round);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer.function = tick;
#endif
	moca_rate_buffer_note(rate_hz, 0);
	return 0;
err_free:
	if (queue)
		destroy_workqueue(queue);
	vfree(ended);
	mutex_lock(&lock);
	vfree(entries);
	entries = NULL;
	mutex_unlock(&lock);
	return -ENOMEM;
}

/* Nobody calls any more. */
void moca_rate_tasks_exit(void)
{
	hrtimer_cancel(&timer);
	destroy_workqueue(queue);
	while (count)
		drop(&entries[count - 1]);
	while (ended_count)
		forget_ended(ended_count - 1);
	vfree(ended);
	/* Parameters can still be written. */
	mutex_lock(&lock);
	vfree(entries);
	entries = NULL;
	mutex_unlock(&lock);
}
