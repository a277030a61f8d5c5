// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/mapcall.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/fault/calls.h"
#include "collect/fault/data-limit.h"
#include "collect/fault/filecopy.h"
#include "collect/fault/keep.h"
#include "collect/fault/limit-call.h"
#include "collect/fault/listed.h"
#include "collect/fault/mapcall-ctx.h"
#include "collect/fault/mm.h"
#include "collect/fault/ours.h"
#include "collect/fault/pinned.h"
#include "collect/fault/placement.h"
#include "collect/fault/punch.h"
#include "collect/fault/segment.h"
#include "collect/fault/shared.h"
#include "collect/fault/stub-call.h"
#include "collect/fault/witness.h"
#include "collect/fault/zap.h"
#include "collect/ptrace/limits.h"
#include "collect/ptrace/pidns.h"
#include "collect/ptrace/preload.h"
#include "collect/ptrace/quiesce.h"
#include "collect/ptrace/strict.h"
#include "collect/ptrace/subreaper.h"
#include "collect/run/own.h"
#include "lib/base/err.h"

#ifndef MAP_GROWSDOWN
#define MAP_GROWSDOWN 0x100
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#define COPY_MAX (64ul << 20)

/*
 * What stands behind descriptor fd of the program: its name and kind, and how many
 * bytes it has from offset x->a[5] to its end, rounded up to pages.
 */
static int describe_fd(const struct ctx *x, int fd, char *name, size_t size,
		       struct moca_identity *of, uint64_t *rest)
{
	char path[64];
	struct statfs fs;
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", x->task->tid, fd);
	n = readlink(path, name, size - 1);
	name[n > 0 ? n : 0] = 0;
	if (stat(path, &st))
		return 0;
	if ((uint64_t)st.st_size > x->a[5])
		*rest = PAGE_UP(st.st_size - x->a[5]);
	*of = moca_identity_of(name, moca_identity_dev(major(st.st_dev),
						       minor(st.st_dev)),
			       st.st_ino, 0);
	return S_ISREG(st.st_mode) && !statfs(path, &fs) &&
	       fs.f_type != HUGETLBFS_MAGIC;
}

static void gap(struct ctx *x, uint64_t addr, uint64_t len, const char *why)
{
	task_event(x->rec, x->task, MOCA_CHANGE_GAP, addr, len, 0, 0, 0, why);
}

/* Is the call in x a loader's, for a writable segment of an ELF object? */
static int maps_segment(const struct ctx *x, uint64_t len)
{
	int fd, yes;

	if (!(x->a[3] & MAP_FIXED) || len > COPY_MAX)
		return 0;
	fd = tracee_fetch_fd(x->task->pid, x->a[4]);
	if (fd < 0)
		return 0;
	yes = segment_is(fd, x->a[5], len);
	close(fd);
	return yes;
}

/* A private, writable mapping of a file was made at addr by the call in x. */
static void add_private(struct ctx *x, uint64_t addr, uint64_t len,
			uint64_t rest, const char *name,
			const struct moca_identity *of)
{
	int segment = maps_segment(x, len);

	if (segment && rest < len)
		len = rest;	/* behind it, an access is a SIGBUS */
	if (segment && !len)
		return;
	if (segment && !mm_move(x->rec, x->mm, &x->c, addr, addr + len, x->a[2],
				MM_COPY_FILE, name))
		filecopy_add(x->mm, addr, addr + len, x->a[5], name,
			     x->task->pid, x->a[4]);
	else
		mm_add_private(x->rec, x->mm, x->task, addr, addr + len,
			       x->a[2], x->a[5], name, of);
}

/* What was mapped anonymously stays so, with the rights that it shall have. */
static int leave_anonymous(struct ctx *x, uint64_t len, int prot)
{
	int err = 0;
	long ret = 0;

	if ((int)x->a[2] != prot)
		ret = tracee_call(&x->c, &err, SYS_mprotect, x->ret, len, prot,
				  0, 0, 0);
	if (!err && ret < 0) {
		tracee_call(&x->c, &err, SYS_munmap, x->ret, len, 0, 0, 0, 0);
		x->ret = -ENOMEM;
		return err;
	}
	task_event(x->rec, x->task, MOCA_CHANGE_MMAP, x->ret, len, 0, prot, 0,
		   "");
	witness_unseen(x->rec, x->task, x->ret, len,
		       "anonymous mapping not moved: real faults only");
	return err;
}

