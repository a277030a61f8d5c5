// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/pinned.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/fault/mm.h"
#include "collect/fault/pages.h"
#include "collect/ptrace/quiesce.h"
#include "lib/base/proc.h"

/* Of linux/io_uring.h, which may be older than the kernel that runs. */
#define REGISTER_BUFFERS 0
#define REGISTER_BUFFERS2 15
#define REGISTER_BUFFERS_UPDATE 16
#define REGISTER_PBUF_RING 22
#define REGISTER_BY_INDEX (1u << 31)
#define PBUF_RING_MMAP 1
#define SETUP_CQSIZE (1u << 3)
#define SETUP_NO_MMAP (1u << 14)
#define BUFFERS_MAX (1u << 14)
#define ENTRIES_MAX (1u << 15)
/* The kernel counts a huge page as a whole, once. */
#define HUGE_SIZE (2ull << 20)

#define WHY "the kernel has pinned it (io_uring's buffers): it stays where it is, "

/* --- what is pinned already ----------------------------------------------------- */

/* Lines "    0: 0x7f0012340000/65536" below "UserBufs:". */
static int read_buffers(pid_t pid, const char *fd, struct pinned *p)
{
	char path[300], line[200];
	int inside = 0, err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		unsigned long long at;
		unsigned int i, len;

		if (!strncmp(line, "UserBufs:", 9))
			inside = 1;
		else if (line[0] != ' ')
			inside = 0;
		if (inside && sscanf(line, " %u: %llx/%u", &i, &at, &len) == 3 &&
		    at < USER_END)
			err = extents_add(&p->items, &p->count, &p->room,
					  at & PAGE_MASK, PAGE_UP(at + len));
	}
	fclose(f);
	return err;
}

/* Bytes that the kernel may count for what is known, at most. */
static uint64_t explained(const struct pinned *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->count; i++) {
		uint64_t start = p->items[i].start & ~(HUGE_SIZE - 1);

		sum += (p->items[i].end - start + HUGE_SIZE - 1) &
		       ~(HUGE_SIZE - 1);
	}
	return sum;
}

int pinned_find(pid_t pid, struct pinned *p)
{
	uint64_t all = moca_proc_number(pid, "VmPin:") << 10;
	struct dirent *e;
	char path[64];
	int err = 0;
	DIR *d;

	memset(p, 0, sizeof(*p));
	if (!all)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	d = opendir(path);
	if (!d)
		return -errno;
	while (!err && (e = readdir(d)))
		if (e->d_name[0] != '.')
			err = read_buffers(pid, e->d_name, p);
	closedir(d);
	/* Of other devices, or of a ring without a descriptor. */
	p->elsewhere = all > explained(p);
	return err;
}

void pinned_free(struct pinned *p)
{
	free(p->items);
	memset(p, 0, sizeof(*p));
}

int pinned_holds(const struct pinned *p, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].start < end && start < p->items[i].end)
			return 1;
	return p->elsewhere;
}

/* --- what is about to be pinned --------------------------------------------------- */

static int is_moved(const struct region *r)
{
	return r->kind == REGION_MEMFD || r->kind == REGION_FROZEN;
}

/*
 * All moved memory around what of [*start, *end) is moved, without a hole: mremap
 * would refuse a range of which only a part is the program's own. 0: none is.
 */
static int widen(const struct region_map *m, uint64_t *start, uint64_t *end)
{
	const struct region *r;
	int any = 0;

	for (size_t i = moca_regions_after(m, *start);
	     i < m->count && m->items[i].start < *end; i++)
		any |= is_moved(&m->items[i]);
	if (!any)
		return 0;
	for (size_t i = 0; i < m->count; i++) {
		r = &m->items[i];
		if (is_moved(r) && r->start <= *end && r->end > *end)
			*end = r->end;
	}
	for (size_t i = m->count; i; i--) {
		r = &m->items[i - 1];
		if (is_moved(r) && r->end >= *start && r->start < *start)
			*start = r->start;
	}
	return 1;
}

