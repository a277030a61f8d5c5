// SPDX-License-Identifier: GPL-2.0-only
#include "session.h"

#include <linux/capability.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "fault.h"
#include "heat.h"
#include "monitor.h"
#include "page-set.h"
#include "space.h"
#include "user.h"

#define NS_PER_MS 1000000ull
/* A start is one interrupt, however long the last sweeps were. */
#define START_WAIT_NS (100 * NS_PER_MS)
#define REST_MAX_NS (1000000 * NS_PER_MS)

static unsigned int max_mb = 512;
module_param(max_mb, uint, 0644);
MODULE_PARM_DESC(max_mb, "memory of one session: its rings and what finds pages in them, MiB (default 512)");

static unsigned int max_sessions = 16;
module_param(max_sessions, uint, 0644);
MODULE_PARM_DESC(max_sessions, "sessions at a time, of which the last quarter, one at least of two and more, is for profilers (default 16)");

static atomic64_t sessions = ATOMIC64_INIT(0);
static atomic64_t last_id = ATOMIC64_INIT(0);

struct moca_session *moca_session_create(void)
{
	struct moca_session *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return NULL;
	mutex_init(&s->lock);
	init_waitqueue_head(&s->readers);
	INIT_LIST_HEAD(&s->spaces);
	s->cred = get_current_cred();
	s->pid_ns = get_pid_ns(task_active_pid_ns(current));
	s->sees_frames = capable(CAP_SYS_ADMIN);
	s->id = atomic64_inc_return(&last_id);
	return s;
}

static void free_rings(struct moca_session *s)
{
	for (u32 i = 0; i < s->list_rings; i++)
		moca_ring_destroy(s->list[i]);
	kvfree(s->list);
	kvfree(s->rings);
	moca_page_set_destroy(s->seen);
	moca_heat_destroy(s->heat);
	s->list = NULL;
	s->rings = NULL;
	s->own = NULL;
	s->seen = NULL;
	s->heat = NULL;
	s->list_rings = 0;
	moca_user_uncharge(s->user, s->charged);
	s->charged = 0;
}

/* 0, -ENOMEM or -EUSERS. */
static int enlist_user(struct moca_session *s)
{
	int err = moca_user_get(s->cred, &s->user);

	if (err)
		return err;
	err = moca_user_add_session(s->user);
	if (err) {
		moca_user_put(s->user);
		s->user = NULL;
	}
	return err;
}

static void dismiss_user(struct moca_session *s)
{
	if (!s->user)
		return;
	moca_user_drop_session(s->user);
	moca_user_put(s->user);
	s->user = NULL;
}

/* Nobody has the descriptor any more. */
static void end_session(struct moca_session *s)
{
	moca_buffers_release(&s->buffers);
	moca_session_stop(s);
	moca_space_unregister_all(s);
	/* Nobody knows the session now. */
	moca_space_unfollow();
	atomic64_dec(&sessions);
	free_rings(s);
	dismiss_user(s);
}

void moca_session_destroy(struct moca_session *s)
{
	/* One that was never set up knows nobody, and need not wait for any. */
	if (s->ready)
		end_session(s);
	put_pid_ns(s->pid_ns);
	put_cred(s->cred);
	kfree(s);
}

static int check_setup(struct moca_setup *a)
{
	const u32 known = MOCA_SETUP_KEEP_THP | MOCA_SETUP_NO_INJECT |
			  MOCA_SETUP_MANUAL | MOCA_SETUP_NO_FOLLOW;

	if (!a->chunk_bytes)
		a->chunk_bytes = 64 << 10;
	if (!a->ring_chunks)
		a->ring_chunks = 64;
	if (!a->fault_ns)
		a->fault_ns = 1000;
	if (a->flags & ~known || a->pad || !is_power_of_2(a->chunk_bytes) ||
	    a->chunk_bytes < 16 << 10 || a->chunk_bytes > 1 << 20 ||
	    !is_power_of_2(a->ring_chunks) || a->ring_chunks < 4 ||
	    a->ring_chunks > 4096 || a->fault_ns > 1000000)
		return -EINVAL;
	if (!(a->flags & MOCA_SETUP_MANUAL) &&
	    (a->interval_ns < NS_PER_MS ||
	     a->interval_ns > 1000000 * NS_PER_MS))
		return -EINVAL;
	if (a->heat_ns && !moca_heat_features())
		return -EOPNOTSUPP;
	if (a->heat_ns && !(a->flags & MOCA_SETUP_MANUAL) &&
	    (a->heat_ns < NS_PER_MS || a->heat_ns > 1000000 * NS_PER_MS))
		return -EINVAL;
	return 0;
}

