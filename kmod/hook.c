// SPDX-License-Identifier: GPL-2.0-only
#include "hook.h"

#include <linux/string.h>

int moca_hook(struct ftrace_ops *ops, char *name)
{
	int err = ftrace_set_filter(ops, name, strlen(name), 1);

	err = err ?: register_ftrace_function(ops);
	if (err)
		moca_hook_free(ops);
	return err;
}

/* The kernel frees the filter, and leaves it there to be freed once more. */
void moca_hook_free(struct ftrace_ops *ops)
{
	ftrace_free_filter(ops);
	RCU_INIT_POINTER(ops->local_hash.filter_hash, NULL);
	RCU_INIT_POINTER(ops->local_hash.notrace_hash, NULL);
}

void moca_unhook(struct ftrace_ops *ops)
{
	unregister_ftrace_function(ops);
	moca_hook_free(ops);
}
