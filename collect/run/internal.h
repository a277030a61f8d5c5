/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the fault collector share.
 *
 * Two threads: the supervisor (wait loop, ptrace, address spaces: everything
 * in struct task and struct mm but what is said below) and the collector
 * (rings, zapping, chunks, files: struct collector). They meet in the message
 * queue and in struct mm under mm->lock.
 */
#ifndef MOCA_RUN_INTERNAL_H
#define MOCA_RUN_INTERNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include <moca/types.h>
#include "collect/run/cost.h"
#include "collect/run/failure.h"
#include "collect/run/record.h"
#include "collect/fault/region.h"
#include "collect/ptrace/stub.h"
#include "collect/machine/machine.h"

#define PAGE_UP(x) (((x) + PAGE_SIZE - 1) & PAGE_MASK)

/* User addresses that are moved to the memfd end here (4-level paging). */
#define USER_END (1ull << 47)
/* The memfd: planes of 2^47 bytes, then the stub. */
#define MEMFD_PLANES (1u << 15)
#define MEMFD_STUB (1ull << 62)

struct recorder;
struct record_way;
struct exact_arena;
struct base;
struct extent;

enum mm_state {
	MM_NATIVE,	/* not moved: real faults only */
	MM_MOVED,	/* private memory is on the memfd */
};

/* See freeze.h. */
struct freeze_state {
	uint64_t bytes;		/* that were frozen; 0: nothing is told */
	uint64_t since_ns;
	uint64_t wait_ns;	/* without a fork, before a thaw */
	uint64_t thawed_ns;	/* when it was complete last */
	uint64_t copied;	/* bytes that others may still use as well */
	atomic_ullong next_ns;	/* when a thaw may be asked for; 0: never */
	atomic_int wanted;	/* as want_zapper */
	struct extent *looked;	/* frozen pages that were touched in ... */
	uint64_t looked_start, looked_end;
	size_t looked_count, looked_room;
};

#define MM_OURS 4	/* two libraries, and some to spare */

struct mm {
	struct mm *next;	/* all of the recorder, under recorder.mm_lock */
	int refs;		/* tasks that have it */
	int shared;		/* there were several */
	int id;
	pid_t pid;		/* a process that has it, for /proc */
	enum mm_state state;
	int memfd;		/* -1 unless MM_MOVED */
	int remote_fd;		/* its number in the program */
	int uffd;		/* -1: none */
	int wp_async;		/* it lets writes go on by themselves */
	uint64_t memfd_dev, memfd_ino;
	struct stub_data *stub;
	uint64_t brk;		/* page aligned end of the heap, 0 = unknown */
	struct filecopy *copies;	/* what REGION_FILE_COPY is of */
	int keyed;		/* it has protection keys */
	int policies;		/* the program made some (mbind) */
	int populates;		/* mlockall(MCL_FUTURE) */
	unsigned int plane;	/* of the memfd, for new mappings: freeze.h */
	size_t moved;		/* regions for which mm_is_moved holds */
	struct base *base;	/* its own memfd, once it was frozen; or NULL */
	struct base **bases;	/* in use by its regions */
	size_t base_count;
	struct freeze_state freeze;

	/* Taken by the supervisor to change regions, by the collector to zap. */
	pthread_mutex_t lock;
	struct region_map regions;
	uint64_t stack_start, stack_end;
	struct {
		uint64_t start, end;
	} ours[MM_OURS];	/* ours.h; empty: start is end */
	struct exact_arena *arena;	/* of exact mode; NULL: none */
	uint64_t quiet;		/* where its agent can be silenced; 0: nowhere */
	pid_t zapper;		/* 0: none */
	int zapper_fd;		/* pidfd of it */
	atomic_int want_zapper;	/* the collector asks for one */
	atomic_int no_zapper;	/* there cannot be one: subreaper.h */
	uint64_t asked_ns;	/* when it did */
	uint64_t start_ns;
	int dead;		/* no task is left */

	int witnessed;		/* by witness.h, from its begin on */

