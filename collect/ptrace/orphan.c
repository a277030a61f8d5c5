// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/orphan.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/quiesce.h"
#include "collect/ptrace/stub.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracer-call.h"
#include "collect/ptrace/wait.h"
#include "collect/ptrace/way.h"
#include "collect/run/waiting.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"

/* A new task stops before it runs; what has run for so long is none. */
#define RUN_NS 50000000
/* What its first page comes from may not answer: a server, a broken disk. */
#define DISK_NS 10000000000ull

/*
 * It may wait long for a CPU on a busy machine; what is stopped has been waited
 * for. CPU time is told by any kernel, unlike schedstat.
 */
static int is_to_stop(pid_t pid, uint64_t since_ns)
{
	char state = quiesce_state(pid);

	return state == 'R' ? moca_process_cpu_ns(pid) < RUN_NS :
	       state == 'D' && moca_now_ns() - since_ns < DISK_NS;
}

/* Its first stop, or its end: as waitpid. */
static int wait_first(pid_t pid, int *status)
{
	uint64_t since_ns = moca_now_ns();
	int got, goes_on;

	waiting_begin(WAITING_STILL, pid);
	do {
		goes_on = is_to_stop(pid, since_ns);
		got = wait_poll(pid, status);
		/* Signals that wake us up end the nap alone. */
		if (!got && goes_on)
			usleep(1000);
	} while (!got && goes_on);
	waiting_end(WAITING_STILL);
	return got;
}

void orphans_of(const struct task *t)
{
	pid_t self = gettid();
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);
		int status;

		/* All forked before t ended, so they are there by now. */
		if (pid <= 0 || tasks_find(pid) ||
		    (pid_t)moca_proc_number(pid, "TracerPid:") != self)
			continue;
		if (wait_first(pid, &status) > 0 && WIFSTOPPED(status) &&
		    tasks_add(pid))
			tasks_find(pid)->stop = TASK_STOPPED;
	}
	if (d)
		closedir(d);
}

/*
 * The zapper, or the task that makes it, whose maker was killed before
 * tracee_clone heard of it. The program forks from code of its own.
 */
static int is_helper(pid_t tid)
{
	struct tracee_regs r;

	return !regs_get(NULL, tid, &r) &&
	       r.reg_ip - STUB_BASE < STUB_CODE_SIZE;
}

static void end_helper(struct task *u)
{
	moca_debug("task %d: a zapper that nobody heard of is ended", u->tid);
	kill(u->tid, SIGKILL);
	waitpid(u->tid, NULL, __WALL);
	tasks_remove(u);
}

struct task *orphan_next(const struct recorder *rec, const struct task *t)
{
	const struct trace_way *way = rec->way->traced;
	pid_t parent;
	int copy;
	struct task *u, *next;

	for (u = tasks_next(NULL); u; u = next) {
		next = tasks_next(u);
		if (u->own || u->announced || u->stop != TASK_STOPPED)
			continue;
		copy = way->is_copy ? way->is_copy(t->space, u->tid) : -1;
		if (copy < 0) {
			parent = (pid_t)moca_proc_number(u->tid, "PPid:");
			/* Who has executed a program announces none of before. */
			copy = !tasks_find(parent) ||
			       (t->at_exec && parent == t->pid);
		} else if (copy && is_helper(u->tid)) {
			end_helper(u);
			continue;
		}
		if (copy)
			return u;
	}
	return NULL;
}
