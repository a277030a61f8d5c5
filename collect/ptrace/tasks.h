/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of traced tasks, by thread id. Supervisor thread only. */
#ifndef MOCA_PTRACE_TASKS_H
#define MOCA_PTRACE_TASKS_H

#include "collect/ptrace/task.h"

struct task *tasks_find(pid_t tid);
/*
 * A new, unannounced task. It has stopped, and would stay so if it were not known:
 * this waits until there is memory for it.
 */
struct task *tasks_add(pid_t tid);
/* A task of ours (a zapper), which tasks_count leaves out. */
struct task *tasks_add_own(pid_t tid);
void tasks_remove(struct task *t);
void tasks_rename(struct task *t, pid_t tid);
/* Walk all: start with NULL. */
struct task *tasks_next(struct task *t);
unsigned int tasks_count(void);
/* Changes when a walk must begin again: a task has left its place. */
unsigned int tasks_departures(void);

#endif
