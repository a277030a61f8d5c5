// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/mm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/fault/base.h"
#include "collect/fault/filecopy.h"
#include "collect/fault/freeze.h"
#include "collect/fault/keep.h"
#include "collect/fault/nodes.h"
#include "collect/fault/pages.h"
#include "collect/fault/pinned.h"
#include "collect/fault/punch.h"
#include "collect/fault/sample.h"
#include "collect/fault/segment.h"
#include "collect/fault/shared.h"
#include "collect/fault/zap.h"
#include "collect/ptrace/limits.h"
#include "collect/ptrace/pidns.h"
#include "collect/ptrace/subreaper.h"
#include "collect/ptrace/tasks.h"
#include "collect/run/pageset.h"
#include "lib/base/err.h"
#include "lib/base/identity.h"
#include "lib/base/vec.h"

#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* What is no longer mapped stays on the memfd until the next stop, if it is no more. */
#define GONE_LATER (1ul << 20)
/* A larger segment of an ELF object is not copied. */
#define COPY_MAX (64ul << 20)

void mm_begin(struct space *s)
{
	struct mm *mm = mm_of(s);

	mm->memfd = mm->uffd = mm->remote_fd = mm->zapper_fd = -1;
	mm->refault = 1.0;
	mm->first.cpu = mm->next.cpu = mm->zap_cpu = -1;
	mm->start_ns = moca_now_ns();
	pthread_mutex_init(&mm->lock, NULL);
}

void mm_end(struct recorder *rec, struct space *s)
{
	struct mm *mm = mm_of(s);

	pthread_mutex_lock(&mm->lock);
	mm->dead = 1;
	if (mm->state == MM_MOVED)
		mm_stop_zapper(mm);
	mm_drop(rec, mm, NULL, 0, USER_END, MM_GONE);
	base_leave_all(mm);
	pthread_mutex_unlock(&mm->lock);
}

void mm_free(struct space *s)
{
	struct mm *mm = mm_of(s);

	if (mm->stub)
		munmap(mm->stub, STUB_DATA_SIZE);
	if (mm->memfd >= 0)
		close(mm->memfd);
	if (mm->uffd >= 0)
		close(mm->uffd);
	if (mm->zapper_fd >= 0)
		close(mm->zapper_fd);
	free(mm->freeze.looked);
	keep_free(mm);
	filecopy_free(mm);
	moca_regions_free(&mm->regions);
	pthread_mutex_destroy(&mm->lock);
}

int mm_is_copy(const struct space *s, pid_t pid)
{
	const struct mm *mm = (const struct mm *)s;
	struct vma_list l;
	int found = 0;

	if (mm->state != MM_MOVED)
		return -1;
	if (maps_read(pid, &l))
		return 0;
	for (size_t i = 0; i < l.count && !found; i++)
		found = l.items[i].start == STUB_BASE &&
			l.items[i].ino == mm->memfd_ino &&
			makedev(l.items[i].major, l.items[i].minor) ==
				mm->memfd_dev;
	maps_free(&l);
	return found;
}