/*
 * The common case in one go: map anonymously, and the memfd over it. No other
 * mapping can have these offsets.
 */
static int map_at_once(struct ctx *x, uint64_t len, int prot)
{
	struct stub_call *calls = x->mm->stub->calls;
	uint64_t plane = plane_offset(x->mm->plane, 0);
	struct region r = { .kind = REGION_MEMFD };
	int n;

	calls[0] = (struct stub_call){
		.nr = SYS_mmap, .flags = STUB_CALL_MUST,
		.args = { x->a[0], x->a[1], x->a[2], x->a[3], x->a[4], x->a[5] },
	};
	calls[1] = (struct stub_call){
		.nr = SYS_mmap, .flags = STUB_CALL_ADDR | STUB_CALL_OFFSET,
		.args = { 0, len, prot, MAP_SHARED | MAP_FIXED,
			  x->mm->remote_fd, plane },
	};
	n = tracee_list(&x->c, 2);
	if (n < 0)
		return n;
	x->ret = calls[0].ret;
	if (failed(x->ret))
		return 0;
	r.start = x->ret;
	r.off = plane + r.start;
	r.end = r.start + len;
	if (x->a[3] & MAP_FIXED)
		mm_drop(x->rec, x->mm, x->task, r.start, r.end, MM_GONE);
	if (n < 2 || calls[1].ret != x->ret)
		return leave_anonymous(x, len, prot);
	mm_moved(x->rec, x->mm, x->task, &r, prot, "");
	return 0;
}

static void tell_ours(struct ctx *x, uint64_t addr, uint64_t len, int anon,
		      const char *name)
{
	task_event(x->rec, x->task, MOCA_CHANGE_MMAP, addr, len,
		   anon ? 0 : x->a[5], x->a[2],
		   MOCA_MAP_MOCA | (anon ? 0 : MOCA_MAP_FILE), name);
}

/*
 * A mapping of our own libraries is left as it is. 1: so it was; 0: it is not
 * one; -errno.
 */
static int map_ours(struct ctx *x, uint64_t len, int anon, const char *name,
		    const struct moca_identity *of)
{
	int known = (x->a[3] & MAP_FIXED &&
		     ours_holds(x->mm, x->a[0], x->a[0] + len)) ||
		    ours_holds(x->mm, x->c.saved.reg_ip - REGS_CALL_BYTES,
			       x->c.saved.reg_ip);
	int err;

	if (anon ? !known : !own_is(x->task->pid, name, of->dev, of->ino))
		return 0;
	err = run_own(x);
	if (err || failed(x->ret))
		return err ? err : 1;
	mm_drop(x->rec, x->mm, (x->a[3] & MAP_FIXED) ? x->task : NULL, x->ret,
		x->ret + len, MM_GONE);
	if (!anon && !known && (x->a[3] & MAP_TYPE) == MAP_PRIVATE)
		ours_add(x->mm, x->ret, x->ret + len);
	tell_ours(x, x->ret, len, anon, name);
	return 1;
}

static int is_readable(const struct ctx *x, int fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", x->task->tid, fd);
	return !lstat(path, &st) && st.st_mode & S_IRUSR;
}

/*
 * Does the mmap in x put a part of one of our libraries where that is mapped
 * already? Nothing of it is watched: the program makes the call itself. It is told
 * before: only where a limit is met does such a call fail.
 */
static int maps_part_of_ours(struct ctx *x)
{
	uint64_t len = PAGE_UP(x->a[1]), rest;
	int anon = (x->a[3] & MAP_ANONYMOUS) != 0;
	struct moca_identity of = { 0 };
	char name[4096] = "";

	if ((x->a[3] & ~(uint64_t)(MAP_ANONYMOUS | MAP_DENYWRITE)) !=
		    (MAP_PRIVATE | MAP_FIXED) ||
	    (x->a[0] | x->a[5]) & ~PAGE_MASK || !ours_holds(x->mm, x->a[0], x->a[0] + len))
		return 0;
	if (!anon)
		describe_fd(x, x->a[4], name, sizeof(name), &of, &rest);
	if (!anon && (!own_is(x->task->pid, name, of.dev, of.ino) ||
		      !is_readable(x, (int)x->a[4])))
		return 0;
	pthread_mutex_lock(&x->mm->lock);
	mm_drop(x->rec, x->mm, x->task, x->a[0], x->a[0] + len, MM_GONE);
	tell_ours(x, x->a[0], len, anon, name);
	pthread_mutex_unlock(&x->mm->lock);
	return 1;
}

