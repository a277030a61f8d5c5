// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/attach.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "collect/ptrace/debugger.h"
#include "collect/ptrace/quiesce.h"
#include "collect/ptrace/restart.h"
#include "collect/ptrace/supervisor.h"
#include "collect/ptrace/takeover.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracer-call.h"
#include "collect/ptrace/way.h"
#include "collect/run/cgroup.h"
#include "lib/base/err.h"

#define SETTLE_NS 10000000000ull
#define SETTLE_MOST_NS 120000000000ull	/* where memory was moved */

/* A filter cannot be taken off again, so attached programs get none. */
int moca_attach_request(const struct recorder *rec)
{
	return rec->attach ? PTRACE_SYSCALL : PTRACE_CONT;
}

/* Seize threads until a pass over the directory finds no new one. */
static int seize_all(pid_t pid)
{
	int found, ret = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	do {
		DIR *d = opendir(path);
		struct dirent *e;

		if (!d)
			return -errno;
		found = 0;
		while (!ret && (e = readdir(d))) {
			pid_t tid = atoi(e->d_name);
			struct task *t;

			if (tid <= 0 || tasks_find(tid))
				continue;
			/* Left alive if we die: never killed for our sake. */
			if (tracer_call(PTRACE_SEIZE, tid, NULL,
					TRACE_OPTIONS & ~PTRACE_O_EXITKILL)) {
				if (errno != ESRCH)
					ret = -errno;
				continue;
			}
			found = 1;
			t = tasks_add(tid);
			t->pid = pid;
		}
		closedir(d);
	} while (found && !ret);
	return ret;
}

/* Stopped by our interrupt, not in the middle of a call or a signal. */
static int settled(const struct task *t)
{
	return t->stop == TASK_STOPPED && WIFSTOPPED(t->status) &&
	       t->status >> 16 == PTRACE_EVENT_STOP;
}

/* One step of t towards that. 0 when there is none. */
static int settle_task(struct recorder *rec, struct task *t)
{
	int status = t->status;

	if (t->own || !t->announced || t->in_vfork || settled(t))
		return 0;
	if (t->stop == TASK_RUNNING) {
		tracee_interrupt(t);
		return !quiesce_wait(t);
	}
	if (!status)
		return 0;
	/* A fork, a signal, a call: as ever, and stop again behind it. */
	t->status = 0;
	if (WIFSTOPPED(status))
		tracee_interrupt(t);
	supervisor_stop(rec, t, status);
	return 1;
}

/*
 * Make all tasks stand still where memory can be moved: a task that has
 * forked has a child already that shares what we are about to change, one at
 * the entry of a call would lose the call, and one with a signal the signal.
 * What cannot be stopped within SETTLE_NS stays as it is.
 */
static void settle(struct recorder *rec)
{
	uint64_t limit = moca_now_ns() + SETTLE_NS;
	int moved = 1;

	while (moved && moca_now_ns() < limit) {
		struct task *t = tasks_next(NULL);

		moved = 0;
		while (t) {
			unsigned int before = tasks_departures();

			moved |= settle_task(rec, t);
			/* What leaves its place may be t: begin again. */
			t = tasks_next(tasks_departures() == before ? t : NULL);
		}
	}
}

/* A recorder of many processes is quiet, and tells the first of them itself. */
static void tell_frozen(const struct recorder *rec, pid_t pid, const char *what)
{
	char *thaw = rec->opt->quiet ? NULL : cgroup_frozen(pid);

	if (thaw)
		moca_warn("process %d is frozen by its cgroup: %s only once it is thawed (podman unpause, docker unpause, or %s)",
			  pid, what, thaw);
	free(thaw);
}

static int is_frozen(pid_t pid)
{
	char *thaw = cgroup_frozen(pid);

	free(thaw);
	return thaw != NULL;
}

/* Does it stand still at last, if it is waited for? What sleeps in the kernel may not. */
static int will_settle(const struct task *t)
{
	char state;

	if (t->own || !t->announced || t->in_vfork || settled(t) ||
	    (t->stop == TASK_STOPPED && !t->status))
		return 0;
	state = quiesce_state(t->tid);
	return state && state != 'Z' && state != 'X' && state != 'D';
}

/*
 * Waits on behind the 10 seconds. What the freezer of cgroups 1 froze does not stop,
 * however long it is waited for, and what finds no CPU stops within two minutes; memory
 * that was moved cannot be left so. (Cgroups 2 let the frozen stop, and hold our first call
 * until they are thawed.) With give_up only for the frozen, and until it is set.
 */
