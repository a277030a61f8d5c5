// SPDX-License-Identifier: GPL-2.0-only
#include "entry.h"

#include <linux/bitops.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/page_idle.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "flush.h"
#include "heat.h"
#include "pagetable.h"

/* Tables that are swept before others may have the mmap lock. */
#define TABLES_AT_ONCE 128

static bool has_plain_entries(struct vm_area_struct *vma)
{
	return !is_vm_hugetlb_page(vma) && !vma_is_dax(vma) &&
	       !(vma->vm_flags & (VM_PFNMAP | VM_IO | VM_MIXEDMAP));
}

bool moca_vma_is_safe(struct vm_area_struct *vma)
{
	return vma_is_accessible(vma) && has_plain_entries(vma);
}

static void repair_pte(struct vm_area_struct *vma, unsigned long addr,
		       pte_t *ptep, bool young)
{
	pte_t old = moca_arch_take(vma, addr, ptep);
	pte_t new = pte_modify(old, vma->vm_page_prot);

	if (young)
		new = pte_mkyoung(new);
	if (pte_write(old) && (vma->vm_flags & VM_WRITE))
		new = moca_pte_mkwrite(new);
	moca_arch_put(vma, addr, ptep, old, new);
}

/*
 * Its dirty bit is to be cleared: the page has to know then. As zap_pte_range(),
 * under the entry's lock. Reclaim takes a clean entry for one that no CPU writes to,
 * so TLBs are flushed before the lock is given back.
 */
static void keep_dirt(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (!folio_test_dirty(folio))
		folio_mark_dirty(folio);
}

/*
 * Its accessed bit is to be cleared without its being closed: reclaim asks the page, as
 * after DAMON. Nothing, on kernels without CONFIG_PAGE_IDLE_FLAG.
 */
static void keep_young(struct page *page)
{
	struct folio *folio;

	if (!IS_ENABLED(CONFIG_PAGE_IDLE_FLAG))
		return;
	folio = page_folio(page);
	if (!folio_test_young(folio))
		folio_set_young(folio);
}

static bool is_written(pte_t pte)
{
	return !pte_special(pte) && moca_arch_is_written(pte_flags(pte));
}

/*
 * The access bit is cleared: the hardware sets it when the page is touched without
 * our seeing, after mprotect, say. That it was set is not lost: a repair sets it.
 */
static pte_t inject_pte(struct vm_area_struct *vma, unsigned long addr,
			pte_t *ptep, bool clean)
{
	pte_t old = moca_arch_take(vma, addr, ptep);
	pte_t new = pte_mkold(pte_modify(old, PAGE_NONE));

	if (pte_write(old))
		new = moca_pte_mkwrite(new);
	if (clean && is_written(old)) {
		keep_dirt(pte_page(old));
		new = pte_mkclean(new);
	}
	moca_arch_put(vma, addr, ptep, old, new);
	return old;
}

