// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/task-clock.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct task_clock {
	size_t count;
	int fds[];
};

struct task_clock *task_clock_open(const pid_t *tids, size_t count,
				   int on_exec)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.inherit = 1,
		.disabled = on_exec != 0,
		.enable_on_exec = on_exec != 0,
		/* The clock runs in the kernel too; unprivileged users may not
		 * ask for it. */
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct task_clock *c = calloc(1, sizeof(*c) + count * sizeof(int));

	for (size_t i = 0; c && i < count; i++) {
		int fd = syscall(SYS_perf_event_open, &a, tids[i], -1, -1,
				 PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0)
			c->fds[c->count++] = fd;
	}
	if (c && !c->count) {
		free(c);
		c = NULL;
	}
	return c;
}

void task_clock_close(struct task_clock *c)
{
	for (size_t i = 0; c && i < c->count; i++)
		close(c->fds[i]);
	free(c);
}

uint64_t task_clock_ns(const struct task_clock *c)
{
	uint64_t sum = 0, ns;

	for (size_t i = 0; c && i < c->count; i++)
		if (read(c->fds[i], &ns, sizeof(ns)) == sizeof(ns))
			sum += ns;
	return sum;
}