/* Is nothing else on the memfd where the mapping in x will be? */
static int maps_anew(const struct ctx *x, uint64_t len)
{
	if (x->mm->moved || x->a[0] >= USER_END)
		return 0;
	return !(x->a[3] & MAP_FIXED) ||
	       (len <= USER_END - x->a[0] &&
		!mapcall_on_memfd(x->mm, x->a[0], x->a[0] + len));
}

static int do_mmap(struct ctx *x)
{
	uint64_t flags = x->a[3], len = PAGE_UP(x->a[1]);
	int prot = x->a[2], fd = x->a[4], regular = 0;
	int anon = (flags & MAP_ANONYMOUS) != 0;
	int private = (flags & MAP_TYPE) == MAP_PRIVATE;
	uint64_t rest = 0;
	struct moca_identity of = { 0 };
	char name[4096] = "";
	int err;

	if (!anon)
		regular = describe_fd(x, fd, name, sizeof(name), &of, &rest);
	err = map_ours(x, len, anon, name, &of);
	if (err)
		return err < 0 ? err : 0;
	if (flags & MAP_FIXED) {
		ours_remove(x->mm, x->a[0], x->a[0] + len);
		look(x, x->a[0], x->a[0] + len);
		/* Another thread may look there while it is mapped. */
		err = keep_clear(x->mm, x->a[0], x->a[0] + len);
		if (err)
			return err;
		err = anon ? placement_forget(x->mm, &x->c, x->a[0],
					      x->a[0] + len) : 0;
		if (err)
			return err;
	}
	if (private && prot & PROT_WRITE && !(flags & MAP_GROWSDOWN) &&
	    data_limit_exceeded(x, flags & MAP_FIXED ? x->a[0] : 0,
				flags & MAP_FIXED ? x->a[0] + len : 0, len)) {
		x->ret = -ENOMEM;
		return 0;
	}
	/* Populated pages would be there without having been touched. */
	if (anon && private && !(flags & (MAP_GROWSDOWN | MAP_HUGETLB))) {
		x->a[3] &= ~(uint64_t)MAP_POPULATE;
		/*
		 * The memfd comes over it at once. After mlockall the kernel
		 * would fill it before; and RLIMIT_DATA, which holds already,
		 * would count it beside memory of ours (not where
		 * another thread may use what the mapping replaces).
		 */
		if (len < USER_END && x->a[0] < USER_END - len &&
		    (x->mm->populates || (data_limit_set(x->task) &&
					  !(flags & MAP_FIXED))))
			x->a[2] = PROT_NONE;
		if (maps_anew(x, len))
			return map_at_once(x, len, prot);
	}
	err = run_own(x);
	if (err || failed(x->ret))
		return err;
	mm_drop(x->rec, x->mm, (flags & MAP_FIXED) ? x->task : NULL, x->ret,
		x->ret + len, MM_GONE);
	if (flags & (MAP_GROWSDOWN | MAP_HUGETLB) ||
	    (uint64_t)x->ret + len > USER_END) {
		of = maps_identity_at(x->task->tid, x->ret);
		task_event_map(x->rec, x->task, x->ret, len, anon ? 0 : x->a[5],
			       prot, (private ? 0 : MOCA_MAP_SHARED) |
			       (flags & MAP_GROWSDOWN ? MOCA_MAP_GROWS : 0),
			       name, &of);
		witness_unseen(x->rec, x->task, x->ret, len,
			       "MAP_GROWSDOWN, MAP_HUGETLB or above 128 TiB: "
			       "real faults only");
		return 0;
	}
	if (anon && private) {
		if (mm_move(x->rec, x->mm, &x->c, x->ret, x->ret + len, prot,
			    0, ""))
			return leave_anonymous(x, len, prot);
	} else if (private && !anon && regular && (prot & PROT_WRITE)) {
		add_private(x, x->ret, len, rest, name, &of);
	} else if ((anon && !private) || regular) {
		if (anon)
			of = maps_identity_at(x->task->tid, x->ret);
		mm_add_native(x->rec, x->mm, x->task, x->ret, x->ret + len,
			      private ? REGION_FILE : REGION_SHARED, prot,
			      anon ? 0 : x->a[5], name, &of);
	} else {
		/* Its driver may write to memory of the program's for long. */
		x->mm->busy = 1;
		task_event_map(x->rec, x->task, x->ret, len, x->a[5], prot,
			       MOCA_MAP_FILE | (private ? 0 : MOCA_MAP_SHARED),
			       name, &of);
		witness_unseen(x->rec, x->task, x->ret, len,
			       "mapping of a device or of huge pages: real "
			       "faults only");
	}
	if (flags & MAP_POPULATE)
		witness_filled(x->rec, x->mm, x->task, x->ret, x->ret + len);
	return 0;
}

