// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fork without exec: parent and child must not share what was private. The
 * child gets a memfd of its own; what the parent had on its own is frozen for
 * both (freeze.h), or copied where it is little.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/fault/base.h"
#include "collect/fault/filecopy.h"
#include "collect/fault/fork-native.h"
#include "collect/fault/freeze.h"
#include "collect/fault/keep.h"
#include "collect/fault/mm.h"
#include "collect/ptrace/limits.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

#define KCMP_FILES 2
/* Where the parent is frozen, ranges with no more than this are copied, which
 * keeps them traced in full; all such up to the second. */
#define COPY_RANGE (64u << 10)
#define COPY_ALL (1u << 20)

int mm_copy_pages(int src, int dst, uint64_t from, uint64_t to, uint64_t len)
{
	uint64_t pos = from, end = from + len;

	while (pos < end) {
		off_t data = lseek(src, pos, SEEK_DATA), hole;
		loff_t in, out;

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		if ((uint64_t)data >= end)
			return 0;
		hole = lseek(src, data, SEEK_HOLE);
		if (hole < 0 || (uint64_t)hole > end)
			hole = end;
		in = data;
		out = to + (data - from);
		while (in < hole) {
			ssize_t n = copy_file_range(src, &in, dst, &out,
						    hole - in, 0);

			/* The collector's call for a zapper may come now. */
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return n ? -errno : -EIO;
		}
		pos = hole;
	}
	return 0;
}

/* Bytes of data at [off, off + len), or a little more than limit. */
static uint64_t data_bytes(int fd, uint64_t off, uint64_t len, uint64_t limit)
{
	uint64_t pos = off, end = off + len, sum = 0;

	while (pos < end && sum <= limit) {
		off_t data = lseek(fd, pos, SEEK_DATA), hole;

		if (data < 0 || (uint64_t)data >= end)
			break;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0 || (uint64_t)hole > end)
			hole = end;
		sum += hole - data;
		pos = hole;
	}
	return sum;
}

enum piece_kind {
	PIECE_COPY,	/* the parent's contents, in the child's memfd */
	PIECE_HOLE,	/* nothing but zeroes, there too */
	PIECE_FREEZE,	/* the parent's memfd, for both */
	PIECE_FROZEN,	/* it is so, in the parent alone: it forked before */
	PIECE_KEEP,	/* it is so in both */
};

/* A part of one region of the parent and of one mapping of the child. */
struct piece {
	enum piece_kind kind;
	int prot;
	uint64_t bytes;		/* of data; not counted to the end */
	struct region region;	/* of the parent */
};

struct fork {
	struct recorder *rec;
	struct mm *from, *mm;
	struct task *parent, *child;
	struct tracee_calls calls;	/* of the child */
	struct piece *pieces;
	size_t count, room;
	int own_files;		/* descriptors are not the parent's */
	int memfd, uffd;	/* the child's numbers of them; -1: none */
	pid_t number;		/* what the child takes for its own */
};

static int add_piece(struct fork *f, const struct piece *p)
{
	if (moca_vec_fit(f->pieces, f->room, f->count + 1))
		return -ENOMEM;
	f->pieces[f->count++] = *p;
	return 0;
}

static int on_memfd(const struct vma *v, const struct mm *mm)
{
	return v->ino == mm->memfd_ino && v->offset < MEMFD_STUB &&
	       makedev(v->major, v->minor) == mm->memfd_dev;
}

static int on_base(const struct vma *v, const struct mm *mm)
{
	for (size_t i = 0; i < mm->base_count; i++)
		if (v->ino == mm->bases[i]->ino &&
		    makedev(v->major, v->minor) == mm->bases[i]->dev)
			return 1;
	return 0;
}

/* What the child gets of r, which it has inherited as a shared mapping. */
static void judge_shared(const struct fork *f, struct piece *p)
{
	const struct region *r = &p->region;

	if (r->flags & REGION_WIPEONFORK) {
		p->kind = PIECE_HOLE;
	} else if (r->kind == REGION_FROZEN) {
		/* Another task's fork came between this one and its report. */
		p->kind = PIECE_FROZEN;
	} else {
		p->bytes = data_bytes(f->from->memfd, r->off,
				      r->end - r->start, FREEZE_MIN);
		p->kind = p->bytes ? PIECE_COPY : PIECE_HOLE;
	}
}

