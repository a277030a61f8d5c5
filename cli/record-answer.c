// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trace is read by another `moca`, summary --first: it can be ended when it
 * takes too long, and what it needs does not add to the recorder's memory.
 */
#include "cli/record-answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "report/advice.h"

#define CPU_NS 500000000ull
/*
 * On a busy machine it waits for a CPU: a few seconds; where the recording took long,
 * so much of its time, but not for ever.
 */
#define WALL_NS 3000000000ull
#define WALL_SHARE 4
#define WALL_MOST_NS 15000000000ull
#define LOOK_MS 20
#define LINES 3

extern char **environ;

static pid_t begin(const char *dir, int out)
{
	char *const argv[] = { "moca", "summary", "--first", "--", (char *)dir,
			       NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all;
	pid_t pid = -1;
	/* Nobody reads it. A container may have no /dev/null. */
	int unread = memfd_create("moca-summary", MFD_CLOEXEC);

	if (unread < 0)
		return -1;
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	if (posix_spawn_file_actions_init(&files))
		goto out_unread;
	if (posix_spawnattr_init(&attr))
		goto out_files;
	/* The recorder ignores some: ^C should end this. */
	if (posix_spawnattr_setsigdefault(&attr, &all) ||
	    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF) ||
	    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO) ||
	    posix_spawn_file_actions_adddup2(&files, unread, STDERR_FILENO) ||
	    posix_spawn(&pid, "/proc/self/exe", &files, &attr, argv, environ))
		pid = -1;
	posix_spawnattr_destroy(&attr);
out_files:
	posix_spawn_file_actions_destroy(&files);
out_unread:
	close(unread);
	return pid;
}

/* wall_ns: how long it may take where it gets no CPU. */
static int too_long(pid_t pid, uint64_t since_ns, uint64_t wall_ns)
{
	struct timespec t;
	clockid_t clock;

	if (moca_now_ns() - since_ns > wall_ns)
		return 1;
	return !clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &t) &&
	       (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec > CPU_NS;
}

/* All that it prints, up to size - 1; 0, or -errno if it does not end. */
static int read_all(pid_t pid, int fd, uint64_t wall_ns, char *buf, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t since = moca_now_ns();
	size_t at = 0;
	ssize_t n;

	for (;;) {
		if (too_long(pid, since, wall_ns))
			return -ETIME;
		if (poll(&p, 1, LOOK_MS) <= 0)
			continue;
		n = read(fd, buf + at, size - 1 - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || at + (size_t)n == size - 1)
			break;
		at += (size_t)n;
	}
	buf[at] = 0;
	return n < 0 ? -errno : 0;
}

static void say_lines(char *text)
{
	char *line, *rest = text;
	int n = 0;

	while (n < LINES && (line = strsep(&rest, "\n")))
		if (*line) {
			moca_say("%s", line);
			n++;
		}
}

static void say_failed(int status)
{
	static const char what[] = "what could be better was not found out: "
				   "moca summary --first";

	if (WIFSIGNALED(status))
		moca_say("%s was ended by signal %d", what, WTERMSIG(status));
	else if (status > 0)
		moca_say("%s ended with exit code %d; limits of the shell (ulimit) hold for it, too",
			 what, WEXITSTATUS(status));
	else if (!status)
		moca_say("%s said nothing", what);
	else
		moca_say("%s could not be started", what);
}

static int begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Who has just read that there are no findings is not sent to look for them. */
static const char *what_summary_has(const char *answer)
{
	if (begins(answer, ADVICE_NOTHING))
		return "what was recorded; no findings";
	if (begins(answer, ADVICE_NONE))
		return "data structures, and what was checked";
	return "all findings";
}

static uint64_t wall_limit(uint64_t run_ns)
{
	uint64_t ns = run_ns / WALL_SHARE;

	return ns < WALL_NS ? WALL_NS : ns > WALL_MOST_NS ? WALL_MOST_NS : ns;
}

void record_answer(const char *dir, uint64_t run_ns)
{
	int fd[2], status = -1, err = -EIO;
	char text[4096] = "";
	const char *has;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return;
	pid = begin(dir, fd[1]);
	close(fd[1]);
	if (pid > 0)
		err = read_all(pid, fd[0], wall_limit(run_ns), text, sizeof(text));
	/* It need not write what nobody reads. */
	close(fd[0]);
	if (pid > 0) {
		if (err)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	has = what_summary_has(text);
	if (!err && !status && *text)
		say_lines(text);
	else if (err == -ETIME)
		moca_say("what could be better takes longer to find out: "
			 "ask moca summary");
	else
		say_failed(status);
	moca_say("next: moca summary %s (%s), moca view %s (all there is)", dir,
		 has, dir);
}
