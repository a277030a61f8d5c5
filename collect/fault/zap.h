/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands to the zapper, the task that shares a program's address space and
 * throws page-table entries away for us. mm->lock must be held for all.
 */
#ifndef MOCA_FAULT_ZAP_H
#define MOCA_FAULT_ZAP_H

#include "collect/fault/memory.h"

/*
 * Wait for what is being zapped. 0: mm->stub->zap may be written; -ETIMEDOUT
 * when it is under way still (the program was stopped, say): zap_settle waits
 * for its end. -ESRCH when the zapper is gone.
 */
int zap_wait(struct mm *mm);
/*
 * Behind that: zap the first n ranges of mm->stub->zap. As zap_wait. The zapper is
 * held on mm->zap_cpu until it is done, 10 ms at most.
 */
int zap_run(struct mm *mm, unsigned int n);
/*
 * Wait until no zap is under way. By the supervisor alone. Of a zapper that
 * sleeps though it has work the page was written over by the program: it is
 * ended, and there is none any more (zap_tell).
 */
void zap_settle(struct mm *mm);
/* The trace is told of that, once. t: a task of it. By the supervisor alone. */
void zap_tell(struct recorder *rec, struct mm *mm, struct task *t);
/* Tell the zapper to end. */
void zap_command_exit(struct mm *mm);
/* The same, and wait until nobody but the program has the memory. The supervisor. */
void zap_end(struct mm *mm);

/* The advice that throws away entries, of locked memory too. */
int zap_advice(void);

#endif
