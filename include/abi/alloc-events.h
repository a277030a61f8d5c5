/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libmoca-alloc says of a process' memory: events of facility moca_alloc,
 * by way of libmocatrace. doc/design/objects.md has the whole picture.
 *
 * Time stamps are such that the lives of objects at one address never overlap:
 * an alloc is stamped after the allocator has returned, a free before it is
 * called. Addresses and sizes are as the program sees them, in bytes.
 */
#ifndef MOCA_ABI_ALLOC_EVENTS_H
#define MOCA_ABI_ALLOC_EVENTS_H

#include <moca/trace.h>

#include "include/abi/alloc-role.h"

#define MOCA_ALLOC_FACILITY "moca_alloc"
#define MOCA_ALLOC_FRAMES 16	/* of a stack, at most */

enum moca_free_kind {
	MOCA_FREE_FREE = 0,
	/*
	 * realloc begins: the object lives until the next alloc event of the
	 * same thread, which is what became of it (itself, if it failed).
	 */
	MOCA_FREE_REALLOC = 1,
};

/*
 * A call stack: return addresses, innermost first, the first one in who called
 * the allocator. Before the first event that has its id. Ids count from 1 in
 * each process image (0 = unknown); a fork's child goes on with its parent's.
 */
MOCA_EVENT(moca_alloc, stack, (u32, id), (sequence, frames, x64));

/*
 * An object of min-size or more begins, or ends; or a smaller one that realloc
 * made of such a one, whose end is not told.
 */
MOCA_EVENT(moca_alloc, alloc, (x64, addr), (u64, size), (u32, stack),
	   (u8, kind));
/* Also said of addresses that were never told: readers ignore these. */
MOCA_EVENT(moca_alloc, free, (x64, addr), (u8, kind));
/*
 * A range that the program unmapped, in whole pages: also what MAP_FIXED is
 * about to replace, and what mremap begins to move or resize, after which an
 * alloc event says what became of it.
 */
MOCA_EVENT(moca_alloc, unmap, (x64, addr), (u64, size));

/*
 * In bulk: from now on small objects in [addr, addr + size) are of this site,
 * until another event says otherwise. Their frees are not told, nor objects on
 * memory that is their site's already.
 */
MOCA_EVENT(moca_alloc, small, (x64, addr), (u32, size), (u32, stack));
/* Small objects of a site since its last tally, in this process. */
MOCA_EVENT(moca_alloc, tally, (u32, stack), (u64, count), (u64, bytes));
/* Small objects of which nothing is known but this, since the last one. */
MOCA_EVENT(moca_alloc, skipped, (u64, count), (u64, bytes));

/*
 * Of the objects below min, one in 2^level is sampled from now on in this
 * process, and the others are only counted, as `sized`; 0: none, all is as it
 * was at first. What is known of the places of objects in bulk, and of objects
 * below min that `alloc` told, is void. Said again to later traces, and by
 * children.
 */
MOCA_EVENT(moca_alloc, thinned, (u8, level), (u64, min));
/*
 * One object that was sampled, for 2^level of them: its site is of `stack`.
 * addr 0: it is not known where; else `free` tells its end.
 */
MOCA_EVENT(moca_alloc, sample, (x64, addr), (u64, size), (u32, stack),
	   (u8, level), (u8, kind));
/*
 * Objects of less than 2^class bytes, and not less than half of that, that were
 * made while thinned and not told by `alloc`, sampled ones as well, since the
 * last one. class 31: all larger ones.
 */
MOCA_EVENT(moca_alloc, sized, (u8, class), (u64, count), (u64, bytes));
/* Objects that were freed since the last one, however told. */
MOCA_EVENT(moca_alloc, freed, (u64, count), (u64, bytes));

/*
 * Once per thread, with its first event, and once more in each trace that
 * begins later: thread pointer (fs base), stack. low is how far a main thread's
 * stack may grow.
 */
MOCA_EVENT(moca_alloc, thread, (x64, pointer), (x64, stack_low),
	   (x64, stack_high));
/*
 * And its thread-local storage: the block of the module whose first byte is
 * mapped at base. Of modules loaded at the program's start.
 */
MOCA_EVENT(moca_alloc, tls, (x64, addr), (u64, size), (x64, base));

/*
 * A function whose code was to be changed so that its calls are seen (fn=,
 * free=, an executable's own malloc): done if error is "", else why not; addr 0:
 * no function.
 */
MOCA_EVENT(moca_alloc, detour, (string, name), (x64, addr), (string, error));

#endif
