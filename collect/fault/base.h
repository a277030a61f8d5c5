/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A memfd that several address spaces map privately since a fork: nobody
 * writes to it while more than one uses it. Supervisor thread only.
 */
#ifndef MOCA_FAULT_BASE_H
#define MOCA_FAULT_BASE_H

#include "collect/fault/memory.h"

struct base {
	int refs;
	int users;		/* address spaces with regions of it */
	int fd;
	uint64_t dev, ino;
};

/* That of mm's own memfd, made when it is not there. NULL, errno set. */
struct base *base_of(struct mm *mm);
/* mm has regions of b: it is a user, once. 0 or -ENOMEM. */
int base_use(struct mm *mm, struct base *b);
/* mm forgets those that none of its regions is of. */
void base_tidy(struct mm *mm);
/* mm ends. */
void base_leave_all(struct mm *mm);

#endif
