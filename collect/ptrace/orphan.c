// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/orphan.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/stub.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracer-call.h"
#include "collect/ptrace/wait.h"
#include "collect/ptrace/way.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"

/* A new task stops before it runs; what does not is none. */
#define WAIT_MS 1000

void orphans_of(const struct task *t)
{
	pid_t self = gettid();
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);
		int status, got = 0;

		/* All forked before t ended, so they are there by now. */
		if (pid <= 0 || tasks_find(pid) ||
		    (pid_t)moca_proc_number(pid, "TracerPid:") != self)
			continue;
		for (int i = 0; i < WAIT_MS && !got; i++) {
			got = wait_poll(pid, &status);
			if (!got)
				usleep(1000);
		}
		if (got > 0 && WIFSTOPPED(status) && tasks_add(pid))
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
	struct user_regs_struct r;

	return !tracer_call(PTRACE_GETREGS, tid, NULL, &r) &&
	       r.rip - STUB_BASE < STUB_CODE_SIZE;
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
