// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/limit-call.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "collect/fault/mm.h"
#include "collect/ptrace/pidns.h"

/* Bytes of address space; 0: not known. */
static uint64_t mapped(pid_t pid)
{
	unsigned long pages = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return (uint64_t)pages * PAGE_SIZE;
}

int limit_is_too_low(const struct ctx *x)
{
	int for_pid = x->nr == SYS_prlimit64;
	uint64_t at = for_pid ? x->a[2] : x->a[1];
	struct rlimit r;

	if ((uint32_t)x->a[for_pid] != RLIMIT_AS)
		return 0;
	if (for_pid && (pid_t)x->a[0] &&
	    (pid_t)x->a[0] != pidns_number(x->task->pid))
		return 0;
	return at &&
	       tracee_read(x->task->tid, at, &r, sizeof(r)) == sizeof(r) &&
	       r.rlim_cur < mapped(x->task->pid);
}

int limit_leave(struct ctx *x)
{
	return mapcall_leave(x, "the program limits its address space to less "
				"than it has: real faults only");
}
