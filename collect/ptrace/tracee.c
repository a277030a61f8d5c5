// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/restart.h"
#include "collect/ptrace/round-cost.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracer-call.h"
#include "collect/ptrace/wait.h"
#include "collect/run/waiting.h"
#include "lib/base/err.h"

#ifndef PTRACE_SETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

#define SOCKET_NAME 32

static unsigned long rounds, calls_run;

/* An exec event of it is kept: it is a new image by now (takeover.h). */
static int is_replaced(const struct task *t)
{
	return WIFSTOPPED(t->status & ~TASK_STATUS_SET) &&
	       t->status >> 16 == PTRACE_EVENT_EXEC;
}

int tracee_get_regs(struct task *t, struct tracee_regs *regs)
{
	if (is_replaced(t))
		return -ESRCH;
	return regs_get(t, t->tid, regs) ? -errno : 0;
}

int tracee_set_regs(struct task *t, const struct tracee_regs *regs)
{
	if (is_replaced(t))
		return -ESRCH;
	return regs_set(t->tid, regs) ? -errno : 0;
}

ssize_t tracee_read(pid_t tid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len };
	struct iovec remote = { (void *)addr, len };
	ssize_t n = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n;
}

static int fetch_fd(pid_t pid, unsigned int flags, int remote)
{
	int pidfd = syscall(SYS_pidfd_open, pid, flags), fd, err;

	if (pidfd < 0)
		return -errno;
	fd = syscall(SYS_pidfd_getfd, pidfd, remote, 0);
	err = errno;
	close(pidfd);
	return fd < 0 ? -err : fd;
}

int tracee_fetch_fd(pid_t pid, int remote)
{
	return fetch_fd(pid, 0, remote);
}

/* The socket's name in text: 1; descriptor fd of tid is none: 0. */
static int read_socket(pid_t tid, int fd, char text[SOCKET_NAME])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
	n = readlink(path, text, SOCKET_NAME - 1);
	text[n > 0 ? n : 0] = 0;
	return !strncmp(text, "socket:", strlen("socket:"));
}

int tracee_fetch_socket(const struct task *t, int remote)
{
	char name[SOCKET_NAME], leaders[SOCKET_NAME];
	int fd;

	/* A file of FUSE would be asked when ours is closed, and may not answer. */
	if (!read_socket(t->tid, remote, name))
		return -ENOTSOCK;
	/* The thread may have descriptors of its own: unshare(CLONE_FILES). */
	fd = fetch_fd(t->tid, PIDFD_THREAD, remote);
	if (fd >= 0)
		return fd;
	/* Kernels before 6.9 give descriptors of leaders alone. */
	if (!read_socket(t->pid, remote, leaders) || strcmp(name, leaders))
		return -EBADF;
	return fetch_fd(t->pid, 0, remote);
}

int tracee_begin(struct tracee_calls *c, struct task *t,
		 const struct tracee_regs *saved)
{
	uint64_t all = ~0ull;

	c->task = t;
	c->saved = *saved;
	c->begun = 0;
	if (is_replaced(t))
		return -ESRCH;
	restart_by_hand(t, &c->saved);
	if (tracer_call(PTRACE_GETSIGMASK, t->tid, sizeof(c->sigmask), &c->sigmask) ||
	    tracer_call(PTRACE_SETSIGMASK, t->tid, sizeof(all), &all))
		return -errno;
	c->begun = 1;
	return 0;
}

int tracee_end(struct tracee_calls *c)
{
	int ret = tracee_set_regs(c->task, &c->saved);

	if (c->begun && !is_replaced(c->task) &&
	    tracer_call(PTRACE_SETSIGMASK, c->task->tid,
			       sizeof(c->sigmask), &c->sigmask))
		ret = -errno;
	c->begun = 0;
	return ret;
}

/*
 * Let a task that runs calls for us go on to its next stop that says how far
 * it came: a call's entry or exit, the filter's stop, or a clone. Returns the
 * wait status, or -ESRCH when it ended, or was taken over (takeover.h), which is
 * kept for the wait loop.
 */
static int next_stop(struct task *t, int request)
{
	int status, err, sig = 0;

	for (;;) {
		rounds++;
		if (is_replaced(t))
			return -ESRCH;
		err = tracer_call_resume(request, t->tid, t->pid, sig);
		if (err)
			return err;
		waiting_begin(WAITING_CALL, t->tid);
		err = wait_resumed(t->tid, &status);
		waiting_end(WAITING_CALL);
		if (err)
			return -ESRCH;
		if (!WIFSTOPPED(status) ||
		    status >> 16 == PTRACE_EVENT_EXEC) {
			wait_keep(t->tid, status);
			return -ESRCH;
		}
		sig = WSTOPSIG(status);
		switch (status >> 16) {
		case 0:
			if (sig == (SIGTRAP | 0x80))
				return status;
			/*
			 * SIGSTOP, which cannot be blocked. The kernel shall
			 * have it now: it alone knows whether a SIGCONT came
			 * since. See retrap for what the task does then.
			 */
			if (sig == SIGTRAP)
				sig = 0;
			continue;
		case PTRACE_EVENT_STOP:
			if (sig != SIGTRAP)
				t->retrap = 1;
			sig = 0;
			continue;
		case PTRACE_EVENT_SECCOMP:
		case PTRACE_EVENT_CLONE:
			return status;
		}
		sig = 0;
	}
}

