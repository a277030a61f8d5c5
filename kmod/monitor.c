// SPDX-License-Identifier: GPL-2.0-only
#include "monitor.h"

#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <uapi/linux/sched/types.h>

#include "entry.h"
#include "frame.h"
#include "heat.h"
#include "opened.h"
#include "page-set.h"
#include "record.h"
#include "session.h"
#include "space.h"
#include "user.h"

/* Intervals grow to so many times what was asked for, at most. */
#define STRETCH_MAX 128
#define READER_WAIT_NS 2000000

static bool fifo = true;
module_param(fifo, bool, 0444);
MODULE_PARM_DESC(fifo, "the monitors of profilers run before ordinary tasks");

/* ---- cutting: chunks of an interval end on all CPUs ---- */

struct cut {
	struct moca_session *s;
	u64 next, now;
};

static void cut_cpu(void *arg)
{
	const struct cut *c = arg;
	u32 cpu = smp_processor_id();
	struct moca_ring *r = cpu < c->s->cpus ? c->s->rings[cpu] : NULL;

	if (r)
		moca_ring_cut(r, c->next, c->now);
}

static void cut_all(struct moca_session *s, u64 now)
{
	struct cut c = { s, s->interval + 1, now };

	cpus_read_lock();
	on_each_cpu(cut_cpu, &c, 1);
	for (u32 i = 0; i < s->list_rings; i++)
		if (s->list[i] != s->own && !cpu_online(s->list[i]->cpu))
			moca_ring_cut(s->list[i], c.next, now);
	cpus_read_unlock();
}

/* ---- the records of the interval that was cut ---- */

typedef void access_fn(struct moca_session *s, struct moca_rec_access *a);

static void each_in_chunk(struct moca_session *s, struct moca_chunk_head *h,
			  access_fn *fn)
{
	for (u32 at = sizeof(*h); at < h->bytes;) {
		struct moca_rec *rec = (void *)h + at;

		if (rec->type == MOCA_REC_ACCESS)
			fn(s, (struct moca_rec_access *)rec);
		at += rec->bytes;
	}
}

static void each_access(struct moca_session *s, access_fn *fn)
{
	for (u32 i = 0; i < s->list_rings; i++) {
		struct moca_ring *r = s->list[i];
		u64 cut = smp_load_acquire(&r->cut);	/* moca_ring_cut */

		for (u64 n = r->published; n != cut; n++) {
			each_in_chunk(s, moca_ring_chunk(r, n), fn);
			cond_resched();
		}
	}
}

/* At most: what the chunks could hold. */
static u64 count_records(struct moca_session *s)
{
	u64 n = 0;

	for (u32 i = 0; i < s->list_rings; i++) {
		struct moca_ring *r = s->list[i];
		u64 cut = smp_load_acquire(&r->cut);	/* moca_ring_cut */

		for (u64 c = r->published; c != cut; c++)
			n += moca_ring_chunk(r, c)->bytes /
			     sizeof(struct moca_rec_access);
	}
	return n;
}

static u64 page_of(const struct moca_rec_access *a)
{
	return a->flags & MOCA_ACC_HUGE ? a->addr & HPAGE_PMD_MASK : a->addr;
}

static void add_page(struct moca_session *s, struct moca_rec_access *a)
{
	moca_page_set_add(s->seen, a->pid, page_of(a),
			  a->flags & MOCA_ACC_HUGE ? 0 : a->pfn);
}

/* A first touch whose page was not there yet when its CPU last looked. */
static void fill_frame(struct moca_session *s, struct moca_rec_access *a)
{
	const u64 *pfn;

	if (a->node >= 0)
		return;
	pfn = moca_page_set_find(s->seen, a->pid, page_of(a));
	if (!pfn || !*pfn)
		return;
	if (s->sees_frames)
		a->pfn = *pfn;
	a->node = moca_frame_node(*pfn);
}

/* ---- the sweep ---- */

