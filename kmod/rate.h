/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The profiler of fault rates: /proc/mp3/status, a sampler, and a buffer that
 * programs map. Nothing of page tracing is needed for it.
 * doc/design/kernel-rate.md.
 */
#ifndef MOCA_KMOD_RATE_H
#define MOCA_KMOD_RATE_H

#include <linux/types.h>

struct file;
struct seq_file;

/* At load and unload. 0 or -errno. */
int moca_rate_init(void);
void moca_rate_exit(void);

/* --- between the parts of it (rate-*.c) ----------------------------------- */

/* What was done since the last sample. */
struct moca_rate_sum {
	unsigned long minor;
	unsigned long major;
	u64 cpu_ns;
};

/* rate-status.c: the file in /proc. */
int moca_rate_status_init(void);
void moca_rate_status_exit(void);

/*
 * rate-tasks.c: who is sampled, and when. nr is a number in the caller's pid
 * namespace; f the file that it was written to.
 *
 * register: 0; -ESRCH (no such process, or it has ended), -EPERM, -EEXIST,
 * -ENOSPC (too many).
 * unregister: 0; -ENOENT (it is not registered), -EPERM.
 */
int moca_rate_tasks_init(void);
void moca_rate_tasks_exit(void);
int moca_rate_register(struct file *f, pid_t nr);
int moca_rate_unregister(struct file *f, pid_t nr);
/* A line for each that the caller, who reads f, may see. */
void moca_rate_list(struct file *f, struct seq_file *m);

/* rate-buffer.c: the samples. One caller of put at a time. */
int moca_rate_buffer_init(void);
void moca_rate_buffer_exit(void);
void moca_rate_buffer_put(const struct moca_rate_sum *sum);
void moca_rate_buffer_note(unsigned int hz, unsigned int registered);

#endif
