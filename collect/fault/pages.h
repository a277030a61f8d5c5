/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page tables of a process say of its pages: by PAGEMAP_SCAN, or on
 * kernels before 6.7 by reading /proc/PID/pagemap.
 */
#ifndef MOCA_FAULT_PAGES_H
#define MOCA_FAULT_PAGES_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/run/queue.h"

/* Without PAGEMAP_SCAN a look takes 8 bytes per page, whether it is there. */
#define PAGES_SLOW_MAX (16ull << 30)

enum pages_kind {
	PAGES_THERE,	/* an entry of its own, or swapped out */
	PAGES_OWN,	/* the same, and no page of a file or of shared memory */
};

struct pages {
	int fd;
	enum pages_kind kind;
	int scan;			/* the kernel has PAGEMAP_SCAN */
	uint64_t pos, end;		/* not looked at yet */
	struct extent found[256];
	unsigned int count, next;
};

/* Add an extent to a list that is freed by free(). 0 or -ENOMEM. */
int extents_add(struct extent **items, size_t *count, size_t *room,
		uint64_t start, uint64_t end);

/*
 * Take [start, end) out of a list of disjoint ranges. 1 and *part: one more part of it
 * was there; 0: there is none; -ENOMEM: the list is as before.
 */
int extents_cut(struct extent **items, size_t *count, size_t *room,
		uint64_t start, uint64_t end, struct extent *part);

/* 1 when the kernel has PAGEMAP_SCAN. */
int pages_quick(void);

/* Look at [start, end) of the process of task tid. 0 or -errno. */
int pages_open(struct pages *p, pid_t tid, enum pages_kind kind,
	       uint64_t start, uint64_t end);
/* The next run of such pages: 1 and *out, 0: there is none, -errno. */
int pages_next(struct pages *p, struct extent *out);
void pages_close(struct pages *p);

/*
 * Write-protect the process's own pages in [start, end), which are registered
 * with a userfaultfd of the asynchronous kind: their next write faults. Others
 * stay as they are. 0 or -errno; may be called while the process runs.
 */
int pages_protect(pid_t tid, uint64_t start, uint64_t end);

#endif