void mm_register(struct mm *mm, uint64_t start, uint64_t end)
{
	struct uffdio_register r = {
		.range = { start, end - start },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	if (mm->uffd >= 0 && ioctl(mm->uffd, UFFDIO_REGISTER, &r))
		moca_debug("cannot register %lx-%lx with userfaultfd: %s: some "
			   "reads there may be hidden by fault-around",
			   start, end, strerror(errno));
}

uint64_t mm_offset(struct mm *mm, uint64_t addr, uint64_t len)
{
	unsigned int plane = mm->plane;

	/*
	 * The offset is the address, so that the kernel merges neighbours as
	 * it merges anonymous memory; a mapping that mremap moved away keeps
	 * its offset, and a new one in its place takes another plane.
	 */
	while (mm->moved && plane < MEMFD_PLANES - 1 &&
	       moca_regions_uses(&mm->regions, plane_offset(plane, addr), len))
		plane++;
	return plane_offset(plane, addr);
}

/* The existing pages of [off, off + len) as extents of addresses. */
static size_t find_extents(struct mm *mm, const struct region *r,
			   struct extent **out, size_t *room, size_t count)
{
	uint64_t pos = r->off, end = r->off + (r->end - r->start);

	while (pos < end) {
		off_t data = lseek(mm->memfd, pos, SEEK_DATA), hole;

		if (data < 0 || (uint64_t)data >= end)
			break;
		hole = lseek(mm->memfd, data, SEEK_HOLE);
		if (hole < 0 || (uint64_t)hole > end)
			hole = end;
		if (moca_vec_fit(*out, *room, count + 1))
			break;
		(*out)[count].start = r->start + (data - r->off);
		(*out)[count].end = r->start + (hole - r->off);
		count++;
		pos = hole;
	}
	return count;
}

/* The same of frozen memory; *certified: they are the whole truth. */
static size_t frozen_extents(struct mm *mm, const struct region *r,
			     enum message_kind kind, struct extent **out,
			     size_t *room, int *certified)
{
	const struct freeze_state *f = &mm->freeze;
	size_t n = 0;

	if (kind == MSG_PREFILL)
		freeze_look(mm, mm->space.pid, r->start, r->end);
	*certified = f->looked_start <= r->start && r->end <= f->looked_end;
	for (size_t i = 0; *certified && i < f->looked_count; i++) {
		uint64_t start = f->looked[i].start, end = f->looked[i].end;

		if (start < r->start)
			start = r->start;
		if (end > r->end)
			end = r->end;
		if (start < end && extents_add(out, &n, room, start, end))
			break;
	}
	return n;
}

/* Tells of the pages that exist, and returns how many. */
static uint64_t push_extents(struct recorder *rec, struct mm *mm,
			     enum message_kind kind, const struct region *r,
			     enum page_filled filled)
{
	int certified = r->kind == REGION_MEMFD;
	uint64_t pages = 0;
	struct extent *ext = NULL;
	struct message *m;
	size_t n = 0, room = 0;

	if (r->kind == REGION_MEMFD)
		n = find_extents(mm, r, &ext, &room, 0);
	else if (r->kind == REGION_FROZEN)
		n = frozen_extents(mm, r, kind, &ext, &room, &certified);
	m = message_of_extents(rec->queue, kind, &mm->space, r->start, r->end,
			       ext, n, NULL);
	if (m) {
		m->certified = certified;
		m->filled = filled;
		/* Of an address space that ended the collector can still ask. */
		if (n && kind == MSG_DROP && r->kind == REGION_MEMFD &&
		    !mm->dead && nodes_several())
			m->placed_count = nodes_of_region(mm->memfd, r, ext, n,
							  &m->placed);
		queue_push(rec->queue, m);
	}
	for (size_t i = 0; i < n; i++)
		pages += (ext[i].end - ext[i].start) / PAGE_SIZE;
	free(ext);
	return pages;
}

void mm_placed(struct mm *mm, const struct region *r, uint64_t len,
	       struct message *m)
{
	struct region part = *r;
	struct extent *ext = NULL;
	size_t n, room = 0;

	if (!nodes_several())
		return;
	part.end = part.start + len;
	n = find_extents(mm, &part, &ext, &room, 0);
	m->placed_count = nodes_of_region(mm->memfd, &part, ext, n, &m->placed);
	free(ext);
}

static void prefill(struct recorder *rec, struct mm *mm, uint64_t start,
		    uint64_t end, enum page_filled filled)
{
	struct region r;

	while (moca_regions_next(&mm->regions, &start, end, &r))
		if (r.kind == REGION_MEMFD || r.kind == REGION_FROZEN)
			push_extents(rec, mm, MSG_PREFILL, &r,
				     filled && sample_has(rec, &r) ?
					     FILLED_SWEPT : filled);
}

void mm_prefill(struct recorder *rec, struct mm *mm, uint64_t start,
		uint64_t end)
{
	prefill(rec, mm, start, end, FILLED_DATA);
}

void mm_prefill_mapped(struct recorder *rec, struct mm *mm, uint64_t start,
		       uint64_t end)
{
	prefill(rec, mm, start, end, FILLED_MAPPED);
}

uint64_t mm_settle(struct recorder *rec, struct mm *mm, const struct region *r)
{
	return push_extents(rec, mm, MSG_DROP, r, FILLED_DATA);
}

int mm_is_moved(const struct mm *mm, const struct region *r)
{
	return r->kind == REGION_MEMFD &&
	       r->off >= plane_offset(mm->plane, 0) &&
	       r->off != plane_offset(mm->plane, r->start);
}

/* Is r what a munmap is about to unmap, to be given back at the next stop? */
static int goes_later(const struct mm *mm, const struct region *r)
{
	return mm->gone_bytes && mm->gone_bytes <= GONE_LATER &&
	       r->off == mm->gone_off;
}

void mm_drop(struct recorder *rec, struct mm *mm, struct task *t,
	     uint64_t start, uint64_t end, enum mm_drop how)
{
	uint64_t pos = start, began = moca_now_ns(), given = 0, pages = 0;
	struct region r;
	int frozen = 0;

	while (moca_regions_next(&mm->regions, &pos, end, &r)) {
		if (how == MM_EMPTIED && r.kind != REGION_MEMFD)
			continue;
		pages += push_extents(rec, mm, MSG_DROP, &r, 0);
		given += r.kind == REGION_MEMFD;
		frozen |= r.kind == REGION_FROZEN;
		if (r.kind != REGION_MEMFD)
			continue;
		if (!mm->dead &&
		    (how != MM_UNMAPPED ||
		     !keep_range(rec, mm, r.off, r.end - r.start)) &&
		    !goes_later(mm, &r) &&
		    memfd_punch(mm->memfd, r.off, r.end - r.start))
			moca_warn("cannot give back memory of process %d: it is not zero",
				  mm->space.pid);
		if (how != MM_EMPTIED && mm_is_moved(mm, &r) && mm->moved)
			mm->moved--;
	}
	if (t)
		task_event(rec, t, how == MM_EMPTIED ? MOCA_CHANGE_DISCARD : MOCA_CHANGE_MUNMAP,
			   start, end - start, 0, 0, 0, NULL);
	/* Of a dead one they tell the collector where in the memfd pages are. */
	if (how != MM_EMPTIED && !mm->dead && moca_regions_remove(&mm->regions, start, end))
		moca_warn("out of memory for the table of mappings");
	cost_natural(&rec->costs, 0, pages);
	if (given)
		cost_inner(&rec->costs, COST_FREE, 1, moca_now_ns() - began);
	if (frozen && !mm->dead)
		base_tidy(mm);
	/* What was looked at may be touched again, elsewhere mapped. */
	mm->freeze.looked_start = mm->freeze.looked_end = 0;
}

uint32_t mm_map_flags(const struct region *r)
{
	switch (r->kind) {
	case REGION_MEMFD:
		return MOCA_MAP_CERTIFIED | MOCA_MAP_ZAPPED;
	case REGION_SHARED:
		return MOCA_MAP_SHARED | MOCA_MAP_ZAPPED;
	case REGION_FROZEN:
		return MOCA_MAP_CERTIFIED;
	case REGION_FILE:
		return MOCA_MAP_FILE | MOCA_MAP_ZAPPED;
	case REGION_PRIVATE:
		return 0;
	default:
		return MOCA_MAP_STACK;
	}
}

static void add_region(struct recorder *rec, struct mm *mm, struct task *t,
		       const struct region *r, int prot, uint64_t offset,
		       const char *name, const struct moca_identity *of)
{
	uint32_t flags = mm_map_flags(r);

	if (name && name[0] == '/')
		flags |= MOCA_MAP_FILE;
	if (moca_regions_add(&mm->regions, r))
		moca_warn("out of memory for the table of mappings");
	if (r->kind != REGION_STACK || rec->opt->stack)
		mm_register(mm, r->start, r->end);
	task_event_map(rec, t, r->start, r->end - r->start, offset, prot, flags,
		       name, of);
}

void mm_add_native(struct recorder *rec, struct mm *mm, struct task *t,
		   uint64_t start, uint64_t end, enum region_kind kind, int prot,
		   uint64_t offset, const char *name,
		   const struct moca_identity *of)
{
	struct region r = { .start = start, .end = end, .kind = kind };

	if (mm->state == MM_MOVED)
		add_region(rec, mm, t, &r, prot, offset, name, of);
	else
		task_event_map(rec, t, start, end - start, offset, prot,
			       mm_map_flags(&r) & ~(uint32_t)MOCA_MAP_ZAPPED,
			       name, of);
}

void mm_add_private(struct recorder *rec, struct mm *mm, struct task *t,
		    uint64_t start, uint64_t end, int prot, uint64_t offset,
		    const char *name, const struct moca_identity *of)
{
	mm_add_native(rec, mm, t, start, end, REGION_PRIVATE, prot, offset,
		      name, of);
	task_event(rec, t, MOCA_CHANGE_GAP, start, end - start, 0, 0, 0,
		   mm->wp_async ? "a file mapped privately to be written: first "
				  "touches and writes are seen, repeated reads "
				  "are not" :
				  "a file mapped privately to be written: first "
				  "touches are seen, repeated accesses are not");
}

static int copy_run(struct mm *mm, pid_t tid, uint64_t start, uint64_t end,
		   uint64_t off)
{
	static char buf[1 << 18];
	ssize_t n;

	while (start < end) {
		size_t want = end - start;

		if (want > sizeof(buf))
			want = sizeof(buf);
		n = tracee_read(tid, start, buf, want);
		if (n <= 0)
			return n ? n : -EFAULT;
		if (pwrite(mm->memfd, buf, n, off) != n)
			return -errno;
		start += n;
		off += n;
	}
	return 0;
}

/*
 * Copy what exists of [start, end) into the memfd. Of anonymous memory that
 * is what the page tables hold; of a file, everything.
 */
static int copy_in(struct mm *mm, pid_t tid, uint64_t start, uint64_t end,
		   uint64_t off, int anonymous)
{
	uint64_t entries[512];
	char path[64];
	int fd, err = 0;

	if (!anonymous)
		return copy_run(mm, tid, start, end, off);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (uint64_t at = start; at < end && !err; at += 512 * PAGE_SIZE) {
		size_t n = (end - at) / PAGE_SIZE;

		if (n > 512)
			n = 512;
		if (pread(fd, entries, n * 8, at / PAGE_SIZE * 8) !=
		    (ssize_t)(n * 8)) {
			err = -EIO;
			break;
		}
		for (size_t i = 0; i < n && !err; i++) {
			uint64_t page = at + i * PAGE_SIZE;

			/* Present, or swapped out. */
			if (entries[i] >> 62)
				err = copy_run(mm, tid, page, page + PAGE_SIZE,
					       off + (page - start));
		}
	}
	close(fd);
	return err;
}

int mm_move(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
	    uint64_t start, uint64_t end, int prot, enum mm_copy copy,
	    const char *name)
{
	uint64_t off = mm_offset(mm, start, end - start);
	struct region r = { start, end, off, REGION_MEMFD,
			    copy == MM_COPY_FILE ? REGION_FILE_COPY : 0, NULL };
	int err;
	long ret;

	if (end > USER_END)
		return -ERANGE;
	if (copy) {
		err = keep_clear(mm, start, end);
		if (!err)
			err = copy_in(mm, c->task->tid, start, end, off,
				      copy == MM_COPY_ANONYMOUS);
		if (err)
			goto err_punch;
	}
	ret = tracee_call(c, &err, SYS_mmap, start, end - start, prot,
			  MAP_SHARED | MAP_FIXED, mm->remote_fd, off);
	if (err)
		return err;
	if ((uint64_t)ret != start) {
		err = ret;
		goto err_punch;
	}
	mm_moved(rec, mm, c->task, &r, prot, name);
	if (copy)
		mm_prefill(rec, mm, start, end);
	return 0;

err_punch:
	memfd_punch(mm->memfd, off, end - start);
	return err;
}

void mm_moved(struct recorder *rec, struct mm *mm, struct task *t,
	      const struct region *r, int prot, const char *name)
{
	if (mm_is_moved(mm, r))
		mm->moved++;
	add_region(rec, mm, t, r, prot, 0, name, NULL);
	if (keep_take(rec, mm, r))
		moca_warn("cannot give back memory of process %d: it is not zero",
			  mm->space.pid);
	if (mm->populates) {
		mm_prefill_mapped(rec, mm, r->start, r->end);
		cost_natural(&rec->costs, (r->end - r->start) / PAGE_SIZE, 0);
	}
}

/* Take over the memfd that the program just made; put the stub into it. */
int mm_adopt_memfd(struct mm *mm, pid_t pid, int remote)
{
	size_t code = moca_stub_code_end - moca_stub_code;
	struct stat st;
	int err = moca_regions_reserve(&mm->regions);

	if (err)
		return err;
	mm->memfd = tracee_fetch_fd(pid, remote);
	if (mm->memfd < 0) {
		err = mm->memfd;
		mm->memfd = -1;
		return err;
	}
	if (ftruncate(mm->memfd, MEMFD_STUB + STUB_SIZE) ||
	    fstat(mm->memfd, &st))
		return -errno;
	mm->sealed = !fcntl(mm->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL);
	if (pwrite(mm->memfd, moca_stub_code, code, MEMFD_STUB) !=
	    (ssize_t)code)
		return -EIO;
	mm->memfd_dev = st.st_dev;
	mm->memfd_ino = st.st_ino;
	mm->stub = mmap(NULL, STUB_DATA_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED, mm->memfd, MEMFD_STUB + STUB_CODE_SIZE);
	if (mm->stub == MAP_FAILED) {
		mm->stub = NULL;
		return -errno;
	}
	return 0;
}

/* The memfd and the stub, by single calls from a bare program. */
static int make_memfd_raw(struct mm *mm, struct tracee_calls *c, uint64_t insn,
			  long *remote)
{
	/* Below the stack pointer of a program that has not begun. */
	uint64_t name = (c->saved.reg_sp - 256) & ~15ull;
	uint64_t make[6] = { name, MFD_CLOEXEC | MFD_ALLOW_SEALING };
	uint64_t code[6] = { STUB_BASE, STUB_CODE_SIZE, PROT_READ | PROT_EXEC,
			     MAP_SHARED | MAP_FIXED_NOREPLACE, 0, MEMFD_STUB };
	struct iovec local = { (void *)"moca", 5 };
	struct iovec there = { (void *)name, 5 };
	long ret;
	int err;

	if (process_vm_writev(c->task->tid, &local, 1, &there, 1, 0) != 5)
		return -errno;
	err = tracee_raw_call(c, insn, SYS_memfd_create, make, remote);
	if (err || *remote < 0)
		return err ? err : (int)*remote;
	err = mm_adopt_memfd(mm, c->task->pid, *remote);
	if (err)
		return err;
	code[4] = *remote;
	err = tracee_raw_call(c, insn, SYS_mmap, code, &ret);
	if (err)
		return err;
	if (ret != STUB_BASE)
		return ret < 0 ? ret : -EEXIST;
	ret = tracee_call(c, &err, SYS_mmap, STUB_DATA, STUB_DATA_SIZE,
			  PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED_NOREPLACE, *remote,
			  MEMFD_STUB + STUB_CODE_SIZE);
	if (err)
		return err;
	return ret == STUB_DATA ? 0 : ret < 0 ? (int)ret : -EEXIST;
}

void mm_adopt_uffd(struct mm *mm, pid_t pid, long remote)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_WP_ASYNC |
			    UFFD_FEATURE_WP_UNPOPULATED |
			    UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};
	int fd;

	if (remote < 0)
		return;
	fd = tracee_fetch_fd(pid, remote);
	if (fd < 0)
		return;
	if (ioctl(fd, UFFDIO_API, &api)) {
		/* Before 6.7: memfd memory only. */
		api.api = UFFD_API;
		api.features = UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
		if (ioctl(fd, UFFDIO_API, &api)) {
			close(fd);
			return;
		}
	}
	mm->uffd = fd;
	mm->wp_async = (api.features & UFFD_FEATURE_WP_ASYNC) != 0;
}