static int add_vma(struct fork *f, const struct vma *v)
{
	uint64_t pos = v->start;
	int err = 0;

	while (pos < v->end && !err) {
		struct piece p = { .prot = v->prot };
		uint64_t at = pos;

		if (!moca_regions_next(&f->from->regions, &pos, v->end,
				       &p.region))
			p.region.start = pos = v->end;
		if (v->shared && p.region.start > at) {
			/* Of no region: never to be shared, all the same. */
			struct piece q = {
				.kind = PIECE_COPY, .prot = v->prot,
				.region = { at, p.region.start,
					    v->offset + (at - v->start),
					    REGION_MEMFD },
			};

			err = add_piece(f, &q);
		}
		if (err || p.region.start >= v->end)
			continue;
		if (v->shared) {
			judge_shared(f, &p);
			err = add_piece(f, &p);
		} else if (p.region.kind == REGION_FROZEN) {
			p.kind = p.region.flags & REGION_WIPEONFORK ?
					 PIECE_HOLE : PIECE_KEEP;
			err = add_piece(f, &p);
		}
	}
	return err;
}

static int find_pieces(struct fork *f, const struct vma_list *l)
{
	uint64_t sum = 0, small = 0;
	int err = 0;

	for (size_t i = 0; i < l->count && !err; i++) {
		const struct vma *v = &l->items[i];

		if (v->shared ? on_memfd(v, f->from) : on_base(v, f->from))
			err = add_vma(f, v);
	}
	for (size_t i = 0; i < f->count; i++)
		if (f->pieces[i].kind == PIECE_COPY)
			sum += f->pieces[i].bytes;
	/* Of a parent that has executed a program only the memfd is left. */
	if (err || sum < FREEZE_MIN || f->parent->at_exec ||
	    !freeze_possible(f->from, f->parent, l))
		return err;
	for (size_t i = 0; i < f->count; i++) {
		struct piece *p = &f->pieces[i];

		if (p->kind != PIECE_COPY || !p->bytes)
			continue;
		if (p->bytes <= COPY_RANGE && small + p->bytes <= COPY_ALL)
			small += p->bytes;
		else
			p->kind = PIECE_FREEZE;
	}
	return 0;
}

static size_t count_kind(const struct fork *f, enum piece_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < f->count; i++)
		n += f->pieces[i].kind == kind;
	return n;
}

/* Freeze the parent's ranges that can be frozen; copy the others. */
static int freeze_parent(struct fork *f)
{
	size_t n = count_kind(f, PIECE_FREEZE), at = 0;
	struct freeze_range *ranges = calloc(n + 1, sizeof(*ranges));
	char *done = calloc(n + 1, 1);
	struct tracee_regs regs;
	struct tracee_calls c;
	uint64_t before = f->from->freeze.bytes;
	int ret = ranges && done ? 0 : -ENOMEM;

	/* Told anew, of all that is frozen from now on. */
	freeze_told(f->rec, f->from, f->parent);
	f->from->freeze.bytes = before;
	for (size_t i = 0; i < f->count && !ret; i++)
		if (f->pieces[i].kind == PIECE_FREEZE)
			ranges[at++] = (struct freeze_range){
				f->pieces[i].region, f->pieces[i].prot };
	if (!ret)
		ret = tracee_finish_call(f->parent);
	if (!ret)
		ret = tracee_get_regs(f->parent, &regs);
	if (!ret)
		ret = tracee_begin(&c, f->parent, &regs);
	if (!ret) {
		ret = freeze_ranges(f->rec, f->from, &c, ranges, n, done);
		if (tracee_end(&c) && !ret)
			ret = -ESRCH;
	}
	at = 0;
	for (size_t i = 0; i < f->count; i++)
		if (f->pieces[i].kind == PIECE_FREEZE && (!done || !done[at++]))
			f->pieces[i].kind = PIECE_COPY;
	if (f->from->freeze.bytes)
		freeze_tell(f->rec, f->parent);
	free(ranges);
	free(done);
	/* The parent is dead: its child goes on. */
	return ret == -ESRCH ? 0 : ret;
}