/*
 * May the munmap in x run by itself, its memory given back before? The program
 * does not use it in between, as no other thread and no io_uring is there, and the
 * call cannot fail: it parts no mapping in two, as nothing of ours is on one side,
 * and nothing is sealed.
 */
static int unmaps_surely(const struct ctx *x)
{
	uint64_t start = x->a[0], len = PAGE_UP(x->a[1]);
	const struct mm *mm = x->mm;
	const struct region *r = moca_regions_find(&mm->regions, start);

	return r && r->kind == REGION_MEMFD && !(start & ~PAGE_MASK) && len &&
	       len <= r->end - start &&
	       (!mapcall_on_memfd(mm, start - PAGE_SIZE, start) ||
		!mapcall_on_memfd(mm, start + len, start + len + PAGE_SIZE)) &&
	       mm->space.refs == 1 && !mm->busy && !mm->policies &&
	       !x->rec->attach && !atomic_load(&mm->want_zapper);
}

static void unmap_before(struct ctx *x)
{
	const struct region *r;
	uint64_t kept;

	pthread_mutex_lock(&x->mm->lock);
	zap_settle(x->mm);
	zap_tell(x->rec, x->mm, x->task);
	r = moca_regions_find(&x->mm->regions, x->a[0]);
	x->mm->gone_off = r->off + (x->a[0] - r->start);
	x->mm->gone_bytes = PAGE_UP(x->a[1]);
	keep_look(x->rec, x->mm, x->task->tid, x->a[0],
		  x->a[0] + PAGE_UP(x->a[1]));
	kept = x->mm->keep.bytes;
	mm_drop(x->rec, x->mm, x->task, x->a[0], x->a[0] + PAGE_UP(x->a[1]), MM_UNMAPPED);
	/* What is kept is zeroed later. */
	if (x->mm->keep.bytes != kept)
		x->mm->gone_bytes = 0;
	pthread_mutex_unlock(&x->mm->lock);
}

/*
 * What is mapped there next is to be zero. Little was not given back before; of
 * more, another process may have written to it (process_vm_writev) ahead of the
 * munmap.
 */
static void settle_gone(struct mm *mm)
{
	if (mm->gone_bytes &&
	    memfd_punch(mm->memfd, mm->gone_off, mm->gone_bytes))
		moca_warn("cannot give back memory of process %d: it is not zero",
			  mm->space.pid);
	mm->gone_bytes = 0;
}

static int do_munmap(struct ctx *x)
{
	int err;

	look(x, x->a[0], x->a[0] + PAGE_UP(x->a[1]));
	witness_range(x->rec, x->mm, x->task, x->a[0],
		      x->a[0] + PAGE_UP(x->a[1]));
	err = placement_forget(x->mm, &x->c, x->a[0],
			       x->a[0] + PAGE_UP(x->a[1]));
	if (!err)
		err = run_own(x);
	if (err || failed(x->ret))
		return err;
	ours_remove(x->mm, x->a[0], x->a[0] + PAGE_UP(x->a[1]));
	mm_drop(x->rec, x->mm, x->task, x->a[0], x->a[0] + PAGE_UP(x->a[1]), MM_UNMAPPED);
	return 0;
}

