// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/attach.h"
#include "collect/ptrace/child-tid.h"
#include "collect/ptrace/debugger.h"
#include "collect/ptrace/event.h"
#include "collect/ptrace/fatal.h"
#include "collect/ptrace/orphan.h"
#include "collect/ptrace/preload.h"
#include "collect/ptrace/restart.h"
#include "collect/ptrace/rights.h"
#include "collect/ptrace/session.h"
#include "collect/ptrace/stop-cost.h"
#include "collect/ptrace/strict.h"
#include "collect/ptrace/takeover.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracer-call.h"
#include "collect/ptrace/wait.h"
#include "collect/ptrace/way.h"
#include "collect/run/launch.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"

#define COMM_LEN 15 /* of a task's name, at most */

static void read_comm(pid_t tid, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	buf[0] = 0;
	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, buf, size - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	buf[strcspn(buf, "\n")] = 0;
}

void supervisor_tell_task(struct recorder *rec, const struct task *t,
			  pid_t former)
{
	struct message *m = message_new(rec->queue, MSG_TASK, 0, NULL);

	if (!m)
		return;
	m->tid = t->tid;
	m->pid = t->pid;
	m->task = t->id;
	m->space = t->space;
	m->former = former;
	m->inner_tid = t->inner_tid;
	queue_push(rec->queue, m);
}

void supervisor_announce(struct recorder *rec, struct task *t,
			 const struct task *parent, uint32_t flags)
{
	struct tracee_regs regs;
	struct message *m;
	char comm[64];

	t->id = rec->task_count++;
	t->announced = 1;
	supervisor_tell_task(rec, t, 0);
	read_comm(t->tid, comm, sizeof(comm));
	m = message_new(rec->queue, MSG_EVENT, 0, comm);
	if (!m)
		return;
	m->task = t->id;
	/* Its stack ends here, and its thread-local storage near here. */
	if (flags & MOCA_TASK_THREAD && !t->gone &&
	    !tracee_get_regs(t, &regs)) {
		m->event.addr = regs.reg_sp;
		m->event.offset = regs_thread_pointer(t->tid, &regs);
	}
	m->event.type = MOCA_CHANGE_TASK_START;
	m->event.pid = t->pid;
	m->event.tid = t->tid;
	m->event.parent = parent ? parent->id : MOCA_NO_TASK;
	m->event.flags = flags;
	queue_push(rec->queue, m);
}

static void leave_space(struct recorder *rec, struct task *t, int killed);

static void task_ended(struct recorder *rec, struct task *t, int status)
{
	struct message *m;

	status &= ~TASK_STATUS_SET;

	takeover_end(t, t->tid);
	if (t->tid == rec->root) {
		rec->root_status = status;
		rec->root_done = 1;
		launch_tell_continued(rec);
	}
	if (t->announced) {
		m = message_new(rec->queue, MSG_EVENT, 0, NULL);
		if (m) {
			m->task = t->id;
			m->event.type = MOCA_CHANGE_TASK_END;
			m->event.pid = t->pid;
			m->event.tid = t->tid;
			m->event.status = status;
			queue_push(rec->queue, m);
		}
		m = message_new(rec->queue, MSG_TASK_END, 0, NULL);
		if (m) {
			m->tid = t->tid;
			m->task = t->id;
			queue_push(rec->queue, m);
		}
	}
	leave_space(rec, t, WIFSIGNALED(status));
	tasks_remove(t);
}

/* The program's name as the user knows it: the last part of its path. */
static void exe_name(pid_t tid, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	n = readlink(path, buf, size - 1);
	buf[n > 0 ? n : 0] = 0;
}

void supervisor_gap(struct recorder *rec, struct task *t, const char *why)
{
	task_event(rec, t, MOCA_CHANGE_GAP, 0, 0, 0, 0, 0, why);
}

int supervisor_preload(struct recorder *rec, struct task *t,
		       struct tracee_regs *regs)
{
	char what[PRELOAD_WHY_MAX + 64], why[PRELOAD_WHY_MAX];
	int ret;

