// SPDX-License-Identifier: GPL-2.0-only
#include "fault.h"

#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "entry.h"
#include "frame.h"
#include "hook.h"
#include "lookup.h"
#include "opened.h"
#include "record.h"
#include "session.h"
#include "space.h"

static bool no_ftrace;
module_param(no_ftrace, bool, 0444);
MODULE_PARM_DESC(no_ftrace, "see faults by a kprobe, even where ftrace could");

/* The same page by the same task once more: the kernel tries a fault again. */
static bool is_retry(struct moca_ring *r, u64 page, u32 tid)
{
	if (r->last_page == page && r->last_tid == tid &&
	    r->last_interval == (u32)r->interval)
		return true;
	r->last_page = page;
	r->last_tid = tid;
	r->last_interval = r->interval;
	return false;
}

static u16 access_flags(unsigned int fault, struct pt_regs *regs,
			const struct moca_entry *e)
{
	u16 flags = 0;

	if (fault & FAULT_FLAG_WRITE)
		flags |= MOCA_ACC_WRITE;
	if (fault & FAULT_FLAG_INSTRUCTION)
		flags |= MOCA_ACC_EXEC;
	if (!regs)
		flags |= MOCA_ACC_DIRECT | MOCA_ACC_KERNEL;
	else if (!user_mode(regs))
		flags |= MOCA_ACC_KERNEL;
	if (e->was_false)
		flags |= MOCA_ACC_FALSE;
	if (e->huge)
		flags |= MOCA_ACC_HUGE;
	return flags;
}

static void record_access(struct moca_space *sp, u64 addr, unsigned int fault,
			  struct pt_regs *regs, u32 tid,
			  const struct moca_entry *e)
{
	struct moca_session *s = sp->session;
	struct moca_rec_access *rec;
	unsigned long irq;
	struct moca_ring *r;
	u32 cpu;

	local_irq_save(irq);
	cpu = smp_processor_id();
	r = cpu < s->cpus ? s->rings[cpu] : NULL;
	if (!r) {
		atomic64_inc(&s->homeless);
		goto out;
	}
	moca_frame_fill(s, r, sp->mm);
	r->faults++;
	r->false_faults += e->was_false;
	if (is_retry(r, addr >> PAGE_SHIFT, tid) && !e->was_false)
		goto out;
	rec = moca_ring_reserve(r, MOCA_REC_ACCESS, sizeof(*rec), tid,
				ktime_get_mono_fast_ns());
	if (!rec)
		goto out;
	rec->addr = addr;
	/* Of the kernel's own code nobody need know where it is. */
	rec->ip = regs && user_mode(regs) ? instruction_pointer(regs) :
		  instruction_pointer(task_pt_regs(current));
	rec->pfn = s->sees_frames ? e->pfn : 0;
	rec->flags = access_flags(fault, regs, e);
	rec->node = moca_frame_node(e->pfn);
	rec->pid = sp->pid;
	if (!e->pfn)
		moca_frame_await(r, rec, sp->mm);
out:
	local_irq_restore(irq);
}

/*
 * The kernel is about to handle a fault. If it is a false one, the entry is
 * mended before the kernel sees it: it would take it for a hint to move the page
 * to this node.
 */
static void notrace see_fault(struct moca_space *sp,
			      struct vm_area_struct *vma, u64 addr,
			      unsigned int flags, struct pt_regs *regs)
{
	/* A debugger, or the kernel for another: no access of the program. */
	bool own = current->mm == sp->mm && !(current->flags & PF_KTHREAD);
	struct moca_entry e;
	u32 tid;

	moca_entry_repair(vma, addr, own, &e);
	if (!own || !READ_ONCE(sp->session->running))
		return;
	tid = moca_session_tid(sp->session, current);
	moca_record_mapping(sp, vma, tid);
	record_access(sp, addr, flags, regs, tid, &e);
}

static noinline void notrace maybe_traced(struct vm_area_struct *vma, u64 addr,
					 unsigned int flags,
					 struct pt_regs *regs)
{
	struct moca_space *sp;

	preempt_disable_notrace();
	sp = moca_space_find(vma->vm_mm);
	if (sp)
		see_fault(sp, vma, addr, flags, regs);
	preempt_enable_notrace();
}

/*
 * handle_mm_fault(vma, address, flags, regs), of any program: what is not traced
 * pays for one look at a table, and leaves no stack frame behind.
 */
static void notrace on_fault(unsigned long ip, unsigned long parent,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct vm_area_struct *vma = (void *)moca_ftrace_arg(fregs, 0);

	if (unlikely(moca_space_maybe(vma->vm_mm)))
		maybe_traced(vma, moca_ftrace_arg(fregs, 1),
			     moca_ftrace_arg(fregs, 2),
			     (void *)moca_ftrace_arg(fregs, 3));
}

static struct ftrace_ops fault_ops = {
	.func = on_fault,
	.flags = MOCA_FTRACE_FLAGS,
};

/* Where ftrace is off, or not built in. */
static int on_fault_kprobe(struct kprobe *p, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs_get_kernel_argument(regs, 0);

	if (unlikely(moca_space_maybe(vma->vm_mm)))
		maybe_traced(vma, regs_get_kernel_argument(regs, 1),
			     regs_get_kernel_argument(regs, 2),
			     (void *)regs_get_kernel_argument(regs, 3));
	return 0;
}

static struct kprobe fault_kprobe;