static int do_brk(struct ctx *x)
{
	uint64_t old = x->mm->brk, new;
	struct limits limits;
	int limited, err;

	if (!old) {
		old = tracee_call(&x->c, &err, SYS_brk, 0, 0, 0, 0, 0, 0);
		if (err)
			return err;
		old = PAGE_UP(old);
	}
	if (PAGE_UP(x->a[0]) < old)
		look(x, PAGE_UP(x->a[0]), old);
	else if (PAGE_UP(x->a[0]) > old &&
		 data_limit_exceeded(x, 0, 0, PAGE_UP(x->a[0]) - old))
		x->a[0] = 0;	/* the kernel answers with what it is */
	/* The limit was looked at above; the kernel's sum has ours in it. */
	limited = data_limit_set(x->task) && x->mm->space.refs == 1;
	if (limited)
		limits_raise_data(&limits, x->task->tid);
	err = run_own(x);
	if (limited)
		limits_restore(&limits);
	if (err)
		return err;
	new = PAGE_UP((uint64_t)x->ret);
	x->mm->brk = new;
	if (new < old)
		mm_drop(x->rec, x->mm, x->task, new, old, MM_UNMAPPED);
	else if (new > old &&
		 mm_move(x->rec, x->mm, &x->c, old, new,
			 PROT_READ | PROT_WRITE, 0, "[heap]")) {
		task_event(x->rec, x->task, MOCA_CHANGE_MMAP, old, new - old, 0,
			   PROT_READ | PROT_WRITE, 0, "[heap]");
		gap(x, old, new - old, "heap not moved: real faults only");
	}
	return 0;
}

/* Private pages of a file become writable: they may not be zapped any more. */
static int do_mprotect(struct ctx *x)
{
	uint64_t start = x->a[0], end = start + PAGE_UP(x->a[1]);
	struct region r;
	int err;

	if (data_limit_writable(x, start, end)) {
		x->ret = -ENOMEM;
		return 0;
	}
	err = run_own(x);
	/* Also after ENOMEM, EPERM: what lies below a hole, or seal, was changed. */
	if (err || (failed(x->ret) && x->ret != -ENOMEM && x->ret != -EPERM))
		return err;
	while (moca_regions_next(&x->mm->regions, &start, end, &r)) {
		if (r.kind != REGION_FILE)
			continue;
		r.kind = REGION_PRIVATE;
		if (moca_regions_add(&x->mm->regions, &r))
			moca_warn("out of memory for the table of mappings");
		gap(x, r.start, r.end - r.start, x->mm->wp_async ?
		    "private pages of a file became writable: repeated reads "
		    "are not seen" :
		    "private pages of a file became writable: repeated "
		    "accesses are not seen");
	}
	return 0;
}

/* All memory is the program's own from here on. */
static int leave(struct ctx *x, const char *why)
{
	int err;

	quiesce(&x->mm->space, x->task);
	witness_end(x->rec, x->task);
	err = mm_unmove(x->rec, x->mm, &x->c, why);
	quiesce_end(&x->mm->space, x->task);
	if (err)
		return err;
	if (x->mm->witnessed)
		witness_begin(x->rec, x->task);
	return 0;
}

/*
 * Calls that the program's memory on a memfd cannot go along with. The program
 * makes them itself, once more: after one that limits its calls, the stub could
 * not even say that it is done.
 */
int mapcall_leave(struct ctx *x, const char *why)
{
	int err = leave(x, why);

	if (err)
		return err;
	regs_rewind(&x->c.saved, x->nr);
	x->ret = x->c.saved.reg_ret;
	return 0;
}

/* Is the call in x one that makes the kernel enter seccomp's strict mode? */
static int wants_strict(const struct ctx *x)
{
	if (x->nr == SYS_prctl)
		return (int)x->a[0] == PR_SET_SECCOMP &&
		       x->a[1] == SECCOMP_MODE_STRICT;
	return x->nr == SYS_seccomp && x->a[0] == SECCOMP_SET_MODE_STRICT &&
	       !x->a[1] && !x->a[2];
}

static int do_limit(struct ctx *x)
{
	const char *why = "the program limits its own system calls by "
			  "seccomp: real faults only";
	int err;

	if (!wants_strict(x) || !x->task->filtered)
		return mapcall_leave(x, why);
	err = leave(x, why);
	if (!err)
		x->ret = strict_enter(&x->c, x->mm->stub, &err);
	return err;
}

/* Is the program about to hide its memory from us? A fork must copy it. */
static int hides(const struct ctx *x)
{
	return x->nr == SYS_prctl && (int)x->a[0] == PR_SET_DUMPABLE &&
	       !x->a[1] && !x->rec->sees_all;
}

