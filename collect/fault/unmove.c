// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Giving moved memory back: private anonymous memory with the same contents
 * takes the memfd's place. All tasks of the address space must stand still.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/fault/freeze.h"
#include "collect/fault/keep.h"
#include "collect/fault/marks.h"
#include "collect/fault/mm.h"
#include "collect/fault/punch.h"
#include "collect/fault/witness.h"
#include "collect/fault/zap.h"
#include "lib/base/err.h"

#define PIECE (1u << 20)

/*
 * Copy what exists of [off, off + len) to addr in the program. *done bytes of it
 * are there then, and not in the memfd any more.
 */
static int copy_out(struct mm *mm, pid_t tid, uint64_t off, uint64_t addr,
		    uint64_t len, char *buf, uint64_t *done)
{
	uint64_t pos = off, end = off + len;

	*done = 0;
	while (pos < end) {
		off_t data = lseek(mm->memfd, pos, SEEK_DATA);
		off_t hole = data < 0 ? 0 :
				       lseek(mm->memfd, data, SEEK_HOLE);
		struct iovec local, remote;
		ssize_t n;

		if (data < 0 || (uint64_t)data >= end)
			return 0;
		n = (uint64_t)hole < end ? hole - data : (off_t)end - data;
		if (n > PIECE)
			n = PIECE;
		local = (struct iovec){ buf, n };
		remote = (struct iovec){ (void *)(addr + (data - off)), n };
		if (pread(mm->memfd, buf, n, data) != n ||
		    process_vm_writev(tid, &local, 1, &remote, 1, 0) != n)
			return -EIO;
		/* Given back at once: memory is not held twice. */
		memfd_punch(mm->memfd, data, n);
		pos = data + n;
		*done = pos - off;
	}
	return 0;
}

static int on_memfd(const struct mm *mm, const struct vma *v)
{
	return v->ino == mm->memfd_ino && v->offset < MEMFD_STUB &&
	       makedev(v->major, v->minor) == mm->memfd_dev;
}

/* *own: so many bytes from its begin are private now, also where it fails. */
static int unmove_vma(struct mm *mm, struct tracee_calls *c,
		      const struct vma *v, const struct marks *marks,
		      char *buf, uint64_t *own)
{
	uint64_t len = v->end - v->start, done;
	long ret;
	int err, marked, gone;

	*own = 0;
	ret = tracee_call(c, &err, SYS_mmap, v->start, len,
			  PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
			  MAP_NORESERVE, -1, 0);
	if (err || (uint64_t)ret != v->start)
		return err ? err : (int)ret;
	err = copy_out(mm, c->task->tid, v->offset, v->start, len, buf, &done);
	/* What did not get there shows as it did. */
	if (err)
		tracee_call(c, &gone, SYS_mmap, v->start + done, len - done,
			    v->prot, MAP_SHARED | MAP_FIXED, mm->remote_fd,
			    v->offset + done);
	*own = err ? done & PAGE_MASK : len;
	marked = !*own ? 0 : marks_apply(marks, c, v->start, v->start + *own,
					 PROT_READ | PROT_WRITE, v->prot);
	return err ? err : marked;
}

/*
 * Half private, half shared: a fork would be wrong. What we started is ended;
 * what was only attached to never is. err, or -ESRCH: it is ended.
 */
static int fail_half_way(const struct recorder *rec, const struct mm *mm,
			 int err)
{
	if (rec->attach) {
		moca_error("cannot make the memory of process %d its own "
			   "again: %s; it runs on, but may compute wrong "
			   "results after its next fork; end it, and start it "
			   "anew", mm->space.pid, strerror(-err));
		return err;
	}
	moca_error("cannot make the memory of process %d private again: %s; it "
		   "is ended, since it would share memory with its children: "
		   "start it anew, and let this recording of it go on to the "
		   "end", mm->space.pid, strerror(-err));
	syscall(SYS_kill, mm->space.pid, 9);
	return -ESRCH;
}