/* What was accessed before nobody could is not to look accessed when they can. */
static void forget_pte(struct vm_area_struct *vma, unsigned long addr,
		       pte_t *ptep)
{
	pte_t old = moca_arch_take(vma, addr, ptep);

	moca_arch_put(vma, addr, ptep, old, pte_mkold(old));
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
#define CAN_INJECT_HUGE 1
static void repair_pmd(struct vm_area_struct *vma, unsigned long addr,
		       pmd_t *pmd, bool young)
{
	pmd_t old = *pmd;
	pmd_t new = pmd_modify(old, vma->vm_page_prot);

	if (young)
		new = pmd_mkyoung(new);
	if (pmd_write(old) && (vma->vm_flags & VM_WRITE))
		new = moca_pmd_mkwrite(new);
	moca_arch_put_pmd(vma, addr & PMD_MASK, pmd, new);
}

/* As the kernel's own: the entry must never be seen as none. */
static void inject_pmd(struct vm_area_struct *vma, unsigned long addr,
		       pmd_t *pmd, bool clean)
{
	pmd_t old, new;

	addr &= PMD_MASK;
	old = pmdp_establish(vma, addr, pmd, pmd_mkinvalid(*pmd));
	new = pmd_mkold(pmd_modify(old, PAGE_NONE));
	if (pmd_write(old))
		new = moca_pmd_mkwrite(new);
	if (clean) {
		keep_dirt(pmd_page(old));
		new = pmd_mkclean(new);
	}
	moca_arch_put_pmd(vma, addr, pmd, new);
}

static void look_at_huge(struct vm_area_struct *vma, unsigned long addr,
			 pmd_t *pmd, bool young, struct moca_entry *e)
{
	spinlock_t *lock = pmd_lock(vma->vm_mm, pmd);

	if (moca_pmd_is_huge(*pmd) || pmd_trans_huge(*pmd)) {
		e->huge = true;
		e->pfn = pmd_pfn(*pmd) + ((addr & ~PMD_MASK) >> PAGE_SHIFT);
		if (pmd_protnone(*pmd) && vma_is_accessible(vma)) {
			repair_pmd(vma, addr, pmd, young);
			e->was_false = true;
		}
	}
	spin_unlock(lock);
}
#else
#define CAN_INJECT_HUGE 0
static void repair_pmd(struct vm_area_struct *vma, unsigned long addr,
		       pmd_t *pmd, bool young)
{
}

static void inject_pmd(struct vm_area_struct *vma, unsigned long addr,
		       pmd_t *pmd, bool clean)
{
}

static void look_at_huge(struct vm_area_struct *vma, unsigned long addr,
			 pmd_t *pmd, bool young, struct moca_entry *e)
{
}
#endif

/* Present, or PROT_NONE: without the second, present may mean either. */
static bool pmd_is_thp(pmd_t pmd)
{
	return !pmd_none(pmd) && pmd_present(pmd) &&
	       (moca_pmd_is_huge(pmd) || pmd_trans_huge(pmd));
}

void moca_entry_repair(struct vm_area_struct *vma, unsigned long addr,
		       bool young, struct moca_entry *e)
{
	struct mm_struct *mm = vma->vm_mm;
	unsigned long next;
	spinlock_t *lock;
	pmd_t *pmd;
	pte_t *ptep, pte;

	*e = (struct moca_entry){ 0 };
	if (is_vm_hugetlb_page(vma))
		return;
	pmd = moca_pmd(mm, addr, &next);
	if (!pmd)
		return;
	if (pmd_is_thp(READ_ONCE(*pmd))) {
		look_at_huge(vma, addr, pmd, young, e);
		return;
	}
	ptep = moca_pte_lock(mm, pmd, addr, &lock);
	if (!ptep)
		return;
	pte = *ptep;
	if (!pte_none(pte) && pte_present(pte)) {
		e->pfn = pte_pfn(pte);
		if (pte_protnone(pte) && vma_is_accessible(vma)) {
			repair_pte(vma, addr & PAGE_MASK, ptep, young);
			e->was_false = true;
		}
	}
	spin_unlock(lock);
}

/* What a walk has still to flush. */
struct pending {
	unsigned long start, end;
	int tables;
};

static void note_change(struct moca_walk *w, struct pending *p,
			unsigned long start, unsigned long end)
{
	p->start = min(p->start, start);
	p->end = max(p->end, end);
	w->changed++;
}

static void flush_pending(struct moca_walk *w, struct pending *p)
{
	/* Entries that were repaired are in no TLB. */
	if ((w->inject || w->look) && p->end > p->start)
		moca_flush(w->mm, p->start, p->end);
	p->start = ULONG_MAX;
	p->end = 0;
}

/* What the entries of one table told, under its lock. */
struct collected {
	struct moca_heat_bits bits;
	const u64 *was;		/* of which pages it was told since the last sweep */
	bool any, written;
};

static bool test_page(const u64 *bits, unsigned int page)
{
	return bits && bits[page / 64] >> (page % 64) & 1;
}

static void collect(struct collected *c, unsigned int page, bool touched,
		    bool written)
{
	if (!touched && !written)
		return;
	c->any = true;
	/* Somebody else (reclaim) may have cleared the first alone. */
	c->bits.touched[page / 64] |= 1ull << page % 64;
	if (!written)
		return;
	c->written = true;
	c->bits.written[page / 64] |= 1ull << page % 64;
}

static void collect_all(struct collected *c, bool touched, bool written)
{
	c->any = touched || written;
	c->written = written;
	memset(c->bits.touched, c->any ? 0xff : 0, sizeof(c->bits.touched));
	memset(c->bits.written, written ? 0xff : 0, sizeof(c->bits.written));
}

static void look_at_pmd(struct moca_walk *w, pmd_t *pmd, unsigned long addr,
			struct pending *p)
{
	struct collected c = { 0 };

	collect_all(&c, pmd_young(*pmd), moca_arch_is_written(pmd_flags(*pmd)));
	if (!c.any || !moca_heat_tell(w, addr, &c.bits) || !c.bits.touched[0])
		return;
	if (pmd_young(*pmd))
		keep_young(pmd_page(*pmd));
	if (c.written)
		keep_dirt(pmd_page(*pmd));
	moca_arch_rest(pmd, true, c.written);
	if (c.written)
		moca_flush(w->mm, addr, addr + PMD_SIZE);
	else
		note_change(w, p, addr, addr + PMD_SIZE);
}

/* Under the pmd's lock. */
static void inject_huge(struct moca_walk *w, struct vm_area_struct *vma,
			pmd_t *pmd, unsigned long addr, struct pending *p)
{
	struct collected c = { .was = moca_heat_was(w, addr) };
	pmd_t v = *pmd;
	struct moca_found f = {
		.addr = addr, .pfn = pmd_pfn(v),
		.young = pmd_young(v) || test_page(c.was, 0),
		.dirty = pmd_dirty(v), .huge = true,
	};

	if (w->idle && f.young)
		return;
	if (w->heat)
		collect_all(&c, pmd_young(v),
			    moca_arch_is_written(pmd_flags(v)));
	inject_pmd(vma, addr, pmd, c.written);
	if (c.written)
		moca_flush(w->mm, addr, addr + PMD_SIZE);
	if (c.any)
		moca_heat_tell(w, addr, &c.bits);
	if (w->found)
		w->found(w, &f);
	note_change(w, p, addr, addr + PMD_SIZE);
}

static void walk_huge(struct moca_walk *w, struct vm_area_struct *vma,
		      pmd_t *pmd, unsigned long addr, struct pending *p)
{
	spinlock_t *lock;
	pmd_t v;

	if (!CAN_INJECT_HUGE)
		return;
	lock = pmd_lock(w->mm, pmd);
	v = *pmd;
	addr &= PMD_MASK;
	if (!pmd_is_thp(v)) {
		/* It was split meanwhile. */
	} else if (w->look) {
		if (!pmd_protnone(v))
			look_at_pmd(w, pmd, addr, p);
		w->looked += PTRS_PER_PTE;
	} else if (w->inject && !pmd_protnone(v)) {
		inject_huge(w, vma, pmd, addr, p);
	} else if (!w->inject && pmd_protnone(v)) {
		repair_pmd(vma, addr, pmd, false);
		w->changed++;
	}
	spin_unlock(lock);
}

/* Read the bits of all entries that are open; clear them once they are told. */
static void look_at_table(struct moca_walk *w, pte_t *ptep, unsigned long addr,
			  unsigned long end, struct pending *p)
{
	const unsigned int first = pte_index(addr);
	const unsigned int n = (end - addr) >> PAGE_SHIFT;
	struct collected c = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		pte_t pte = READ_ONCE(ptep[i]);

		/* Most are neither. */
		if ((pte_young(pte) || pte_dirty(pte)) && pte_present(pte) &&
		    !pte_protnone(pte))
			collect(&c, first + i, pte_young(pte), is_written(pte));
	}
	if (!c.any || !moca_heat_tell(w, addr & PMD_MASK, &c.bits))
		return;
	for (unsigned int i = 0; i < MOCA_HEAT_WORDS; i++)
		for (u64 left = c.bits.touched[i]; left; left &= left - 1) {
			unsigned int page = 64 * i + __ffs64(left);
			bool written = test_page(c.bits.written, page);
			pte_t *at = &ptep[page - first], pte = *at;

			if (pte_young(pte) && !pte_special(pte))
				keep_young(pte_page(pte));
			if (written)
				keep_dirt(pte_page(pte));
			moca_arch_rest(at, true, written);
		}
	if (c.written)
		moca_flush(w->mm, addr, end);
	else
		note_change(w, p, addr, end);
}

