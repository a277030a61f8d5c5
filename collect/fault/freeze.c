// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/fault/base.h"
#include "collect/fault/mm.h"
#include "collect/fault/pages.h"
#include "collect/ptrace/quiesce.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"

/* The first wait for a time without forks, and the longest. */
#define WAIT_NS 100000000ull
/* What a page's fault takes, about. */
#define FAULT_NS 1000ull
/* ... and what its copy takes. */
#define COPY_NS 4000ull

int freeze_holds_pages(pid_t tid, const struct vma_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strncmp(l->items[i].name, "/[aio]", 6) ||
		    !strncmp(l->items[i].name, "anon_inode:[io_uring]", 21))
			return 1;
	return moca_proc_number(tid, "VmLck:") ||
	       moca_proc_number(tid, "VmPin:");
}

static int too_wide(const struct mm *mm)
{
	if (pages_quick())
		return 0;
	for (size_t i = 0; i < mm->regions.count; i++) {
		const struct region *r = &mm->regions.items[i];

		if (r->kind == REGION_MEMFD &&
		    r->end - r->start > PAGES_SLOW_MAX)
			return 1;
	}
	return 0;
}

static int strict_accounting(void)
{
	char mode[16];

	return !moca_proc_field(mode, sizeof(mode),
				"/proc/sys/vm/overcommit_memory", "") &&
	       atoi(mode) == 2;
}

int freeze_possible(const struct mm *mm, const struct task *forked,
		    const struct vma_list *l)
{
	/* Under strict accounting a private mapping may be refused. */
	return mm->plane < MEMFD_PLANES - 2 && !mm->keyed &&
	       quiesced(&mm->space, forked) &&
	       !strict_accounting() &&
	       !freeze_holds_pages(forked->tid, l) && !too_wide(mm);
}

void freeze_forked(struct mm *mm, int frozen_now)
{
	struct freeze_state *f = &mm->freeze;
	uint64_t now = moca_now_ns(), wait;

	if (!f->wait_ns)
		f->wait_ns = WAIT_NS;
	else if (frozen_now && now - f->thawed_ns < 10 * f->wait_ns)
		f->wait_ns = f->wait_ns * 2 < FREEZE_WAIT_MAX_NS ? f->wait_ns * 2 :
							    FREEZE_WAIT_MAX_NS;
	else if (frozen_now && f->wait_ns > WAIT_NS)
		f->wait_ns /= 2;
	/*
	 * All of it faults once more behind a thaw, and little is copied: a
	 * tenth of the time.
	 */
	wait = f->bytes / PAGE_SIZE * 10 *
	       (f->bytes <= THAW_COPY_MAX ? FAULT_NS + COPY_NS : FAULT_NS);
	if (wait < f->wait_ns)
		wait = f->wait_ns;
	if (frozen_now && !f->since_ns)
		f->since_ns = now;
	atomic_store(&f->next_ns, mm->base_count ? now + wait : 0);
}

static const char *why_less(const struct mm *mm)
{
	return mm->wp_async ?
		"memory shared by a fork: a page's first touch there is seen, "
		"and writes in each interval, but no later reads" :
		"memory shared by a fork: a page's first touch there is seen, "
		"but no later ones";
}

void freeze_tell(struct recorder *rec, struct task *t)
{
	struct mm *mm = mm_of(t->space);
	struct freeze_state *f = &mm->freeze;

	if (!f->since_ns)
		f->since_ns = moca_now_ns();
	task_event(rec, t, MOCA_CHANGE_GAP, 0, f->bytes, 0, 0, 0, why_less(mm));
}

void freeze_told(struct recorder *rec, struct mm *mm, struct task *t)
{
	struct freeze_state *f = &mm->freeze;

	if (f->bytes)
		task_event(rec, t, MOCA_CHANGE_GAP, 0, 0,
			   moca_now_ns() - f->since_ns, 0, 0, why_less(mm));
	f->bytes = f->since_ns = 0;
}

/* --- the certificate's witness ------------------------------------------------ */

void freeze_look(struct mm *mm, pid_t tid, uint64_t start, uint64_t end)
{
	struct freeze_state *f = &mm->freeze;
	struct region r;
	struct pages p;
	/* Fault-around fills entries that nobody touched. */
	enum pages_kind kind = mm->uffd >= 0 ? PAGES_THERE : PAGES_OWN;

	f->looked_count = 0;
	f->looked_start = start;
	f->looked_end = end;
	if (!mm->base_count)
		return;
	while (moca_regions_next(&mm->regions, &start, end, &r)) {
		struct extent e;

		if (r.kind != REGION_FROZEN)
			continue;
		if (pages_open(&p, tid, kind, r.start, r.end))
			continue;
		while (pages_next(&p, &e) > 0 &&
		       !extents_add(&f->looked, &f->looked_count,
				    &f->looked_room, e.start, e.end))
			;
		pages_close(&p);
	}
}

/* --- freezing ----------------------------------------------------------------- */

static struct stub_call map_call(const struct region *r, int prot, int flags,
				 int fd)
{
	return (struct stub_call){
		.nr = SYS_mmap,
		.args = { r->start, r->end - r->start, prot,
			  flags | MAP_FIXED, fd, r->off },
	};
}

