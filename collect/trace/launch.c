// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/end.h"
#include "lib/base/err.h"
#include "lib/ring/clock.h"
#include "lib/ring/registry.h"

#define EXIT_OURS 125

static const int handled[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM,
			       SIGHUP,	SIGUSR1, SIGUSR2 };

/* As we were started, for the program to be started the same. */
struct inherited {
	sigset_t mask;
	struct sigaction pipe, xfsz;
	struct rlimit files;
};

static int take_signals(struct inherited *was)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction now;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(handled) / sizeof(*handled); i++)
		/* What nohup and `&` have us ignore, we ignore. */
		if (handled[i] == SIGCHLD ||
		    (!sigaction(handled[i], NULL, &now) &&
		     now.sa_handler != SIG_IGN))
			sigaddset(&set, handled[i]);
	getrlimit(RLIMIT_NOFILE, &was->files);
	sigprocmask(SIG_BLOCK, &set, &was->mask);
	sigaction(SIGPIPE, &ignore, &was->pipe);
	/* A file too large is a full disk. */
	sigaction(SIGXFSZ, &ignore, &was->xfsz);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void child_main(const struct tracer_options *o, const char *session,
		       const struct inherited *was, int report)
{
	int err;

	sigaction(SIGPIPE, &was->pipe, NULL);
	sigaction(SIGXFSZ, &was->xfsz, NULL);
	signal(SIGBUS, SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &was->files);
	sigprocmask(SIG_SETMASK, &was->mask, NULL);
	if (setenv(MOCA_TRACE_ENV, session, 1))
		err = errno;
	else {
		execvp(o->argv[0], o->argv);
		err = errno;
	}
	if (write(report, &err, sizeof(err)) < 0)
		_exit(EXIT_OURS);
	_exit(err == ENOENT ? 127 : 126);
}

/* The command's pid, or -errno; *error why it could not be executed, or 0. */
static pid_t start(const struct tracer_options *o, const char *session,
		   const struct inherited *was, int *error)
{
	int report[2];
	pid_t pid;

	*error = 0;
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		close(report[0]);
		child_main(o, session, was, report[1]);
	}
	if (pid < 0)
		pid = -errno;
	close(report[1]);
	/* Closed by exec; else it says why not. */
	while (pid > 0 && read(report[0], error, sizeof(*error)) < 0 &&
	       errno == EINTR)
		;
	close(report[0]);
	return pid;
}

static void summarize(const struct tracer_options *o, const char *dir,
		      const struct tracer_result *r)
{
	char refused[400];

	if (o->quiet)
		return;
	if (!r->streams && !r->refused.threads)
		moca_say("%s: no event: nothing that emits events of "
			 "libmocatrace%s could reach the collector, or nothing "
			 "ran that does; see moca-trace(1)", dir,
			 *o->filter || o->mask != UINT32_MAX ?
				 " that the filter lets pass" : "");
	else
		moca_say("%s: %llu event%s of %u thread%s in %u process%s, "
			 "%llu lost, %llu torn; %.1f MB", dir,
			 (unsigned long long)r->events,
			 r->events == 1 ? "" : "s", r->streams,
			 r->streams == 1 ? "" : "s", r->processes,
			 r->processes == 1 ? "" : "es",
			 (unsigned long long)r->lost,
			 (unsigned long long)r->torn, r->bytes / 1e6);
	if (tracer_refused_text(&r->refused, refused, sizeof(refused)))
		moca_say("%s", refused);
	if (r->events)
		moca_say("next: moca dump %s", dir);
}

/* The trace is over, by `moca trace destroy`, and the command is not. */
static int wait_for(pid_t pid, int signals)
{
	struct signalfd_siginfo info;
	int status;

	fcntl(signals, F_SETFL, 0);
	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGINT &&
		    info.ssi_signo != SIGQUIT)
			kill(pid, (int)info.ssi_signo);
	}
	return status;
}

/* Nothing ran: leave nothing. */
static void remove_empty(const char *dir)
{
	char path[4096 + 16];

	snprintf(path, sizeof(path), "%s/metadata", dir);
	unlink(path);
	rmdir(dir);
}

int tracer_launch(const struct tracer_options *opt)
{
	struct tracer_result r = { 0 };
	struct tracer_session *s;
	enum tracer_child child;
	struct inherited was;
	int signals, error, status;
	char *dir;
	uint64_t begun = moca_now_ns();
	pid_t pid;

	signals = take_signals(&was);
	if (tracer_session_open(&s, opt) || tracer_session_begin(s))
		return EXIT_OURS;
	moca_debug("%.2f ms: the program begins",
		   (moca_now_ns() - begun) / 1e6);
	fflush(NULL);
	pid = start(opt, tracer_session_id(s), &was, &error);
	if (pid < 0) {
		moca_error("cannot start a process for %s: %s", opt->argv[0],
			   strerror(-pid));
		tracer_session_close(s, &r);
		return EXIT_OURS;
	}
	if (error)
		moca_error("cannot execute %s: %s", opt->argv[0],
			   strerror(error));
	tracer_session_set_child(s, pid);
	tracer_session_set_signals(s, signals);
	child = tracer_session_run(s, &status);
	dir = strdup(tracer_session_dir(s));
	tracer_session_close(s, &r);
	if (dir && error)
		remove_empty(dir);
	else if (dir)
		summarize(opt, dir, &r);
	free(dir);
	if (child == TRACER_CHILD_LEFT)
		return 128 + SIGINT;
	if (child == TRACER_CHILD_RUNS)
		status = wait_for(pid, signals);
	if (r.error && !status)
		return EXIT_OURS;
	return WIFSIGNALED(status) ? moca_end_by(WTERMSIG(status)) :
				     WEXITSTATUS(status);
}
