// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls that a stop interrupted, by children that are stopped at given moments. */
#include "collect/ptrace/restart.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracee.h"
#include "lib/base/clock.h"
#include "tests/unit/trace-util.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)

static volatile sig_atomic_t handled;
static int pipe_ends[2];

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static void handle(int flags)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGUSR1, &a, NULL);
}

/* --- children: 0 when the call did what it does without a tracer ------------- */

static int is_interrupted(long ret)
{
	return !(ret == -1 && errno == EINTR && handled == 1);
}

static int by_pause(void)
{
	handle(SA_RESTART);
	return is_interrupted(pause());
}

static int by_sigsuspend(void)
{
	sigset_t none, usr1;

	handle(SA_RESTART);
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	return is_interrupted(sigsuspend(&none));
}

static int by_poll(void)
{
	handle(SA_RESTART);
	return is_interrupted(poll(NULL, 0, -1));
}

static int by_select(void)
{
	handle(SA_RESTART);
	return is_interrupted(select(0, NULL, NULL, NULL, NULL));
}

static int by_nanosleep(void)
{
	const struct timespec long_time = { 1000, 0 };

	handle(SA_RESTART);
	return is_interrupted(nanosleep(&long_time, NULL));
}

static int by_epoll_wait(void)
{
	struct epoll_event e;

	handle(SA_RESTART);
	return is_interrupted(epoll_wait(epoll_create1(0), &e, 1, -1));
}

static int by_read(void)
{
	char c;

	handle(0);
	return is_interrupted(read(pipe_ends[0], &c, 1));
}

static int by_read_again(void)
{
	char c;

	handle(SA_RESTART);
	return !(read(pipe_ends[0], &c, 1) == 1 && handled == 1);
}

static int by_epoll_timed(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, pipe_ends[0], &e);
	/* Not over before a busy machine has come to stop it. */
	return epoll_wait(fd, &e, 1, 1500);
}

static int by_filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_epoll_wait, 0, 1),
		BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | EINTR),
		BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 2;
	raise(SIGSTOP);
	return !(syscall(SYS_epoll_wait, -1, NULL, 1, -1) == -1 &&
		 errno == EINTR);
}

/* --- what stops them ---------------------------------------------------------- */

/* Waits until it stands in the call of this number; -1: is stopped. */
static int is_in(pid_t pid, long nr)
{
	char path[64], text[64];
	int in = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid,
		 nr < 0 ? "stat" : "syscall");
	while (!in) {
		FILE *f = fopen(path, "re");
		int got = f && fgets(text, sizeof(text), f);

		if (f)
			fclose(f);
		if (!got)
			return 0;
		in = nr < 0 ? strstr(text, ") T ") != NULL :
			      text[0] != 'r' && atol(text) == nr;
		if (!in)
			usleep(1000);
	}
	return 1;
}

/* A child that stands in the call of this number, and is a tracee. */
static struct task *begin(int (*child)(void), long nr)
{
	struct task *t;
	pid_t pid;

	if (pipe_ends[0]) {
		close(pipe_ends[0]);
		close(pipe_ends[1]);
	}
	if (pipe(pipe_ends))
		return NULL;
	pid = fork();
	if (!pid) {
		alarm(60);
		_exit(child());
	}
	if (pid < 0 || !is_in(pid, nr) ||
	    ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD))
		return NULL;
	t = tasks_add(pid);
	t->pid = pid;
	return t;
}

static int stop_of(struct task *t)
{
	int status;

	if (waitpid(t->tid, &status, 0) != t->tid || !WIFSTOPPED(status))
		return -1;
	t->stop = TASK_STOPPED;
	return WSTOPSIG(status);
}

/* To the next stop. */
static int go(struct task *t, int request, int sig)
{
	return tracee_resume(t, request, sig) ? -1 : stop_of(t);
}

static int interrupt(struct task *t)
{
	return tracee_interrupt(t) ? -1 : stop_of(t);
}

static int end_of(struct task *t)
{
	int status;
	pid_t got = waitpid(t->tid, &status, 0);

	tasks_remove(t);
	return got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int at_call(struct task *t)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info) <= 0)
		return -1;
	restart_at_call(t, &info);
	return info.op;
}