	/* A static program needs no library's file. */
	if (!rec->opt->preload)
		return rec->opt->preload_config && preload_is_static(t->tid) ?
			       PRELOAD_STATIC : 0;
	ret = preload_inject(rec, t, regs, why);
	if (ret == PRELOAD_STATIC)
		return ret;
	if (!ret) {
		snprintf(what, sizeof(what), "allocations are not recorded: %s",
			 why);
		supervisor_gap(rec, t, what);
	} else if (ret > 0) {
		cost_unseen(&rec->costs, COST_EXEC, COST_PRELOAD_NS);
	}
	return ret;
}

/* How many filters limit the system calls of tid, or its strict mode. */
static int filters_of(pid_t tid)
{
	int filters = (int)moca_proc_number(tid, "Seccomp_filters:"), mode;

	if (filters)
		return filters;
	/* Kernels before 5.9 tell the mode alone. */
	mode = (int)moca_proc_number(tid, "Seccomp:");
	return !mode ? 0 : mode == SECCOMP_MODE_STRICT ? INT_MAX : 1;
}

int supervisor_limited(struct recorder *rec, pid_t tid)
{
	int count = filters_of(tid);

	/* Attached: what we are limited by ourselves is its container's. */
	if (rec->filters < 0)
		rec->filters = rec->attach ? filters_of(getpid()) : count;
	return count > rec->filters;
}

int supervisor_calibrate(struct recorder *rec, struct tracee_calls *c)
{
	int err;

	if (atomic_load(&rec->costs.stop_ns))
		return 0;
	err = tracee_measure(c);
	if (!err)
		cost_stop_learn(&rec->costs);
	return err;
}

/* The task's name as the kernel has it, where its file has another: a link's, a script's. */
static void tell_name(struct recorder *rec, struct task *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char comm[64];

	read_comm(t->tid, comm, sizeof(comm));
	/* By fexecve it is the descriptor's number. */
	if (comm[strspn(comm, "0123456789")] &&
	    strncmp(comm, slash ? slash + 1 : path, COMM_LEN))
		task_event(rec, t, MOCA_CHANGE_NAME, 0, 0, 0, 0, 0, comm);
}

static int at_exec_end(struct recorder *rec, struct task *t)
{
	char path[4096];
	int err;

	exe_name(t->tid, path, sizeof(path));
	task_event(rec, t, MOCA_CHANGE_EXEC, 0, 0, 0, 0, 0, path);
	tell_name(rec, t, path);
	if (rights_lost(rec, t->tid)) {
		supervisor_gap(rec, t, "it runs without the rights of its file "
			       "(set-user-ID, set-group-ID or capabilities): "
			       "the kernel gives none below a tracer");
		atomic_fetch_add(&rec->rightless, 1);
	}
	err = session_give(rec, t);
	return err ? err : rec->way->traced->after_exec(rec, t, path);
}

/*
 * t, alone in its process or about to end it, goes on without a tracer. The first
 * program is our child all the same: its end is heard of. Of others it is told to
 * have ended by status.
 */
static void let_go(struct recorder *rec, struct task *t, int status)
{
	if (tracer_call(PTRACE_DETACH, t->tid, NULL, NULL))
		return;		/* it was killed: its end comes */
	t->stop = TASK_RUNNING;
	t->plain = t->tid == rec->root && !rec->attach;
	if (t->plain)
		wait_plain();
	else
		task_ended(rec, t, status);
}