	/* The collector's alone. */
	struct pageset *pages;
	struct places *places;	/* of pages that went; phys.h */
	struct certify_range *ranges;	/* that the witness told of */
	int looked_at;		/* it did, at least once */
	double refault;		/* share of zapped pages that fault again */
	uint64_t zapped;	/* pages let go by the last sweep */
	uint64_t repeated;	/* samples of known pages since then */
};

enum task_stop {
	TASK_RUNNING,
	TASK_STOPPED,
};

struct task {
	struct task *hash_next;
	pid_t tid, pid;
	uint32_t id;		/* in the trace; MOCA_NO_TASK until announced */
	struct mm *mm;		/* NULL until announced */
	pid_t inner_tid;	/* what it takes for its number itself, in a
				   pid namespace of its own; else 0 */
	enum task_stop stop;
	int status;		/* of wait, to be handled yet: task_status; 0: none */
	int announced;		/* the parent's event was seen */
	int gone;		/* ended before it was announced */
	int own;		/* a zapper: ours, not the program's */
	int filtered;		/* our seccomp filter stops its calls */
	pid_t held_by;		/* stands still for that task: debugger.h */
	int clone_changed;	/* in a clone whose flags we changed: child-tid.h */
	uint64_t child_tid;	/* where its number goes; 0: nowhere */
	int in_vfork;		/* waits in the kernel for its vfork child */
	int let_go;		/* it shall run without us from here on */
	int plain;		/* it does: our child, no tracee */
	int at_exec;		/* next stop is the end of execve */
	/*
	 * It shall report (PTRACE_EVENT_STOP) whether its process is stopped
	 * as by ^Z: it ran calls for us meanwhile, or much time passed.
	 */
	int retrap;
	unsigned int cost_window;	/* cost.h: what of cost_ns is */
	uint64_t cost_ns;
	uint64_t cost_resumed_ns;	/* it went on after a system call's stop */
	long attach_nr;		/* attach mode: system call under way, or -1 */
	struct user_regs_struct attach_regs;
};

struct recorder {
	const struct moca_record_options *opt;
	const struct record_way *way;
	int dirfd;
	char *dir;
	int front;		/* socket to the front process */
	uint64_t ignored;	/* signals that the user ignores, by bit */
	sigset_t sigmask;	/* and those that were blocked */
	pid_t root;		/* the first process */
	int root_status;	/* as of wait(2), once root_done */
	int root_done;
	int attach;
	int fd_number;		/* of the memfd in traced programs */
	uint64_t session;	/* for programs' events; 0: none */
	int privileged;		/* may install filters without no_new_privs */
	int filters;		/* of seccomp, that the program began with;
				   -1: not known yet */
	uint64_t start_ns;
	uint64_t start_unix_ns;
	struct machine_job machine;	/* describes it, in the trace */

	pthread_mutex_t mm_lock;
	struct mm *mms;
	int mm_count;
	uint32_t task_count;

	struct own_faults *own_faults;	/* the collector's; NULL: not told */
	struct queue *queue;
	struct collector *collector;
	pthread_t supervisor;

	atomic_int failed;	/* recording ended early: errno */
	atomic_int stop_recording;	/* the supervisor shall let go */
	uint64_t launch_ns;	/* our own exec, as good as */
	struct costs costs;
	atomic_ulong began_ns;	/* the program's first instruction; 0: to come */
	uint64_t ended_ns;	/* its last task's end, once all ended */
};

/* A status of wait for struct task: an exit with code 0 is none of nothing. */
#define TASK_STATUS_SET (1 << 30)
static inline int task_status(int wait_status)
{
	return wait_status | (wait_status ? 0 : TASK_STATUS_SET);
}

static inline uint64_t plane_offset(unsigned int plane, uint64_t addr)
{
	return ((uint64_t)plane << 47) | addr;
}

uint64_t moca_now_ns(void);	/* CLOCK_MONOTONIC */

/* Does the user want the process, which runs the program at path, recorded? */
int record_wanted(const struct recorder *rec, pid_t pid, const char *path);
/* record.c: ask the supervisor to let the attached program go. */
void record_stop(struct recorder *rec);

#endif
