// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/waiting.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

struct wait {
	atomic_uint number;	/* odd: under way */
	atomic_int pid;
};

/* Without waiting_init, for ourselves alone. */
static struct wait own[WAITING_KINDS], *waits = own;

/* Of the front: since when it sees that wait. */
static struct {
	unsigned int number;
	uint64_t since_ns;
	int told;
} seen[WAITING_KINDS];

void waiting_init(void)
{
	void *p = mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		waits = p;
}

void waiting_begin(enum waiting kind, pid_t pid)
{
	/* Its reader may see the last one's pid: it looks for seconds. */
	atomic_store_explicit(&waits[kind].pid, pid, memory_order_relaxed);
	atomic_fetch_or_explicit(&waits[kind].number, 1, memory_order_relaxed);
}

void waiting_end(enum waiting kind)
{
	unsigned int n = atomic_load_explicit(&waits[kind].number,
					      memory_order_relaxed);

	if (n & 1)
		atomic_store_explicit(&waits[kind].number, n + 1,
				      memory_order_relaxed);
}

static void describe(enum waiting kind, pid_t pid, char *line, size_t size)
{
	const int s = (int)(WAITING_NS / 1000000000);

	switch (kind) {
	case WAITING_CALL:
		snprintf(line, size, "task %d has taken %d s for a memory call "
			 "that it carries out for recording: a disk or a server "
			 "may not answer (cat /proc/%d/wchan)", pid, s, pid);
		break;
	case WAITING_STILL:
		snprintf(line, size, "recording has waited %d s for task %d to "
			 "stand still: it sleeps in the kernel, or gets no CPU",
			 s, pid);
		break;
	case WAITING_DISK:
		snprintf(line, size, "the trace's disk has taken %d s for one "
			 "write: what the program does meanwhile is kept in "
			 "memory", s);
		break;
	case WAITING_TERM:
		snprintf(line, size, "process %d was sent the signal %d s ago and "
			 "goes on: recording ends when it does (kill -KILL %d)",
			 pid, s, pid);
		break;
	default:
		snprintf(line, size, "recording is over; the trace has been "
			 "written and read for %d s, and is not done yet", s);
	}
}

int waiting_look(uint64_t now_ns, char *line, size_t size)
{
	for (int k = 0; k < WAITING_KINDS; k++) {
		unsigned int n = atomic_load_explicit(&waits[k].number,
						      memory_order_relaxed);

		if (n != seen[k].number) {
			seen[k].number = n;
			seen[k].since_ns = now_ns;
			seen[k].told = 0;
		}
		if (!(n & 1) || seen[k].told ||
		    now_ns < seen[k].since_ns + WAITING_NS)
			continue;
		seen[k].told = 1;
		describe(k, atomic_load_explicit(&waits[k].pid,
						 memory_order_relaxed),
			 line, size);
		return 1;
	}
	return 0;
}