/* Does the call in x mean the program itself? */
static int means_itself(const struct ctx *x)
{
	pid_t pid = (pid_t)x->a[0];

	return !pid || pid == (pidns_is_nested(x->task->pid) ?
				       pidns_number(x->task->pid) :
				       x->task->pid);
}

/* Where its pages are: of those that we took the entries of, too. */
static int do_placement(struct ctx *x)
{
	int err = 0;

	if (x->nr == SYS_mbind && x->a[5] & (MPOL_MF_MOVE | MPOL_MF_STRICT))
		err = placement_show(x->mm, &x->c, x->a[0],
				     x->a[0] + PAGE_UP(x->a[1]));
	else if (x->nr == SYS_move_pages && means_itself(x))
		err = placement_show_pages(x->mm, &x->c, x->a[2], x->a[1]);
	else if (x->nr == SYS_migrate_pages && means_itself(x))
		err = placement_show(x->mm, &x->c, 0, USER_END);
	if (err)
		return err;
	x->mm->policies |= x->nr == SYS_mbind;
	return run_own(x);
}

/* The kernel asks that nobody else share the address space. */
static int do_alone(struct ctx *x)
{
	/* Another comes when it is needed. */
	zap_end(x->mm);
	return run_own(x);
}

/* Without a filter it is the question whether the kernel knows of any. */
static int limits_calls(const struct ctx *x)
{
	switch (x->nr) {
	case SYS_seccomp:
		return x->a[0] == SECCOMP_SET_MODE_STRICT ||
		       (x->a[0] == SECCOMP_SET_MODE_FILTER && x->a[2]);
	case SYS_prctl:
		return (int)x->a[0] == PR_SET_SECCOMP &&
		       (x->a[1] == SECCOMP_MODE_STRICT ||
			(x->a[1] == SECCOMP_MODE_FILTER && x->a[2]));
	default:
		return 0;
	}
}

static int moves_break(const struct ctx *x)
{
	return x->a[0] != 0;
}

/* Are private pages of a file among what becomes writable, or is that limited? */
static int matters_writable(const struct ctx *x)
{
	uint64_t pos = x->a[0];
	struct region r;

	if (data_limit_set(x->task))
		return 1;
	while (moca_regions_next(&x->mm->regions, &pos,
				 x->a[0] + PAGE_UP(x->a[1]), &r))
		if (r.kind == REGION_FILE)
			return 1;
	return 0;
}

static int empties(const struct ctx *x)
{
	return x->a[3] == MADV_DONTNEED || x->a[3] == MADV_FREE;
}

static int do_shmat(struct ctx *x)
{
	return shared_attach(x->rec, x->mm, &x->c, x->a, &x->ret);
}

static int do_shmdt(struct ctx *x)
{
	return shared_detach(x->rec, x->mm, &x->c, x->a[0], &x->ret);
}

static int do_process_madvise(struct ctx *x)
{
	/* What kernels before 6.13 say; callers fall back. */
	x->ret = -EINVAL;
	return 0;
}

static int do_pkey_alloc(struct ctx *x)
{
	/* Mapping memory anew would lose its key. */
	x->mm->keyed = 1;
	return run_own(x);
}

static int do_userfaultfd(struct ctx *x)
{
	return mapcall_leave(x, "the program uses userfaultfd itself: real faults "
			   "only");
}

/* Does the thread limit itself, or hide its memory? */
static int means_prctl(const struct ctx *x)
{
	return limits_calls(x) || hides(x);
}

static int do_prctl(struct ctx *x)
{
	if (!hides(x))
		return do_limit(x);
	return mapcall_leave(x, "the program is not dumpable from here on, and who "
			   "records may not look into such: real faults only");
}

#define PROGRAMS(nr, handle) { nr, CALL_PROGRAMS, 0, 0, 0, NULL, handle }
#define DESCRIPTOR(nr, arg) \
	{ nr, CALL_DESCRIPTOR, arg, 0, 0, NULL, listed_call }
#define WRITABLE(nr) \
	{ nr, CALL_PROGRAMS_BITS, 2, PROT_WRITE, 0, matters_writable, do_mprotect }
#define SENDS(nr, arg) \
	{ nr, CALL_PROGRAMS_BITS, arg, MSG_ZEROCOPY, 0, NULL, pinned_later }
