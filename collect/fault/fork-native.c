// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/fork-native.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/fault/base.h"
#include "collect/fault/freeze.h"
#include "collect/ptrace/child-tid.h"

#define PIECE (1u << 20)

/* What exists of [off, off + len) of the memfd, to addr of the program. */
static int copy_out(int memfd, pid_t tid, uint64_t off, uint64_t addr,
		    uint64_t len, char *buf)
{
	uint64_t pos = off, end = off + len;

	while (pos < end) {
		off_t data = lseek(memfd, pos, SEEK_DATA), hole;
		struct iovec local, remote;
		ssize_t n;

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		if ((uint64_t)data >= end)
			return 0;
		hole = lseek(memfd, data, SEEK_HOLE);
		n = hole < 0 || (uint64_t)hole > end ? (off_t)end - data :
						       hole - data;
		n = n > PIECE ? PIECE : n;
		local = (struct iovec){ buf, n };
		remote = (struct iovec){ (void *)(addr + (data - off)), n };
		if (pread(memfd, buf, n, data) != n ||
		    process_vm_writev(tid, &local, 1, &remote, 1, 0) != n)
			return -EIO;
		pos = data + n;
	}
	return 0;
}

/* One call in the child, whose stub is still the parent's. */
static int run(struct tracee_calls *c, long nr, uint64_t a, uint64_t b,
	       uint64_t d, uint64_t e, uint64_t f)
{
	int err;
	long ret = tracee_call(c, &err, nr, a, b, d, e, f, 0);

	return err ? err : ret < 0 && ret >= -4095 ? (int)ret : 0;
}

/* [start, end) of a mapping, which has the flags of one region, or of none. */
static int own_piece(struct tracee_calls *c, int memfd, const struct vma *v,
		     const struct region *r, char *buf)
{
	uint64_t len = r->end - r->start;
	struct stub_call advice[2];
	size_t n = freeze_advice(r, advice);
	int err = run(c, SYS_mmap, r->start, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
		      -1);

	if (!err && !(r->flags & REGION_WIPEONFORK))
		err = copy_out(memfd, c->task->tid,
			       v->offset + (r->start - v->start), r->start, len,
			       buf);
	else if (!err)
		err = run(c, SYS_madvise, r->start, len, MADV_WIPEONFORK, 0, 0);
	if (!err && v->prot != (PROT_READ | PROT_WRITE))
		err = run(c, SYS_mprotect, r->start, len, v->prot, 0, 0);
	for (size_t i = 0; i < n && !err; i++)
		err = run(c, SYS_madvise, r->start, len, advice[i].args[2], 0,
			  0);
	return err;
}

static int own_mapping(const struct mm *from, struct tracee_calls *c, int memfd,
		       const struct vma *v, char *buf)
{
	uint64_t pos = v->start, at;
	struct region r;
	int err = 0;

	while (pos < v->end && !err) {
		struct region none = { .start = pos };

		at = pos;
		if (!moca_regions_next(&from->regions, &pos, v->end, &r))
			r.start = pos = v->end;
		none.end = r.start;
		if (r.start > at)
			err = own_piece(c, memfd, v, &none, buf);
		if (!err && r.start < v->end)
			err = own_piece(c, memfd, v, &r, buf);
	}
	return err;
}

static int is_on(const struct vma *v, const struct mm *mm)
{
	return mm->memfd >= 0 && v->ino == mm->memfd_ino &&
	       v->offset < MEMFD_STUB &&
	       makedev(v->major, v->minor) == mm->memfd_dev;
}

/* Frozen memory is the child's already: nobody may write to what is below. */
static int keep_bases(struct mm *mm, const struct mm *from)
{
	int err = from->base ? base_use(mm, from->base) : 0;

	for (size_t i = 0; i < from->base_count && !err; i++)
		err = base_use(mm, from->bases[i]);
	return err;
}

/* What we had of it, if there was anything. */
static void forget(struct mm *mm)
{
	pthread_mutex_lock(&mm->lock);
	mm->state = MM_NATIVE;
	moca_regions_free(&mm->regions);
	pthread_mutex_unlock(&mm->lock);
	if (mm->stub)
		munmap(mm->stub, STUB_DATA_SIZE);
	if (mm->uffd >= 0)
		close(mm->uffd);
	if (mm->memfd >= 0)
		close(mm->memfd);
	mm->stub = NULL;
	mm->uffd = mm->memfd = mm->remote_fd = -1;
	mm->memfd_ino = mm->memfd_dev = 0;
}

int fork_go_native(struct mm *mm, struct mm *from, struct tracee_calls *c)
{
	char *buf = malloc(PIECE);
	struct vma_list l;
	int err = buf ? keep_bases(mm, from) : -ENOMEM;

	if (!err)
		err = maps_read(c->task->tid, &l);
	if (err) {
		free(buf);
		return err;
	}
	for (size_t i = 0; i < l.count && !err; i++) {
		const struct vma *v = &l.items[i];

		if (v->shared && (is_on(v, from) || is_on(v, mm)))
			err = own_mapping(from, c, is_on(v, mm) ? mm->memfd :
								  from->memfd,
					  v, buf);
	}
	maps_free(&l);
	free(buf);
	if (err)
		return err;
	forget(mm);
	child_tid_write(c->task);
	return 0;
}