static struct stub_call call(long nr, uint64_t a, uint64_t b, uint64_t d,
			     uint64_t e, uint64_t f, uint64_t g)
{
	return (struct stub_call){ .nr = nr, .args = { a, b, d, e, f, g } };
}

void mm_set_moved(struct mm *mm)
{
	pthread_mutex_lock(&mm->lock);
	mm->state = MM_MOVED;
	pthread_mutex_unlock(&mm->lock);
}

int mm_setup(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
	     uint64_t insn)
{
	long remote = -1, own, spare[3];
	struct stub_call *calls;
	struct limits limits;
	unsigned int n = 0;
	int err, taken;

	err = make_memfd_raw(mm, c, insn, &remote);
	if (err)
		return err;
	calls = mm->stub->calls;
	/*
	 * The memfd's descriptor goes where it is not in the program's way, and replaces
	 * none of its files. userfaultfd comes behind it: it is not to get that number.
	 */
	calls[0] = call(SYS_fcntl, remote, F_DUPFD_CLOEXEC, rec->fd_number, 0,
			0, 0);
	calls[1] = call(SYS_userfaultfd, UFFD_FLAGS, 0, 0, 0, 0, 0);
	limits_raise(&limits, c->task->tid);
	err = tracee_list(c, 2);
	limits_restore(&limits);
	if (err < 0)
		return err;
	own = calls[0].ret;
	/* The filter knows one number. */
	taken = own < 0 || (!rec->attach && own != rec->fd_number);
	if (!taken)
		mm_adopt_uffd(mm, c->task->pid, calls[1].ret);
	mm->remote_fd = own;
	spare[0] = calls[1].ret;
	spare[1] = remote;
	spare[2] = taken ? own : -1;
	for (int i = 0; i < 3; i++)
		if (spare[i] >= 0)
			calls[n++] = call(SYS_close, spare[i], 0, 0, 0, 0, 0);
	err = n ? tracee_list(c, n) : 0;
	if (err < 0)
		return err;
	if (taken)
		return -EBUSY;
	mm_set_moved(mm);
	return 0;
}