int mm_unmove(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
	      const char *why)
{
	struct marks marks = { 0 };
	struct vma_list l;
	uint64_t own;
	char *buf;
	int ret;

	zap_end(mm);
	atomic_store(&mm->want_zapper, 0);
	buf = malloc(PIECE);
	ret = buf ? freeze_thaw_range(rec, mm, c, 0, USER_END) : -ENOMEM;
	if (!ret)
		ret = keep_forget(rec, mm, c->task->tid);
	if (!ret)
		ret = marks_read(mm, c->task->tid, USER_END, &marks);
	if (!ret)
		ret = maps_read(c->task->tid, &l);
	if (ret) {
		marks_free(&marks);
		free(buf);
		return ret != -ESRCH && rec->attach ?
			       fail_half_way(rec, mm, ret) : ret;
	}
	/* The certificate's view of the pages, while they still exist. */
	mm->dead = 1;
	mm_drop(rec, mm, NULL, 0, USER_END, MM_GONE);
	mm->dead = 0;
	if (mm->uffd >= 0)
		close(mm->uffd);	/* ends all registrations */
	mm->uffd = -1;
	for (size_t i = 0; i < l.count && !ret; i++) {
		struct vma *v = &l.items[i];

		if (on_memfd(mm, v))
			ret = unmove_vma(mm, c, v, &marks, buf, &own);
	}
	maps_free(&l);
	marks_free(&marks);
	free(buf);
	/* ESRCH: it ended meanwhile, or is a new image (takeover.h). */
	if (ret && ret != -ESRCH)
		ret = fail_half_way(rec, mm, ret);
	if (ret == -ESRCH)
		return ret;
	mm->state = MM_NATIVE;
	mm->untold = why != NULL;
	if (why)
		task_event_unmapped(rec, c->task, why);
	return ret;
}

/* Region r is the program's own from now on: with its advice, in the tables. */
static int made_own(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		    const struct region *r, int prot, const char *why)
{
	struct region own = { .start = r->start, .end = r->end,
			      .kind = REGION_PRIVATE,
			      .flags = r->flags & REGION_FILE_COPY };
	struct stub_call calls[3];
	size_t n = freeze_advice(r, calls);
	int ret = 0;

	if (r->flags & REGION_WIPEONFORK)
		calls[n++] = (struct stub_call){
			.nr = SYS_madvise,
			.args = { r->start, r->end - r->start,
				  MADV_WIPEONFORK },
		};
	if (n)
		ret = tracee_run(c, mm->stub, calls, n);
	if (mm_is_moved(mm, r) && mm->moved)
		mm->moved--;
	mm_add_native(rec, mm, c->task, r->start, r->end, REGION_PRIVATE, prot,
		      0, "", NULL);
	/* For an madvise that wants to see the file: filecopy.h. */
	if (own.flags && moca_regions_add(&mm->regions, &own))
		moca_warn("out of memory for the table of mappings");
	witness_filled(rec, mm, c->task, r->start, r->end);
	task_event(rec, c->task, MOCA_CHANGE_GAP, r->start, r->end - r->start, 0,
		   0, 0, why);
	return ret;
}

int mm_unmove_range(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		    uint64_t start, uint64_t end, const char *why)
{
	char *buf = malloc(PIECE);
	struct marks marks = { 0 };
	struct vma_list l;
	int ret = buf ? freeze_thaw_range(rec, mm, c, start, end) : -ENOMEM;

	if (!ret)
		ret = marks_read(mm, c->task->tid, end, &marks);
	if (!ret)
		ret = maps_read(c->task->tid, &l);
	if (ret) {
		marks_free(&marks);
		free(buf);
		return ret;
	}
	for (size_t i = 0; i < l.count && !ret; i++) {
		struct vma v = l.items[i];
		uint64_t pos = v.start > start ? v.start : start, own;
		struct region r;
		int err = 0;

		if (v.end > end)
			v.end = end;
		while (!ret && on_memfd(mm, &v) &&
		       moca_regions_next(&mm->regions, &pos, v.end, &r)) {
			if (r.kind != REGION_MEMFD)
				continue;
			v.offset += r.start - v.start;
			v.start = r.start;
			v.end = r.end;
			/* The certificate's view, while the pages exist. */
			mm_settle(rec, mm, &r);
			ret = unmove_vma(mm, c, &v, &marks, buf, &own);
			/* Taken for the memfd's, a sweep would empty it. */
			r.end = r.start + own;
			if (own)
				err = made_own(rec, mm, c, &r, v.prot, why);
			ret = ret ? ret : err;
			v.end = l.items[i].end < end ? l.items[i].end : end;
		}
	}
	maps_free(&l);
	marks_free(&marks);
	free(buf);
	return ret;
}