static void on_exec(struct recorder *rec, struct task *t)
{
	unsigned long former = 0;
	struct task *old;
	pid_t renamed = 0;

	/* A thread that is not the leader takes the leader's number. */
	if (!tracer_call(PTRACE_GETEVENTMSG, t->tid, NULL, &former) &&
	    former != (unsigned long)t->tid) {
		old = tasks_find(former);
		if (old) {
			pid_t tid = t->tid;

			renamed = former;
			task_ended(rec, t, 0);
			tasks_rename(old, tid);
			t = old;
			t->stop = TASK_STOPPED;
			takeover_end(t, former);
		}
	}
	/* Still inside execve: its end would overwrite our registers. */
	t->at_exec = 1;
	leave_space(rec, t, 0);
	t->space = space_new(rec, t->pid);
	if (!t->space) {
		moca_error("no memory to follow process %d beyond its exec: it "
			   "%s", t->pid, rec->attach ?
			   "goes on, and is not recorded any more" :
			   "is ended, since nobody would answer its calls");
		task_event_unmapped(rec, t, "no memory to follow it: real "
				    "faults only");
		if (rec->attach)
			let_go(rec, t, 0);
		else
			kill(t->pid, SIGKILL);
		return;
	}
	t->in_vfork = 0;
	t->restart = (struct restart){ 0 };
	t->filtered = rec->way->traced->filtered && !rec->attach;
	supervisor_tell_task(rec, t, renamed);
	tracee_resume(t, PTRACE_SYSCALL, 0);
}

static uint64_t clone_flags_32bit(const struct task *t,
				  const struct tracee_regs *r)
{
	uint64_t flags = 0;

	switch (r->reg_nr) {
	case REGS_CLONE_32BIT:
		return r->reg_a0_32bit;
	case REGS_CLONE3_32BIT:
		tracee_read(t->tid, r->reg_a0_32bit, &flags, sizeof(flags));
		return flags;
	case REGS_VFORK_32BIT:
		return CLONE_VM | CLONE_VFORK;
	default:
		return 0;
	}
}

/* The flags with which t made a child, as of clone(2). */
static uint64_t clone_flags(struct task *t)
{
	struct tracee_regs r;
	uint64_t flags = 0;

	if (tracee_get_regs(t, &r))
		return 0;
	if (regs_are_32bit(&r))
		return clone_flags_32bit(t, &r);
	switch (r.reg_nr) {
	case SYS_clone:
		return r.reg_a0;
	case SYS_clone3:
		tracee_read(t->tid, r.reg_a0, &flags, sizeof(flags));
		return flags;
#ifdef SYS_vfork
	case SYS_vfork:
		return CLONE_VM | CLONE_VFORK;
#endif
	default:
		return 0;
	}
}

void supervisor_lose_child(struct recorder *rec, const struct task *t,
			   const struct task *child, int err)
{
	moca_error("cannot copy the memory of process %d for its child %d: "
		   "%s; %s", t->pid, child->pid, strerror(-err), rec->attach ?
		   "they share memory, and may compute wrong results: end both, "
		   "and start the program anew" :
		   "the child is ended, since it would share memory with its "
		   "parent");
	if (!rec->attach)
		kill(child->pid, SIGKILL);
}

static void copy_memory(struct recorder *rec, struct task *t,
			struct task *child)
{
	child->space = space_new(rec, child->pid);
	if (!child->space) {
		supervisor_lose_child(rec, t, child, -ENOMEM);
		return;
	}
	child->space->quiet = t->space->quiet;
	rec->way->traced->after_fork(rec, t, child);
}

static void wait_first_stop(struct task *child)
{
	int status;

	if (child->stop == TASK_STOPPED) {
		if (WIFSTOPPED(child->status))
			child->status = 0;	/* this is that stop */
		return;
	}
	child->stop = TASK_STOPPED;
	if (wait_task(child->tid, &status))
		child->gone = 1;	/* its end was reported first */
	else if (!WIFSTOPPED(status))
		child->status = task_status(status);
}

static int options_of(const struct recorder *rec, int thread)
{
	int options = TRACE_OPTIONS;

	if (rec->way->traced->survives)
		options &= ~PTRACE_O_EXITKILL;
	if (rec->way->traced->exiting && !thread)
		options |= PTRACE_O_TRACEEXIT;
	return options;
}