static struct stub_call call(long nr, uint64_t a, uint64_t b, uint64_t d,
			     uint64_t e, uint64_t f, uint64_t g)
{
	return (struct stub_call){ .nr = nr, .args = { a, b, d, e, f, g } };
}

/*
 * Through the parent's stub and descriptor, which the child has inherited: map
 * what is frozen, and make what the child needs for itself.
 */
static int map_frozen(struct fork *f)
{
	size_t n = count_kind(f, PIECE_FREEZE) + count_kind(f, PIECE_FROZEN);
	struct stub_call *calls = calloc(3 * n + 3, sizeof(*calls));
	size_t count = 0;
	int ret;

	if (!calls)
		return -ENOMEM;
	calls[count++] = call(SYS_memfd_create, STUB_ENTRY(moca_stub_memfd),
			      MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0);
	calls[count++] = call(SYS_userfaultfd, UFFD_FLAGS, 0, 0, 0, 0, 0);
	calls[count++] = call(SYS_gettid, 0, 0, 0, 0, 0, 0);
	for (size_t i = 0; i < f->count; i++) {
		const struct piece *p = &f->pieces[i];
		const struct region *r = &p->region;

		if (p->kind != PIECE_FREEZE && p->kind != PIECE_FROZEN)
			continue;
		calls[count++] = call(SYS_mmap, r->start, r->end - r->start,
				      p->prot, MAP_PRIVATE | MAP_FIXED |
				      MAP_NORESERVE, f->from->remote_fd,
				      r->off);
		count += freeze_advice(r, calls + count);
	}
	ret = tracee_run(&f->calls, f->from->stub, calls, count);
	for (size_t i = 3; i < count && !ret; i++)
		if (calls[i].nr == SYS_mmap &&
		    calls[i].ret != (long)calls[i].args[0])
			ret = calls[i].ret < 0 ? (int)calls[i].ret : -EEXIST;
	f->memfd = calls[0].ret;
	f->uffd = calls[1].ret;
	f->number = calls[2].ret;
	if (!ret && f->memfd < 0)
		ret = f->memfd;
	free(calls);
	return ret;
}

/* The child's own mappings, by the descriptor fd. */
static size_t list_maps(const struct fork *f, int fd, struct stub_call *calls)
{
	size_t n = 0;

	for (size_t i = 0; i < f->count; i++) {
		const struct piece *p = &f->pieces[i];
		const struct region *r = &p->region;

		if (p->kind != PIECE_COPY && p->kind != PIECE_HOLE)
			continue;
		calls[n++] = call(SYS_mmap, r->start, r->end - r->start,
				  p->prot, MAP_SHARED | MAP_FIXED, fd,
				  plane_offset(0, r->start));
		n += freeze_advice(r, calls + n);
	}
	return n;
}

/* Its stub, at last: what the calls stand in is replaced by the same. */
static size_t list_stub(int fd, struct stub_call *calls)
{
	size_t n = 0;

	calls[n++] = call(SYS_mmap, STUB_BASE, STUB_CODE_SIZE,
			  PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd,
			  MEMFD_STUB);
	calls[n++] = call(SYS_mmap, STUB_DATA, STUB_DATA_SIZE,
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			  MEMFD_STUB + STUB_CODE_SIZE);
	return n;
}

/*
 * Run them all; the last replaces the list that it stands in, by the same. 1:
 * the first, which was to put the descriptor in its place, failed.
 */
static int run_maps(struct fork *f, struct stub_call *calls, size_t n,
		    int settles)
{
	struct stub_data *stub = f->from->stub;
	size_t last = n > STUB_CALLS_MAX ? STUB_CALLS_MAX : n;
	int ret = 0;

	/* What does not fit goes before, but for the first. */
	if (n > last) {
		if (settles) {
			stub->calls[0] = calls[0];
			ret = tracee_list(&f->calls, 1);
			if (ret >= 0 && stub->calls[0].ret < 0)
				return 1;
			calls++;
			n--;
			last = last < n ? last : n;
			settles = 0;
		}
		if (ret >= 0)
			ret = tracee_run(&f->calls, stub, calls, n - last);
		if (ret < 0)
			return ret;
	}
	memcpy(stub->calls, calls + (n - last), last * sizeof(*calls));
	memcpy(f->mm->stub->calls, stub->calls, last * sizeof(*calls));
	ret = tracee_list(&f->calls, last);
	if (ret < 0)
		return ret;
	if (settles && ret == 1)
		return 1;
	memcpy(calls + (n - last), stub->calls, (last - 1) * sizeof(*calls));
	calls[n - 1].ret = f->mm->stub->calls[last - 1].ret;
	for (size_t i = 0; i < n; i++)
		if (calls[i].nr == SYS_mmap &&
		    calls[i].ret != (long)calls[i].args[0])
			return calls[i].ret < 0 ? (int)calls[i].ret : -EEXIST;
	return 0;
}

