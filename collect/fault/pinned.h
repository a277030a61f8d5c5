/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that the kernel has pinned for a program, for long: io_uring's
 * registered buffers, and rings in the program's own memory. The kernel goes on
 * with the pages that were there when it was told of them, so they must stay
 * the ones that are mapped: such memory is made the program's own before it is
 * pinned, and is not moved where it is pinned already. Supervisor thread.
 */
#ifndef MOCA_FAULT_PINNED_H
#define MOCA_FAULT_PINNED_H

#include "collect/fault/mapcall-ctx.h"

/* Pinned memory of a process that is attached to. */
struct pinned {
	struct extent *items;
	size_t count, room;
	int elsewhere;		/* there is more, which nobody tells where */
};

/* What is pinned in process pid, whose tasks stand still. 0 or -errno. */
int pinned_find(pid_t pid, struct pinned *p);
void pinned_free(struct pinned *p);
/* May any of [start, end) be pinned? */
int pinned_holds(const struct pinned *p, uint64_t start, uint64_t end);

/* x is a call of io_uring_register or io_uring_setup. 0 or -errno. */
int pinned_call(struct ctx *x);
/* Does it give the kernel memory of the program's? */
int pinned_concerns(const struct ctx *x);

/*
 * x is a call after which the kernel reads or writes pages of the program's, mapped
 * or not: vmsplice, io_setup, setsockopt of SOL_XDP, sending with MSG_ZEROCOPY (the
 * socket may have been made ready for that before the exec, or by another process).
 */
int pinned_later(struct ctx *x);

#endif
