// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/restart.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/tracer-call.h"
#include "lib/base/clock.h"
#include "lib/base/proc.h"

#define NS_PER_S      1000000000ull
#define LOOK_AGAIN_NS 10000000ull /* a wake-up may come too early to be heard  \
				   */
#define LAST_LOOK_NS 1000000ull
#define BIT(sig) (1ull << ((sig) - 1))
#define IGNORED_BY_DEFAULT \
	(BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH))

enum waits_for {
	NO_TIME,	/* without end, or the kernel keeps the time */
	MILLISECONDS,	/* an argument */
	TIMESPEC,	/* an argument points to it */
	RECEIVE,	/* SO_RCVTIMEO of the first argument */
	SEND,		/* SO_SNDTIMEO of it */
	RING,		/* io_uring's arguments */
};

/*
 * Calls that return EINTR after any stop, even without a signal, and that
 * have done nothing yet when they do (signal(7)).
 */
static const struct call {
	short nr;
	uint8_t waits_for;	/* enum waits_for */
	uint8_t arg;		/* from 0 */
	short over;		/* what it returns when the time is over */
} calls[] = {
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, MILLISECONDS, 3, 0 },
	{ SYS_poll, NO_TIME, 0, 0 },
	{ SYS_select, NO_TIME, 0, 0 },
#endif
	{ SYS_epoll_pwait, MILLISECONDS, 3, 0 },
	{ SYS_epoll_pwait2, TIMESPEC, 3, 0 },
	{ SYS_semop, NO_TIME, 0, 0 },
	{ SYS_semtimedop, TIMESPEC, 3, -EAGAIN },
	{ SYS_msgrcv, NO_TIME, 0, 0 },
	{ SYS_msgsnd, NO_TIME, 0, 0 },
	{ SYS_io_getevents, TIMESPEC, 4, 0 },
	{ SYS_io_pgetevents, TIMESPEC, 4, 0 },
	{ SYS_io_uring_enter, RING, 0, -ETIME },
	{ SYS_rt_sigtimedwait, TIMESPEC, 2, -EAGAIN },
	/* The kernel writes what is left into their timespec, if it can. */
	{ SYS_ppoll, TIMESPEC, 2, 0 },
	{ SYS_pselect6, NO_TIME, 0, 0 },
	{ SYS_futex, NO_TIME, 0, 0 },
	/* Also of inotify, and then without a time. */
	{ SYS_read, RECEIVE, 0, -EAGAIN },
	{ SYS_readv, RECEIVE, 0, -EAGAIN },
	{ SYS_recvfrom, RECEIVE, 0, -EAGAIN },
	{ SYS_recvmsg, RECEIVE, 0, -EAGAIN },
	{ SYS_recvmmsg, RECEIVE, 0, -EAGAIN },
	{ SYS_accept, RECEIVE, 0, -EAGAIN },
	{ SYS_accept4, RECEIVE, 0, -EAGAIN },
	{ SYS_write, SEND, 0, -EAGAIN },
	{ SYS_writev, SEND, 0, -EAGAIN },
	{ SYS_sendto, SEND, 0, -EAGAIN },
	{ SYS_sendmsg, SEND, 0, -EAGAIN },
	{ SYS_sendmmsg, SEND, 0, -EAGAIN },
	{ SYS_connect, SEND, 0, -EINPROGRESS },
};

/* Of the kernel, seen by tracers only. */
#define ERESTARTSYS 512
#define ERESTARTNOHAND 514
#define ENOIOCTLCMD 515
#define ERESTART_RESTARTBLOCK 516
/*
 * A seccomp filter of the program's own answers at once. A call that returned
 * EINTR so often, and nothing came in between, is answered by one.
 */
#define AT_ONCE_NS 10000000ull
#define FILTERED_TIMES 16

static timer_t timer;
static uint64_t timer_ns;	/* when it comes; 0: never */

static const struct call *find(const struct tracee_regs *r)
{
	if (regs_are_32bit(r))
		return NULL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == (long)r->reg_nr)
			return &calls[i];
	return NULL;
}