static int release(struct ctx *x, uint64_t start, uint64_t len)
{
	uint64_t end = start + len;

	if (!len || end < start || start >= USER_END)
		return 0;	/* the kernel refuses it */
	end = end > USER_END ? USER_END : PAGE_UP(end);
	start &= PAGE_MASK;
	if (!widen(&x->mm->regions, &start, &end))
		return 0;
	if (!x->quiesced)
		quiesce(&x->mm->space, x->task);
	x->quiesced = 1;
	return mm_unmove_range(x->rec, x->mm, &x->c, start, end, x->mm->wp_async ?
			       WHY "and repeated reads are not seen" :
			       WHY "and repeated accesses are not seen");
}

static int get(const struct ctx *x, uint64_t addr, void *buf, size_t len)
{
	return tracee_read(x->task->tid, addr, buf, len) == (ssize_t)len;
}

/* n buffers, described at addr. */
static int release_buffers(struct ctx *x, uint64_t addr, uint64_t n)
{
	struct iovec v;
	int err = 0;

	for (uint64_t i = 0; i < n && i < BUFFERS_MAX && !err; i++) {
		if (!get(x, addr + i * sizeof(v), &v, sizeof(v)))
			return 0;
		err = release(x, (uintptr_t)v.iov_base, v.iov_len);
	}
	return err;
}

static int release_registered(struct ctx *x)
{
	struct {
		uint32_t n, flags;
		uint64_t reserved, data, tags;
	} add;
	struct {
		uint32_t offset, reserved;
		uint64_t data, tags;
		uint32_t n, reserved2;
	} change;
	struct {
		uint64_t addr;
		uint32_t entries;
		uint16_t group, flags;
	} ring;

	switch ((uint32_t)x->a[1] & ~REGISTER_BY_INDEX) {
	case REGISTER_BUFFERS:
		return release_buffers(x, x->a[2], (uint32_t)x->a[3]);
	case REGISTER_BUFFERS2:
		return get(x, x->a[2], &add, sizeof(add)) ?
			       release_buffers(x, add.data, add.n) : 0;
	case REGISTER_BUFFERS_UPDATE:
		return get(x, x->a[2], &change, sizeof(change)) ?
			       release_buffers(x, change.data, change.n) : 0;
	case REGISTER_PBUF_RING:
		if (!get(x, x->a[2], &ring, sizeof(ring)) ||
		    ring.flags & PBUF_RING_MMAP || ring.entries > ENTRIES_MAX)
			return 0;
		return release(x, ring.addr, ring.entries * 16ull);
	}
	return 0;
}

static uint64_t power_of_two(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* Rings that the program has mapped itself: as large as they can be. */
static int release_rings(struct ctx *x)
{
	uint32_t params[30];	/* struct io_uring_params */
	uint64_t rings, entries = (uint32_t)x->a[0], done;
	int err;

	if (!get(x, x->a[1], params, sizeof(params)) ||
	    !(params[2] & SETUP_NO_MMAP))
		return 0;
	if (entries > ENTRIES_MAX)
		entries = ENTRIES_MAX;
	entries = power_of_two(entries);
	done = 2 * entries;
	if (params[2] & SETUP_CQSIZE && params[1] <= 2 * ENTRIES_MAX)
		done = power_of_two(params[1]);
	/* user_addr of sq_off and cq_off. */
	memcpy(&rings, params + 18, sizeof(rings));
	err = release(x, rings, entries * 128);
	memcpy(&rings, params + 28, sizeof(rings));
	return err ? err : release(x, rings, 4096 + done * 32 + entries * 4);
}

int pinned_concerns(const struct ctx *x)
{
	switch ((uint32_t)x->a[1] & ~REGISTER_BY_INDEX) {
	case REGISTER_BUFFERS:
	case REGISTER_BUFFERS2:
	case REGISTER_BUFFERS_UPDATE:
	case REGISTER_PBUF_RING:
		return 1;
	default:
		return x->nr == SYS_io_uring_setup;
	}
}

int pinned_call(struct ctx *x)
{
	int err = x->nr == SYS_io_uring_setup ? release_rings(x) :
						release_registered(x);

	x->mm->busy = 1;
	if (err == -ESRCH)
		return err;
	if (err) {
		/* Pinned on the memfd, it could never be the program's again. */
		x->ret = -ENOMEM;
		return 0;
	}
	return run_own(x);
}

int pinned_later(struct ctx *x)
{
	x->mm->busy = 1;
	return run_own(x);
}
