/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording, of any way.
 *
 * Two threads: the tracing thread, which is the program's parent (struct
 * recorder's `supervisor`), and the collector's. They meet in the queue.
 */
#ifndef MOCA_RUN_RECORDER_H
#define MOCA_RUN_RECORDER_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "collect/machine/machine.h"
#include "collect/run/cost.h"
#include "collect/run/failure.h"
#include "collect/run/record.h"
#include "lib/base/arch.h"
#include "lib/base/clock.h"
#include <moca/types.h>

#define PAGE_UP(x) (((x) + PAGE_SIZE - 1) & PAGE_MASK)

/* Where addresses of programs end (4-level paging). */
#define USER_END (1ull << MOCA_USER_BITS)

struct jit;
struct own_faults;
struct queue;
struct record_way;
struct space;

struct recorder {
	const struct moca_record_options *opt;
	const struct record_way *way;
	int dirfd;
	char *dir;
	int made_dir;		/* it was not there before */
	int front;		/* socket to the front process */
	uint64_t ignored;	/* signals that the user ignores, by bit */
	sigset_t sigmask;	/* and those that were blocked */
	pid_t root;		/* the first process */
	int root_status;	/* as of wait(2), once root_done */
	int root_done;
	int ended_program;	/* the recorder has killed it */
	int reserve;		/* room for the end of the trace; -1: none */
	int attach;
	int fd_number;		/* of the memfd in traced programs */
	uint64_t session;	/* for programs' events; 0: none */
	struct moca_quota *quota;	/* --max-size; NULL: none */
	int privileged;		/* may install filters without no_new_privs */
	int sees_all;		/* may look into what is not dumpable */
	int filters;		/* of seccomp, that the program began with;
				   -1: not known yet */
	uint64_t start_ns;
	uint64_t start_unix_ns;
	struct machine_job machine;	/* describes it, in the trace */

	/* Of a program under ptrace; collect/ptrace/space.h. */
	pthread_mutex_t space_lock;
	struct space *spaces;
	int space_count;
	uint32_t task_count;
	atomic_uint rightless;	/* programs that ran without rights of their
				   files: collect/ptrace/rights.h */

	struct own_faults *own_faults;	/* the collector's; NULL: not told */
	struct queue *queue;
	struct jit *jit;
	pthread_t supervisor;

	atomic_int failed;	/* recording ended early: errno */
	atomic_int stop_recording;	/* the supervisor shall let go */
	atomic_int rank_ended;	/* recording ends once `root` has ended */
	uint64_t launch_ns;	/* our own exec, as good as */
	int launch_error;	/* -errno of the file `launch`; 0: it is there */
	struct costs costs;
	atomic_ulong began_ns;	/* the program's first instruction; 0: to come */
	atomic_ulong ended_ns;	/* its last task's end, once all ended */
	atomic_ulong ended_free_ns;	/* COST_FREE's time until then */
};


/* Does the user want the process, which runs the program at path, recorded? */
int record_wanted(const struct recorder *rec, pid_t pid, const char *path);
/* record.c: ask the supervisor to let the attached program go. */
void record_stop(struct recorder *rec);

#endif