/* The child is known and in its first stop: it begins. */
static void begin_child(struct recorder *rec, struct task *t,
			struct task *child, uint64_t flags)
{
	const struct trace_way *way = rec->way->traced;
	uint32_t kind = flags & CLONE_THREAD ? MOCA_TASK_THREAD :
			flags & CLONE_VM     ? MOCA_TASK_VFORK :
					       MOCA_TASK_FORK;

	child->filtered = t->filtered;
	child->shares_files = (flags & CLONE_FILES) != 0;
	child_tid_begin(t, child);
	cost_stop_is(&rec->costs,
		     flags & CLONE_THREAD ? COST_THREAD : COST_FORK, 1);
	cost_unseen(&rec->costs,
		    flags & CLONE_THREAD ? COST_THREAD : COST_FORK,
		    flags & CLONE_THREAD ? COST_THREAD_NS : COST_FORK_NS);
	if (flags & CLONE_THREAD)
		child->pid = t->pid;
	if (flags & CLONE_VM)
		child->space = space_get(t->space);
	else
		copy_memory(rec, t, child);
	/* It has the options of whoever made it: a thread's end stops nowhere. */
	if (way->exiting && !child->gone)
		tracer_call(PTRACE_SETOPTIONS, child->tid, NULL,
			    options_of(rec, (flags & CLONE_THREAD) != 0));
	if (way->before_child)
		way->before_child(rec, t, child);
	supervisor_announce(rec, child, t, kind);
	if (!(flags & CLONE_VM) && child->space && way->child_announced)
		way->child_announced(rec, child);
	if (child->gone || (child->status && !WIFSTOPPED(child->status)))
		task_ended(rec, child, child->status);
	else if (child->space || !rec->attach)
		tracee_resume(child, moca_attach_request(rec), 0);
	else
		let_go(rec, child, 0);
}

/*
 * Task t has no more to do with its memory. When it was killed (as threads are
 * by an exec or an exit elsewhere), it may have forked unheard.
 */
static void leave_space(struct recorder *rec, struct task *t, int killed)
{
	struct task *child;

	int last = t->space && t->space->refs == 1;

	if (last && (killed || t->space->shared)) {
		orphans_of(t);
		while ((child = orphan_next(rec, t))) {
			child->status = 0;
			/* A vfork child has the memory for itself now. */
			begin_child(rec, t, child, 0);
		}
	}
	if (last && rec->way->traced->space_left)
		rec->way->traced->space_left(rec, t);
	space_put(rec, t->space);
	t->space = NULL;
}

static void on_clone(struct recorder *rec, struct task *t, int event)
{
	struct task *child;
	unsigned long msg;
	uint64_t flags;

	if (tracer_call(PTRACE_GETEVENTMSG, t->tid, NULL, &msg))
		return;
	flags = clone_flags(t);
	child = tasks_find(msg);
	if (!child)
		child = tasks_add(msg);
	wait_first_stop(child);
	debugger_called(t);
	if (event == PTRACE_EVENT_VFORK)
		t->in_vfork = 1;
	begin_child(rec, t, child, flags);
}

/* A state of the first program, which no longer is a tracee. */
static void on_plain(struct recorder *rec, struct task *t, int status)
{
	if (WIFSTOPPED(status))
		launch_tell_stopped(rec, WSTOPSIG(status));
	else if (WIFCONTINUED(status))
		launch_tell_continued(rec);
	else
		task_ended(rec, t, status);
}

static int waits(struct recorder *rec, const struct task *t)
{
	const struct trace_way *way = rec->way->traced;

	return t->space && way->waits && way->waits(t->space);
}

