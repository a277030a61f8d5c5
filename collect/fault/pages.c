// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collect/fault/memory.h"
#include "collect/fault/scan.h"
#include "lib/base/vec.h"

#define IS_WRITTEN (1ull << 1)
#define IS_FILE (1ull << 2)
#define IS_PRESENT (1ull << 3)
#define IS_SWAPPED (1ull << 4)

#define ENTRIES 512

int extents_add(struct extent **items, size_t *count, size_t *room,
		uint64_t start, uint64_t end)
{
	if (moca_vec_fit(*items, *room, *count + 1))
		return -ENOMEM;
	(*items)[(*count)++] = (struct extent){ start, end };
	return 0;
}

int extents_cut(struct extent **items, size_t *count, size_t *room,
		uint64_t start, uint64_t end, struct extent *part)
{
	for (size_t i = 0; i < *count; i++) {
		struct extent e = (*items)[i];

		if (e.end <= start || end <= e.start)
			continue;
		part->start = e.start > start ? e.start : start;
		part->end = e.end < end ? e.end : end;
		if (e.start < part->start && part->end < e.end &&
		    extents_add(items, count, room, part->end, e.end))
			return -ENOMEM;
		if (e.start < part->start)
			(*items)[i].end = part->start;
		else if (part->end < e.end)
			(*items)[i].start = part->end;
		else
			(*items)[i] = (*items)[--*count];
		return 1;
	}
	return 0;
}

static int open_pagemap(pid_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pages_quick(void)
{
	static int known = -1;
	struct scan_arg a = { .size = sizeof(a) };
	int fd;

	if (known >= 0)
		return known;
	fd = open_pagemap(getpid());
	known = fd >= 0 && !ioctl(fd, SCAN, &a);
	if (fd >= 0)
		close(fd);
	return known;
}

int pages_open(struct pages *p, pid_t tid, enum pages_kind kind,
	       uint64_t start, uint64_t end)
{
	p->fd = open_pagemap(tid);
	p->kind = kind;
	p->scan = pages_quick();
	p->pos = start;
	p->end = end;
	p->count = p->next = 0;
	return p->fd < 0 ? p->fd : 0;
}

void pages_close(struct pages *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* 0, and some are found or the end is reached; or -errno. */
static int scan(struct pages *p)
{
	const unsigned int room = sizeof(p->found) / sizeof(*p->found);
	struct scan_region r[sizeof(p->found) / sizeof(*p->found)];
	struct scan_arg a = {
		.size = sizeof(a), .start = p->pos, .end = p->end,
		.vec = (uintptr_t)r, .vec_len = room,
		.category_anyof_mask = IS_PRESENT | IS_SWAPPED,
		.return_mask = IS_FILE,
	};
	int n;

	if (p->kind == PAGES_OWN)
		a.category_inverted = a.category_mask = IS_FILE;
	n = ioctl(p->fd, SCAN, &a);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++)
		p->found[i] = (struct extent){ r[i].start, r[i].end };
	p->count = n;
	p->pos = a.walk_end > p->pos ? a.walk_end : p->end;
	return 0;
}

static int wanted(const struct pages *p, uint64_t entry)
{
	int swapped = entry >> 62 & 1, present = entry >> 63;

	/* Bit 61: of a file or shared. A swapped page of those says it, too. */
	return (present || swapped) &&
	       (p->kind == PAGES_THERE || !(entry >> 61 & 1));
}

static int read_entries(struct pages *p)
{
	uint64_t entries[ENTRIES], n = (p->end - p->pos) / PAGE_SIZE;

	if (n > ENTRIES)
		n = ENTRIES;
	if (n > sizeof(p->found) / sizeof(*p->found))
		n = sizeof(p->found) / sizeof(*p->found);
	if (pread(p->fd, entries, n * 8, p->pos / PAGE_SIZE * 8) !=
	    (ssize_t)(n * 8))
		return -EIO;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = p->pos + i * PAGE_SIZE;

		if (!wanted(p, entries[i]))
			continue;
		if (p->count && p->found[p->count - 1].end == at)
			p->found[p->count - 1].end += PAGE_SIZE;
		else
			p->found[p->count++] =
				(struct extent){ at, at + PAGE_SIZE };
	}
	p->pos += n * PAGE_SIZE;
	return 0;
}

int pages_next(struct pages *p, struct extent *out)
{
	while (p->next == p->count) {
		int err;

		p->next = p->count = 0;
		if (p->pos >= p->end)
			return 0;
		err = p->scan ? scan(p) : read_entries(p);
		if (err)
			return err;
	}
	*out = p->found[p->next++];
	return 1;
}

int pages_protect(pid_t tid, uint64_t start, uint64_t end)
{
	struct scan_region r[512];
	struct scan_arg a = {
		.size = sizeof(a), .flags = SCAN_PROTECT, .end = end,
		.vec = (uintptr_t)r, .vec_len = 512,
		.category_inverted = IS_FILE,
		.category_mask = IS_FILE | IS_WRITTEN,
		.category_anyof_mask = IS_PRESENT | IS_SWAPPED,
		.return_mask = IS_FILE,
	};
	int fd = open_pagemap(tid), err = 0;

	if (fd < 0)
		return fd;
	while (start < end && !err) {
		a.start = start;
		if (ioctl(fd, SCAN, &a) < 0)
			err = -errno;
		else if (a.walk_end <= start)
			break;
		start = a.walk_end;
	}
	close(fd);
	return err;
}