static void inject_table(struct moca_walk *w, struct vm_area_struct *vma,
			 pte_t *ptep, unsigned long addr, unsigned long end,
			 struct pending *p)
{
	const unsigned long table = addr & PMD_MASK, begin = addr;
	struct collected c = { .was = moca_heat_was(w, table) };

	for (; addr < end; addr += PAGE_SIZE, ptep++) {
		bool was = test_page(c.was, pte_index(addr));
		pte_t pte = *ptep;

		if (!pte_present(pte) || pte_protnone(pte) ||
		    (w->idle && (was || pte_young(pte))))
			continue;
		pte = inject_pte(vma, addr, ptep, w->heat);
		note_change(w, p, addr, addr + PAGE_SIZE);
		if (w->heat)
			collect(&c, pte_index(addr), pte_young(pte),
				is_written(pte));
		if (w->found) {
			const struct moca_found f = {
				.addr = addr, .pfn = pte_pfn(pte),
				.young = was || pte_young(pte),
				.dirty = pte_dirty(pte),
			};

			w->found(w, &f);
		}
	}
	if (c.written)
		moca_flush(w->mm, begin, end);
	if (c.any)
		moca_heat_tell(w, table, &c.bits);
}

static void repair_table(struct moca_walk *w, struct vm_area_struct *vma,
			 pte_t *ptep, unsigned long addr, unsigned long end)
{
	for (; addr < end; addr += PAGE_SIZE, ptep++) {
		if (!pte_present(*ptep) || !pte_protnone(*ptep))
			continue;
		repair_pte(vma, addr, ptep, false);
		w->changed++;
	}
}