/* Stop one task of each address space that the collector wants something of. */
static void interrupt_for_wanted(struct recorder *rec)
{
	int (*asked)(struct recorder *r, struct space *s) =
		rec->way->traced->asked;
	struct task *t = asked ? tasks_next(NULL) : NULL;
	struct space *missed = NULL;

	while (t) {
		unsigned int before = tasks_departures();

		if (t->announced && t->space && !t->in_vfork &&
		    t->stop == TASK_RUNNING && regs_may_interrupt(t->tid) &&
		    (t->space == missed || asked(rec, t->space))) {
			moca_debug("task %d: interrupted", t->tid);
			/* A leader may have ended long before its threads. */
			missed = tracee_interrupt(t) ?
					 t->space : NULL;
			if (missed && wait_is_over(t->tid))
				task_ended(rec, t, 0);
		}
		t = tasks_next(tasks_departures() == before ? t : NULL);
	}
}

/* The task's process is stopped, as by ^Z. */
static void on_group_stop(struct recorder *rec, struct task *t, int sig)
{
	int known = t->retrap;

	t->retrap = 0;
	/*
	 * SIGSTOP may have stopped us as well, and SIGCONT woken both: what is
	 * reported is the past then. It says once more, before the front stops
	 * for good what goes on.
	 */
	if (t->tid == rec->root && !known && !launch_told_stopped(rec)) {
		t->retrap = 1;
		tracee_resume(t, moca_attach_request(rec), 0);
		return;
	}
	if (t->tid == rec->root)
		launch_tell_stopped(rec, sig);
	t->stop = TASK_RUNNING;
	t->listens = !tracer_call(PTRACE_LISTEN, t->tid, NULL, NULL);
	if (t->listens)
		return;
	/* It ran calls for us since: only in that stop may it listen. */
	t->retrap = 1;
	tracee_resume(t, moca_attach_request(rec), 0);
}

static void on_event_stop(struct recorder *rec, struct task *t, int sig)
{
	if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
	    sig == SIGTTOU) {
		on_group_stop(rec, t, sig);
		return;
	}
	t->retrap = 0;
	if (t->tid == rec->root)
		launch_tell_continued(rec);
	restart_interrupted(t);
	if (waits(rec, t))
		rec->way->traced->give(rec, t);
	tracee_resume(t, moca_attach_request(rec), 0);
}

/* A call that makes a task is counted by its event: this is one more stop. */
static void count_clone(struct recorder *rec, struct task *t, long nr)
{
	if (nr == SYS_clone || nr == SYS_clone3)
		cost_stop_is(&rec->costs, clone_flags(t) & CLONE_THREAD ?
						  COST_THREAD : COST_FORK, 0);
}

static void on_seccomp(struct recorder *rec, struct task *t)
{
	struct tracee_regs regs;
	int ret = tracee_get_regs(t, &regs), exit_stop = 0;
	unsigned long data = 0;

	/*
	 * A filter of the program's own asks for a tracer that it does not
	 * have: without one, such a call does not exist.
	 */
	if (!ret && !tracer_call(PTRACE_GETEVENTMSG, t->tid, NULL, &data) &&
	    data != SECCOMP_OURS) {
		if (data == SECCOMP_STRICT) {
			strict_refuse(t, &regs);
		} else {
			regs.reg_nr = -1;
			regs.reg_ret = -ENOSYS;
			tracee_set_regs(t, &regs);
		}
		tracee_resume(t, PTRACE_CONT, 0);
		return;
	}
	if (!ret && debugger_wanted(regs.reg_nr)) {
		count_clone(rec, t, regs.reg_nr);
		exit_stop = debugger_call(rec, t, &regs) == 2;
	} else if (!ret && rec->way->traced->call)
		ret = rec->way->traced->call(rec, t, &regs);
	if (ret == -ESRCH && t->status)
		return;
	if (!ret)
		exit_stop |= takeover_begin(t, &regs);
	tracee_resume(t, exit_stop ? PTRACE_SYSCALL : PTRACE_CONT, 0);
}

/*
 * Page mode has a record of an access that failed, like of any: this tells it
 * apart. A program that goes on, and fails at the same place, is told once.
 */