/*
 * Its number (child-tid.h), which the stub reads from itself in the memfd that
 * is descriptor fd by then: a call, or none.
 */
static size_t child_number(const struct fork *f, struct stub_data *stub, int fd,
			   struct stub_call *out)
{
	if (!f->child->child_tid)
		return 0;
	stub->child_tid = f->number;
	*out = (struct stub_call){
		.nr = SYS_pread64,
		.args = { fd, f->child->child_tid, sizeof(stub->child_tid),
			  MEMFD_STUB + STUB_CODE_SIZE +
				  offsetof(struct stub_data, child_tid) },
	};
	return 1;
}

/* The descriptors where they stay, and all that is mapped from the memfd. */
static int map_own(struct fork *f)
{
	size_t n = count_kind(f, PIECE_COPY) + count_kind(f, PIECE_HOLE);
	struct stub_call *calls = calloc(3 * n + 9, sizeof(*calls));
	int inherited = f->from->remote_fd, ret;
	int memfd = f->memfd, uffd = f->uffd;
	int settles = f->own_files;

	if (!calls)
		return -ENOMEM;
	do {
		n = 0;
		if (settles) {
			calls[n] = call(SYS_dup3, memfd, inherited, O_CLOEXEC,
					0, 0, 0);
			calls[n++].flags = STUB_CALL_MUST;
			calls[n++] = call(SYS_close, memfd, 0, 0, 0, 0, 0);
		}
		f->mm->remote_fd = settles ? inherited : memfd;
		if (uffd >= 0)
			calls[n++] = call(SYS_close, uffd, 0, 0, 0, 0, 0);
		if (f->own_files && inherited != f->mm->remote_fd)
			calls[n++] = call(SYS_close, inherited, 0, 0, 0, 0, 0);
		n += list_maps(f, f->mm->remote_fd, calls + n);
		n += child_number(f, f->mm->stub, f->mm->remote_fd, calls + n);
		n += list_stub(f->mm->remote_fd, calls + n);
		ret = run_maps(f, calls, n, settles);
		/* Above its limit: it stays where it is. */
	} while (ret == 1 && settles--);
	free(calls);
	return ret;
}

static int fill_own(struct fork *f)
{
	int ret = 0;

	for (size_t i = 0; i < f->count && !ret; i++) {
		const struct region *r = &f->pieces[i].region;

		if (f->pieces[i].kind == PIECE_COPY)
			ret = mm_copy_pages(f->from->memfd, f->mm->memfd,
					    r->off, plane_offset(0, r->start),
					    r->end - r->start);
	}
	return ret;
}

static int adopt_piece(struct fork *f, const struct piece *p)
{
	struct region r = p->region;
	int err;

	if (p->kind == PIECE_COPY || p->kind == PIECE_HOLE) {
		r.kind = REGION_MEMFD;
		r.off = plane_offset(0, r.start);
		r.base = NULL;
	} else {
		r.kind = REGION_FROZEN;
		if (!r.base)
			r.base = f->from->base;
		err = base_use(f->mm, r.base);
		if (err)
			return err;
	}
	err = moca_regions_add(&f->mm->regions, &r);
	mm_register(f->mm, r.start, r.end);
	/* Frozen memory: entries that came along. */
	if (p->kind == PIECE_COPY || p->kind == PIECE_KEEP)
		mm_prefill(f->rec, f->mm, r.start, r.end);
	return err;
}

