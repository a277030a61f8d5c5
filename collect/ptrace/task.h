/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A traced task. Supervisor thread only. */
#ifndef MOCA_PTRACE_TASK_H
#define MOCA_PTRACE_TASK_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/ptrace/regs.h"
#include "collect/ptrace/space.h"
#include "collect/run/recorder.h"

enum task_stop {
	TASK_RUNNING,
	TASK_STOPPED,
};

/* A call that was interrupted and is begun again: restart.h. */
struct restart {
	uint64_t ip, sp;	/* where; ip 0: there is none */
	long nr;
	long by;		/* what it is begun by: nr, or restart_syscall */
	long error;		/* what it returned, as the kernel has it */
	uint64_t entry_ns;	/* when it was entered first; 0: not known */
	uint64_t again_ns;	/* and last */
	int heard;		/* it was stopped, or had a signal, since it
				   returned last */
	unsigned int vain;	/* so often in a row it was not */
	uint64_t end_ns;	/* when its time is over, or it looks once more;
				   0: it has none */
	int last;		/* its time is over when that ends, too */
	long over;		/* what it returns then */
};

struct task {
	struct task *hash_next;
	pid_t tid, pid;
	uint32_t id;		/* in the trace; MOCA_NO_TASK until announced */
	struct space *space;	/* NULL until announced */
	pid_t inner_tid;	/* what it takes for its number itself, in a
				   pid namespace of its own; else 0 */
	enum task_stop stop;
	int status;		/* of wait, to be handled yet: task_status; 0: none */
	int announced;		/* the parent's event was seen */
	int gone;		/* ended before it was announced */
	int own;		/* a zapper: ours, not the program's */
	int filtered;		/* our seccomp filter stops its calls */
	pid_t held_by;		/* stands still for that task: debugger.h,
				   takeover.h */
	uint64_t exec_ns;	/* began one that may take over: takeover.h */
	int clone_changed;	/* in a clone whose flags we changed: child-tid.h */
	uint64_t clone_tid;	/* of it: where we write the child's number; or 0 */
	uint64_t clone_sp;	/* and its stack */
	uint64_t child_tid;	/* where its number goes; 0: nowhere */
	int shares_files;	/* descriptors are its parent's, too */
	int in_vfork;		/* waits in the kernel for its vfork child */
	int is_first;		/* of a PID namespace: 1, or -1; 0: not asked yet */
	int let_go;		/* it shall run without us from here on */
	int plain;		/* it does: our child, no tracee */
	int at_exec;		/* next stop is the end of execve */
	int listens;		/* its process is stopped, as by ^Z */
	/*
	 * It shall report (PTRACE_EVENT_STOP) whether its process is stopped
	 * as by ^Z: it ran calls for us meanwhile, or much time passed.
	 */
	int retrap;
	unsigned int cost_window;	/* cost.h: what of cost_ns is */
	uint64_t cost_ns;
	uint64_t cost_resumed_ns;	/* it went on after a system call's stop */
	uint64_t cost_run_ns;	/* its CPU time at that stop; 0: not taken */
	struct restart restart;
	uint64_t segv_page;	/* of the last access that SIGSEGV answered, + 1 */
	uint64_t x7;		/* regs-arm64.c */
};

/* A status of wait for struct task: an exit with code 0 is none of nothing. */
#define TASK_STATUS_SET (1 << 30)
static inline int task_status(int wait_status)
{
	return wait_status | (wait_status ? 0 : TASK_STATUS_SET);
}

#endif
