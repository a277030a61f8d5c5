// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes of control over another process. All targets are our children. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/probe.h"

/* A child that dies with us and waits to be killed. */
static pid_t start_sleeper(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const char *yama(char *buf, size_t size)
{
	return probe_read("/proc/sys/kernel/yama/ptrace_scope", buf, size) ?
		       "not in this kernel" :
		       buf;
}

void probe_ptrace(struct probe *p)
{
	char scope[32];
	int err = 0;
	pid_t pid;

	pid = start_sleeper();
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, 0))
		err = errno;
	end_child(pid);
	if (!err) {
		probe_set(p, PROBE_OK, "a child of our own was traced (yama ptrace_scope is %s)",
			  yama(scope, sizeof(scope)));
		return;
	}
	probe_set(p, PROBE_NO, "%s (yama ptrace_scope is %s)", strerror(err),
		  yama(scope, sizeof(scope)));
	p->without = "no recording: the program's memory cannot be prepared";
	p->fix = "sudo sysctl kernel.yama.ptrace_scope=1 (in a container: docker run --cap-add SYS_PTRACE)";
}

/* A process that is no descendant of the one that tries, as with -p. */
void probe_attach(struct probe *p)
{
	pid_t target = start_sleeper(), tracer = -1;
	int status = EPERM << 8;
	char scope[32];

	if (target > 0) {
		tracer = fork();
		if (!tracer)
			_exit(ptrace(PTRACE_SEIZE, target, 0, 0) ? errno : 0);
		if (tracer > 0)
			waitpid(tracer, &status, 0);
	}
	end_child(target);
	if (tracer > 0 && WIFEXITED(status) && !WEXITSTATUS(status)) {
		probe_set(p, PROBE_OK, "a process that is not our child was traced");
		return;
	}
	probe_set(p, PROBE_NO, "%s (yama ptrace_scope is %s)",
		  strerror(WIFEXITED(status) ? WEXITSTATUS(status) : EPERM),
		  yama(scope, sizeof(scope)));
	p->without = "'moca record -p PID' does not work; starting a program under moca does";
	p->fix = "sudo sysctl kernel.yama.ptrace_scope=0";
}

/* The child: asks for a stop at getppid(2), as recording does at mmap(2). */
static void run_filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(errno);
	raise(SIGSTOP);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog))
		_exit(errno);
	syscall(SYS_getppid);
	_exit(0);
}

/* 0 when the stop came, or an errno. */
static int try_seccomp(void)
{
	int status, err = EPERM;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		run_filtered();
	if (pid < 0)
		return errno;
	if (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
	    !ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESECCOMP) &&
	    !kill(pid, SIGCONT)) {
		while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
			if (status >> 8 ==
			    (SIGTRAP | PTRACE_EVENT_SECCOMP << 8)) {
				end_child(pid);
				return 0;
			}
			ptrace(PTRACE_CONT, pid, 0, 0);
		}
		if (WIFEXITED(status) && WEXITSTATUS(status))
			err = WEXITSTATUS(status);
		return err;
	}
	end_child(pid);
	return err;
}

void probe_seccomp(struct probe *p)
{
	int err = try_seccomp();

	if (!err) {
		probe_set(p, PROBE_OK, "a filter stopped a child at one system call");
		return;
	}
	probe_set(p, PROBE_NO, "%s", strerror(err));
	p->without = "no recording: the program could not be stopped at mmap() only";
	p->fix = "use a kernel with CONFIG_SECCOMP_FILTER (in a container: docker run --security-opt seccomp=unconfined)";
}

void probe_pidfd_getfd(struct probe *p)
{
	pid_t pid = start_sleeper();
	int pidfd = -1, fd = -1, err = 0;

	if (pid > 0)
		pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0)
		fd = syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0);
	/* EBADF: the right was there, only stderr is closed. */
	if (fd < 0 && errno != EBADF)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (pidfd >= 0)
		close(pidfd);
	end_child(pid);
	if (!err) {
		probe_set(p, PROBE_OK, "pidfd_getfd() took one of a child");
		return;
	}
	probe_set(p, PROBE_NO, "pidfd_getfd(): %s", strerror(err));
	p->without = "no recording: the memfd cannot be shared with the recorder";
	p->fix = "use Linux 5.6 or newer";
}