struct sweep {
	struct moca_walk walk;
	struct moca_space *sp;
	u64 swept, unsafe;
	u64 time;		/* when the interval ended */
};

static bool on_mapping(struct moca_walk *w, struct vm_area_struct *vma)
{
	struct sweep *sw = container_of(w, struct sweep, walk);

	if (moca_record_mapping(sw->sp, vma, sw->sp->pid) &&
	    !moca_vma_is_safe(vma))
		sw->unsafe++;
	return true;
}

/* Under the entry's lock. */
static void on_found(struct moca_walk *w, const struct moca_found *f)
{
	struct sweep *sw = container_of(w, struct sweep, walk);
	struct moca_session *s = sw->sp->session;
	struct moca_rec_access *rec;
	u64 *pfn;

	if (!f->young)
		return;
	pfn = moca_page_set_find(s->seen, sw->sp->pid, f->addr);
	if (pfn) {
		*pfn = f->pfn;
		return;
	}
	if (moca_opened_is_moved(sw->sp, f->addr))
		return;
	sw->swept++;
	rec = moca_ring_reserve(s->own, MOCA_REC_ACCESS, sizeof(*rec),
				sw->sp->pid, sw->time);
	if (!rec)
		return;
	rec->addr = f->addr;
	rec->ip = 0;
	rec->pfn = s->sees_frames ? f->pfn : 0;
	rec->flags = MOCA_ACC_SWEPT | (f->dirty ? MOCA_ACC_WRITE : 0) |
		     (f->huge ? MOCA_ACC_HUGE : 0);
	rec->node = moca_frame_node(f->pfn);
	rec->pid = sw->sp->pid;
}

/* first: what is there has been touched before anybody looked. */
static void sweep_space(struct moca_session *s, struct moca_space *sp,
			u64 time, bool first)
{
	struct sweep sw = {
		.walk = {
			.mm = sp->mm, .inject = true,
			.split = !(s->flags & MOCA_SETUP_KEEP_THP),
			.mapping = on_mapping,
			.heat = s->heat, .was = s->heat, .sp = sp,
		},
		.sp = sp, .time = time,
	};

	if (!first && !READ_ONCE(sp->fresh)) {
		sw.walk.found = on_found;
		sw.walk.tell = true;
	}

	if (!mmget_not_zero(sp->mm))
		return;
	if (mm_has_notifiers(sp->mm) && !sp->told_unsafe) {
		sp->told_unsafe = true;
		moca_record_gap(s, sp->pid, sp->pid, MOCA_GAP_NOTIFIER, 0, 0);
	}
	moca_walk(&sw.walk);
	mmput_async(sp->mm);
	s->sums.injected += sw.walk.changed;
	s->sums.swept += sw.swept;
	s->sums.skipped += sw.unsafe;
}

static void sweep_all(struct moca_session *s, u64 time, bool first)
{
	struct moca_space *sp = NULL;

	if (s->flags & MOCA_SETUP_NO_INJECT)
		return;
	if (s->heat)
		moca_heat_sweep(s, time);
	while ((sp = moca_space_next(s, sp)))
		sweep_space(s, sp, time, first);
	if (s->heat && !first)
		moca_heat_swept(s);
}

/* A reader that is behind: false faults would only be lost. */
static bool has_room(struct moca_session *s)
{
	for (u32 i = 0; i < s->list_rings; i++)
		if (moca_ring_room(s->list[i]) < s->list[i]->chunks / 4)
			return false;
	return true;
}

/*
 * A ring is nearly full of what the reader has had for some time: the interval
 * goes on until he has caught up. It stays whole, and what is left of the ring is
 * for what happens, not for the begun chunk of each short interval.
 */
static bool waits_for_reader(struct moca_session *s)
{
	for (u32 i = 0; i < s->list_rings; i++) {
		const struct moca_ring *r = s->list[i];

		if (READ_ONCE(r->user->consumed) != READ_ONCE(r->published) &&
		    moca_ring_room(r) < r->chunks / 4)
			return true;
	}
	return false;
}

