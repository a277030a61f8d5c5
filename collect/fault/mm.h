/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces: moving a program's private memory to a memfd, and keeping
 * it there. Supervisor thread only, unless said otherwise.
 */
#ifndef MOCA_FAULT_MM_H
#define MOCA_FAULT_MM_H

#include "collect/fault/memory.h"
#include "collect/ptrace/event.h"
#include "collect/ptrace/maps.h"
#include "collect/ptrace/stop-cost.h"
#include "collect/ptrace/tracee.h"
#include "collect/run/queue.h"

/* trace_way.space_begin, native; space_end; space_free, collector thread. */
void mm_begin(struct space *s);
void mm_end(struct recorder *rec, struct space *s);
void mm_free(struct space *s);
/* trace_way.is_copy: whether the stub in pid is the one of s. */
int mm_is_copy(const struct space *s, pid_t pid);

/*
 * Make mm, so far native, one whose memory is moved; c must be begun. insn is
 * the address of a syscall instruction. 0 or -errno; on error the mm stays
 * native and the program unharmed.
 */
int mm_setup(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
	     uint64_t insn);

/*
 * Steps of it: take over the memfd that process pid made as its descriptor
 * `remote`, and put the stub into it (0 or -errno); its userfaultfd (none when
 * remote is negative); moved from now on.
 */
int mm_adopt_memfd(struct mm *mm, pid_t pid, int remote);
void mm_adopt_uffd(struct mm *mm, pid_t pid, long remote);
void mm_set_moved(struct mm *mm);
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define UFFD_FLAGS (O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)

/* Describe all mappings in the trace, and move what is private. */
int mm_move_all(struct recorder *rec, struct mm *mm, struct tracee_calls *c);

/* What mm_move is to find in the memory. */
enum mm_copy {
	MM_COPY_NONE,		/* known to be empty */
	MM_COPY_ANONYMOUS,	/* what exists of it */
	MM_COPY_FILE,		/* all */
};

/*
 * Move [start, end), private and mapped with prot, to the memfd, with its
 * contents. 0 or -errno (then unchanged).
 */
int mm_move(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
	    uint64_t start, uint64_t end, int prot, enum mm_copy copy,
	    const char *name);
/* The bookkeeping alone, for a region that is on the memfd already. */
void mm_moved(struct recorder *rec, struct mm *mm, struct task *t,
	      const struct region *r, int prot, const char *name);

/* Give everything back to private memory; no zapping from then on. 0, or -errno
 * after a message: what could not be given back shows as it did. */
int mm_unmove(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
	      const char *why);

/*
 * The same for what of [start, end) is on the memfd, which is REGION_PRIVATE from
 * then on; the rest stays. why: a gap. 0 or -errno.
 */
int mm_unmove_range(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		    uint64_t start, uint64_t end, const char *why);

/* MOCA_MAP_* of an MMAP event, as they follow from what is done with it. */
uint32_t mm_map_flags(const struct region *r);

/*
 * Note a mapping that is not moved: of any kind but REGION_MEMFD. of: what it is
 * of; NULL: private memory.
 */
void mm_add_native(struct recorder *rec, struct mm *mm, struct task *t,
		   uint64_t start, uint64_t end, enum region_kind kind, int prot,
		   uint64_t offset, const char *name,
		   const struct moca_identity *of);

/* The same of a private mapping of a file that may be written. */
void mm_add_private(struct recorder *rec, struct mm *mm, struct task *t,
		    uint64_t start, uint64_t end, int prot, uint64_t offset,
		    const char *name, const struct moca_identity *of);

enum mm_drop {
	MM_GONE,	/* no longer mapped, or mapped anew */
	MM_EMPTIED,	/* mapped, and to be empty */
	MM_UNMAPPED	/* no longer mapped: its pages may be kept (keep.h) */
};

/*
 * What became of [start, end): settle its pages for the certificate and give the
 * memory back.
 */
void mm_drop(struct recorder *rec, struct mm *mm, struct task *t,
	     uint64_t start, uint64_t end, enum mm_drop how);

/*
 * Tell, in a MSG_DROP of region r, on which nodes the pages of its first len
 * bytes are, which still exist. mm->lock held.
 */
void mm_placed(struct mm *mm, const struct region *r, uint64_t len,
	       struct message *m);

/* The pages in [start, end) exist without having been touched there. */
void mm_prefill(struct recorder *rec, struct mm *mm, uint64_t start,
		uint64_t end);
/* The same, and the page tables have them: no touch of them faults. */
void mm_prefill_mapped(struct recorder *rec, struct mm *mm, uint64_t start,
		       uint64_t end);

/* Settle the pages of r as mm_drop does, and leave them where they are. Returns
 * how many there are. */
uint64_t mm_settle(struct recorder *rec, struct mm *mm, const struct region *r);

/*
 * 1 when r has an offset that a new mapping elsewhere would get: all in planes
 * from mm->plane on whose offset is not their address.
 */
int mm_is_moved(const struct mm *mm, const struct region *r);

/* The offset for a new mapping at addr that meets no other's. */
uint64_t mm_offset(struct mm *mm, uint64_t addr, uint64_t len);

/* Register with userfaultfd, so that each page faults by itself. */
void mm_register(struct mm *mm, uint64_t start, uint64_t end);

/* Start the task that zaps, if there is none, or end it. mm->lock held. */
int mm_start_zapper(struct recorder *rec, struct mm *mm,
		    struct tracee_calls *c);
void mm_stop_zapper(struct mm *mm);

/* Copy the existing pages of [from, from + len) of one memfd to another. */
int mm_copy_pages(int src, int dst, uint64_t from, uint64_t to, uint64_t len);

/*
 * fork.c: the child of a fork gets memory of its own, by a copy or by freezing
 * its parent's. The other tasks of the parent stand still.
 */
int mm_fork(struct recorder *rec, struct task *parent, struct task *child);

#endif
