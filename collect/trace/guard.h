/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looking at memory that a program shares with us and may take away: it can
 * cut the file short under our mapping, and the access then raises SIGBUS.
 */
#ifndef MOCA_TRACE_GUARD_H
#define MOCA_TRACE_GUARD_H

/* Catch SIGBUS in this process. 0 or -errno. Again: no effect. */
int tracer_guard_install(void);

/*
 * Run fn(arg). 0, or -EFAULT when it was left in the middle because the memory
 * is gone: what fn changes is then half changed. fn takes no locks and
 * allocates nothing. Any thread; not nested.
 */
int tracer_guard(void (*fn)(void *arg), void *arg);

#endif
