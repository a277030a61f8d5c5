/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between the kernels that moca.ko is built for: 6.1 and later. */
#ifndef MOCA_KMOD_COMPAT_H
#define MOCA_KMOD_COMPAT_H

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/coredump.h>
#include <linux/sched/task.h>
#include <linux/version.h>
#if __has_include(<linux/sched/exec_state.h>)
#include <linux/sched/exec_state.h>
#define MOCA_HAS_EXEC_STATE 1
#else
#define MOCA_HAS_EXEC_STATE 0
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define moca_pte_mkwrite(pte) pte_mkwrite(pte)
#define moca_pmd_mkwrite(pmd) pmd_mkwrite(pmd)
#else
#define moca_pte_mkwrite(pte) pte_mkwrite_novma(pte)
#define moca_pmd_mkwrite(pmd) pmd_mkwrite_novma(pmd)
#endif

/* The n-th argument of a function that ftrace stopped at. */
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
#define MOCA_FTRACE_FLAGS 0
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define moca_ftrace_arg(fregs, n) ftrace_regs_get_argument(fregs, n)
#else
#define moca_ftrace_arg(fregs, n) regs_get_kernel_argument(&(fregs)->regs, n)
#endif
#else
#define MOCA_FTRACE_FLAGS FTRACE_OPS_FL_SAVE_REGS
#define moca_ftrace_arg(fregs, n) \
	regs_get_kernel_argument(ftrace_get_regs(fregs), n)
#endif

/* Whether a function can be left out by ftrace (fault-around). */
#if defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) && \
	LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define MOCA_CAN_REDIRECT 1
#define moca_ftrace_go(fregs, to) \
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)(to))
#elif defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS)
#define MOCA_CAN_REDIRECT 1
#define moca_ftrace_go(fregs, to) \
	instruction_pointer_set(&(fregs)->regs, (unsigned long)(to))
#else
#define MOCA_CAN_REDIRECT 0
#define moca_ftrace_go(fregs, to) do { } while (0)
#endif

/* change_protection(tlb, vma, start, end, [newprot,] cp_flags) */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define MOCA_CP_FLAGS_ARG 4
#else
#define MOCA_CP_FLAGS_ARG 5
#endif

/* follow_page() finds no page behind an entry without rights. */
#define MOCA_LOOKUP_NEEDS_REPAIR (LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0))

/*
 * What move_page_tables() is about to do; false: it cannot be told. From 6.16 on
 * its argument is a structure of mm/'s own, which no header has. What it begins
 * with is believed where both mappings are indeed at its addresses. Under the
 * mmap lock of current->mm.
 */
static __always_inline bool moca_move_args(struct ftrace_regs *fregs,
					   unsigned long *from,
					   unsigned long *to,
					   unsigned long *len)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	*from = moca_ftrace_arg(fregs, 1);
	*to = moca_ftrace_arg(fregs, 3);
	*len = moca_ftrace_arg(fregs, 4);
	return true;
#else
	const struct {
		struct vm_area_struct *from_vma, *to_vma;
		unsigned long from, from_end, to, len;
	} *move = (void *)moca_ftrace_arg(fregs, 0);

	*from = move->from;
	*to = move->to;
	*len = move->len;
	return move->len && move->from_end - move->from == move->len &&
	       find_vma(current->mm, move->from) == move->from_vma &&
	       find_vma(current->mm, move->to) == move->to_vma;
#endif
}

/*
 * Whose capabilities it takes to look at the memory of t, which has some; NULL:
 * its owner may. From 7.2 on that is kept by task, not by mm. Under task_lock(t)
 * and rcu_read_lock().
 */
static inline struct user_namespace *moca_hidden_in(struct task_struct *t)
{
#if MOCA_HAS_EXEC_STATE
	struct task_exec_state *e = rcu_dereference(t->exec_state);

	return READ_ONCE(e->dumpable) == TASK_DUMPABLE_OWNER ? NULL :
							       e->user_ns;
#else
	return get_dumpable(t->mm) == SUID_DUMP_USER ? NULL : t->mm->user_ns;
#endif
}

/* __flush_tlb_all() is exported to KVM alone from 6.19 on. */
#define MOCA_HAS_FLUSH_ALL (LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0))

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define moca_mm_flag(mm, bit) mm_flags_test(bit, mm)
#define moca_mm_set_flag(mm, bit) mm_flags_set(bit, mm)
#define moca_mm_clear_flag(mm, bit) mm_flags_clear(bit, mm)
#else
#define moca_mm_flag(mm, bit) test_bit(bit, &(mm)->flags)
#define moca_mm_set_flag(mm, bit) set_bit(bit, &(mm)->flags)
#define moca_mm_clear_flag(mm, bit) clear_bit(bit, &(mm)->flags)
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define MOCA_MMF_NO_THP MMF_DISABLE_THP_COMPLETELY
#else
#define MOCA_MMF_NO_THP MMF_DISABLE_THP
#endif

#endif
