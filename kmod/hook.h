/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the kernel that ftrace stops at for us, by name. */
#ifndef MOCA_KMOD_HOOK_H
#define MOCA_KMOD_HOOK_H

#include <linux/ftrace.h>

/* Call ops->func at each call of a function. May sleep. 0 or -errno. */
int moca_hook(struct ftrace_ops *ops, char *name);
/* When it returns, ops->func runs nowhere. */
void moca_unhook(struct ftrace_ops *ops);
/* Of ops that were given a filter, and not registered. */
void moca_hook_free(struct ftrace_ops *ops);

#endif
