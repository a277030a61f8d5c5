/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * False faults are PROT_NONE entries in mappings that are accessible: what NUMA
 * balancing makes, too. An entry keeps its page, its write permission and its
 * dirty bit; whatever we miss the kernel repairs by itself. doc/design/kernel-module.md
 */
#ifndef MOCA_KMOD_ENTRY_H
#define MOCA_KMOD_ENTRY_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct moca_heat;
struct moca_space;

/* Whether entries of vma may be injected. */
bool moca_vma_is_safe(struct vm_area_struct *vma);

struct moca_entry {
	u64 pfn;		/* 0: none there */
	bool was_false;		/* it was repaired now */
	bool huge;
};

/*
 * Look at the entry of addr and repair it if it is a false fault; young: for an
 * access that is about to happen. In the fault path: the mmap or VMA lock is
 * held, preemption is off.
 */
void moca_entry_repair(struct vm_area_struct *vma, unsigned long addr,
		       bool young, struct moca_entry *e);

/* What a sweep finds. */
struct moca_found {
	unsigned long addr;
	u64 pfn;
	bool young;		/* accessed since it was last injected, as the entry
				   or moca_walk.was has it */
	bool dirty;
	bool huge;
};

struct moca_walk {
	struct mm_struct *mm;
	unsigned long start, end;	/* 0, 0: all */
	bool inject;		/* else: repair, or */
	bool look;		/* for heat alone: entries stay open */
	bool idle;		/* only what was not accessed; and what cannot be
				   accessed now was not */
	bool split;		/* huge pages become small ones */
	/* Of each entry that is injected; under its lock. NULL: none. */
	void (*found)(struct moca_walk *w, const struct moca_found *f);
	/* Of each mapping, under the mmap lock, before its entries. False: leave
	 * it alone. NULL: all that are safe. */
	bool (*mapping)(struct moca_walk *w, struct vm_area_struct *vma);
	/* Accessed and dirty bits are cleared and, if tell, told (heat.h). The
	 * dirt goes to the page. NULL: entries keep them, but that injection
	 * clears the accessed bit. */
	struct moca_heat *heat;
	bool tell;
	const struct moca_heat *was;	/* what it has cleared was accessed */
	struct moca_space *sp;	/* whose mm it is; NULL without these two */
	bool locked;		/* who calls has the mmap lock, and may not sleep */
	u64 most;		/* entries to be looked at, about; 0: all */
	u64 changed, looked;	/* out: entries */
};

/*
 * Inject, repair or look at the entries of an address space whose user count is held.
 * Takes the mmap lock and lets others have it in between, and may sleep, but where
 * `locked` says otherwise; huge pages are not split then.
 */
void moca_walk(struct moca_walk *w);

#endif