static const struct {
	int (*child)(void);
	long nr;
	int data;	/* is written to the pipe, for the call to end */
} calls[] = {
	{ by_pause, SYS_pause, 0 },
	{ by_sigsuspend, SYS_rt_sigsuspend, 0 },
	{ by_poll, SYS_poll, 0 },
	{ by_select, SYS_pselect6, 0 },
	{ by_nanosleep, SYS_clock_nanosleep, 0 },
	{ by_read, SYS_read, 0 },
	{ by_read_again, SYS_read, 1 },
	{ by_epoll_wait, SYS_epoll_wait, 0 },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* A signal comes while its registers are ours. */
static int t_signal(void)
{
	for (size_t i = 0; i < CALLS; i++) {
		struct task *t = begin(calls[i].child, calls[i].nr);
		struct user_regs_struct r;
		struct tracee_calls c;

		CHECK(t && interrupt(t) == SIGTRAP);
		restart_interrupted(t);
		CHECK(!tracee_get_regs(t, &r) && !tracee_begin(&c, t, &r));
		kill(t->tid, SIGUSR1);
		CHECK(!tracee_end(&c));
		if (calls[i].data)
			CHECK(write(pipe_ends[1], "", 1) == 1);
		CHECK(go(t, PTRACE_CONT, 0) == SIGUSR1);
		restart_signal(t, SIGUSR1);
		CHECK(!tracee_resume(t, PTRACE_CONT, SIGUSR1));
		CHECK(!end_of(t));
	}
	return 0;
}

/* It comes when nobody is to hear of it any more. */
static int t_leave(void)
{
	for (size_t i = 0; i < 2 * CALLS; i++) {
		struct task *t = begin(calls[i / 2].child, calls[i / 2].nr);
		struct user_regs_struct r;
		struct tracee_calls c;

		CHECK(t && interrupt(t) == SIGTRAP);
		if (i % 2) {
			restart_interrupted(t);
			CHECK(!tracee_get_regs(t, &r) && !tracee_begin(&c, t, &r));
			CHECK(!tracee_end(&c));
		}
		restart_leave(t);
		kill(t->tid, SIGUSR1);
		if (calls[i / 2].data)
			CHECK(write(pipe_ends[1], "", 1) == 1);
		CHECK(!ptrace(PTRACE_DETACH, t->tid, NULL, NULL));
		CHECK(!end_of(t));
	}
	return 0;
}

/* Without a signal it waits on, and its result is what it waited for. */
static int t_leave_alone(void)
{
	struct task *t = begin(by_epoll_timed, SYS_epoll_wait);

	CHECK(t && interrupt(t) == SIGTRAP);
	restart_leave(t);
	kill(t->tid, SIGWINCH);
	CHECK(write(pipe_ends[1], "", 1) == 1);
	CHECK(!ptrace(PTRACE_DETACH, t->tid, NULL, NULL));
	CHECK(end_of(t) == 1);
	return 0;
}

static int t_filtered(void)
{
	struct task *t = begin(by_filtered, -1);
	unsigned int stops = 0;
	int sig;

	if (!t)
		return 2;
	kill(t->tid, SIGCONT);
	for (sig = stop_of(t); sig > 0 && stops < 200; stops++) {
		if (sig == SYSCALL_STOP)
			CHECK(at_call(t) >= 0);
		sig = go(t, PTRACE_SYSCALL, 0);
	}
	CHECK(sig < 0 && stops < 200);
	tasks_remove(t);
	return 0;
}

/* Our stops are no filter, however many there are. */
static int t_stopped_often(void)
{
	struct task *t = begin(by_epoll_wait, SYS_epoll_wait);

	CHECK(t && interrupt(t) == SIGTRAP && restart_interrupted(t));
	for (int i = 0; i < 100; i++) {
		CHECK(go(t, PTRACE_SYSCALL, 0) == SYSCALL_STOP);
		CHECK(at_call(t) == PTRACE_SYSCALL_INFO_ENTRY);
		CHECK(!tracee_resume(t, PTRACE_SYSCALL, 0));
		CHECK(interrupt(t) == SYSCALL_STOP);
		CHECK(at_call(t) == PTRACE_SYSCALL_INFO_EXIT);
	}
	restart_leave(t);
	kill(t->tid, SIGUSR1);
	CHECK(!ptrace(PTRACE_DETACH, t->tid, NULL, NULL));
	CHECK(!end_of(t));
	return 0;
}

/* Its time is over while it stands still; has what it waits for come before that? */
static int look(int comes)
{
	struct task *t = begin(by_epoll_timed, SYS_epoll_wait);

	CHECK(t && interrupt(t) == SIGTRAP && restart_interrupted(t));
	CHECK(go(t, PTRACE_SYSCALL, 0) == SYSCALL_STOP);
	CHECK(at_call(t) == PTRACE_SYSCALL_INFO_ENTRY);
	CHECK(!tracee_resume(t, PTRACE_SYSCALL, 0));
	CHECK(is_in(t->tid, SYS_epoll_wait) && interrupt(t) == SYSCALL_STOP);
	if (comes)
		CHECK(write(pipe_ends[1], "", 1) == 1);
	while (moca_now_ns() <= t->restart.end_ns)
		usleep(1000);
	CHECK(at_call(t) == PTRACE_SYSCALL_INFO_EXIT && t->restart.last);
	CHECK(go(t, PTRACE_SYSCALL, 0) == SYSCALL_STOP);
	CHECK(at_call(t) == PTRACE_SYSCALL_INFO_ENTRY);
	CHECK(!tracee_resume(t, PTRACE_SYSCALL, 0));
	if (!comes) {
		CHECK(is_in(t->tid, SYS_epoll_wait));
		while (moca_now_ns() <= t->restart.end_ns)
			usleep(1000);
		restart_look();
	}
	CHECK(stop_of(t) == SYSCALL_STOP);
	CHECK(at_call(t) == PTRACE_SYSCALL_INFO_EXIT);
	CHECK(!t->restart.end_ns);
	CHECK(!ptrace(PTRACE_DETACH, t->tid, NULL, NULL));
	CHECK(end_of(t) == comes);
	return 0;
}

static int t_last_look(void)
{
	return look(1) || look(0);
}

/* Stopped as by ^Z, it is left alone. */
static int t_listens(void)
{
	struct task *t = begin(by_epoll_timed, SYS_epoll_wait);
	int status;

	CHECK(t && interrupt(t) == SIGTRAP && restart_interrupted(t));
	CHECK(t->restart.end_ns);
	CHECK(!kill(t->tid, SIGSTOP) && go(t, PTRACE_CONT, 0) == SIGSTOP);
	CHECK(go(t, PTRACE_CONT, SIGSTOP) == SIGSTOP);
	CHECK(!ptrace(PTRACE_LISTEN, t->tid, NULL, NULL));
	t->stop = TASK_RUNNING;
	t->listens = 1;
	while (moca_now_ns() <= t->restart.end_ns)
		usleep(1000);
	restart_look();
	usleep(50000);
	CHECK(!waitpid(t->tid, &status, WNOHANG));
	CHECK(!kill(t->tid, SIGCONT) && stop_of(t) >= 0);
	kill(t->tid, SIGKILL);
	end_of(t);
	return 0;
}

/* --- descriptors of a thread's own -------------------------------------------- */

static int thread_fd = -1;

static void *own_descriptors(void *arg)
{
	const struct timeval time = { 7, 0 };
	int *tid_end = arg, pair[2];
	int tid = (int)syscall(SYS_gettid);

	if (unshare(CLONE_FILES) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) ||
	    dup2(pair[0], thread_fd) < 0 ||
	    write(*tid_end, &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	pause();
	return NULL;
}

static int t_descriptors(void)
{
	int ends[2], tid = 0, fd, own;
	struct timeval time = { 0, 0 };
	socklen_t len = sizeof(time);
	struct task t = { 0 };
	pthread_t thread;

	CHECK(!pipe(ends));
	thread_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	t.pid = fork();
	if (!t.pid) {
		alarm(60);
		pthread_create(&thread, NULL, own_descriptors, &ends[1]);
		pause();
		_exit(1);
	}
	CHECK(t.pid > 0 && read(ends[0], &tid, sizeof(tid)) == sizeof(tid));
	t.tid = tid;
	own = tracee_fetch_socket(&t, thread_fd);
	fd = tracee_fetch_socket(&t, ends[0]);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	CHECK(fd == -ENOTSOCK);
	/* Kernels before 6.9 cannot; what they give is not the leader's. */
	if (own == -EBADF)
		return 0;
	CHECK(own >= 0);
	CHECK(!getsockopt(own, SOL_SOCKET, SO_RCVTIMEO, &time, &len));
	CHECK(time.tv_sec == 7);
	return 0;
}

int main(void)
{
	run("restart: a signal while registers are ours", t_signal);
	run("restart: a signal when the tracer has gone", t_leave);
	run("restart: no signal when the tracer has gone", t_leave_alone);
	run("restart: a filter that returns EINTR", t_filtered);
	run("restart: stops, many in a row", t_stopped_often);
	run("restart: the last look", t_last_look);
	run("restart: not while the process is stopped", t_listens);
	run("restart: descriptors of a thread's own", t_descriptors);
	return failures != 0;
}