static int adopt_pieces(struct fork *f)
{
	struct region r;
	uint64_t pos = 0;
	int err = 0;

	for (size_t i = 0; i < f->count && !err; i++)
		err = adopt_piece(f, &f->pieces[i]);
	while (!err && moca_regions_next(&f->from->regions, &pos, USER_END,
					 &r)) {
		if (r.kind == REGION_MEMFD || r.kind == REGION_FROZEN)
			continue;
		if (moca_regions_add(&f->mm->regions, &r))
			moca_warn("out of memory for the table of mappings");
		if (r.kind != REGION_UNSEEN &&
		    (r.kind != REGION_STACK || f->rec->opt->stack))
			mm_register(f->mm, r.start, r.end);
	}
	return err;
}

static int make_child(struct fork *f)
{
	int ret = map_frozen(f);

	if (!ret)
		ret = mm_adopt_memfd(f->mm, f->child->tid, f->memfd);
	if (ret)
		return ret;
	mm_adopt_uffd(f->mm, f->child->tid, f->uffd);
	ret = fill_own(f);
	if (!ret)
		ret = map_own(f);
	if (ret)
		return ret;
	mm_set_moved(f->mm);
	pthread_mutex_lock(&f->mm->lock);
	ret = adopt_pieces(f);
	pthread_mutex_unlock(&f->mm->lock);
	return ret;
}

static int inherit(struct mm *mm, const struct mm *from)
{
	mm->brk = from->brk;
	mm->populates = 0;	/* as mlockall's effect: not inherited */
	mm->keyed = from->keyed;
	mm->busy = from->busy;
	mm->untold = from->untold;
	mm->stack_start = from->stack_start;
	mm->stack_end = from->stack_end;
	memcpy(mm->ours, from->ours, sizeof(mm->ours));
	return filecopy_inherit(mm, from);
}

/* Descriptors of ours that the child has. One that it has not is no matter. */
static void close_all(struct fork *f, int settled)
{
	const int fds[] = { f->memfd, f->uffd, settled,
			    f->own_files ? f->from->remote_fd : -1 };
	int err;

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			tracee_call(&f->calls, &err, SYS_close, fds[i], 0, 0, 0,
				    0, 0);
}

/* The child cannot have what a traced process needs: its memory is left to the kernel. */
static int let_child_go(struct fork *f, int why)
{
	int settled = f->mm->remote_fd, err;

	err = fork_go_native(f->mm, f->from, &f->calls);
	if (err)
		return err;
	close_all(f, settled);
	f->mm->refused = -why;
	return 0;
}

static int give_child_memory(struct fork *f)
{
	struct tracee_regs regs;
	struct vma_list l;
	int ret, end;

	ret = tracee_get_regs(f->child, &regs);
	if (!ret)
		ret = tracee_begin(&f->calls, f->child, &regs);
	if (ret)
		return ret;
	ret = inherit(f->mm, f->from);
	if (!ret)
		ret = maps_read(f->child->tid, &l);
	if (!ret) {
		ret = find_pieces(f, &l);
		maps_free(&l);
	}
	if (!ret && count_kind(f, PIECE_FREEZE))
		ret = freeze_parent(f);
	if (!ret)
		ret = make_child(f);
	if (ret && ret != -ESRCH)
		ret = let_child_go(f, ret);
	end = tracee_end(&f->calls);
	return end && !ret ? -ESRCH : ret;
}

int mm_fork(struct recorder *rec, struct task *parent, struct task *child)
{
	struct fork f = {
		.rec = rec, .from = mm_of(parent->space), .mm = mm_of(child->space),
		.parent = parent, .child = child, .memfd = -1, .uffd = -1,
		/* Of an orphan only kcmp tells; it may be refused. */
		.own_files = !child->shares_files &&
			     syscall(SYS_kcmp, parent->tid, child->tid,
				     KCMP_FILES, 0, 0) != 0,
	};
	struct limits parents, childs;
	int ret;

	ret = keep_forget(rec, f.from, parent->tid);
	if (ret)
		return ret;
	limits_raise(&parents, parent->tid);
	limits_raise(&childs, child->tid);
	ret = give_child_memory(&f);
	limits_restore(&childs);
	limits_restore(&parents);
	freeze_forked(f.from, count_kind(&f, PIECE_FREEZE) != 0);
	if (f.mm->state == MM_MOVED) {
		f.mm->freeze.bytes = f.mm->base_count ? f.from->freeze.bytes : 0;
		freeze_forked(f.mm, f.mm->base_count != 0);
	}
	free(f.pieces);
	return ret;
}
