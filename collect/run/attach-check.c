// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/attach-check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/run/target.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"

#define KERNEL_THREAD 0x200000	/* PF_KTHREAD of include/linux/sched.h */

static int ends_expected;

void attach_expect_ends(void)
{
	ends_expected = 1;
}

/* One that ended while it was to be attached to, or waits for its parent. */
static int has_ended(pid_t pid)
{
	char text[512];

	return moca_proc_stat(text, sizeof(text), pid) || *text == 'Z' ||
	       *text == 'X';
}

/* Its main thread called pthread_exit, which looks as if all of it had ended. */
static int others_run(pid_t pid)
{
	char text[512];
	size_t count;
	pid_t *tids = target_threads(pid, &count);
	int run = 0;

	for (size_t i = 0; i < count && !run; i++)
		run = tids[i] != pid &&
		      !moca_proc_stat(text, sizeof(text), tids[i]) &&
		      *text != 'Z' && *text != 'X';
	free(tids);
	return run;
}

/* Of /proc/PID/stat: state, ppid, pgrp, session, tty, tpgid, flags. */
static int is_kernel_thread(const char *stat)
{
	unsigned long flags;

	return sscanf(stat, "%*c %*s %*s %*s %*s %*s %lu", &flags) == 1 &&
	       flags & KERNEL_THREAD;
}

static int is_other_users(pid_t pid, unsigned int *uid)
{
	unsigned int effective, saved;
	char text[128];

	return !moca_proc_status(text, sizeof(text), pid, "Uid:") &&
	       sscanf(text, "%u %u %u", uid, &effective, &saved) == 3 &&
	       (*uid != getuid() || effective != getuid() || saved != getuid());
}

/* Of any of its threads; 0: none. */
static uint64_t tracer_of(pid_t pid)
{
	uint64_t tracer = 0;
	size_t count;
	pid_t *tids = target_threads(pid, &count);

	for (size_t i = 0; i < count && !tracer; i++)
		tracer = moca_proc_number(tids[i], "TracerPid:");
	free(tids);
	return tracer;
}

static int is_traced(pid_t pid)
{
	uint64_t tracer = tracer_of(pid);

	if (tracer)
		moca_error("cannot attach to process %d: process %lu traces it "
			   "already (a debugger, strace, moca), and a process "
			   "has one tracer; end that one first", pid, tracer);
	return tracer != 0;
}

int attach_check(pid_t pid, int by_ptrace, int sees_all)
{
	unsigned int uid;
	char text[512];
	uint64_t leader;
	int err;

	if (ends_expected && has_ended(pid))
		return -ESRCH;
	err = moca_proc_stat(text, sizeof(text), pid);
	if (err == -ENOENT || err == -ESRCH) {
		attach_refused(pid, -ESRCH);
		return err;
	}
	if (!err && is_kernel_thread(text)) {
		moca_error("cannot attach to process %d: it is a thread of the "
			   "kernel, which has no memory of a program", pid);
		return -EINVAL;
	}
	if (!err && (*text == 'Z' || *text == 'X') && others_run(pid)) {
		moca_error("cannot attach to process %d: its main thread has "
			   "ended, others run, and the kernel does not show "
			   "the memory of such a process by its number; start "
			   "the program with 'moca record'", pid);
		return -EINVAL;
	}
	if (!err && (*text == 'Z' || *text == 'X')) {
		moca_error("cannot attach to process %d: it has ended, and "
			   "waits for its parent", pid);
		return -ESRCH;
	}
	leader = moca_proc_number(pid, "Tgid:");
	if (leader && leader != (uint64_t)pid) {
		moca_error("cannot attach to %d: it is a thread of process %lu, "
			   "and a process is recorded as a whole; give -p %lu",
			   pid, leader, leader);
		return -EINVAL;
	}
	if (!by_ptrace)
		return 0;
	if (is_traced(pid))
		return -EBUSY;
	if (!sees_all && is_other_users(pid, &uid)) {
		moca_error("cannot attach to process %d: it is of user %u, or "
			   "has changed its user; run as root", pid, uid);
		return -EPERM;
	}
	return 0;
}

void attach_refused(pid_t pid, int err)
{
	int rights = err == -EPERM || err == -EACCES;
	char scope[16] = "";
	FILE *f;

	if (ends_expected && has_ended(pid))
		return;
	/* What the kernel says of one that waits for its parent is EPERM. */
	if (rights && has_ended(pid)) {
		err = -ESRCH;
		rights = 0;
	}
	/* Who came first may have come since it was looked at. */
	if (rights && is_traced(pid))
		return;
	f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	if (f && !fgets(scope, sizeof(scope), f))
		*scope = 0;
	if (f)
		fclose(f);
	scope[strcspn(scope, "\n")] = 0;
	if (err == -ESRCH)
		moca_error("cannot attach to process %d: there is no such "
			   "process", pid);
	else if (rights && atoi(scope) > 0)
		moca_error("cannot attach to process %d: %s; "
			   "kernel.yama.ptrace_scope is %s: run as root, or "
			   "start the program with 'moca record'", pid,
			   strerror(-err), scope);
	else if (rights)
		moca_error("cannot attach to process %d: %s; its rights or a "
			   "security module forbid it: moca doctor says what "
			   "this user may do", pid, strerror(-err));
	else
		moca_error("cannot attach to process %d: %s", pid,
			   strerror(-err));
}