int tracee_raw_call(struct tracee_calls *c, uint64_t insn, long nr,
		    const uint64_t args[6], long *ret)
{
	struct tracee_regs r = c->saved;
	struct task *t = c->task;
	int status, syscalls = 0, err;

	regs_clear_trap(&r);
	regs_put_call(&r, nr, args);
	r.reg_ip = insn;
	r.reg_nr = -1;
	err = tracee_set_regs(t, &r);
	if (err)
		return err;
	/* Entry and exit are one stop each; the filter may add a third. */
	while (syscalls < 2) {
		status = next_stop(t, PTRACE_SYSCALL);
		if (status < 0)
			return status;
		syscalls += !(status >> 16);
	}
	err = tracee_get_regs(t, &r);
	*ret = r.reg_ret;
	return err;
}

/* The child between the program and the zapper: see it through its life. */
static int adopt_zapper(pid_t between, pid_t *zapper)
{
	unsigned long msg;
	struct task *kept;
	int status, err;

	/* Its orphan, the zapper, shall be ours to reap. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (;;) {
		err = wait_task(between, &status);
		if (err || !WIFSTOPPED(status))
			break;
		if (status >> 16 == PTRACE_EVENT_CLONE &&
		    !tracer_call(PTRACE_GETEVENTMSG, between, NULL, &msg))
			*zapper = msg;
		tracer_call(PTRACE_CONT, between, NULL, NULL);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	/* Its first stop may have been kept (wait.h), as of a task to come. */
	kept = tasks_find(between);
	if (kept)
		tasks_remove(kept);
	if (err || !*zapper)
		return err ? err : -ECHILD;
	err = wait_task(*zapper, &status);
	if (err || !WIFSTOPPED(status))
		return err ? err : -ECHILD;
	if (tracer_call(PTRACE_SETOPTIONS, *zapper, NULL, PTRACE_O_EXITKILL) ||
	    tracer_call(PTRACE_CONT, *zapper, NULL, NULL))
		return -errno;
	return 0;
}

/* So many stops in a row on one CPU; at most so many. */
#define PIN_AFTER 16
#define PIN_AFTER_MOST 16384

/*
 * Run where the program runs, as long as it has one task only: each of the many
 * short stops is then a switch on one CPU, and none waits for an idle CPU to
 * wake up (half the time). A move takes as long as ten stops, and with several
 * tasks, on several CPUs, the scheduler knows better. Where a CPU is idle, the
 * scheduler wakes the task up there, as we are on its own: then each stop moves
 * it away from its caches, and we had better stay apart.
 */
