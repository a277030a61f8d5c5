// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/end.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define PATIENCE_NS 3000000000ull	/* for programs that clean up */
#define KILL_NS 10000000000ull		/* for the kernel, behind that */
#define STEP_NS 5000000
#define ASKED_MAX 64

struct ending {
	pid_t asked[ASKED_MAX];	/* once each: a second SIGTERM is another wish */
	size_t count;
};

static void end_one(struct ending *e, pid_t pid, int sig)
{
	size_t i;

	for (i = 0; i < e->count; i++)
		if (sig == SIGTERM && e->asked[i] == pid)
			return;
	kill(pid, sig);
	if (sig == SIGTERM && e->count < ASKED_MAX)
		e->asked[e->count++] = pid;
}

/* Our children by now: those of a process that ended become ours. */
static void end_children(struct ending *e, int sig)
{
	char path[64];
	long pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%ld", &pid) == 1)
		end_one(e, (pid_t)pid, sig);
	if (f)
		fclose(f);
}

void try_end(pid_t child)
{
	const struct timespec step = { 0, STEP_NS };
	uint64_t begin = moca_now_ns(), now;
	struct ending e = { 0 };
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	end_one(&e, child, SIGTERM);
	for (;;) {
		do
			pid = waitpid(-1, NULL, WNOHANG);
		while (pid > 0);
		now = moca_now_ns() - begin;
		if (pid < 0 || now > PATIENCE_NS + KILL_NS)
			break;
		end_children(&e, now > PATIENCE_NS ? SIGKILL : SIGTERM);
		nanosleep(&step, NULL);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}