/*
 * Fault-around maps 15 file pages that nobody touched along with the one that
 * somebody did, and their touches would not be seen. In traced address spaces
 * it maps none; the kernel then maps the one page, as it does for files that
 * cannot do more.
 */
static vm_fault_t notrace __maybe_unused
map_no_pages(struct vm_fault *vmf, pgoff_t start, pgoff_t end)
{
	return 0;
}

static void notrace on_around(unsigned long ip, unsigned long parent,
			      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct vm_fault *vmf = (void *)moca_ftrace_arg(fregs, 0);
	struct moca_space *sp;

	preempt_disable_notrace();
	sp = moca_space_find(vmf->vma->vm_mm);
	if (sp && !(sp->session->flags & MOCA_SETUP_NO_INJECT))
		moca_ftrace_go(fregs, map_no_pages);
	preempt_enable_notrace();
}

static struct ftrace_ops around_ops = {
	.func = on_around,
	.flags = MOCA_FTRACE_FLAGS | FTRACE_OPS_FL_IPMODIFY,
};

/*
 * tlb_gather_mmu(tlb, mm), and _fullmm when mm ends: memory is about to go, or
 * its protection to change. What was touched last has its page now.
 */
static void notrace fill_before(struct mm_struct *mm)
{
	struct moca_session *s;
	struct moca_space *sp;
	struct moca_ring *r;
	unsigned long irq;
	u32 cpu;

	if (current->mm != mm && atomic_read(&mm->mm_users))
		return;
	preempt_disable_notrace();
	sp = moca_space_find(mm);
	if (sp) {
		s = sp->session;
		local_irq_save(irq);
		cpu = smp_processor_id();
		r = cpu < s->cpus ? s->rings[cpu] : NULL;
		if (r)
			moca_frame_fill(s, r, mm);
		local_irq_restore(irq);
	}
	preempt_enable_notrace();
}

static void notrace on_gather(unsigned long ip, unsigned long parent,
			      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct mm_struct *mm = (void *)moca_ftrace_arg(fregs, 1);

	if (unlikely(moca_space_maybe(mm)))
		fill_before(mm);
}

static struct ftrace_ops gather_ops = {
	.func = on_gather,
	.flags = MOCA_FTRACE_FLAGS,
};

static DEFINE_MUTEX(users_lock);
static int users;
static u32 have;
static bool sees_gather;

/* Without it the last touch before an unmapping is of an unknown node. */
static bool hook_gather(void)
{
	char name[] = "tlb_gather_mmu", all[] = "tlb_gather_mmu_fullmm";

	if (!ftrace_set_filter(&gather_ops, all, strlen(all), 1) &&
	    !ftrace_set_filter(&gather_ops, name, strlen(name), 0) &&
	    !register_ftrace_function(&gather_ops))
		return true;
	moca_hook_free(&gather_ops);
	return false;
}

static int hook(void)
{
	int err = -ENODEV;

	have = 0;
	if (!no_ftrace)
		err = moca_hook(&fault_ops, "handle_mm_fault");
	if (!err) {
		have |= MOCA_HAS_FTRACE;
	} else {
		/* A probe that was registered once cannot be again as it is. */
		fault_kprobe = (struct kprobe){
			.symbol_name = "handle_mm_fault",
			.pre_handler = on_fault_kprobe,
		};
		err = register_kprobe(&fault_kprobe);
	}
	if (err) {
		pr_err("moca: cannot see page faults: handle_mm_fault: %d\n",
		       err);
		return err;
	}
	if (MOCA_CAN_REDIRECT && !no_ftrace &&
	    !moca_hook(&around_ops, "filemap_map_pages"))
		have |= MOCA_HAS_NO_AROUND;
	sees_gather = !no_ftrace && hook_gather();
	if (!no_ftrace) {
		moca_opened_hook();
		moca_lookup_hook();
	}
	return 0;
}

static void unhook(void)
{
	if (!no_ftrace) {
		moca_lookup_unhook();
		moca_opened_unhook();
	}
	if (sees_gather)
		moca_unhook(&gather_ops);
	if (have & MOCA_HAS_NO_AROUND)
		moca_unhook(&around_ops);
	if (have & MOCA_HAS_FTRACE)
		moca_unhook(&fault_ops);
	else
		unregister_kprobe(&fault_kprobe);
}

int moca_fault_get(void)
{
	int err = 0;

	mutex_lock(&users_lock);
	if (!users)
		err = hook();
	if (!err)
		users++;
	mutex_unlock(&users_lock);
	return err;
}

void moca_fault_put(void)
{
	mutex_lock(&users_lock);
	if (!--users)
		unhook();
	mutex_unlock(&users_lock);
}

/* Whether ftrace knows a function of this name. */
static bool can_hook(struct ftrace_ops *ops, char *name)
{
	bool can = !no_ftrace && !ftrace_set_filter(ops, name, strlen(name), 1);

	moca_hook_free(ops);
	return can;
}

u32 moca_fault_features(void)
{
	u32 features;

	mutex_lock(&users_lock);
	features = have;
	if (!users)
		features = (can_hook(&fault_ops, "handle_mm_fault") ?
				    MOCA_HAS_FTRACE : 0) |
			   (MOCA_CAN_REDIRECT &&
			    can_hook(&around_ops, "filemap_map_pages") ?
				    MOCA_HAS_NO_AROUND : 0);
	mutex_unlock(&users_lock);
	return features;
}