/* Page cache of a regular file: dropping its entries loses nothing. */
static int may_zap_file(const struct vma *v)
{
	struct statfs fs;
	struct stat st;

	return v->name[0] == '/' && !stat(v->name, &st) &&
	       S_ISREG(st.st_mode) && st.st_ino == v->ino &&
	       st.st_dev == makedev(v->major, v->minor) &&
	       !statfs(v->name, &fs) && fs.f_type != HUGETLBFS_MAGIC;
}

/*
 * Whether a private mapping of a file has pages of its own: of a program that
 * runs already, what is read-only now may have been written (relocations).
 */
static int has_own_pages(pid_t tid, const struct vma *v)
{
	uint64_t entries[512];
	char path[64];
	int fd, own = 0;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 1;
	for (uint64_t at = v->start; at < v->end && !own;
	     at += 512 * PAGE_SIZE) {
		size_t n = (v->end - at) / PAGE_SIZE;

		if (n > 512)
			n = 512;
		if (pread(fd, entries, n * 8, at / PAGE_SIZE * 8) !=
		    (ssize_t)(n * 8))
			own = 1;	/* not known: be careful */
		for (size_t i = 0; i < n && !own; i++)
			/* Swapped out, or present and no page of a file. */
			own = (entries[i] >> 62 & 1) ||
			      (entries[i] >> 63 && !(entries[i] >> 61 & 1));
	}
	close(fd);
	return own;
}