static void forget_table(struct vm_area_struct *vma, pte_t *ptep,
			 unsigned long addr, unsigned long end)
{
	for (; addr < end; addr += PAGE_SIZE, ptep++)
		if (pte_present(*ptep) && pte_young(*ptep))
			forget_pte(vma, addr, ptep);
}

static void walk_table(struct moca_walk *w, struct vm_area_struct *vma,
		       pmd_t *pmd, unsigned long addr, unsigned long end,
		       struct pending *p)
{
	spinlock_t *lock;
	pte_t *ptep = moca_pte_lock(w->mm, pmd, addr, &lock);

	if (!ptep)
		return;
	w->looked += (end - addr) >> PAGE_SHIFT;
	if (!vma_is_accessible(vma))
		forget_table(vma, ptep, addr, end);
	else if (w->look)
		look_at_table(w, ptep, addr, end, p);
	else if (w->inject)
		inject_table(w, vma, ptep, addr, end, p);
	else
		repair_table(w, vma, ptep, addr, end);
	spin_unlock(lock);
}

/* One pmd's worth at most; returns where to go on. */
static unsigned long walk_step(struct moca_walk *w, struct vm_area_struct *vma,
			       unsigned long addr, struct pending *p)
{
	unsigned long next, end;
	pmd_t *pmd = moca_pmd(w->mm, addr, &next);

	if (!pmd)
		return next;
	end = min3((addr & PMD_MASK) + PMD_SIZE, vma->vm_end, w->end);
	if (pmd_is_thp(READ_ONCE(*pmd))) {
		if (!w->inject || !w->split ||
		    !moca_split_huge(vma, pmd, addr & PMD_MASK)) {
			walk_huge(w, vma, pmd, addr, p);
			p->tables++;
			return (addr & PMD_MASK) + PMD_SIZE;
		}
		p->tables += 8;		/* it is dear */
	}
	if (moca_pmd_is_table(READ_ONCE(*pmd))) {
		walk_table(w, vma, pmd, addr, end, p);
		p->tables++;
	}
	return end;
}

static bool is_enough(const struct moca_walk *w)
{
	return w->most && w->looked >= w->most;
}

/*
 * From *addr on until all is done (false) or others want the lock (true). An
 * address space with notifiers (KVM) is left alone, as nobody tells them of our
 * changes. They are registered with the lock held for writing: none comes amid
 * the walk. The pending flush is announced: reclaim waits for it, as it does for
 * NUMA hints.
 */
static bool walk_some(struct moca_walk *w, unsigned long *addr)
{
	struct pending p = { .start = ULONG_MAX };
	struct vm_area_struct *vma = NULL;
	bool more = false;

	if (!w->locked)
		mmap_read_lock(w->mm);
	inc_tlb_flush_pending(w->mm);
	while (!more && !mm_has_notifiers(w->mm) && *addr < w->end &&
	       (vma = find_vma(w->mm, *addr))) {
		bool leave = w->idle ? !has_plain_entries(vma) :
				       !moca_vma_is_safe(vma);

		*addr = max(*addr, vma->vm_start);
		if (w->mapping)
			leave = !w->mapping(w, vma) || leave;
		if (leave) {
			*addr = vma->vm_end;
			continue;
		}
		while (*addr < min(vma->vm_end, w->end) && !more) {
			*addr = walk_step(w, vma, *addr, &p);
			more = p.tables >= TABLES_AT_ONCE || is_enough(w);
		}
	}
	flush_pending(w, &p);
	dec_tlb_flush_pending(w->mm);
	if (!w->locked)
		mmap_read_unlock(w->mm);
	return more;
}

void moca_walk(struct moca_walk *w)
{
	unsigned long addr = w->start;

	w->changed = w->looked = 0;
	if (!w->end)
		w->end = ULONG_MAX;
	while (walk_some(w, &addr) && !is_enough(w))
		if (!w->locked)
			cond_resched();
}