#define PRCTL(value) \
	{ SYS_prctl, CALL_VALUE, 0, value, 0, means_prctl, do_prctl }
/* Of the ptrace room: a program that debugs itself, forks (debugger.h). */
#define DEBUGGER(nr, arg, bits) { nr, CALL_BITS, arg, bits, 1, NULL, NULL }

static const struct traced_call calls[] = {
	/* The end of its memory: witness_at_call. */
	{ SYS_exit_group, CALL_EACH, 0, 0, 0, NULL, NULL },
	{ SYS_execve, CALL_EACH, 0, 0, 0, NULL, NULL },
	{ SYS_execveat, CALL_EACH, 0, 0, 0, NULL, NULL },
	{ STUB_NR_DONE, CALL_STUB, 0, 0, 1, NULL, NULL },
	DESCRIPTOR(SYS_close, 0),
	DESCRIPTOR(SYS_fcntl, 0),
#ifdef SYS_dup2
	DESCRIPTOR(SYS_dup2, 1),
#endif
	DESCRIPTOR(SYS_dup3, 1),
	DEBUGGER(SYS_clone, 0, CLONE_UNTRACED | CLONE_CHILD_SETTID),
	/* Its flags are in memory, which no filter sees. */
	{ SYS_clone3, CALL_EACH, 0, 0, 1, NULL, NULL },
	DEBUGGER(SYS_wait4, 2, __WALL),
	{ SYS_ptrace, CALL_EACH, 0, 0, 1, NULL, NULL },
	{ SYS_setrlimit, CALL_VALUE, 0, RLIMIT_AS, 0, limit_is_too_low,
	  limit_leave },
	{ SYS_prlimit64, CALL_VALUE, 1, RLIMIT_AS, 0, limit_is_too_low,
	  limit_leave },
	PRCTL(PR_SET_SECCOMP),
	PRCTL(PR_SET_DUMPABLE),
	PRCTL(PR_SET_NAME),
	PRCTL(PR_SET_CHILD_SUBREAPER),
	WRITABLE(SYS_mprotect),
	WRITABLE(SYS_pkey_mprotect),
	{ SYS_setsockopt, CALL_VALUE, 1, SOL_XDP, 0, NULL, pinned_later },
	SENDS(SYS_sendto, 3),
	SENDS(SYS_sendmsg, 2),
	SENDS(SYS_sendmmsg, 3),
	PROGRAMS(SYS_vmsplice, pinned_later),
	PROGRAMS(SYS_io_setup, pinned_later),
	{ SYS_mincore, CALL_PROGRAMS, 0, 0, 0, keep_concerns, keep_mincore },
	PROGRAMS(SYS_mbind, do_placement),
	PROGRAMS(SYS_move_pages, do_placement),
	PROGRAMS(SYS_migrate_pages, do_placement),
	PROGRAMS(SYS_shmat, do_shmat),
	PROGRAMS(SYS_shmdt, do_shmdt),
	PROGRAMS(SYS_pkey_alloc, do_pkey_alloc),
	PROGRAMS(SYS_mlock, mapcall_mlock),
	PROGRAMS(SYS_mlock2, mapcall_mlock),
	PROGRAMS(SYS_mlockall, mapcall_mlock),
	PROGRAMS(SYS_mmap, do_mmap),
	PROGRAMS(SYS_munmap, do_munmap),
	{ SYS_brk, CALL_PROGRAMS, 0, 0, 0, moves_break, do_brk },
	PROGRAMS(SYS_mremap, mapcall_mremap),
	{ SYS_madvise, CALL_PROGRAMS, 0, 0, 0, mapcall_madvise_concerns,
	  mapcall_madvise },
	{ SYS_process_madvise, CALL_PROGRAMS, 0, 0, 0, empties,
	  do_process_madvise },
	PROGRAMS(SYS_mseal, mapcall_mseal),
	PROGRAMS(SYS_userfaultfd, do_userfaultfd),
	{ SYS_io_uring_setup, CALL_PROGRAMS, 0, 0, 0, pinned_concerns,
	  pinned_call },
	{ SYS_io_uring_register, CALL_PROGRAMS, 0, 0, 0, pinned_concerns,
	  pinned_call },
	{ SYS_seccomp, CALL_PROGRAMS, 0, 0, 0, limits_calls, do_limit },
	PROGRAMS(SYS_unshare, do_alone),
	PROGRAMS(SYS_setns, do_alone),
	PROGRAMS(SYS_close_range, listed_call),
};