/* ---- the budget ---- */

static u64 sum_false(const struct moca_session *s)
{
	u64 n = 0;

	for (u32 i = 0; i < s->list_rings; i++)
		n += READ_ONCE(s->list[i]->false_faults);
	return n;
}

static u64 sum_lost(const struct moca_session *s)
{
	u64 n = atomic64_read(&s->homeless);

	for (u32 i = 0; i < s->list_rings; i++)
		n += READ_ONCE(s->list[i]->all_lost);
	return n;
}

/*
 * False faults, and closing what it opened, cost the program's CPU time, the
 * monitor that of all CPUs. An
 * interval that cost too much makes the next ones longer at once; they get
 * shorter slowly.
 */
static void adapt(struct moca_session *s, u64 false_faults, u64 opened_ns,
		  u64 monitor_ns, u64 elapsed_ns)
{
	u64 cpu = moca_space_cpu_ns(s);
	u64 ran = cpu > s->cpu_ns ? cpu - s->cpu_ns : 0;
	u64 permille;

	s->cpu_ns = cpu;
	if (!s->budget_permille || !ran || !elapsed_ns)
		return;
	permille = div64_u64((false_faults * s->fault_ns + opened_ns) * 1000,
			     ran) +
		   div64_u64(monitor_ns * 1000,
			     elapsed_ns * num_online_cpus());
	if (permille > s->budget_permille)
		s->length_ns = div64_u64(s->length_ns *
					 min_t(u64, permille,
					       4 * s->budget_permille),
					 s->budget_permille);
	else if (permille < s->budget_permille * 3 / 4)
		s->length_ns -= s->length_ns / 8;
	s->length_ns = clamp(s->length_ns, s->base_ns,
			     s->base_ns * STRETCH_MAX);
}

/* ---- intervals ---- */

void moca_monitor_begin(struct moca_session *s)
{
	u64 now = ktime_get_mono_fast_ns();

	s->begin_ns = now;
	s->cpu_ns = moca_space_cpu_ns(s);
	s->last_false = sum_false(s);
	/* Rings may hold what happened before the start; it is of this one. */
	for (u32 i = 0; i < s->list_rings; i++) {
		WRITE_ONCE(s->list[i]->interval, s->interval);
		WRITE_ONCE(s->list[i]->begin_ns, now);
	}
}

void moca_monitor_sweep_first(struct moca_session *s)
{
	sweep_all(s, s->begin_ns, true);
	if (s->heat)
		moca_heat_start(s);
}

static void put_interval(struct moca_session *s,
			 const struct moca_rec_interval *sums)
{
	struct moca_rec_interval *rec;

	rec = moca_ring_reserve(s->own, MOCA_REC_INTERVAL, sizeof(*rec), 0,
				ktime_get_mono_fast_ns());
	if (!rec)
		return;
	rec->interval = sums->interval;
	rec->injected = sums->injected;
	rec->false_faults = sums->false_faults;
	rec->swept = sums->swept;
	rec->lost = sums->lost;
	rec->monitor_ns = sums->monitor_ns;
	rec->next_ns = sums->next_ns;
}