static void tell_segv(struct recorder *rec, struct task *t)
{
	siginfo_t info;
	uint64_t addr;

	if (tracer_call(PTRACE_GETSIGINFO, t->tid, NULL, &info) ||
	    info.si_code != SEGV_MAPERR)
		return;
	addr = (uintptr_t)info.si_addr;
	if (t->segv_page == (addr & PAGE_MASK) + 1)
		return;
	t->segv_page = (addr & PAGE_MASK) + 1;
	task_event(rec, t, MOCA_CHANGE_SEGV, addr, 0, 0, 0, 0, NULL);
}

/* A signal of the program's own is about to be delivered. */
static void on_signal(struct recorder *rec, struct task *t, int sig)
{
	if (sig == SIGSEGV)
		tell_segv(rec, t);
	if (fatal_is_dropped(t, sig)) {
		let_go(rec, t, sig);
		return;
	}
	restart_signal(t, sig);
	tracee_resume(t, moca_attach_request(rec), sig);
}

void supervisor_stop(struct recorder *rec, struct task *t, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (t->own) {
		if (!WIFSTOPPED(status))
			tasks_remove(t);
		else
			tracee_let_helper_go(t->tid, status);
		return;
	}
	if (t->plain) {
		on_plain(rec, t, status);
		return;
	}
	if (!WIFSTOPPED(status)) {
		task_ended(rec, t, status);
		return;
	}
	t->stop = TASK_STOPPED;
	switch (event) {
	case PTRACE_EVENT_EXEC:
		on_exec(rec, t);
		return;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_clone(rec, t, event);
		break;
	case PTRACE_EVENT_VFORK_DONE:
		t->in_vfork = 0;
		break;
	case PTRACE_EVENT_EXIT:
		if (t->announced && t->space && rec->way->traced->exiting)
			rec->way->traced->exiting(rec, t);
		break;
	case PTRACE_EVENT_SECCOMP:
		on_seccomp(rec, t);
		return;
	case PTRACE_EVENT_STOP:
		on_event_stop(rec, t, sig);
		return;
	case 0:
		if (sig == (SIGTRAP | 0x80)) {
			if (t->exec_ns)
				takeover_end(t, t->tid);
			if (t->at_exec) {
				t->at_exec = 0;
				if (at_exec_end(rec, t) && t->status)
					return;
				if (t->let_go) {
					let_go(rec, t, 0);
					return;
				}
			} else if (t->clone_changed) {
				/* Its clone failed: there was no event. */
				debugger_called(t);
				t->clone_tid = 0;
			} else if (rec->attach) {
				if (attach_syscall(rec, t) && waits(rec, t)) {
					restart_interrupted(t);
					rec->way->traced->give(rec, t);
				}
			} else {
				restart_at_stop(t);
			}
			break;
		}
		on_signal(rec, t, sig);
		return;
	}
	tracee_resume(t, moca_attach_request(rec), 0);
}

int supervisor_seize(struct recorder *rec, pid_t pid)
{
	return tracer_call(PTRACE_SEIZE, pid, NULL, options_of(rec, 0)) ?
		       -errno : 0;
}

int supervisor_guard(const struct recorder *rec, struct task *t, int on)
{
	int options = options_of(rec, t->tid != t->pid);

	if (on)
		options |= PTRACE_O_EXITKILL;
	return tracer_call(PTRACE_SETOPTIONS, t->tid, NULL, options) ? -errno : 0;
}

/* Take over the first task (seized, before its exec). */
static int adopt(struct recorder *rec, pid_t pid)
{
	struct space *s = space_new(rec, pid);
	struct task *t;

	if (!s)
		return -ENOMEM;
	t = tasks_add(pid);
	t->space = s;
	supervisor_announce(rec, t, NULL, 0);
	return 0;
}

int supervisor_begin(struct recorder *rec, pid_t pid)
{
	uint64_t before = moca_now_ns();
	int err;

	if (!rec->attach)
		return adopt(rec, pid);
	err = attach_begin(rec, pid);
	cost_begin(&rec->costs, moca_now_ns() - before);
	atomic_store(&rec->began_ns, moca_now_ns());
	if (err)
		attach_end(rec);
	return err;
}

