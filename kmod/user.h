/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a user may have who is no profiler (CAP_PERFMON): kernel memory, sessions,
 * time of monitors, processes in the rate profiler. All of his programs count
 * together, those in namespaces of his own included.
 *
 * All functions of a user but get take NULL for somebody who is a profiler:
 * nothing is counted. They may be called at once, and from any context but
 * interrupts, unless they say otherwise.
 */
#ifndef MOCA_KMOD_USER_H
#define MOCA_KMOD_USER_H

#include <linux/atomic.h>
#include <linux/types.h>

struct cred;
struct moca_user;

/*
 * Count n more, up to `most`. A refusal changes nothing, not even for a moment:
 * another task may take the last place meanwhile.
 */
bool moca_take(atomic64_t *taken, u64 n, u64 most);

/*
 * Who is counted for what the caller does with a file of this opener: the caller
 * or the opener, if one of them is no profiler; else *u is NULL. put ends it.
 * 0 or -ENOMEM. May sleep.
 */
int moca_user_get(const struct cred *opener, struct moca_user **u);
void moca_user_put(struct moca_user *u);
/* Once more; returns u. */
struct moca_user *moca_user_hold(struct moca_user *u);

/*
 * Of `most` that all have together: how many may be taken when one of them is for
 * u. The last quarter is for profilers: one at least, unless `most` is 1, which
 * who comes first has.
 */
u64 moca_user_may_fill(const struct moca_user *u, u64 most);

/* Bytes of kernel memory, up to the parameter user_mb. 0 or -ENOSPC. */
int moca_user_charge(struct moca_user *u, u64 bytes);
void moca_user_uncharge(struct moca_user *u, u64 bytes);

/* One of the sessions (user_sessions). 0 or -EUSERS. */
int moca_user_add_session(struct moca_user *u);
void moca_user_drop_session(struct moca_user *u);

/* One of the processes that are sampled (rate_user_tasks). 0 or -ENOSPC. */
int moca_user_add_sampled(struct moca_user *u);
void moca_user_drop_sampled(struct moca_user *u);

/*
 * His monitors used ns of a CPU. They rest until moca_user_rests_until() (of
 * CLOCK_MONOTONIC, in ns; 0: no rest), so that they have user_cpu_permille of
 * one CPU together, at most.
 */
void moca_user_ran(struct moca_user *u, u64 ns);
u64 moca_user_rests_until(struct moca_user *u);

/* At unload: nobody holds one. */
void moca_user_exit(void);

#endif
