// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/fault/freeze.h"
#include "collect/fault/keep.h"
#include "collect/fault/mm.h"
#include "collect/fault/nodes.h"
#include "collect/fault/ours.h"
#include "collect/fault/sample.h"
#include "collect/fault/scan.h"
#include "collect/run/pageset.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

/* Of larger mappings the nodes are not asked once more at their end. */
#define NODES_BYTES (256ul << 20)

#define SCAN_REGIONS 256

#define PAGEMAP_PRESENT	  (1ull << 63)
#define PAGEMAP_SWAPPED	  (1ull << 62)
#define PAGEMAP_PROTECTED (1ull << 57)
#define PAGEMAP_RUN 4096
/* Page by page, a larger mapping would take seconds. */
#define PAGEMAP_MAX (16ull << 30)

/* Existing pages, as they are found. */
struct found {
	struct extent *list;
	size_t count, room;
};

static void add(struct found *f, uint64_t start, uint64_t end)
{
	if (f->count && f->list[f->count - 1].end == start) {
		f->list[f->count - 1].end = end;
		return;
	}
	if (!moca_vec_fit(f->list, f->room, f->count + 1))
		f->list[f->count++] = (struct extent){ start, end };
}

/*
 * A write protection by userfaultfd where no page is looks as if one were
 * swapped out: such pages are not taken to exist.
 */
static int scan(int fd, uint64_t start, uint64_t end, struct found *f)
{
	struct scan_region regions[SCAN_REGIONS];
	struct scan_arg a = {
		.size = sizeof(a), .start = start, .end = end,
		.vec = (uintptr_t)regions, .vec_len = SCAN_REGIONS,
		.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
		.return_mask = SCAN_PRESENT | SCAN_SWAPPED | SCAN_WRITTEN,
	};

	while (a.start < end) {
		int n = ioctl(fd, SCAN, &a);

		if (n < 0)
			return -errno;
		for (int i = 0; i < n; i++)
			if (regions[i].categories &
			    (SCAN_PRESENT | SCAN_WRITTEN))
				add(f, regions[i].start, regions[i].end);
		if (a.walk_end <= a.start)
			break;
		a.start = a.walk_end;
	}
	return 0;
}

static void read_entries(int fd, uint64_t start, uint64_t end, struct found *f)
{
	uint64_t entries[PAGEMAP_RUN];

	if (end - start > PAGEMAP_MAX)
		return;
	while (start < end) {
		size_t n = (end - start) / PAGE_SIZE;
		ssize_t got;

		if (n > PAGEMAP_RUN)
			n = PAGEMAP_RUN;
		got = pread(fd, entries, n * 8, (off_t)(start / PAGE_SIZE * 8));
		if (got <= 0)
			return;
		n = (size_t)got / 8;
		for (size_t i = 0; i < n; i++, start += PAGE_SIZE)
			if (entries[i] & PAGEMAP_PRESENT ||
			    (entries[i] & PAGEMAP_SWAPPED &&
			     !(entries[i] & PAGEMAP_PROTECTED)))
				add(f, start, start + PAGE_SIZE);
	}
}

static void find(int fd, uint64_t start, uint64_t end, struct found *f)
{
	static int cannot_scan;

	if (!cannot_scan) {
		cannot_scan = scan(fd, start, end, f) == -ENOTTY;
		if (!cannot_scan)
			return;
	}
	read_entries(fd, start, end, f);
}