/* The trace gets the mapping, and that it cannot be watched. */
static void leave_vma(struct recorder *rec, struct task *t, const struct vma *v,
		      const struct moca_identity *of, const char *why)
{
	task_event_map(rec, t, v->start, v->end - v->start, v->offset, v->prot,
		       (v->shared ? MOCA_MAP_SHARED : 0) |
			       (v->name[0] == '/' ? MOCA_MAP_FILE : 0),
		       v->name, of);
	task_event(rec, t, MOCA_CHANGE_GAP, v->start, v->end - v->start, 0, 0, 0,
		   why);
}

/*
 * Whether a private mapping may go to the memfd: anonymous memory, and what a
 * loader mapped of ELF objects (segment.h). Of a program that begins, the
 * kernel is the only loader so far.
 */
static int may_move(struct recorder *rec, const struct vma_list *l, size_t i)
{
	const struct vma *v = &l->items[i];

	if (!v->name[0] || v->name[0] == '[')
		return 1;
	return v->name[0] == '/' && v->end - v->start <= COPY_MAX &&
	       (!rec->attach || segment_is_loaded(l, i));
}

static void move_private(struct recorder *rec, struct mm *mm,
			 struct tracee_calls *c, const struct vma_list *l,
			 size_t i, const struct pinned *pinned)
{
	const struct vma *v = &l->items[i];
	struct moca_identity of = maps_identity(v);
	int file = v->name[0] == '/';

	if (pinned_holds(pinned, v->start, v->end)) {
		mm_add_native(rec, mm, c->task, v->start, v->end, REGION_PRIVATE,
			      v->prot, v->offset, v->name, &of);
		task_event(rec, c->task, MOCA_CHANGE_GAP, v->start,
			   v->end - v->start, 0, 0, 0,
			   "the kernel had pinned some of it (io_uring's "
			   "buffers, or a device's) before: it stays where it is, "
			   "and repeated reads are not seen");
	} else if (!may_move(rec, l, i)) {
		mm_add_private(rec, mm, c->task, v->start, v->end, v->prot,
			       v->offset, v->name, &of);
	} else if (mm_move(rec, mm, c, v->start, v->end, v->prot,
			   file ? MM_COPY_FILE : MM_COPY_ANONYMOUS, v->name)) {
		leave_vma(rec, c->task, v, &of,
			  "mapping could not be moved: real faults only");
	} else if (file) {
		filecopy_add(mm, v->start, v->end, v->offset, v->name, 0, -1);
	}
}

