// SPDX-License-Identifier: GPL-2.0-only
#include "opened.h"

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "entry.h"
#include "hook.h"
#include "session.h"
#include "space.h"

/*
 * Entries looked at in an interval, at most: a program that moves gigabytes by
 * whole tables, again and again, is not to wait for us. What is left open then
 * is found by the next sweep.
 */
#define LOOK_MAX (1 << 18)

struct opened {
	struct callback_head work;
	struct list_head list;		/* of sp, under its lock; if moved */
	struct moca_space *sp;
	unsigned long start, end;
	bool moved;
};

/*
 * Of what was moved, nobody has touched anything at its new address: the program
 * learns the address when the call returns. If it has other tasks, they may have
 * guessed it: then an entry that was accessed stays open, and the sweep tells.
 * The same of changed rights: it may have been accessed since.
 */
static bool is_untouched(const struct opened *o)
{
	return o->moved && READ_ONCE(o->sp->tasks) == 1;
}

static void walk_and_count(struct moca_session *s, struct moca_walk *w)
{
	u64 begin = ktime_get_mono_fast_ns();

	moca_walk(w);
	atomic64_add(w->looked, &s->opened.looked);
	atomic64_add(w->changed, &s->opened.injected);
	atomic64_add(ktime_get_mono_fast_ns() - begin, &s->opened.ns);
}

static void close_again(struct moca_session *s, const struct opened *o)
{
	struct moca_walk w = {
		.mm = o->sp->mm, .inject = true, .start = o->start,
		.end = o->end, .idle = !is_untouched(o),
		.split = !(s->flags & MOCA_SETUP_KEEP_THP),
		.was = s->heat, .sp = o->sp,
	};
	s64 looked = atomic64_read(&s->opened.looked);

	if (looked >= LOOK_MAX || !mmget_not_zero(w.mm))
		return;
	w.most = LOOK_MAX - looked;
	walk_and_count(s, &w);
	mmput_async(w.mm);
}

static void drop(struct opened *o)
{
	if (o->moved) {
		spin_lock(&o->sp->opened_lock);
		list_del(&o->list);
		spin_unlock(&o->sp->opened_lock);
	}
	moca_space_put(o->sp);
	kfree(o);
}

bool moca_opened_is_moved(struct moca_space *sp, unsigned long addr)
{
	const struct opened *o;
	bool is = false;

	spin_lock(&sp->opened_lock);
	list_for_each_entry(o, &sp->opened, list)
		is |= is_untouched(o) && addr >= o->start && addr < o->end;
	spin_unlock(&sp->opened_lock);
	return is;
}

static void opened_work(struct callback_head *head)
{
	struct opened *o = container_of(head, struct opened, work);
	struct moca_session *s = moca_space_pin(o->sp);

	if (s) {
		if (READ_ONCE(s->running))
			close_again(s, o);
		moca_space_unpin(o->sp, s);
	}
	drop(o);
	/* moca_space_exit() waits until we are really out of this code. */
	module_put(THIS_MODULE);
}

/* Under the mmap lock, preemption is off. */
static void notrace close_later(struct moca_space *sp, unsigned long start,
				unsigned long len, bool moved)
{
	struct opened *o;

	if (sp->session->flags & MOCA_SETUP_NO_INJECT ||
	    !READ_ONCE(sp->session->running))
		return;
	o = kmalloc(sizeof(*o), MOCA_ATOMIC);
	if (!o)
		return;
	if (!refcount_inc_not_zero(&sp->refs)) {
		kfree(o);
		return;
	}
	*o = (struct opened){ .sp = sp, .start = start, .end = start + len,
			      .moved = moved };
	/* Who sweeps asks for these alone. */
	if (moved) {
		spin_lock(&sp->opened_lock);
		list_add(&o->list, &sp->opened);
		spin_unlock(&sp->opened_lock);
	}
	__module_get(THIS_MODULE);
	init_task_work(&o->work, opened_work);
	if (!task_work_add(current, &o->work, TWA_RESUME))
		return;
	/* It is about to die. */
	module_put(THIS_MODULE);
	drop(o);
}

/*
 * What is about to be moved is made false faults first: so it moves as such, and
 * whatever task touches it then has its record. Of so much at most, as preemption
 * is off; in bytes. Under the mmap lock, for writing.
 */
#define CLOSE_FIRST (64ul << 20)

static unsigned long notrace close_first(struct moca_space *sp,
					 unsigned long from, unsigned long len)
{
	struct moca_session *s = sp->session;
	struct moca_walk w = {
		.mm = sp->mm, .inject = true, .locked = true, .start = from,
		.end = from + min(len, CLOSE_FIRST),
	};

	/* Huge pages may have to be split, which is not for here. */
	if (s->flags & (MOCA_SETUP_NO_INJECT | MOCA_SETUP_KEEP_THP) ||
	    !READ_ONCE(s->running) ||
	    atomic64_read(&s->opened.looked) >= LOOK_MAX)
		return 0;
	walk_and_count(s, &w);
	return w.end - from;
}

static void notrace see_opened(struct mm_struct *mm, unsigned long start,
			       unsigned long len, bool moved)
{
	struct moca_space *sp;

	/* Others (userfaultfd's) return to another program. */
	if (current->mm != mm || current->flags & PF_KTHREAD || !len)
		return;
	preempt_disable_notrace();
	sp = moca_space_find(mm);
	if (sp)
		close_later(sp, start, len, moved);
	preempt_enable_notrace();
}

/* change_protection(tlb, vma, start, end, ..., cp_flags), before it does. */
static void notrace on_protect(unsigned long ip, unsigned long parent,
			       struct ftrace_ops *ops,
			       struct ftrace_regs *fregs)
{
	struct vm_area_struct *vma = (void *)moca_ftrace_arg(fregs, 1);
	unsigned long start = moca_ftrace_arg(fregs, 2);

	if (unlikely(moca_space_maybe(vma->vm_mm)) &&
	    !(moca_ftrace_arg(fregs, MOCA_CP_FLAGS_ARG) & MM_CP_PROT_NUMA))
		see_opened(vma->vm_mm, start,
			   moca_ftrace_arg(fregs, 3) - start, false);
}

/* move_page_tables(), before it does: of the memory of who calls. */
static void notrace on_move(unsigned long ip, unsigned long parent,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned long from, to, len, closed = 0;
	struct moca_space *sp;

	if (likely(!moca_space_maybe(current->mm)) ||
	    !moca_move_args(fregs, &from, &to, &len))
		return;
	preempt_disable_notrace();
	sp = moca_space_find(current->mm);
	if (sp)
		closed = close_first(sp, from, len);
	preempt_enable_notrace();
	see_opened(current->mm, to + closed, len - closed, true);
}

static struct ftrace_ops protect_ops = {
	.func = on_protect,
	.flags = MOCA_FTRACE_FLAGS,
};

static struct ftrace_ops move_ops = {
	.func = on_move,
	.flags = MOCA_FTRACE_FLAGS,
};

static bool sees_protect, sees_move;

void moca_opened_hook(void)
{
	sees_protect = !moca_hook(&protect_ops, "change_protection");
	sees_move = !moca_hook(&move_ops, "move_page_tables");
}

void moca_opened_unhook(void)
{
	if (sees_protect)
		moca_unhook(&protect_ops);
	if (sees_move)
		moca_unhook(&move_ops);
}
