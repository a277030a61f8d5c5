/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that adopt orphans (PR_SET_CHILD_SUBREAPER: init programs of
 * containers, supervisors). A zapper below one would become its child, and its
 * wait for all children would never end. Supervisor thread only.
 */
#ifndef MOCA_PTRACE_SUBREAPER_H
#define MOCA_PTRACE_SUBREAPER_H

#include <sys/types.h>

/* Process pid becomes one, or is one no longer (also when it ends). */
void subreaper_set(pid_t pid, int on);
/* Is pid one, or an ancestor of it? (In a PID namespace below ours pid 1 is one
 * in any case: pidns.h.) */
int subreaper_above(pid_t pid);

#endif