static int open_pagemap(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The pages of one mapping, to the collector. r: its region, or NULL. */
static void tell(struct recorder *rec, struct mm *mm, pid_t tid, int fd,
		 uint64_t start, uint64_t end, const char *name,
		 enum message_kind kind, const struct region *r)
{
	struct found f = { 0 };
	struct message *m = NULL;

	find(fd, start, end, &f);
	if (f.count)
		m = message_of_extents(rec->queue, kind, &mm->space, start, end,
				       f.list, f.count, name);
	if (m) {
		m->filled = r && sample_has(rec, r) ? FILLED_SWEPT :
							 FILLED_DATA;
		/* The program waits: 0.2 us a page. */
		if (kind == MSG_WITNESS && nodes_several() &&
		    end - start <= NODES_BYTES)
			m->placed_count = nodes_of_extents(tid, m->extents,
							   m->extent_count,
							   &m->placed);
		queue_push(rec->queue, m);
	}
	free(f.list);
}

static int is_kernels(const char *name)
{
	return !strncmp(name, "[vdso]", 6) || !strncmp(name, "[vvar", 5) ||
	       !strncmp(name, "[vsyscall]", 10) ||
	       !strncmp(name, "[uprobes]", 9);
}

/* The program's own, and not on the memfd, which has a witness of its own. */
static int is_looked_at(const struct mm *mm, const struct vma *v)
{
	if (v->start >= USER_END || is_kernels(v->name) ||
	    ours_holds(mm, v->start, v->end) || ours_is(mm->space.pid, v) ||
	    (v->start >= STUB_BASE && v->start < STUB_BASE + STUB_SIZE))
		return 0;
	/* Private, it is frozen since a fork. */
	return !v->shared || !mm->memfd_ino || v->ino != mm->memfd_ino ||
	       makedev(v->major, v->minor) != mm->memfd_dev;
}

/* What people call it. */
static const char *label(const struct vma *v)
{
	if (!strcmp(v->name, "[stack]"))
		return "main stack";
	if (!strncmp(v->name, "/anon_hugepage", 14))
		return "huge pages (MAP_HUGETLB)";
	if (!strncmp(v->name, "/dev/zero (deleted)", 19))
		return "shared anonymous memory";
	if (!strncmp(v->name, "/memfd:moca (deleted)", 21))
		return "memory shared since a fork";
	if (!v->name[0] || !strncmp(v->name, "[anon:", 6))
		return "private memory that was not moved";
	if (!strcmp(v->name, "[heap]"))
		return "heap that was not moved";
	return v->name;
}

/* A sweep takes its entries away, so that each touch shows. */
static int is_swept(const struct mm *mm, const struct vma *v)
{
	const struct region *r = moca_regions_find(&mm->regions, v->start);

	return r && (r->kind == REGION_SHARED || r->kind == REGION_FILE);
}

static void look(struct recorder *rec, struct task *t, enum message_kind kind,
		 int swept_only)
{
	struct mm *mm = mm_of(t->space);
	struct vma_list l;
	int fd = open_pagemap(t->tid);

	if (fd < 0)
		return;
	if (maps_read(t->tid, &l)) {
		close(fd);
		return;
	}
	for (size_t i = 0; i < l.count; i++)
		if (is_looked_at(mm, &l.items[i]) &&
		    (!swept_only || is_swept(mm, &l.items[i])))
			tell(rec, mm, t->tid, fd, l.items[i].start,
			     l.items[i].end, label(&l.items[i]), kind,
			     moca_regions_find(&mm->regions,
					       l.items[i].start));
	maps_free(&l);
	close(fd);
}

void witness_begin(struct recorder *rec, struct task *t)
{
	if (!t->space)
		return;
	mm_of(t->space)->witnessed = 1;
	look(rec, t, MSG_PREFILL, 0);
}

void witness_attach(struct recorder *rec, struct task *t)
{
	mm_of(t->space)->witnessed = 1;
	look(rec, t, MSG_PREFILL, 1);
}

void witness_end(struct recorder *rec, struct task *t)
{
	/* A vfork child borrows its memory: that does not end with it. */
	if (t->space && mm_of(t->space)->witnessed && t->pid == t->space->pid)
		look(rec, t, MSG_WITNESS, 0);
}

int witness_at_call(struct recorder *rec, struct task *t,
		    const struct tracee_regs *regs)
{
	struct mm *mm = mm_of(t->space);
	long nr = (long)regs->reg_nr;

	if (regs_are_32bit(regs)
		    ? nr != REGS_EXIT_GROUP_32BIT && nr != REGS_EXECVE_32BIT
		    : nr != SYS_exit_group && nr != SYS_execve &&
			      nr != SYS_execveat)
		return 0;
	if (mm && t->pid == mm->space.pid) {
		pthread_mutex_lock(&mm->lock);
		if (mm->freeze.bytes)
			freeze_look(mm, t->tid, 0, USER_END);
		keep_look(rec, mm, t->tid, 0, USER_END);
		pthread_mutex_unlock(&mm->lock);
	}
	witness_end(rec, t);
	return 1;
}

void witness_unseen(struct recorder *rec, struct task *t, uint64_t addr,
		    uint64_t len, const char *why)
{
	struct region r = { .start = addr, .end = addr + len,
			    .kind = REGION_UNSEEN };

	task_event(rec, t, MOCA_CHANGE_GAP, addr, len, 0, 0, 0, why);
	if (moca_regions_add(&mm_of(t->space)->regions, &r))
		moca_warn("out of memory for the table of mappings");
}

/* Of a mapping that is a region of ours: quicker than to read all maps. */
static void region_name(const struct region *r, pid_t tid, char *buf,
			size_t size)
{
	struct vma v = { .name = buf };
	char path[96];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", tid,
		 r->start, r->end);
	n = readlink(path, buf, size - 1);
	buf[n > 0 ? n : 0] = 0;
	if (n <= 0)
		snprintf(buf, size, "%s", r->kind == REGION_STACK ?
			 "[stack]" : r->kind == REGION_SHARED ?
			 "shared memory" : "a file mapping");
	if (label(&v) != buf)
		snprintf(buf, size, "%s", label(&v));
}

static void look_at_regions(struct recorder *rec, struct mm *mm,
			    struct task *t, uint64_t start, uint64_t end,
			    enum message_kind kind)
{
	char name[4096];
	struct region r;
	int fd = -1;

	while (mm->witnessed &&
	       moca_regions_next(&mm->regions, &start, end, &r)) {
		if (r.kind == REGION_MEMFD || r.kind == REGION_FROZEN)
			continue;
		if (fd < 0)
			fd = open_pagemap(t->tid);
		if (fd < 0)
			return;
		name[0] = 0;
		if (kind == MSG_WITNESS)
			region_name(moca_regions_find(&mm->regions, r.start),
				    t->tid, name, sizeof(name));
		tell(rec, mm, t->tid, fd, r.start, r.end, name, kind, &r);
	}
	if (fd >= 0)
		close(fd);
}

void witness_range(struct recorder *rec, struct mm *mm, struct task *t,
		   uint64_t start, uint64_t end)
{
	look_at_regions(rec, mm, t, start, end, MSG_WITNESS);
}

void witness_filled(struct recorder *rec, struct mm *mm, struct task *t,
		    uint64_t start, uint64_t end)
{
	look_at_regions(rec, mm, t, start, end, MSG_PREFILL);
}
