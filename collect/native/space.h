/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space whose memory stays where it is. The supervisor makes it at an
 * exec or a fork, while its task stands still, and hands it to the collector by
 * the message that tells of the task. From then on the collector sweeps it; the
 * supervisor takes the lock where the program is about to do what a registration
 * would change.
 */
#ifndef MOCA_NATIVE_SPACE_H
#define MOCA_NATIVE_SPACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/ptrace/maps.h"
#include "collect/ptrace/space.h"
#include <moca/types.h>

struct pageset;

enum native_state {
	NATIVE_APART,		/* the kernel's, Moca's, or without rights */
	NATIVE_PROTECTED,	/* each page faults once in each interval */
	NATIVE_REFUSED,		/* the kernel does not protect such memory */
	NATIVE_TAKEN,		/* the program's own userfaultfd has it */
	NATIVE_UNKNOWN,		/* there was no mapping at the last look */
};

/* Mappings, and what became of each. */
struct native_maps {
	struct vma_list list;
	uint8_t *states;	/* enum native_state, of each */
};

struct native_space {
	struct space space;	/* must come first */
	pthread_mutex_t lock;	/* of uffd, and of what is done by it */
	int uffd;		/* -1: nothing is protected */
	int pagemap, maps;	/* files of /proc, of this memory for good */
	atomic_int ready;	/* the supervisor is done; the collector has it */
	const char *left;	/* why it is left alone, as are its forks; NULL:
				   it is not. Supervisor. */

	struct native_maps last;	/* of the last look, which the supervisor took;
					   under the lock until the collector has it */

	/*
	 * The collector's, from the message that tells of it on: but now and told,
	 * which are the supervisor's until it is ready.
	 */
	struct native_maps now;	/* as of the last look. It changes under the lock */
	int told;		/* the trace has these */
	struct pageset *pages;
	uint64_t looked_ns;
	uint32_t leader;	/* its first task's number in the trace */
	pid_t pid;
	unsigned int gaps;	/* told of single mappings */
	int unseen_told;
	int gone;
};

static inline struct native_space *native_space_of(struct space *s)
{
	return (struct native_space *)s;
}

void native_space_begin(struct space *s);
void native_space_free(struct space *s);

/*
 * Read the mappings again, register what is new, and protect all that can be. *out
 * is what there is now. witness, unless NULL, gets the runs of pages that were
 * touched since they were protected last, right before they are again; before: the
 * mappings as of then. 0; -ESRCH: the memory is gone, *out is empty. Lock held.
 */
int native_space_protect(struct native_space *s, pid_t pid,
			 const struct native_maps *before,
			 void (*witness)(void *arg, uint64_t start, uint64_t end),
			 void *arg, struct native_maps *out);
void native_maps_free(struct native_maps *m);
/* What became of the mapping at addr. */
enum native_state native_maps_state(const struct native_maps *m, uint64_t addr);
/*
 * The same of s->now. A task has samples while the supervisor still reads its
 * mappings, behind an exec: there is no mapping then. Collector thread.
 */
enum native_state native_space_state(const struct native_space *s, uint64_t addr);

/*
 * How now differs from before, in order of addresses: MOCA_CHANGE_MMAP of what is
 * new or another one, MOCA_CHANGE_MUNMAP of what is gone; time, task and pid are
 * left 0. ended: the pages there are no more those that were seen.
 */
typedef void (*native_tell)(void *arg, const struct moca_change *e, int ended);
void native_maps_differ(const struct native_maps *before,
			const struct native_maps *now, pid_t pid,
			native_tell tell, void *arg);

#endif