/* --- signals ------------------------------------------------------------- */

/* The signals that t never gets, but that a tracer hears of. */
static uint64_t ignored(const struct task *t)
{
	char text[64];
	uint64_t caught, set;

	if (moca_proc_status(text, sizeof(text), t->tid, "SigCgt:"))
		return 0;
	caught = strtoull(text, NULL, 16);
	if (moca_proc_status(text, sizeof(text), t->tid, "SigIgn:"))
		return 0;
	set = strtoull(text, NULL, 16);
	return set | (IGNORED_BY_DEFAULT & ~caught);
}

/* Whether a signal of the program's own is about to be delivered. */
static int signal_waits(const struct task *t)
{
	struct __ptrace_peeksiginfo_args where = { .nr = 32 };
	uint64_t blocked, waiting = 0;
	siginfo_t info[32];

	if (tracer_call(PTRACE_GETSIGMASK, t->tid, sizeof(blocked), &blocked))
		return 1;
	for (where.flags = 0; where.flags <= PTRACE_PEEKSIGINFO_SHARED;
	     where.flags++) {
		long n = tracer_call(PTRACE_PEEKSIGINFO, t->tid, &where, info);

		for (long i = 0; i < n; i++)
			waiting |= BIT(info[i].si_signo);
	}
	waiting &= ~blocked;
	return waiting && waiting & ~ignored(t);
}

/* --- how long a call waits ------------------------------------------------- */