static void follow_cpu(unsigned int cpu)
{
	static unsigned int last = CPU_SETSIZE, times, after = PIN_AFTER;
	static cpu_set_t allowed;
	cpu_set_t one;

	if (cpu >= CPU_SETSIZE)
		return;
	if (cpu == last && tasks_count() == 1) {
		if (++times != after || !CPU_ISSET(cpu, &allowed))
			return;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
	if (last == CPU_SETSIZE &&
	    sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	if (times >= after) {
		sched_setaffinity(0, sizeof(allowed), &allowed);
		if (times - after >= PIN_AFTER)
			after = PIN_AFTER;
		else if (after < PIN_AFTER_MOST)
			after *= 4;
	}
	last = cpu;
	times = 1;
}

/*
 * Without the filter we stand at the entry of a call that does not exist:
 * go on to its exit, which would else look like the end of the next one.
 */
static int leave_call(struct task *t, const struct tracee_regs *at)
{
	struct tracee_regs r = *at;
	int status, err;

	r.reg_nr = -1;
	err = tracee_set_regs(t, &r);
	while (!err) {
		status = next_stop(t, PTRACE_SYSCALL);
		if (status < 0)
			return status;
		if (!(status >> 16))
			break;
	}
	return err;
}

/* Run n calls from entry until the stub says that it is done. */
static int run_stub(struct tracee_calls *c, struct tracee_regs *r,
		    const uint8_t *entry, unsigned int n, pid_t *child)
{
	struct round_clock clock;
	struct task *t = c->task;
	unsigned long msg;
	int status, err;

	r->reg_ip = STUB_ENTRY(entry);
	r->reg_nr = -1;
	regs_clear_trap(r);
	err = tracee_set_regs(t, r);
	if (err)
		return err;
	for (;;) {
		round_begin(&clock, t);
		/* The filter stops at the end; without one, every call does. */
		status = next_stop(t, t->filtered ? PTRACE_CONT :
						    PTRACE_SYSCALL);
		if (status < 0)
			return status;
		round_end(&clock, t, t->filtered ? n : 0);
		if (status >> 16 == PTRACE_EVENT_CLONE) {
			if (child &&
			    !tracer_call(PTRACE_GETEVENTMSG, t->tid, NULL, &msg))
				adopt_zapper(msg, child);
			continue;
		}
		err = tracee_get_regs(t, r);
		if (err)
			return err;
		if (r->reg_nr == STUB_NR_DONE) {
			if (t->filtered)
				follow_cpu(regs_stub_cpu(r));
			return t->filtered ? 0 : leave_call(t, r);
		}
	}
}

long tracee_call(struct tracee_calls *c, int *err, long nr, uint64_t a,
		 uint64_t b, uint64_t d, uint64_t e, uint64_t f, uint64_t g)
{
	struct tracee_regs r = c->saved;

	regs_put_call(&r, nr, (const uint64_t[]){ a, b, d, e, f, g });
	*err = run_stub(c, &r, moca_stub_one, 1, NULL);
	return r.reg_done;
}

long tracee_clone(struct tracee_calls *c, int *err, uint64_t flags,
		  pid_t *zapper)
{
	struct tracee_regs r = c->saved;

	*zapper = 0;
	regs_put_call(&r, SYS_clone, (const uint64_t[6]){ flags });
	*err = run_stub(c, &r, moca_stub_clone, 1, zapper);
	return r.reg_done;
}

unsigned long tracee_calls_run(void)
{
	return calls_run;
}

unsigned long tracee_rounds(void)
{
	return rounds;
}

int tracee_measure(struct tracee_calls *c)
{
	for (int i = 0; i < ROUND_WINDOW; i++) {
		int err;

		tracee_call(c, &err, SYS_getpid, 0, 0, 0, 0, 0, 0);
		if (err)
			return err;
		round_keep(1);
	}
	return 0;
}

int tracee_list(struct tracee_calls *c, unsigned int n)
{
	struct tracee_regs r = c->saved;
	int err;

	r.reg_first = STUB_DATA + STUB_CALLS;
	r.reg_count = n;
	calls_run += n;
	err = run_stub(c, &r, moca_stub_list, n, NULL);
	if (err)
		return err;
	/* Written by the program's own memory: believe no more than n. */
	return r.reg_done > n ? (int)n : (int)r.reg_done;
}

int tracee_run(struct tracee_calls *c, struct stub_data *stub,
	       struct stub_call *calls, size_t n)
{
	for (size_t done = 0; done < n;) {
		size_t k = n - done < STUB_CALLS_MAX ? n - done :
						       STUB_CALLS_MAX;
		int got;

		memcpy(stub->calls, calls + done, k * sizeof(*calls));
		got = tracee_list(c, k);
		if (got < 0)
			return got;
		memcpy(calls + done, stub->calls, k * sizeof(*calls));
		done += k;
	}
	return 0;
}

int tracee_finish_call(struct task *t)
{
	for (;;) {
		int status = next_stop(t, PTRACE_SYSCALL);

		if (status < 0)
			return status;
		if (!(status >> 16))
			return 0;
	}
}

/*
 * Has t left the stop in which it was seen last? In exact mode no exec is seen
 * coming; between the look and what follows a new image would need to come up.
 */
static int left_its_stop(struct task *t)
{
	int status;

	if (is_replaced(t))
		return 1;
	if (t->filtered || t->tid != t->pid || !t->space || !t->space->shared ||
	    waitpid(t->tid, &status, __WALL | WNOHANG) != t->tid)
		return 0;
	wait_keep(t->tid, status);
	return 1;
}

long tracee_interrupt(struct task *t)
{
	t->restart.heard = 1;
	return tracer_call(PTRACE_INTERRUPT, t->tid, NULL, NULL);
}

int tracee_resume(struct task *t, int request, int sig)
{
	if (left_its_stop(t))
		return -ESRCH;
	/* Before it runs any code of the program's. */
	if (t->retrap)
		tracee_interrupt(t);
	t->stop = TASK_RUNNING;
	t->listens = 0;
	if (request == PTRACE_CONT && restart_follows(t))
		request = PTRACE_SYSCALL;
	return tracer_call_resume(request, t->tid, t->pid, sig);
}

void tracee_let_helper_go(pid_t helper, int status)
{
	int sig = WSTOPSIG(status);

	if (!(status >> 16) && (sig == SIGSEGV || sig == SIGBUS ||
				sig == SIGILL || sig == SIGFPE))
		kill(helper, SIGKILL);
	/* No signal is passed on, so it never is in a stop that lasts. */
	tracer_call(PTRACE_CONT, helper, NULL, NULL);
}