static void settle_on(struct recorder *rec, const atomic_int *give_up)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	uint64_t limit = moca_now_ns() + (give_up ? 0 : SETTLE_MOST_NS);
	struct task *t;

	for (;;) {
		settle(rec);
		for (t = tasks_next(NULL); t; t = tasks_next(t))
			if ((moca_now_ns() < limit && will_settle(t)) ||
			    (!t->own && !settled(t) && is_frozen(t->pid)))
				break;
		if (!t || (give_up && atomic_load(give_up)))
			return;
		nanosleep(&pause, NULL);
	}
}

/* Nothing else would say why there is nothing to record. */
static void tell_standstill(pid_t pid)
{
	struct task *t;

	for (t = tasks_next(NULL); t; t = tasks_next(t)) {
		if (!settled(t)) {
			char state = quiesce_state(t->tid);

			if (state != 'D')
				continue;
			moca_warn("task %d of process %d cannot be stopped: it "
				  "sleeps in the kernel (state D: a disk, a "
				  "server, or a child of vfork)", t->tid, pid);
			return;
		}
		if (WSTOPSIG(t->status) != SIGTRAP) {
			moca_warn("process %d is stopped, as by ^Z: there is "
				  "nothing to record until it goes on (kill "
				  "-CONT %d)", pid, pid);
			return;
		}
	}
}

struct task *attach_pick(const struct space *s, pid_t pid)
{
	struct task *t = tasks_find(pid);

	if (t && t->space == s && settled(t))
		return t;
	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (t->space == s && settled(t))
			return t;
	return NULL;
}

/* Its last task may have ended meanwhile, and it with it. */
static int is_there(const struct space *s)
{
	struct task *t = tasks_next(NULL);

	while (t && t->space != s)
		t = tasks_next(t);
	return t != NULL;
}

int attach_begin(struct recorder *rec, pid_t pid)
{
	struct space *s;
	struct task *t;
	int ret;

	tracer_call_attached();
	ret = seize_all(pid);
	if (!ret && !tasks_next(NULL))
		ret = -ESRCH;	/* they ended before they were seized */
	if (ret)
		return ret;
	s = space_new(rec, pid);
	if (!s)
		return -ENOMEM;
	for (t = tasks_next(NULL); t; t = tasks_next(t)) {
		t->space = space_get(s);
		t->filtered = 0;
		t->announced = 1;
		supervisor_announce(rec, t, NULL, MOCA_TASK_ATTACHED);
	}
	s->refs--;	/* each task has its own now */
	tell_frozen(rec, pid, "it is attached to");
	settle_on(rec, &rec->stop_recording);
	tell_standstill(pid);
	if (rec->way->traced->attach && is_there(s))
		rec->way->traced->attach(rec, s, attach_pick(s, pid));
	quiesce_end(NULL, NULL);
	return tasks_next(NULL) ? 0 : -ESRCH;
}

int attach_syscall(struct recorder *rec, struct task *t)
{
	const struct trace_way *way = rec->way->traced;
	struct __ptrace_syscall_info info;
	struct tracee_regs regs;

	if (tracer_call(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info) <= 0)
		return 0;
	restart_at_call(t, &info);
	if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		return 1;
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return 0;
	if (debugger_wanted(info.entry.nr)) {
		if (!tracee_get_regs(t, &regs))
			debugger_call(rec, t, &regs);
	} else if (way->call_wanted && way->call_wanted(info.entry.nr) &&
		   !tracee_get_regs(t, &regs)) {
		if (!way->call(rec, t, &regs))
			takeover_begin(t, &regs);
	}
	return 0;
}

/* A task leaves with the signal, if any, that it stopped for. */
static void detach(struct task *t)
{
	int sig = 0;

	if (t->status && WIFSTOPPED(t->status) && !(t->status >> 16) &&
	    WSTOPSIG(t->status) != (SIGTRAP | 0x80) &&
	    WSTOPSIG(t->status) != SIGTRAP)
		sig = WSTOPSIG(t->status);
	restart_leave(t);
	tracer_call(PTRACE_DETACH, t->tid, NULL, (void *)(long)sig);
}

void attach_end(struct recorder *rec)
{
	struct task *t, *next;

	t = tasks_next(NULL);
	if (t)
		tell_frozen(rec, t->pid, "its recording ends");
	settle_on(rec, NULL);
	if (rec->way->traced->detach)
		rec->way->traced->detach(rec);
	for (t = tasks_next(NULL); t; t = next) {
		next = tasks_next(t);
		if (t->stop == TASK_STOPPED && (!t->status ||
						WIFSTOPPED(t->status)))
			detach(t);
		space_put(rec, t->space);
		tasks_remove(t);
	}
	rec->root_done = 1;
}
