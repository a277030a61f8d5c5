/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rights that a program has of its file: set-user-ID, set-group-ID,
 * capabilities. Below a tracer without CAP_SYS_PTRACE, and below no_new_privs,
 * which users need for a filter, the kernel does not give them.
 */
#ifndef MOCA_PTRACE_RIGHTS_H
#define MOCA_PTRACE_RIGHTS_H

#include <sys/types.h>

struct recorder;

/*
 * Task tid has just executed a program: did it fail to get such rights because of
 * us? 0 where the kernel would not have given them anyway, as far as that can
 * be seen: a mount without set-user-ID, no_new_privs before us, another user
 * namespace.
 */
int rights_lost(const struct recorder *rec, pid_t tid);

#endif