static void move_vma(struct recorder *rec, struct mm *mm,
		     struct tracee_calls *c, const struct vma_list *l,
		     size_t i, const struct pinned *pinned)
{
	const struct vma *v = &l->items[i];
	struct moca_identity of = maps_identity(v);

	if (v->start >= USER_END)
		return;
	if (v->start >= STUB_BASE && v->start < STUB_BASE + STUB_SIZE) {
		task_event(rec, c->task, MOCA_CHANGE_MMAP, v->start,
			   v->end - v->start, 0, v->prot, MOCA_MAP_MOCA,
			   MOCA_IDENTITY_STUB);
		return;
	}
	if (!strcmp(v->name, "[stack]")) {
		mm->stack_start = v->start;
		mm->stack_end = v->end;
		mm_add_native(rec, mm, c->task, v->start, v->end, REGION_STACK,
			      v->prot, 0, v->name, NULL);
		return;
	}
	/* The kernel's: [vdso], [vvar]. */
	if (v->name[0] == '[' && strcmp(v->name, "[heap]") &&
	    strncmp(v->name, "[anon:", 6)) {
		task_event(rec, c->task, MOCA_CHANGE_MMAP, v->start,
			   v->end - v->start, 0, v->prot, 0, v->name);
		return;
	}
	if (!v->shared &&
	    ((v->prot & PROT_WRITE) || !v->name[0] || v->name[0] == '[' ||
	     (rec->attach && has_own_pages(c->task->tid, v))))
		move_private(rec, mm, c, l, i, pinned);
	else if (may_zap_file(v) || shared_may_zap(mm, c->task->tid, v))
		mm_add_native(rec, mm, c->task, v->start, v->end,
			      v->shared ? REGION_SHARED : REGION_FILE, v->prot,
			      v->offset, v->name, &of);
	else
		leave_vma(rec, c->task, v, &of, v->shared ?
			  "shared mapping of a device or of huge pages: "
			  "real faults only" :
			  "private mapping of a file that has no path any "
			  "more: real faults only");
}

