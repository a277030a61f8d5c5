/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PID namespaces: what a traced task takes for its number itself. */
#ifndef MOCA_PTRACE_PIDNS_H
#define MOCA_PTRACE_PIDNS_H

#include <sys/types.h>

/* Is it in a namespace below ours? Without /proc: yes. */
int pidns_is_nested(pid_t tid);
/* Would a child of it come into another namespace than ours? Not known: yes. */
int pidns_children_leave(pid_t tid);
/* The task's number in its own namespace; 0: it is gone. */
pid_t pidns_number(pid_t tid);

#endif
