// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/run/oom.h"
#include "collect/run/waiting.h"
#include "collect/run/way.h"
#include "lib/base/end.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"
#include "lib/ring/registry.h"

static pid_t front_pid, front_group;

/* Without ptrace nobody could tell each image (session.h). */
static void set_session(uint64_t session)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, session);
	setenv(MOCA_TRACE_ENV, text, 1);
}

/*
 * Up to glibc's own two, 32 and 33, which its sigaction() refuses. posix_spawn
 * has them ignored in programs that it starts (make does so), and with threads
 * glibc handles 33, which exec sets to the default.
 */
#define SIGNALS_SET 33

/* How often the front looks what the engine waits for. */
#define LOOK_MS 1000
/* For the exit of each helper that is done: half a second, or a little more. */
#define HELPER_WAIT_US 200
#define HELPER_TRIES 2500

struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

static int is_ignored(int sig)
{
	struct kernel_action a = { 0 };

	return !syscall(SYS_rt_sigaction, sig, NULL, &a, sizeof(a.mask)) &&
	       a.handler == (uint64_t)SIG_IGN;
}

static void set_ignored(int sig, int ignored)
{
	struct kernel_action a = {
		.handler = (uint64_t)(ignored ? SIG_IGN : SIG_DFL),
	};

	syscall(SYS_rt_sigaction, sig, &a, NULL, sizeof(a.mask));
}