static uint64_t read_timespec(const struct task *t, uint64_t addr)
{
	struct timespec time;

	/* What is no time, the kernel refuses; or is beyond all recordings. */
	if (!addr || tracee_read(t->tid, addr, &time, sizeof(time)) !=
			     sizeof(time) ||
	    time.tv_sec < 0 || time.tv_sec > 1 << 30 || time.tv_nsec < 0 ||
	    time.tv_nsec >= (long)NS_PER_S)
		return 0;
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static uint64_t socket_time(const struct task *t, int fd, int option,
			    long *over)
{
	int own = tracee_fetch_socket(t, fd), domain = 0;
	struct timeval time = { 0, 0 };
	socklen_t len = sizeof(time);

	if (own < 0)
		return 0;
	if (getsockopt(own, SOL_SOCKET, option, &time, &len))
		time = (struct timeval){ 0, 0 };
	len = sizeof(domain);
	if (*over == -EINPROGRESS &&
	    !getsockopt(own, SOL_SOCKET, SO_DOMAIN, &domain, &len) &&
	    domain == AF_UNIX)
		*over = -EAGAIN;
	close(own);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

static uint64_t ring_time(const struct task *t, const struct tracee_regs *r)
{
	struct io_uring_getevents_arg arg;
	const uint64_t kind =
		r->reg_a3 & (IORING_ENTER_EXT_ARG | 1 << 5 | 1 << 6);

	/* The others: the time is absolute, or stands in memory of the ring. */
	if (kind != IORING_ENTER_EXT_ARG || r->reg_a5 != sizeof(arg) ||
	    tracee_read(t->tid, r->reg_a4, &arg, sizeof(arg)) != sizeof(arg))
		return 0;
	return read_timespec(t, arg.ts);
}

/* In ns; 0: without end. *over is what it returns then. */
static uint64_t time_of(const struct task *t, const struct call *call,
			const struct tracee_regs *r, long *over)
{
	const uint64_t args[] = { r->reg_a0, r->reg_a1, r->reg_a2, r->reg_a3,
				  r->reg_a4 };
	int ms = (int)args[call->arg];

	*over = call->over;
	switch (call->waits_for) {
	case MILLISECONDS:
		return ms > 0 ? ms * 1000000ull : 0;
	case TIMESPEC:
		return read_timespec(t, args[call->arg]);
	case RECEIVE:
		return socket_time(t, (int)r->reg_a0, SO_RCVTIMEO, over);
	case SEND:
		return socket_time(t, (int)r->reg_a0, SO_SNDTIMEO, over);
	case RING:
		return ring_time(t, r);
	default:
		return 0;
	}
}

/* --- the rest of it ---------------------------------------------------------- */

/* To be woken at ns, and again each LOOK_AGAIN_NS; 0: not at all. */
static void wake_at(uint64_t ns)
{
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGURG };
	struct itimerspec at = { 0 };
	static int made;

	to._sigev_un._tid = gettid();
	if (!made && timer_create(CLOCK_MONOTONIC, &to, &timer))
		return;
	made = 1;
	timer_ns = ns;
	at.it_value.tv_sec = ns / NS_PER_S;
	at.it_value.tv_nsec = ns % NS_PER_S;
	at.it_interval.tv_nsec = ns ? LOOK_AGAIN_NS : 0;
	timer_settime(timer, TIMER_ABSTIME, &at, NULL);
}

static void wake_for(const struct restart *again)
{
	if (again->end_ns && (!timer_ns || timer_ns > again->end_ns))
		wake_at(again->end_ns);
}

void restart_look(void)
{
	uint64_t now = timer_ns ? moca_now_ns() : 0, next = 0;
	struct task *t;

	if (!timer_ns || now < timer_ns)
		return;
	for (t = tasks_next(NULL); t; t = tasks_next(t)) {
		uint64_t at = t->restart.end_ns;

		/* What is stopped as by ^Z is seen to when it goes on. */
		if (!at || t->listens)
			continue;
		if (at <= now && t->stop == TASK_RUNNING)
			tracee_interrupt(t);
		if (at <= now)
			at = now + LOOK_AGAIN_NS;
		if (!next || at < next)
			next = at;
	}
	wake_at(next);
}

/* The call at which it stands is the one that was begun again? */
static int is_same(const struct task *t, uint64_t ip, uint64_t sp, uint64_t nr)
{
	return t->restart.ip && t->restart.ip + REGS_CALL_BYTES == ip &&
	       t->restart.sp == sp && t->restart.nr == (long)nr;
}

/* Back to the instruction of the call; what it returned is kept. */
static void rewind_call(struct task *t, struct tracee_regs *r, long nr)
{
	struct restart *again = &t->restart;

	again->error = r->reg_ret;
	again->nr = r->reg_nr;
	again->by = nr;
	regs_rewind(r, nr);
	again->ip = r->reg_ip;
	again->sp = r->reg_sp;
	r->reg_nr = -1;
}

static int is_rewound(const struct task *t, const struct tracee_regs *r)
{
	return is_same(t, r->reg_ip + REGS_CALL_BYTES, r->reg_sp,
		       t->restart.nr) &&
	       (long)r->reg_call == t->restart.by && (long)r->reg_nr < 0;
}

/*
 * As the kernel left it, before it looked whether a signal has a handler: it
 * does now, and restarts the call or lets it return EINTR.
 */
static void undo(struct task *t, struct tracee_regs *r, long error)
{
	regs_undo_rewind(r, t->restart.nr, error);
	tracee_set_regs(t, r);
	t->restart = (struct restart){ 0 };
}

/* sig: a signal that is about to be delivered, or 0. */
static int begin_again(struct task *t, int sig)
{
	struct restart *again = &t->restart;
	const struct call *call;
	struct tracee_regs r;
	uint64_t now, ns;

	if (tracee_get_regs(t, &r) || (long)r.reg_ret != -EINTR)
		return 0;
	regs_find_call(t->tid, &r);
	if ((long)r.reg_nr < 0)
		return 0;
	call = find(&r);
	if (!call || signal_waits(t) || (sig && !(BIT(sig) & ignored(t))))
		return 0;
	now = moca_now_ns();
	if (!again->end_ns || !is_same(t, r.reg_ip, r.reg_sp, r.reg_nr)) {
		ns = time_of(t, call, &r, &again->over);
		again->end_ns = !ns ? 0 : ns + (again->entry_ns ?
						again->entry_ns : now);
		again->last = 0;
	}
	if (again->end_ns && again->end_ns <= now && again->last) {
		r.reg_ret = again->over;
		r.reg_nr = -1;
		again->ip = again->end_ns = 0;
	} else {
		/* What came in time, while it stood still, has to be seen. */
		if (again->end_ns && again->end_ns <= now) {
			again->last = 1;
			again->end_ns = now + LAST_LOOK_NS;
		}
		rewind_call(t, &r, r.reg_nr);
		wake_for(again);
	}
	tracee_set_regs(t, &r);
	return 1;
}

int restart_interrupted(struct task *t)
{
	t->restart.heard = 1;
	return begin_again(t, 0);
}

void restart_by_hand(struct task *t, struct tracee_regs *r)
{
	long ret = r->reg_ret;

	/* On arm64 the kernel has done so by itself, before this stop. */
	if (MOCA_IS_X86 && (long)r->reg_nr >= 0 && ret <= -ERESTARTSYS &&
	    ret >= -ERESTART_RESTARTBLOCK && ret != -ENOIOCTLCMD) {
		if (!is_same(t, r->reg_ip, r->reg_sp, r->reg_nr))
			t->restart = (struct restart){
				.entry_ns = t->restart.entry_ns,
			};
		rewind_call(t, r,
			    ret == -ERESTART_RESTARTBLOCK ? SYS_restart_syscall
							  : (long)r->reg_nr);
	}
	r->reg_nr = -1;
}

void restart_leave(struct task *t)
{
	struct tracee_regs r;

	begin_again(t, 0);
	/* No handler restarts those that return EINTR after any stop. */
	if (!tracee_get_regs(t, &r) && is_rewound(t, &r))
		undo(t, &r, t->restart.error == -EINTR ? -ERESTARTNOHAND :
							 t->restart.error);
}

int restart_follows(const struct task *t)
{
	return t->restart.end_ns != 0;
}

/* The call has returned EINTR. Did a filter of the program's own make it do so? */
static int is_filtered(struct task *t)
{
	struct restart *again = &t->restart;

	if (again->heard)
		again->vain = 0;
	else if (again->ip && moca_now_ns() - again->again_ns < AT_ONCE_NS)
		again->vain++;
	again->heard = 0;
	return again->vain >= FILTERED_TIMES;
}

void restart_at_call(struct task *t, const struct __ptrace_syscall_info *info)
{
	struct restart *again = &t->restart;
	struct tracee_regs r;

	if (info->op == PTRACE_SYSCALL_INFO_ENTRY) {
		uint64_t now = moca_now_ns();

		if (!is_same(t, info->instruction_pointer, info->stack_pointer,
			     info->entry.nr))
			*again = (struct restart){ .entry_ns = now };
		again->again_ns = now;
		wake_for(again);
		return;
	}
	if (info->op != PTRACE_SYSCALL_INFO_EXIT)
		return;
	if (info->exit.rval == -EINTR && !is_filtered(t) && begin_again(t, 0))
		return;
	/* The kernel keeps no time of a connection that it goes on with. */
	if (again->over == -EINPROGRESS && info->exit.rval == -EALREADY &&
	    is_same(t, info->instruction_pointer, info->stack_pointer,
		    SYS_connect) &&
	    !tracee_get_regs(t, &r)) {
		r.reg_ret = -EINPROGRESS;
		tracee_set_regs(t, &r);
	}
	*again = (struct restart){ 0 };
}

void restart_at_stop(struct task *t)
{
	struct __ptrace_syscall_info info;

	if (t->restart.end_ns && tracer_call(PTRACE_GET_SYSCALL_INFO, t->tid,
					     sizeof(info), &info) > 0)
		restart_at_call(t, &info);
}

/*
 * A handled signal can arrive after an interrupted call was rewound and before the
 * call is entered again. In a plain run it would have interrupted the call.
 */
void restart_signal(struct task *t, int sig)
{
	struct tracee_regs r;

	t->restart.heard = 1;
	if (sig > 64 || begin_again(t, sig) || !t->restart.ip ||
	    tracee_get_regs(t, &r) || !is_rewound(t, &r) ||
	    BIT(sig) & ignored(t))
		return;
	undo(t, &r, t->restart.error);
}