size_t freeze_advice(const struct region *r, struct stub_call *out)
{
	size_t n = 0;

	if (r->flags & REGION_DONTFORK)
		out[n++] = (struct stub_call){
			.nr = SYS_madvise,
			.args = { r->start, r->end - r->start, MADV_DONTFORK },
		};
	if (r->flags & REGION_DONTDUMP)
		out[n++] = (struct stub_call){
			.nr = SYS_madvise,
			.args = { r->start, r->end - r->start, MADV_DONTDUMP },
		};
	return n;
}

/* A call over it that was refused may have left the former mapping. */
static int is_still_there(const struct mm *mm, const struct region *r)
{
	uint64_t at = r->start;
	struct vma v;

	while (at < r->end && !maps_find(mm->space.pid, at, &v)) {
		free(v.name);
		if (v.ino != mm->memfd_ino || v.offset + (at - v.start) !=
						      r->off + (at - r->start))
			return 0;
		at = v.end;
	}
	return at >= r->end;
}

/*
 * Nothing is mapped there any more. What was only attached to is not ended: it may
 * never look at that memory. ret, or -ESRCH: it is ended.
 */
static int lost(const struct recorder *rec, struct mm *mm,
		const struct region *r, int ret)
{
	if (is_still_there(mm, r))
		return ret;
	moca_error("cannot map %lu KiB of the memory of process %d anew: %s; "
		   "%s. Less memory was free than it needs while it is recorded",
		   (r->end - r->start) >> 10, mm->space.pid, strerror(-ret),
		   rec->attach ? "this memory is lost: end the process, and "
				 "start it anew" :
				 "it is ended, since its memory is lost");
	if (rec->attach)
		return ret;
	kill(mm->space.pid, SIGKILL);
	return -ESRCH;
}

/* Put region r where it is mapped now, with what follows from its flags. */
static int map_region(struct mm *mm, struct tracee_calls *c,
		      const struct region *r, int prot, int flags)
{
	struct stub_call calls[3] = {
		map_call(r, prot, flags, mm->remote_fd)
	};
	size_t n = 1 + freeze_advice(r, calls + 1);
	int ret = tracee_run(c, mm->stub, calls, n);

	if (ret)
		return ret;
	return calls[0].ret == (long)r->start ? 0 :
	       calls[0].ret < 0 ? (int)calls[0].ret : -EEXIST;
}

/* Above all planes that anybody uses. */
static void next_plane(struct mm *mm)
{
	unsigned int top = mm->base && mm->base->users ? mm->plane : 0;

	for (size_t i = 0; i < mm->regions.count; i++) {
		const struct region *r = &mm->regions.items[i];

		if (r->kind == REGION_MEMFD || r->base == mm->base)
			if (r->off >> 47 > top)
				top = r->off >> 47;
	}
	mm->plane = top + 1;
	mm->moved = 0;
}

static void froze(struct recorder *rec, struct mm *mm,
		  const struct freeze_range *f)
{
	struct region r = f->region;

	mm->freeze.bytes += mm_settle(rec, mm, &r) * PAGE_SIZE;
	r.kind = REGION_FROZEN;
	r.base = mm->base;
	if (moca_regions_add(&mm->regions, &r))
		moca_warn("out of memory for the table of mappings");
	mm_register(mm, r.start, r.end);
}

int freeze_ranges(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		  const struct freeze_range *ranges, size_t n, char *done)
{
	struct stub_call *calls = calloc(n + 1, 3 * sizeof(*calls));
	size_t count = 0;
	int ret;

	memset(done, 0, n);
	/* Without it, nothing is frozen. */
	if (!calls || !base_of(mm) || base_use(mm, mm->base)) {
		free(calls);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		calls[count++] = map_call(&ranges[i].region, ranges[i].prot,
					  MAP_PRIVATE | MAP_NORESERVE,
					  mm->remote_fd);
		count += freeze_advice(&ranges[i].region, calls + count);
	}
	ret = tracee_run(c, mm->stub, calls, count);
	for (size_t i = 0, at = 0; i < n && !ret; i++) {
		const struct region *r = &ranges[i].region;
		struct stub_call none[2];
		long got = calls[at++].ret;

		at += freeze_advice(r, none);
		done[i] = got == (long)r->start;
		if (done[i]) {
			froze(rec, mm, &ranges[i]);
		} else {
			ret = map_region(mm, c, r, ranges[i].prot, MAP_SHARED);
			if (ret && ret != -ESRCH)
				ret = lost(rec, mm, r, ret);
		}
	}
	next_plane(mm);
	base_tidy(mm);
	free(calls);
	return ret;
}

void freeze_protect(struct mm *mm)
{
	uint64_t pos = 0;
	struct region r;

	if (!mm->wp_async || !mm->base_count || !pages_quick())
		return;
	while (moca_regions_next(&mm->regions, &pos, USER_END, &r))
		if (r.kind == REGION_FROZEN &&
		    pages_protect(mm->space.pid, r.start, r.end))
			return;
}
