/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Our own walk of the page tables, by inline functions only: what mm/ has for it
 * is not exported. Tables stay where they are while the mmap lock or the VMA's
 * lock is held; an entry may change until its lock is taken.
 */
#ifndef MOCA_KMOD_PAGETABLE_H
#define MOCA_KMOD_PAGETABLE_H

#include <linux/mm.h>
#include <linux/pgtable.h>

#include "arch.h"
#include "compat.h"

/*
 * The pmd entry of addr, or NULL; then *next is where the next one may be. A
 * 1 GB page counts as none.
 */
static inline pmd_t *moca_pmd(struct mm_struct *mm, unsigned long addr,
			      unsigned long *next)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	*next = (addr & PGDIR_MASK) + PGDIR_SIZE;
	if (pgd_none(*pgd) || pgd_bad(*pgd))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	*next = (addr & P4D_MASK) + P4D_SIZE;
	if (p4d_none(*p4d) || p4d_bad(*p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	*next = (addr & PUD_MASK) + PUD_SIZE;
	if (pud_none(*pud) || pud_bad(*pud))
		return NULL;
	return pmd_offset(pud, addr);
}

/* Whether pmd leads to a table of entries. */
static inline bool moca_pmd_is_table(pmd_t pmd)
{
	return !pmd_none(pmd) && pmd_present(pmd) && !moca_pmd_is_huge(pmd) &&
	       !pmd_bad(pmd);
}

/*
 * The frame that addr is mapped to now; 0: none. No lock is taken: interrupts
 * are off, so that tables of an address space that this CPU uses are not freed
 * (as in get_user_pages_fast()).
 */
static inline u64 moca_frame_lockless(const struct mm_struct *mm,
				      unsigned long addr)
{
	pgd_t *pgdp = pgd_offset(mm, addr), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;
	pmd_t pmd;
	pte_t pte;

	if (pgd_none(pgd) || pgd_bad(pgd))
		return 0;
	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (p4d_none(p4d) || p4d_bad(p4d))
		return 0;
	pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud = READ_ONCE(*pudp);
	if (pud_none(pud) || pud_bad(pud))
		return 0;
	pmd = READ_ONCE(*pmd_offset_lockless(pudp, pud, addr));
	if (moca_pmd_is_huge(pmd))
		return pmd_pfn(pmd) + ((addr & ~PMD_MASK) >> PAGE_SHIFT);
	if (!moca_pmd_is_table(pmd))
		return 0;
	pte = READ_ONCE(*((pte_t *)pmd_page_vaddr(pmd) + pte_index(addr)));
	return !pte_none(pte) && pte_present(pte) ? pte_pfn(pte) : 0;
}

/* The entry of addr with its lock held, or NULL if there is no table now. */
static inline pte_t *moca_pte_lock(struct mm_struct *mm, pmd_t *pmd,
				   unsigned long addr, spinlock_t **lock)
{
	pte_t *pte = NULL;
	pmd_t v;

	/* khugepaged may take a table away from under the mmap lock; its page,
	 * with the lock in it, is freed after a grace period (6.6 on). */
	rcu_read_lock();
	v = READ_ONCE(*pmd);
	if (!moca_pmd_is_table(v))
		goto out;
	*lock = pte_lockptr(mm, &v);
	spin_lock(*lock);
	if (unlikely(pmd_val(v) != pmd_val(READ_ONCE(*pmd))))
		spin_unlock(*lock);
	else
		pte = (pte_t *)pmd_page_vaddr(v) + pte_index(addr);
out:
	rcu_read_unlock();
	return pte;
}

#endif