int mm_move_all(struct recorder *rec, struct mm *mm, struct tracee_calls *c)
{
	struct pinned pinned = { 0 };
	struct vma_list l;
	int ret = maps_read(c->task->tid, &l);

	if (ret)
		return ret;
	/* A program that begins has none. */
	if (rec->attach)
		ret = pinned_find(c->task->pid, &pinned);
	for (size_t i = 0; i < l.count && !ret; i++)
		move_vma(rec, mm, c, &l, i, &pinned);
	pinned_free(&pinned);
	maps_free(&l);
	return ret;
}

static int start_zapper(struct recorder *rec, struct mm *mm,
			struct tracee_calls *c)
{
	struct message *m;
	pid_t child = 0;
	long ret;
	int err;

	if (pidns_children_leave(c->task->pid) ||
	    subreaper_above(c->task->pid)) {
		if (!atomic_exchange(&mm->no_zapper, 1))
			task_event(rec, c->task, MOCA_CHANGE_GAP, 0, 0, 0, 0, 0,
				   "pages are seen once only: a program that "
				   "adopts orphans (pid 1 of a PID namespace, or "
				   "PR_SET_CHILD_SUBREAPER) would see our helper "
				   "among its children");
		return -EPERM;
	}
	memset(mm->stub, 0, STUB_ZAP_LIST);
	mm->zap_seq = 0;
	ret = tracee_clone(c, &err, CLONE_VM | CLONE_FILES, &child);
	if (!err && ret < 0)
		err = ret;
	if (!child)
		return err ? err : -ECHILD;
	if (err)
		goto err_kill;	/* the task died that made it */
	m = message_new(rec->queue, MSG_IGNORE, 0, NULL);
	if (m) {
		m->tid = child;
		queue_push(rec->queue, m);
	}
	err = -ENOMEM;
	if (!tasks_add_own(child))
		goto err_kill;
	if (mm->zapper_fd >= 0)
		close(mm->zapper_fd);	/* of one that was killed */
	mm->zapper_fd = syscall(SYS_pidfd_open, child, 0);
	err = -errno;
	if (mm->zapper_fd < 0)
		goto err_kill;
	mm->zapper = child;
	return 0;

err_kill:
	kill(child, SIGKILL);
	return err;
}

int mm_start_zapper(struct recorder *rec, struct mm *mm, struct tracee_calls *c)
{
	/*
	 * The collector may ask while one is being made. Two would both zap
	 * each list, and nobody waits for the second to be done with it: it
	 * would go on when the memory is private, and lose what was written.
	 */
	int err = mm->zapper ? 0 : start_zapper(rec, mm, c);

	atomic_store(&mm->want_zapper, 0);
	return err;
}

void mm_stop_zapper(struct mm *mm)
{
	if (!mm->zapper)
		return;
	zap_settle(mm);
	zap_command_exit(mm);
	close(mm->zapper_fd);
	mm->zapper_fd = -1;
	mm->zapper = 0;
}