/*
 * A ring for each CPU that is there: one that is offline may come online. 0 or
 * -errno; then the caller frees what there is.
 */
static int make_rings(struct moca_session *s, struct moca_setup *a)
{
	u64 bytes = moca_ring_bytes(a->chunk_bytes, a->ring_chunks);
	u32 n = num_present_cpus() + 1;
	u64 most = (u64)a->chunk_bytes * a->ring_chunks * (n - 1) /
		   sizeof(struct moca_rec_access);
	u64 all = bytes * n + moca_page_set_bytes(most) +
		  (n + (u64)nr_cpu_ids) * sizeof(void *) +
		  (a->heat_ns ? moca_heat_bytes() : 0);
	int err;
	u32 cpu;

	if (all > (u64)READ_ONCE(max_mb) << 20)
		return -ENOSPC;
	err = moca_user_charge(s->user, all);
	if (err)
		return err;
	s->charged = all;
	s->cpus = nr_cpu_ids;
	s->rings = kvcalloc(s->cpus, sizeof(*s->rings), GFP_KERNEL_ACCOUNT);
	s->list = kvcalloc(n, sizeof(*s->list), GFP_KERNEL_ACCOUNT);
	if (!s->rings || !s->list)
		return -ENOMEM;
	for_each_present_cpu(cpu) {
		struct moca_ring *r;

		/* One that was added this moment: what it sees is lost. */
		if (s->list_rings == n - 1)
			break;
		r = moca_ring_create(cpu, a->chunk_bytes, a->ring_chunks,
				     cpu_to_node(cpu));
		if (!r)
			return -ENOMEM;
		s->rings[cpu] = r;
		s->list[s->list_rings++] = r;
	}
	s->own = moca_ring_create(MOCA_CPU_NONE, a->chunk_bytes,
				  a->ring_chunks, NUMA_NO_NODE);
	if (!s->own)
		return -ENOMEM;
	s->list[s->list_rings++] = s->own;
	s->ring_stride = roundup_pow_of_two(bytes);
	s->seen = moca_page_set_create(most);
	if (a->heat_ns)
		s->heat = moca_heat_create(a->heat_ns);
	return s->seen && (s->heat || !a->heat_ns) ? 0 : -ENOMEM;
}

int moca_session_setup(struct moca_session *s, struct moca_setup *a)
{
	int err = check_setup(a);

	if (err)
		return err;
	mutex_lock(&s->lock);
	if (s->ready) {
		err = -EEXIST;
		goto out;
	}
	err = enlist_user(s);
	err = err ?: make_rings(s, a);
	/* Nobody who is refused for another reason has had a place. */
	if (!err && !moca_take(&sessions, 1,
			       moca_user_may_fill(s->user,
						  READ_ONCE(max_sessions))))
		err = -EUSERS;
	if (err)
		goto err_free;
	err = moca_space_follow();
	if (err)
		goto err_place;
	s->flags = a->flags;
	s->base_ns = s->length_ns = a->interval_ns;
	s->budget_permille = a->budget_permille;
	s->fault_ns = a->fault_ns;
	a->rings = s->list_rings;
	a->ring_bytes = moca_ring_bytes(a->chunk_bytes, a->ring_chunks);
	a->ring_stride = s->ring_stride;
	moca_buffers_init(&s->buffers, s);
	/* Pairs with the loads of ready: what is above is there. */
	smp_store_release(&s->ready, true);
	goto out;
err_place:
	atomic64_dec(&sessions);
err_free:
	free_rings(s);
	dismiss_user(s);
out:
	mutex_unlock(&s->lock);
	return err;
}

/*
 * Ends of intervals interrupt all CPUs, also those that a program asks for: their
 * number is bounded as what the user's monitors use is. For `most` ns. 0 or -EINTR.
 */
