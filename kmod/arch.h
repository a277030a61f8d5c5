/* SPDX-License-Identifier: GPL-2.0-only */
/* The one header that knows the architecture. */
#ifndef MOCA_KMOD_ARCH_H
#define MOCA_KMOD_ARCH_H

#include <linux/mm.h>
#include <linux/ptrace.h>
#include <asm/tlbflush.h>

#ifdef CONFIG_X86_64

#include <linux/cc_platform.h>
#include <asm/cpufeature.h>
#include <asm/invpcid.h>
#include <asm/special_insns.h>

#include "compat.h"

/*
 * pte_modify() is an inline function that reads cc_mask, which is not exported:
 * Kbuild gives it moca_cc_mask instead. It is 0 but in confidential guests,
 * and there we refuse to load.
 */
extern u64 moca_cc_mask;
static inline bool moca_arch_refuses(void)
{
	return cc_platform_has(CC_ATTR_MEM_ENCRYPT);
}

/* Not exported: resolved at load (flush.c). */
#define MOCA_FLUSH_SYMBOL "flush_tlb_mm_range"
typedef void moca_flush_fn(struct mm_struct *mm, unsigned long start,
			   unsigned long end, unsigned int shift, bool tables);
#if MOCA_HAS_FLUSH_ALL
#define moca_arch_flush_cpu() __flush_tlb_all()
#define moca_arch_can_flush_cpu() true
#else
/* The same, by what is not exported to others. Interrupts are off. */
static inline void moca_arch_flush_cpu(void)
{
	unsigned long cr4;

	if (boot_cpu_has(X86_FEATURE_INVPCID)) {
		invpcid_flush_all();
		return;
	}
	cr4 = __read_cr4();
	asm volatile("mov %0, %%cr4" : : "r" (cr4 ^ X86_CR4_PGE) : "memory");
	asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
}
/* In a paravirtualised guest of Xen these are the hypervisor's. */
#define moca_arch_can_flush_cpu() (!boot_cpu_has(X86_FEATURE_XENPV))
#endif
#define MOCA_FLUSH_SHIFT PAGE_SHIFT
#define MOCA_FLUSH_ALL_END TLB_FLUSH_ALL

static inline bool moca_pmd_is_huge(pmd_t pmd)
{
	return pmd_present(pmd) && (pmd_flags(pmd) & _PAGE_PSE);
}

static inline unsigned long moca_arch_tls(struct task_struct *t)
{
	return t->thread.fsbase;
}

/* Take an entry out, under its lock, to put a changed one back. */
#define moca_arch_take(vma, addr, ptep) ptep_modify_prot_start(vma, addr, ptep)
#define moca_arch_put(vma, addr, ptep, old, new) \
	ptep_modify_prot_commit(vma, addr, ptep, old, new)
#define moca_arch_put_pmd(vma, addr, pmd, new) \
	set_pmd_at((vma)->vm_mm, addr, pmd, new)

#define MOCA_ARCH_HAS_HEAT 1

/* Of pte_flags() or pmd_flags(): written since the bit was cleared. Without the
 * right to write, the bit may mean a shadow stack. */
static inline bool moca_arch_is_written(unsigned long flags)
{
	return (flags & (_PAGE_RW | _PAGE_DIRTY)) == (_PAGE_RW | _PAGE_DIRTY);
}

/* Clear bits of an entry (pte or pmd) that the CPUs may set meanwhile. */
static inline void moca_arch_rest(void *entry, bool touched, bool written)
{
	if (touched)
		clear_bit(_PAGE_BIT_ACCESSED, entry);
	if (written)
		clear_bit(_PAGE_BIT_DIRTY, entry);
}

#else	/* arm64 */

#include <linux/sched.h>
#include <linux/version.h>

/* By inline functions: what the others call is not exported. */
static inline void moca_arch_flush_mm(struct mm_struct *mm)
{
	unsigned long asid = __TLBI_VADDR(0, ASID(mm));

	dsb(ishst);
	__tlbi(aside1is, asid);
	__tlbi_user(aside1is, asid);
	dsb(ish);
}

#define moca_arch_take(vma, addr, ptep) \
	ptep_get_and_clear((vma)->vm_mm, addr, ptep)
/* The page was there before: its caches and memory tags are in order. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define moca_arch_put(vma, addr, ptep, old, new) __set_pte(ptep, new)
#else
#define moca_arch_put(vma, addr, ptep, old, new) set_pte(ptep, new)
#endif
/* The entry of a huge page has the same form. */
#define moca_arch_put_pmd(vma, addr, pmd, new) \
	moca_arch_put(vma, addr, (pte_t *)(pmd), pmd_pte(*(pmd)), pmd_pte(new))

#define MOCA_ARCH_HAS_HEAT 0
#define moca_arch_is_written(flags) false
#define moca_arch_rest(entry, touched, written) do { } while (0)
#define pte_flags(pte) pte_val(pte)
#define pmd_flags(pmd) pmd_val(pmd)

static inline bool moca_arch_refuses(void)
{
	return false;
}

static inline bool moca_pmd_is_huge(pmd_t pmd)
{
	return pmd_present(pmd) && pmd_leaf(pmd);
}

/* A task that runs has it in the register alone. */
static inline unsigned long moca_arch_tls(struct task_struct *t)
{
	return t == current ? read_sysreg(tpidr_el0) : t->thread.uw.tp_value;
}

#endif
#endif