const struct traced_call *traced_call_at(size_t i)
{
	return i < sizeof(calls) / sizeof(*calls) ? &calls[i] : NULL;
}

static const struct traced_call *find_call(long nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

int mapcall_wanted(long nr)
{
	const struct traced_call *call = find_call(nr);

	return call && !call->filter_only;
}

/* Whether the call in x can change anything that concerns us. */
static int concerns(const struct ctx *x, const struct traced_call *call)
{
	if (!call || !call->handle)
		return 0;
	if (call->when == CALL_DESCRIPTOR &&
	    (int)x->a[call->arg] != x->mm->remote_fd)
		return 0;
	if (call->when == CALL_PROGRAMS_BITS &&
	    !(x->a[call->arg] & call->value))
		return 0;
	return !call->concerns || call->concerns(x);
}

/* A thread names itself. A name that cannot be read is refused by the kernel. */
static void note_name(struct recorder *rec, struct task *t, uint64_t addr)
{
	char name[16];
	size_t n;

	for (n = 0; n < sizeof(name) - 1; n++) {
		if (tracee_read(t->tid, addr + n, name + n, 1) != 1)
			return;
		if (!name[n])
			break;
	}
	name[n] = 0;
	task_event(rec, t, MOCA_CHANGE_NAME, 0, 0, 0, 0, 0, name);
}

static int carry_out(struct ctx *x, const struct traced_call *call)
{
	int err = keep_goes_along(x->nr) ? 0 : keep_forget(x->rec, x->mm, x->task->tid);

	if (err)
		return err;
	return stub_call_meets(x) ? stub_call_leave(x) : call->handle(x);
}

int mapcall_handle(struct recorder *rec, struct task *t,
		   const struct tracee_regs *regs)
{
	const struct traced_call *call = find_call((long)regs->reg_nr);
	struct mm *mm = mm_of(t->space);
	struct ctx x = {
		.rec = rec, .mm = mm, .task = t, .nr = regs->reg_nr,
		.a = { regs->reg_a0, regs->reg_a1, regs->reg_a2, regs->reg_a3,
		       regs->reg_a4, regs->reg_a5 },
	};
	int err;

	if (witness_at_call(rec, t, regs))
		return 0;
	if (x.nr == SYS_prctl && (int)x.a[0] == PR_SET_CHILD_SUBREAPER)
		subreaper_set(t->pid, x.a[1] != 0);
	if (x.nr == SYS_prctl && (int)x.a[0] == PR_SET_NAME)
		note_name(rec, t, x.a[1]);
	if (limits_calls(&x) && preload_silence(t))
		task_event(rec, t, MOCA_CHANGE_GAP, 0, 0, 0, 0, 0,
			   "allocations are not recorded from here on: the "
			   "program limits its own system calls by seccomp");
	if (!mm || mm->state != MM_MOVED ||
	    (!stub_call_meets(&x) && !concerns(&x, call)))
		return 0;
	settle_gone(mm);
	if (x.nr == SYS_mmap && maps_part_of_ours(&x))
		return 0;
	if (x.nr == SYS_munmap && unmaps_surely(&x)) {
		unmap_before(&x);
		return 0;
	}
	err = tracee_begin(&x.c, t, regs);
	if (err)
		return err;
	pthread_mutex_lock(&mm->lock);
	zap_settle(mm);
	zap_tell(rec, mm, t);
	err = carry_out(&x, call);
	/* Not where the call has taken the stub away. */
	if (!err && mm->state == MM_MOVED && atomic_load(&mm->want_zapper))
		mm_start_zapper(rec, mm, &x.c);
	pthread_mutex_unlock(&mm->lock);
	x.c.saved.reg_ret = x.ret;
	if (!err || err != -ESRCH) {
		if (err) {
			moca_debug("task %d: call %ld: %s", t->tid, x.nr,
				   strerror(-err));
			x.c.saved.reg_ret = err;
		}
		err = tracee_end(&x.c);
	}
	if (x.quiesced)
		quiesce_end(t->space, t);
	return err ? err : 1;
}
