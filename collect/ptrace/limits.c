// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/limits.h"

#include <stddef.h>
#include <sys/ptrace.h>

#include "collect/ptrace/tracer-call.h"

static const int which[LIMITS] = { RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA };

/* More than the number of our descriptor; the kernel's bound is above. */
#define DESCRIPTORS 4096

/* Without CAP_SYS_RESOURCE the soft limit may go up to the hard one. */
static int raise_one(pid_t pid, int resource, const struct rlimit *was)
{
	rlim_t most = resource == RLIMIT_NOFILE ? DESCRIPTORS : RLIM_INFINITY;
	struct rlimit all = { most, most };

	if (was->rlim_cur >= most)
		return 0;
	if (was->rlim_max >= most)
		all.rlim_max = was->rlim_max;
	if (!prlimit(pid, resource, &all, NULL))
		return 1;
	all = (struct rlimit){ was->rlim_max, was->rlim_max };
	return was->rlim_cur < was->rlim_max &&
	       !prlimit(pid, resource, &all, NULL);
}

/*
 * The parent of an orphan may have been waited for, and its number be another
 * process's. Who is traced by us keeps it until we have waited.
 */
static int is_traced(pid_t tid)
{
	unsigned long msg;

	return !tracer_call(PTRACE_GETEVENTMSG, tid, NULL, &msg);
}

static void raise_these(struct limits *l, pid_t tid, int resource)
{
	*l = (struct limits){ .tid = tid };
	if (!is_traced(tid))
		return;
	for (int i = 0; i < LIMITS; i++)
		if (resource < 0 || which[i] == resource)
			l->raised[i] = !prlimit(tid, which[i], NULL,
						&l->was[i]) &&
				       raise_one(tid, which[i], &l->was[i]);
}

void limits_raise(struct limits *l, pid_t tid)
{
	raise_these(l, tid, -1);
}

void limits_raise_data(struct limits *l, pid_t tid)
{
	raise_these(l, tid, RLIMIT_DATA);
}

void limits_restore(const struct limits *l)
{
	for (int i = 0; i < LIMITS; i++)
		if (l->raised[i])
			prlimit(l->tid, which[i], &l->was[i], NULL);
}
