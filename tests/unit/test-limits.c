// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits are raised in who is traced by us, and in nobody else. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/ptrace/limits.h"
#include "tests/unit/trace-util.h"

#define FEW 100u

static pid_t start(int traced)
{
	struct rlimit few = { FEW, 2 * FEW };
	pid_t pid = fork();
	int status;

	if (pid)
		return waitpid(pid, &status, WUNTRACED) == pid ? pid : -1;
	setrlimit(RLIMIT_NOFILE, &few);
	if (traced)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	_exit(0);
}

static rlim_t files_of(pid_t pid)
{
	struct rlimit r = { 0, 0 };

	return prlimit(pid, RLIMIT_NOFILE, NULL, &r) ? 0 : r.rlim_cur;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int t_traced(void)
{
	pid_t pid = start(1);
	struct limits l;

	limits_raise(&l, pid);
	CHECK(files_of(pid) >= 2 * FEW);
	limits_restore(&l);
	CHECK(files_of(pid) == FEW);
	limits_raise_data(&l, pid);
	CHECK(files_of(pid) == FEW);
	limits_restore(&l);
	end(pid);
	return 0;
}

static int t_another(void)
{
	pid_t pid = start(0);
	struct limits l;

	limits_raise(&l, pid);
	CHECK(files_of(pid) == FEW);
	limits_restore(&l);
	CHECK(files_of(pid) == FEW);
	end(pid);
	return 0;
}

int main(void)
{
	run("traced by us", t_traced);
	run("another process", t_another);
	return failures != 0;
}
