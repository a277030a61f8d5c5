// SPDX-License-Identifier: GPL-2.0-only
#include "lookup.h"

#include <linux/mm.h>

#include "compat.h"
#include "entry.h"
#include "hook.h"
#include "space.h"

#if MOCA_LOOKUP_NEEDS_REPAIR
/* follow_page(vma, address, flags), under the mmap lock. */
static void notrace on_follow(unsigned long ip, unsigned long parent,
			      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct vm_area_struct *vma = (void *)moca_ftrace_arg(fregs, 0);
	struct moca_entry e;

	if (likely(!moca_space_maybe(vma->vm_mm)))
		return;
	preempt_disable_notrace();
	if (moca_space_find(vma->vm_mm))
		moca_entry_repair(vma, moca_ftrace_arg(fregs, 1), false, &e);
	preempt_enable_notrace();
}

static struct ftrace_ops follow_ops = {
	.func = on_follow,
	.flags = MOCA_FTRACE_FLAGS,
};

static bool sees_follow;

void moca_lookup_hook(void)
{
	sees_follow = !moca_hook(&follow_ops, "follow_page");
}

void moca_lookup_unhook(void)
{
	if (sees_follow)
		moca_unhook(&follow_ops);
}
#else
void moca_lookup_hook(void)
{
}

void moca_lookup_unhook(void)
{
}
#endif
