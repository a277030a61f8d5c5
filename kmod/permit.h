/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may look at whom. The kernel's own ptrace_may_access() is not exported:
 * this asks the same of credentials, capabilities and dumpability, and for the
 * capabilities that the kernel wants of profilers. Security modules are not
 * asked.
 */
#ifndef MOCA_KMOD_PERMIT_H
#define MOCA_KMOD_PERMIT_H

#include <linux/types.h>

struct cred;
struct file;
struct task_struct;

/*
 * May the caller, by current_cred(), trace task t? The caller holds a reference
 * to t or rcu_read_lock(), and no task_lock(). Does not sleep.
 */
bool moca_may_trace(struct task_struct *t);

/*
 * The same, and who opened f may do so, too: so that nobody has a privileged
 * program write into a file that he opened.
 */
bool moca_file_may_trace(struct file *f, struct task_struct *t);

/* The same for somebody with these credentials, whoever t is. */
bool moca_cred_may_trace(const struct cred *cred, struct task_struct *t);

#endif
