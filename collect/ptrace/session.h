/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telling a new program image the session of the recording, so that events that
 * it emits through libmocatrace get there: two entries of its auxiliary vector
 * (MOCA_AT_SESSION, lib/ring/registry.h), which no environment that it makes for
 * its children can lose, and which /proc/PID/auxv does not show.
 */
#ifndef MOCA_PTRACE_SESSION_H
#define MOCA_PTRACE_SESSION_H

#include "collect/ptrace/task.h"

/*
 * t is at the end of execve, before anything else was put on its stack; of 32
 * or of 64 bits. Its stack pointer moves. One that cannot be told stays as it
 * is, and its own events are not recorded. 0; -errno: it died.
 */
int session_give(const struct recorder *rec, struct task *t);

#endif
