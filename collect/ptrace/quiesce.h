/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making the tasks of one address space stand still for a moment. */
#ifndef MOCA_PTRACE_QUIESCE_H
#define MOCA_PTRACE_QUIESCE_H

#include "collect/ptrace/task.h"

/*
 * Stop all tasks of the space but `except`. A task that sleeps uninterruptibly in
 * the kernel is waited for 200 ms at most; it touches nothing meanwhile.
 */
void quiesce(struct space *space, const struct task *except);
/* After that: whether every other task of it stands still, or has ended. */
int quiesced(const struct space *space, const struct task *except);
/*
 * ... and none of them has just forked or ends: no child can be there that is
 * not known yet, and none comes.
 */
int quiesced_settled(const struct space *space, const struct task *except);
/* Wait for one that was interrupted. 0; -ETIMEDOUT as said above; -errno. */
int quiesce_wait(struct task *t);
/*
 * Let them go on, when the wait loop has handled what they stopped for, each in
 * its turn: none may begin an exec while another is dealt with (takeover.h).
 * space NULL: all tasks.
 */
void quiesce_end(struct space *space, const struct task *except);

/* R, S, D, Z ... as in ps(1); 0 when it is gone. Any thread. */
char quiesce_state(pid_t tid);

#endif