static void end_interval(struct moca_session *s, bool inject)
{
	u64 start = ktime_get_mono_fast_ns();
	struct moca_rec_interval sums = {
		.interval = s->interval, .injected = s->sums.injected,
		.swept = s->sums.swept,
	};
	u64 false_faults;

	cut_all(s, start);
	moca_page_set_begin(s->seen, count_records(s));
	each_access(s, add_page);
	if (inject && has_room(s)) {
		sweep_all(s, start, false);
	} else if (inject) {
		s->sums.held++;
		moca_record_gap(s, 0, 0, MOCA_GAP_HELD, 0, 0);
	}
	each_access(s, fill_frame);
	false_faults = sum_false(s);
	sums.monitor_ns = ktime_get_mono_fast_ns() - start + moca_heat_took(s);
	s->sums.monitor_ns += sums.monitor_ns;
	s->sums.injected += atomic64_xchg(&s->opened.injected, 0);
	atomic64_set(&s->opened.looked, 0);
	adapt(s, false_faults - s->last_false,
	      atomic64_xchg(&s->opened.ns, 0), sums.monitor_ns,
	      start - s->begin_ns);
	sums.injected = s->sums.injected - sums.injected;
	sums.swept = s->sums.swept - sums.swept;
	sums.false_faults = false_faults - s->last_false;
	sums.lost = sum_lost(s);
	sums.next_ns = s->length_ns;
	put_interval(s, &sums);
	moca_ring_cut(s->own, s->interval + 1, start);
	for (u32 i = 0; i < s->list_rings; i++)
		moca_ring_publish(s->list[i], start);
	s->last_false = false_faults;
	s->interval++;
	s->begin_ns = start;
	wake_up_interruptible(&s->readers);
}

void moca_monitor_tick(struct moca_session *s)
{
	end_interval(s, true);
}

void moca_monitor_end(struct moca_session *s)
{
	if (s->heat)
		moca_heat_end(s);
	end_interval(s, false);
}

/*
 * What the monitor's thread used of its CPU since the last time, and its ticks of
 * all, is counted for its user. The scheduler knows the former when the thread
 * has slept.
 */
static void charge(struct moca_session *s, u64 *counted, u64 ticks)
{
	u64 ran = READ_ONCE(current->se.sum_exec_runtime);

	moca_user_ran(s->user, ran - *counted +
			       ticks * MOCA_CUT_NS * num_online_cpus());
	*counted = ran;
}

static void sleep_for(u64 ns)
{
	ktime_t at = ns_to_ktime(ns);

	set_current_state(TASK_INTERRUPTIBLE);
	schedule_hrtimeout(&at, HRTIMER_MODE_REL);
}

static void tick_once(struct moca_session *s, bool look, u64 *counted)
{
	mutex_lock(&s->lock);
	/* It may have been stopped while we waited for the lock. */
	if (s->monitor == current && look)
		moca_heat_look(s);
	else if (s->monitor == current)
		moca_monitor_tick(s);
	mutex_unlock(&s->lock);
	if (s->user) {
		sleep_for(NSEC_PER_USEC);
		charge(s, counted, 1);
	}
	cond_resched();
}

/* When the next interval may end, or (look) a look at heat comes before it. */
static u64 due_at(struct moca_session *s, bool *look)
{
	u64 end = READ_ONCE(s->begin_ns) + READ_ONCE(s->length_ns);
	u64 heat = moca_heat_due(s);

	*look = heat < end;
	return max(min(heat, end), moca_user_rests_until(s->user));
}

static int monitor(void *arg)
{
	struct moca_session *s = arg;
	u64 counted = current->se.sum_exec_runtime;

	/* A user's own monitor is not to keep others from their CPU. */
	if (fifo && !s->user)
		sched_set_fifo_low(current);
	while (!kthread_should_stop()) {
		bool look;
		u64 due = due_at(s, &look);
		ktime_t at = ns_to_ktime(due);

		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (ktime_get_mono_fast_ns() < due) {
			schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
			continue;
		}
		if (!look && waits_for_reader(s)) {
			at = ns_to_ktime(READER_WAIT_NS);
			schedule_hrtimeout(&at, HRTIMER_MODE_REL);
			charge(s, &counted, 0);
			continue;
		}
		__set_current_state(TASK_RUNNING);
		tick_once(s, look, &counted);
	}
	__set_current_state(TASK_RUNNING);
	charge(s, &counted, 0);
	return 0;
}

int moca_monitor_start(struct moca_session *s)
{
	struct task_struct *t = kthread_run(monitor, s, "moca/%llu", s->id);

	if (IS_ERR(t))
		return PTR_ERR(t);
	s->monitor = t;
	return 0;
}

void moca_monitor_stop(struct task_struct *monitor)
{
	kthread_stop(monitor);
}