static int wait_for_rest(struct moca_session *s, u64 most)
{
	u64 rest = moca_user_rests_until(s->user);
	ktime_t until = ns_to_ktime(min(rest, ktime_get_ns() + most));

	while (s->user && ktime_before(ktime_get(), until)) {
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
		if (signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static void count_cut(struct moca_session *s)
{
	moca_user_ran(s->user, MOCA_CUT_NS * num_online_cpus());
}

int moca_session_start(struct moca_session *s)
{
	int err;

	/* Pairs with the release in moca_session_setup: it has its user. */
	err = smp_load_acquire(&s->ready) ? wait_for_rest(s, START_WAIT_NS) :
						-EINVAL;
	if (err)
		return err;
	mutex_lock(&s->lock);
	err = s->running ? -EALREADY : moca_fault_get();
	if (err)
		goto out;
	/* Since SETUP, ftrace may have been lost. */
	if (s->heat && !moca_heat_features()) {
		moca_fault_put();
		err = -EOPNOTSUPP;
		goto out;
	}
	moca_monitor_begin(s);
	WRITE_ONCE(s->running, true);
	moca_monitor_sweep_first(s);
	if (!(s->flags & MOCA_SETUP_MANUAL)) {
		err = moca_monitor_start(s);
		if (err) {
			WRITE_ONCE(s->running, false);
			moca_fault_put();
		}
	}
out:
	mutex_unlock(&s->lock);
	return err;
}

int moca_session_stop(struct moca_session *s)
{
	struct task_struct *monitor;

	if (!READ_ONCE(s->ready))
		return -EINVAL;
	mutex_lock(&s->lock);
	if (!s->running) {
		mutex_unlock(&s->lock);
		return -EALREADY;
	}
	/* What was touched is told; nothing is injected any more. */
	moca_monitor_end(s);
	WRITE_ONCE(s->running, false);
	monitor = s->monitor;
	s->monitor = NULL;
	mutex_unlock(&s->lock);
	if (monitor)
		moca_monitor_stop(monitor);
	count_cut(s);
	moca_space_restore_all(s);
	moca_fault_put();
	return 0;
}

int moca_session_pace(struct moca_session *s, const struct moca_pace *p)
{
	if (p->interval_ns < NS_PER_MS || p->interval_ns > 1000000 * NS_PER_MS)
		return -EINVAL;
	mutex_lock(&s->lock);
	s->base_ns = s->length_ns = p->interval_ns;
	s->budget_permille = p->budget_permille;
	/* It may sleep until an end that was far away. */
	if (s->monitor)
		wake_up_process(s->monitor);
	mutex_unlock(&s->lock);
	return 0;
}

static int do_now(struct moca_session *s, void (*what)(struct moca_session *s))
{
	int err = READ_ONCE(s->running) ? wait_for_rest(s, REST_MAX_NS) :
					  -EINVAL;

	if (err)
		return err;
	mutex_lock(&s->lock);
	if (s->running)
		what(s);
	else
		err = -EINVAL;
	mutex_unlock(&s->lock);
	if (!err)
		count_cut(s);
	return err;
}

int moca_session_tick(struct moca_session *s)
{
	return do_now(s, moca_monitor_tick);
}

int moca_session_look(struct moca_session *s)
{
	/* What is set up stays. */
	return READ_ONCE(s->heat) ? do_now(s, moca_heat_look) : -EINVAL;
}

void moca_session_totals(struct moca_session *s, struct moca_totals *t)
{
	struct moca_space *sp = NULL;
	u32 size = t->size;

	mutex_lock(&s->lock);
	*t = s->sums;
	t->size = size;
	t->interval = s->interval;
	t->interval_ns = s->length_ns;
	t->lost += atomic64_read(&s->homeless);
	moca_heat_totals(s, t);
	for (u32 i = 0; i < s->list_rings; i++) {
		t->faults += READ_ONCE(s->list[i]->faults);
		t->false_faults += READ_ONCE(s->list[i]->false_faults);
		t->lost += READ_ONCE(s->list[i]->all_lost);
	}
	t->repaired = t->false_faults;
	while ((sp = moca_space_next(s, sp)))
		t->processes++;
	mutex_unlock(&s->lock);
}

void moca_session_put_events(struct moca_session *s, u32 tid, u32 pid,
			     const void *data, size_t len, u32 flags)
{
	struct moca_rec_events *rec;
	/* Half of the smallest chunk; and a record says its size in 16 bits. */
	const size_t most = 8192 - sizeof(*rec);
	unsigned long irq;

	do {
		size_t n = min(len, most);

		rec = moca_put_begin(s, MOCA_REC_EVENTS, sizeof(*rec) + n, tid,
				     &irq);
		if (rec) {
			rec->pid = pid;
			rec->used = n;
			rec->more = n < len;
			rec->flags = flags;
			memcpy(rec->data, data, n);
		}
		moca_put_end(irq);
		data += n;
		len -= n;
	} while (len);
}