/* The program is gone: helpers of ours in it have no more to do. */
static void end_helpers(void)
{
	struct task *t;

	for (t = tasks_next(NULL); t; t = tasks_next(t))
		kill(t->tid, SIGKILL);
	for (t = tasks_next(NULL); t; t = tasks_next(t))
		waitpid(t->tid, NULL, __WALL);
}

/* What this stop is, as far as it shows from outside: see cost_stop_is. */
static void count_stop(struct recorder *rec, const struct task *t, int status)
{
	struct costs *c = &rec->costs;

	if (!WIFSTOPPED(status)) {
		cost_stop_is(c, COST_EXIT, 1);
		return;
	}
	switch (status >> 16) {
	case PTRACE_EVENT_SECCOMP:
		cost_stop_is(c, COST_MEMORY, 1);
		break;
	case PTRACE_EVENT_EXEC:
		/* The end of execve counts. */
		cost_stop_is(c, COST_EXEC, 0);
		break;
	case 0:
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			cost_stop_is(c, COST_SIGNAL, 1);
		else if (t->at_exec)
			cost_stop_is(c, COST_EXEC, 1);
		else
			cost_stop_is(c, COST_CALL, 1);
		break;
	}
}

/*
 * The first program's exec is over: all that came before, whatever it was, was
 * start-up.
 */
static void begin_program(struct recorder *rec)
{
	uint64_t now;

	if (atomic_load(&rec->began_ns) || rec->costs.stop.kind != COST_EXEC ||
	    !rec->costs.stop.counts)
		return;
	now = moca_now_ns();
	cost_begin(&rec->costs, now - rec->launch_ns);
	atomic_store(&rec->began_ns, now);
}

/*
 * A rank's other processes, those that left its process group among them, end with
 * it: without a tracer they could not go on. What is forked meanwhile is told as a
 * stop, and has its turn behind that.
 */
static void end_rank(const struct recorder *rec)
{
	struct task *t;

	if (!atomic_load(&rec->rank_ended) || !rec->root_done)
		return;
	for (t = tasks_next(NULL); t; t = tasks_next(t))
		if (!t->own)
			kill(t->tid, SIGKILL);
}

void supervisor_run(struct recorder *rec)
{
	while (tasks_count()) {
		struct task *t;
		int status;
		pid_t tid;

		if (rec->attach && atomic_load(&rec->stop_recording)) {
			attach_end(rec);
			continue;
		}
		end_rank(rec);
		tid = wait_any(&status);
		if (tid < 0 && errno == EINTR) {
			takeover_look();
			restart_look();
			interrupt_for_wanted(rec);
			continue;
		}
		if (tid < 0)
			break;
		t = tasks_find(tid);
		if (!t) {
			/* A child that is here before its parent's event. */
			if (!WIFSTOPPED(status))
				continue;
			t = tasks_add(tid);
			t->stop = TASK_STOPPED;
			continue;
		}
		if (!t->own && !t->announced && WIFSTOPPED(status)) {
			t->stop = TASK_STOPPED;
			continue;
		}
		if (task_waits(t, status)) {
			t->stop = TASK_STOPPED;
			t->status = task_status(status);
			continue;
		}
		if (t->own) {
			supervisor_stop(rec, t, status);
			continue;
		}
		cost_stop_begin(&rec->costs, t);
		count_stop(rec, t, status);
		supervisor_stop(rec, t, status);
		/* It may be gone by now. */
		cost_stop_end(&rec->costs, tasks_find(tid));
		begin_program(rec);
	}
	atomic_store(&rec->ended_free_ns,
		     atomic_load(&rec->costs.kind[COST_FREE].ns));
	atomic_store(&rec->ended_ns, moca_now_ns());
	end_helpers();
}