static void child_main(struct recorder *rec, int gate, int report)
{
	const struct moca_record_options *o = rec->opt;
	struct exec_failure why = { 0 };
	char go;

	/* Fails where the front was killed: then its group may be gone. */
	if (rec->opt->launched && setpgid(0, front_group))
		moca_debug("the program is in the recorder's process group: %s",
			   strerror(errno));
	for (int sig = 1; sig <= SIGNALS_SET; sig++)
		set_ignored(sig, rec->ignored >> sig & 1);
	sigprocmask(SIG_SETMASK, &rec->sigmask, NULL);
	if (o->program_stdout >= 0)
		dup2(o->program_stdout, 1);
	if (o->program_stderr >= 0)
		dup2(o->program_stderr, 2);
	/* Huge pages would blur which page was touched. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (read(gate, &go, 1) != 1)
		_exit(125);
	if (rec->session && !rec->way->traced)
		set_session(rec->session);
	if (rec->way->before_exec)
		why.error = -rec->way->before_exec(rec, &why.what);
	if (!why.error) {
		why.what = NULL;
		execvp(o->argv[0], o->argv);
		why.error = errno;
	}
	if (write(report, &why, sizeof(why)) < 0)
		_exit(125);
	_exit(why.what ? 125 : why.error == ENOENT ? 127 : 126);
}

pid_t launch_child(struct recorder *rec, int *gate, int *exec_error)
{
	int go[2], report[2], err;
	sigset_t all, mask;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(report, O_CLOEXEC)) {
		err = -errno;
		goto err_go;
	}
	/* The child shall run no handler of ours: a signal would be lost. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	pid = fork();
	err = -errno;
	if (pid)
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (pid < 0)
		goto err_report;
	if (!pid) {
		close(go[1]);
		close(report[0]);
		child_main(rec, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	err = rec->way->child ? rec->way->child(rec, pid) : 0;
	if (err) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(go[1]);
		close(report[0]);
		return err;
	}
	*gate = go[1];
	*exec_error = report[0];
	return pid;

err_report:
	close(report[0]);
	close(report[1]);
err_go:
	close(go[0]);
	close(go[1]);
	return err;
}

void launch_go(int gate)
{
	while (write(gate, "g", 1) < 0 && errno == EINTR)
		;
	close(gate);
}

/* What the engine tells the front. */
struct front_message {
	int kind;	/* 's': see stop_state, 'e': the end */
	int exit_code;
	int signal;
};

/*
 * Memory that engine and front share. A SIGCONT that comes between the front's
 * look at `stopped` and its kill of itself has no effect, so the engine says it
 * until the front is up (launch_wake_front).
 */
struct stop_state {
	atomic_int stopped;	/* the program is, by this signal; else 0 */
	atomic_int asleep;	/* the front stops, or is about to */
	atomic_int told;	/* the front has a message that it has not taken: a
				   second one would stop it again when it is continued */
};

static struct stop_state *stop_state;
/* In the engine: `stopped`, and the signals that follow from it, as one. */
static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;

int launch_told_stopped(struct recorder *rec)
{
	/*
	 * What the attached program does is no concern of our shell's. A front
	 * that took its message and is up was continued meanwhile.
	 */
	return rec->attach || (atomic_load(&stop_state->stopped) &&
			       (atomic_load(&stop_state->asleep) ||
				atomic_load(&stop_state->told)));
}

void launch_tell_stopped(struct recorder *rec, int sig)
{
	struct front_message m = { .kind = 's' };

	if (launch_told_stopped(rec) || rec->front < 0)
		return;
	pthread_mutex_lock(&stop_lock);
	/* The front loads it when it has the message. */
	atomic_store(&stop_state->stopped, sig);
	atomic_store(&stop_state->told, 1);
	if (send(rec->front, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		atomic_store(&stop_state->told, 0);
	pthread_mutex_unlock(&stop_lock);
}

void launch_wake_front(void)
{
	pthread_mutex_lock(&stop_lock);
	/* Sequentially consistent, as in stop_like: one sees the other's. */
	if (atomic_load(&stop_state->asleep) &&
	    !atomic_load(&stop_state->stopped) && getppid() == front_pid)
		kill(front_pid, SIGCONT);
	pthread_mutex_unlock(&stop_lock);
}

uint64_t launch_own_cpu_ns(void)
{
	static _Atomic uint64_t front_ns;
	uint64_t now = moca_process_cpu_ns(front_pid);

	/* Behind its end, another process has adopted this one, or has its number. */
	if (getppid() == front_pid)
		atomic_store(&front_ns, now);
	return moca_process_cpu_ns(getpid()) + atomic_load(&front_ns);
}

void launch_tell_continued(struct recorder *rec)
{
	if (atomic_exchange(&stop_state->stopped, 0))
		launch_wake_front();
}

void launch_supervise(struct recorder *rec)
{
	int status;
	pid_t pid;

	while (!rec->attach) {
		pid = waitpid(rec->root, &status, WUNTRACED | WCONTINUED);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		if (WIFSTOPPED(status)) {
			launch_tell_stopped(rec, WSTOPSIG(status));
		} else if (WIFCONTINUED(status)) {
			launch_tell_continued(rec);
		} else {
			rec->root_status = status;
			rec->root_done = 1;
			launch_tell_continued(rec);
			break;
		}
	}
}

void launch_tell_end(struct recorder *rec, int exit_code, int signal)
{
	struct front_message m = { 'e', exit_code, signal };

	if (rec->front < 0)
		return;
	atomic_store(&stop_state->stopped, 0);
	while (atomic_load(&stop_state->asleep) && !launch_front_gone(rec)) {
		launch_wake_front();
		usleep(1000);
	}
	send(rec->front, &m, sizeof(m), MSG_NOSIGNAL);
}

int launch_front_gone(struct recorder *rec)
{
	struct pollfd p = { rec->front, 0, 0 };

	return rec->front >= 0 && poll(&p, 1, 0) > 0 &&
	       (p.revents & (POLLHUP | POLLERR));
}

int launch_ignores(const struct recorder *rec, int sig)
{
	return sig == SIGHUP && rec->opt->attach && rec->ignored >> SIGHUP & 1;
}

static pid_t engine_pid;

/* A request to end goes to the program (or, attached, ends the recording). */
static void forward(int sig)
{
	int saved = errno;

	kill(engine_pid, sig == SIGINT ? SIGUSR1 : sig);
	errno = saved;
}

/* End as the program did, so that the shell sees no difference. */
static void end_like(int exit_code, int sig)
{
	if (sig)
		exit_code = moca_end_by(sig);
	fflush(NULL);
	_exit(exit_code);
}

/* Stop as the program did, for the shell that waits for us. */
static void stop_like_program(void)
{
	void (*former)(int) = NULL;
	int sig;

	/* Before the look at `stopped`: see launch_wake_front. */
	atomic_store(&stop_state->asleep, 1);
	atomic_store(&stop_state->told, 0);
	sig = atomic_load(&stop_state->stopped);
	if (sig && sig != SIGSTOP)
		former = signal(sig, SIG_DFL);
	if (sig)
		kill(getpid(), sig);
	if (sig && sig != SIGSTOP)
		signal(sig, former);
	atomic_store(&stop_state->asleep, 0);
}

/* A SIGKILL may be the kernel's, for want of memory. */
static void tell_oom(const struct oom *before, const char *whom)
{
	char why[640];

	if (oom_since(before, why, sizeof(why)))
		moca_error("the kernel ended %s with SIGKILL, because %s. "
			   "Give it more: recording takes some 10 MB besides "
			   "what the program uses", whom, why);
}

static void tell_engine_killed(const struct record_way *way, int sig)
{
	if (way->killed)
		moca_error("the recording process was ended by signal %d (%s); "
			   "the program was ended too, because %s. What was "
			   "recorded can be read with: moca info", sig,
			   strsignal(sig), way->killed);
	else
		moca_error("the recording process was ended by signal %d (%s); "
			   "the program goes on, unrecorded. What was recorded "
			   "can be read with: moca info", sig, strsignal(sig));
}

/*
 * The engine that was killed cannot say so in the trace. Where the program was
 * ended with it, how that ended is known as well.
 */
static void note_engine_killed(const struct recorder *rec, int sig)
{
	struct moca_meta *m;
	const char *state;
	char text[160];
	int err = moca_meta_read(&m, rec->dirfd);

	/* Killed before it wrote any: the trace has nothing. */
	if (err == -ENOENT)
		return;
	if (err)
		goto out;
	snprintf(text, sizeof(text), "the recording process was ended by signal "
		 "%d (%s); what it had not written is not in the trace", sig,
		 strsignal(sig));
	state = moca_meta_get(m, "state");
	if (state && !strcmp(state, "recording")) {
		moca_meta_set(m, "state", "failed");
		if (rec->way->killed && !rec->attach)
			moca_meta_set(m, "exit_status", "%d", SIGKILL);
		moca_meta_add_loss(m, text);
		err = moca_meta_write(m, rec->dirfd);
	}
	moca_meta_free(m);
out:
	if (err)
		moca_warn("cannot note in %s that the recording process was killed: %s",
			  rec->dir, strerror(-err));
}

/*
 * A helper has done its work when the engine tells the end, and is about to
 * exit. Who measures us (time(1), rusage) gets its CPU time only if its exit is
 * taken. Never for long: an end that was told is an end.
 */
static void take_exit(pid_t helper)
{
	for (int i = 0; helper > 0 && i < HELPER_TRIES; i++) {
		if (waitpid(helper, NULL, WNOHANG))
			return;
		usleep(HELPER_WAIT_US);
	}
}

static void take_exits(const struct recorder *rec)
{
	const struct moca_record_companion *c = rec->opt->companion;

	take_exit(rec->machine.pid);
	for (int i = 0; c && c->pid && i < 2; i++)
		take_exit(c->pid(c->arg, i));
}

/* The engine's next message, as recv. What it waits for meanwhile is told. */
static ssize_t hear(const struct recorder *rec, int sock,
		    struct front_message *m)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	char line[256];
	int n;

	while (!(n = poll(&p, 1, LOOK_MS)))
		if (waiting_look(moca_now_ns(), line, sizeof(line)) &&
		    !rec->opt->quiet)
			moca_warn("%s", line);
	return n < 0 ? n : recv(sock, m, sizeof(*m), 0);
}

static void front_main(struct recorder *rec, int sock, pid_t engine)
{
	int attach = rec->opt->attach != 0;
	const int pass[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct front_message m;
	struct oom oom;
	int status = 0;
	sigset_t ours;
	ssize_t n;

	engine_pid = engine;
	oom_begin(&oom);
	sigfillset(&ours);
	/* ^C and ^Z are the program's to obey. */
	signal(SIGINT, attach ? forward : SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTSTP, attach ? SIG_DFL : SIG_IGN);
	for (size_t i = 0; i < sizeof(pass) / sizeof(pass[0]); i++)
		if (!launch_ignores(rec, pass[i]))
			signal(pass[i], forward);
	sigprocmask(SIG_UNBLOCK, &ours, NULL);
	for (;;) {
		n = hear(rec, sock, &m);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(m))
			break;
		if (m.kind == 's') {
			stop_like_program();
			continue;
		}
		while (waitpid(engine, &status, 0) < 0 && errno == EINTR)
			;
		if (m.signal == SIGKILL)
			tell_oom(&oom, "the program");
		take_exits(rec);
		end_like(m.exit_code, m.signal);
	}
	while (waitpid(engine, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		tell_engine_killed(rec->way, WTERMSIG(status));
		note_engine_killed(rec, WTERMSIG(status));
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		tell_oom(&oom, "the recording process or the program");
	end_like(125, 0);
}

int launch_engine(struct recorder *rec)
{
	sigset_t all;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	rec->ignored = 0;
	for (int sig = 1; sig <= SIGNALS_SET; sig++)
		rec->ignored |= (uint64_t)is_ignored(sig) << sig;
	stop_state = mmap(NULL, sizeof(*stop_state), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stop_state == MAP_FAILED)
		return -errno;
	front_pid = getpid();
	front_group = getpgrp();
	waiting_init();
	fflush(NULL);
	/* None may come before its handler is there. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &rec->sigmask);
	pid = fork();
	if (pid < 0) {
		int err = -errno;

		sigprocmask(SIG_SETMASK, &rec->sigmask, NULL);
		return err;
	}
	if (pid) {
		close(pair[1]);
		front_main(rec, pair[0], pid);
	}
	close(pair[0]);
	rec->front = pair[1];
	/* A launcher that kills the group of a rank leaves us to end its trace. */
	if (rec->opt->launched && setpgid(0, 0))
		moca_debug("the recorder stays in the launcher's process group: %s",
			   strerror(errno));
	prctl(PR_SET_NAME, "moca-engine", 0, 0, 0);
	return 0;
}
