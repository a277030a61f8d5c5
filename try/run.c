// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "try/end.h"

/* After the program's end: for what it wrote before, and in all. */
#define DRAIN_MS 200
#define DRAIN_NS 2000000000ull

extern char **environ;

/* What the child says when the program cannot be started. */
struct failure {
	int step;
	int error;
};

enum step { STEP_DIRECTORY, STEP_INPUT, STEP_EXEC };

const char try_step_directory[] = "change to its directory";
const char try_step_input[] = "open its standard input";

static const char *const steps[] = {
	[STEP_DIRECTORY] = try_step_directory,
	[STEP_INPUT] = try_step_input,
	[STEP_EXEC] = "execute it",
};

static void fail(int fd, enum step step)
{
	struct failure f = { (int)step, errno };

	if (write(fd, &f, sizeof(f)) != sizeof(f))
		_exit(126);
	_exit(127);
}

static void child(const struct try_program *p, const int out[2], int report,
		  pid_t parent)
{
	int fd;

	/* Who is killed leaves no run behind. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(126);
	if (p->mask)
		sigprocmask(SIG_SETMASK, p->mask, NULL);
	if (p->dir && chdir(p->dir))
		fail(report, STEP_DIRECTORY);
	if (p->ignores_children)
		signal(SIGCHLD, SIG_IGN);
	if (p->input) {
		fd = open(p->input, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (p->input_offset &&
			       lseek(fd, (off_t)p->input_offset, SEEK_SET) < 0) ||
		    dup2(fd, STDIN_FILENO) < 0)
			fail(report, STEP_INPUT);
	} else {
		close(STDIN_FILENO);
	}
	dup2(out[0], STDOUT_FILENO);
	dup2(out[1], STDERR_FILENO);
	environ = (char **)p->env;
	execvp(p->argv[0], p->argv);
	fail(report, STEP_EXEC);
}

struct reader {
	int fd;			/* -1: it is at its end */
	struct try_hash hash;
	struct try_tail tail;
};

static void reader_read(struct reader *r)
{
	char buf[1 << 16];
	ssize_t n = read(r->fd, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close(r->fd);
		r->fd = -1;
		return;
	}
	try_hash_add(&r->hash, buf, (size_t)n);
	try_tail_add(&r->tail, buf, (size_t)n);
}

/*
 * All that the two bring until the program has ended; pidfd tells of that. 1: both
 * are at their ends; 0: somebody holds them open; -ECANCELED.
 */
static int read_output(struct reader r[2], int pidfd, int stop_fd,
		       uint64_t *end_ns)
{
	struct pollfd p[4] = { 0 };
	int i, n, ended = 0;

	for (;;) {
		for (i = 0; i < 2; i++)
			p[i] = (struct pollfd){ .fd = r[i].fd, .events = POLLIN };
		p[2] = (struct pollfd){ .fd = ended ? -1 : pidfd,
					.events = POLLIN };
		p[3] = (struct pollfd){ .fd = stop_fd, .events = POLLIN };
		if (ended && r[0].fd < 0 && r[1].fd < 0)
			return 1;
		if (ended && moca_now_ns() - *end_ns > DRAIN_NS)
			return 0;
		n = poll(p, 4, ended ? DRAIN_MS : -1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (p[3].revents)
			return -ECANCELED;
		if (p[2].revents) {
			ended = 1;
			*end_ns = moca_now_ns();
		}
		for (i = 0; i < 2; i++)
			if (r[i].fd >= 0 && p[i].revents)
				reader_read(&r[i]);
	}
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/*
 * The child's report: 0, or -errno and what it was about. A pipe with a name, as its
 * input, lets it wait for who writes.
 */
static int started(int fd, int stop_fd, const char **what)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
			       { .fd = stop_fd, .events = POLLIN } };
	struct failure f;
	ssize_t n;

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[1].revents)
		return -ECANCELED;

	do
		n = read(fd, &f, sizeof(f));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(f))
		return 0;
	*what = steps[f.step];
	return -f.error;
}

/* The child with its pipes; the parent's ends are in fd. Its pid, or -errno. */
static pid_t start(const struct try_program *p, int out[2], int *report)
{
	int ends[3][2], i, err;
	pid_t pid, self = getpid();

	for (i = 0; i < 3; i++)
		if (pipe2(ends[i], O_CLOEXEC)) {
			err = -errno;
			while (i--) {
				close(ends[i][0]);
				close(ends[i][1]);
			}
			return err;
		}
	pid = fork();
	err = -errno;
	if (!pid)
		child(p, (const int[]){ ends[0][1], ends[1][1] }, ends[2][1],
		      self);
	for (i = 0; i < 3; i++) {
		close(ends[i][1]);
		if (pid < 0)
			close(ends[i][0]);
	}
	out[0] = ends[0][0];
	out[1] = ends[1][0];
	*report = ends[2][0];
	return pid < 0 ? err : pid;
}

static int is_stopped(int stop_fd)
{
	struct pollfd p = { .fd = stop_fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

int try_run(const struct try_program *p, struct try_run *out,
	    const char **what)
{
	struct reader r[2];
	struct rusage used;
	uint64_t begin, end;
	int fds[2] = { -1, -1 }, report = -1, pidfd, i, err, open = 0;
	pid_t pid;

	*out = (struct try_run){ 0 };
	*what = "start a process";
	if (is_stopped(p->stop_fd))
		return -ECANCELED;
	begin = moca_now_ns();
	pid = start(p, fds, &report);
	if (pid < 0)
		return pid;
	err = started(report, p->stop_fd, what);
	close(report);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (!err && pidfd < 0) {
		err = -errno;
		kill(pid, SIGKILL);
	}
	for (i = 0; i < 2; i++) {
		r[i].fd = fds[i];
		r[i].tail.n = 0;
		try_hash_begin(&r[i].hash);
	}
	end = begin;
	open = err ? err : read_output(r, pidfd, p->stop_fd, &end);
	out->output_open = !open;
	for (i = 0; i < 2; i++)
		if (r[i].fd >= 0)
			close(r[i].fd);
	if (open == -ECANCELED) {
		try_end(pid);
		close(pidfd);
		return open;
	}
	while (wait4(pid, &out->status, 0, &used) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	if (err)
		return err;
	out->wall_s = (double)(end - begin) / 1e9;
	out->cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
	out->faults = (double)(used.ru_minflt + used.ru_majflt);
	out->peak_bytes = (double)used.ru_maxrss * 1024;
	out->output[TRY_STDOUT] = try_hash_end(&r[0].hash);
	out->output[TRY_STDERR] = try_hash_end(&r[1].hash);
	out->said = r[1].tail;
	return 0;
}
