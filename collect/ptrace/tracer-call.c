// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/tracer-call.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

#include "lib/base/err.h"

/* The kernel may have no memory for what a call needs, for a while. */
#define TRIES 20
#define PAUSE_NS 5000000l

static int attached;

void tracer_call_attached(void)
{
	attached = 1;
}

long tracer_call_make(int request, pid_t tid, void *addr, void *data)
{
	const struct timespec pause = { 0, PAUSE_NS };
	long ret = -1;

	for (int i = 0; i < TRIES; i++) {
		errno = 0;
		ret = ptrace((enum __ptrace_request)request, tid, addr, data);
		/* Who cannot be seized is not stopped yet, and is refused. */
		if (ret != -1 || errno == ESRCH || request == PTRACE_SEIZE)
			return ret;
		/* All else is so for good; once more does no harm. */
		if (errno != ENOMEM && errno != EAGAIN) {
			if (i)
				break;
			continue;
		}
		nanosleep(&pause, NULL);
	}
	return ret;
}

int tracer_call_resume(int request, pid_t tid, pid_t pid, int sig)
{
	static int told;
	int err;

	if (!tracer_call(request, tid, NULL, (long)sig))
		return 0;
	err = errno;
	if (err == ESRCH)
		return -err;
	if (attached) {
		if (!told++)
			moca_error("cannot let task %d of process %d go on: %s; "
				   "it stands still until moca ends: end moca, "
				   "and start the program anew", tid, pid,
				   strerror(err));
		return -err;
	}
	if (!told++)
		moca_error("cannot let task %d of process %d go on: %s; the "
			   "process is ended, as it would stand still for "
			   "ever", tid, pid, strerror(err));
	kill(pid, SIGKILL);
	return -err;
}
