// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/trace/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"

static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A file too large is a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (null > 2)
			close(null);
	}
	/* Nobody's file system shall be kept busy. */
	if (chdir("/"))
		return;
}

/*
 * What whoever started us had open, a pipe, a file that is locked, must not be
 * kept open as long as the trace lasts. The new number of ready.
 */
static int leave_descriptors(int ready)
{
	int null;

	if (ready != 3)
		dup3(ready, 3, O_CLOEXEC);
	close_range(4, ~0u, 0);
	/* Ours shall not be among those that leave_terminal replaces. */
	do
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null < 3);
	if (null >= 0)
		close(null);
	return 3;
}

/* The collector. Errors go to the terminal until it says it is ready. */
static int daemon_main(const struct tracer_options *opt, int ready)
{
	struct tracer_result result;
	struct tracer_session *s;
	int signals, status;
	const char *dir;

	ready = leave_descriptors(ready);
	setsid();
	prctl(PR_SET_NAME, "moca-trace", 0, 0, 0);
	signals = take_signals();
	if (tracer_session_open(&s, opt) || tracer_session_begin(s))
		return 1;
	tracer_session_set_signals(s, signals);
	dir = tracer_session_dir(s);
	leave_terminal();
	if (write(ready, dir, strlen(dir) + 1) < 0)
		opt = NULL;	/* who started us is gone: that is all right */
	close(ready);
	tracer_session_run(s, &status);
	tracer_session_close(s, &result);
	return result.error ? 1 : 0;
}

int tracer_daemon_start(const struct tracer_options *opt, char **dir)
{
	char buf[PATH_MAX];
	size_t len = 0;
	int ready[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC)) {
		moca_error("cannot start a collector: %s", strerror(errno));
		return -errno;
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		moca_error("cannot start a collector: %s", strerror(errno));
		close(ready[0]);
		close(ready[1]);
		return -EAGAIN;
	}
	if (!pid) {
		close(ready[0]);
		_exit(daemon_main(opt, ready[1]));
	}
	close(ready[1]);
	while (len < sizeof(buf) &&
	       ((n = read(ready[0], buf + len, sizeof(buf) - len)) > 0 ||
		(n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	close(ready[0]);
	if (!len || buf[len - 1]) {
		waitpid(pid, NULL, 0);
		return -ECANCELED;
	}
	*dir = strdup(buf);
	return 0;
}
