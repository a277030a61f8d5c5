// SPDX-License-Identifier: GPL-2.0-only
#include "flush.h"

#include <linux/mm.h>
#include <linux/huge_mm.h>
#include <linux/kprobes.h>
#include <linux/moduleparam.h>
#include <linux/smp.h>
#include <linux/static_call.h>
#include <linux/version.h>
#include <uapi/moca.h>

#include "arch.h"

static bool no_symbols;
module_param(no_symbols, bool, 0444);
MODULE_PARM_DESC(no_symbols, "use exported functions of the kernel only");

/*
 * A kprobe tells where a function is; it is taken off at once. Called by a
 * patched direct call: an indirect one to a function that IBT sealed would trap.
 */
static __maybe_unused void *find(const char *name)
{
	struct kprobe p = { .symbol_name = name };
	void *addr;

	if (no_symbols || register_kprobe(&p))
		return NULL;
	addr = p.addr;
	unregister_kprobe(&p);
	return addr;
}

#ifdef CONFIG_X86_64
u64 moca_cc_mask;

static bool has_range;

static void no_flush(struct mm_struct *mm, unsigned long start,
		     unsigned long end, unsigned int shift, bool tables)
{
}
DEFINE_STATIC_CALL(moca_range, no_flush);

static int find_flush(void)
{
	void *addr = find(MOCA_FLUSH_SYMBOL);

	if (addr) {
		static_call_update(moca_range, (moca_flush_fn *)addr);
		has_range = true;
	} else if (!moca_arch_can_flush_cpu()) {
		pr_err("moca: cannot flush the TLB of this guest of Xen: there is no "
		       MOCA_FLUSH_SYMBOL "\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

static void flush_cpu(void *unused)
{
	moca_arch_flush_cpu();
}

void moca_flush(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	if (!has_range)
		on_each_cpu(flush_cpu, NULL, 1);
	else if ((end - start) >> PAGE_SHIFT > 32)
		static_call(moca_range)(mm, 0, MOCA_FLUSH_ALL_END, 0, false);
	else
		static_call(moca_range)(mm, start, end, MOCA_FLUSH_SHIFT,
					false);
}
#else
static const bool has_range = true;

static int find_flush(void)
{
	return 0;
}

void moca_flush(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	moca_arch_flush_mm(mm);
}
#endif

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static bool has_split;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
typedef void split_fn(struct vm_area_struct *vma, pmd_t *pmd,
		      unsigned long addr, bool freeze, struct folio *folio);
static void no_split(struct vm_area_struct *vma, pmd_t *pmd,
		     unsigned long addr, bool freeze, struct folio *folio)
{
}
#define split_args(vma, pmd, addr) (vma, pmd, addr, false, NULL)
#else
typedef void split_fn(struct vm_area_struct *vma, pmd_t *pmd,
		      unsigned long addr, bool freeze);
static void no_split(struct vm_area_struct *vma, pmd_t *pmd,
		     unsigned long addr, bool freeze)
{
}
#define split_args(vma, pmd, addr) (vma, pmd, addr, false)
#endif
DEFINE_STATIC_CALL(moca_split, no_split);

static void find_split(void)
{
	void *addr = find("__split_huge_pmd");

	if (!addr)
		return;
	static_call_update(moca_split, (split_fn *)addr);
	has_split = true;
}

bool moca_split_huge(struct vm_area_struct *vma, pmd_t *pmd,
		     unsigned long addr)
{
	if (has_split)
		static_call(moca_split)split_args(vma, pmd, addr);
	return has_split;
}
#else
static const bool has_split;

static void find_split(void)
{
}

bool moca_split_huge(struct vm_area_struct *vma, pmd_t *pmd,
		     unsigned long addr)
{
	return false;
}
#endif

int moca_flush_init(void)
{
	find_split();
	return find_flush();
}

u32 moca_flush_features(void)
{
	return (has_range ? MOCA_HAS_RANGE_FLUSH : 0) |
	       (has_split ? MOCA_HAS_THP_SPLIT : 0);
}
