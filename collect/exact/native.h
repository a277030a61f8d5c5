/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks that go on natively: nothing of them is counted any more. Harvester. */
#ifndef MOCA_EXACT_NATIVES_H
#define MOCA_EXACT_NATIVES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/format/meta.h"

#define NATIVES_MAX 256		/* that are listed; of others, how many */

struct native;

struct natives {
	size_t count, room;
	struct native *items;
	size_t more;
};

/* It went on natively at time_ns, after cpu_ns of CPU time, and why. */
void natives_add(struct natives *l, uint32_t task, const char *name,
		 pid_t pid, pid_t tid, uint64_t time_ns, uint64_t cpu_ns,
		 const char *why);
/* See how much CPU time they have taken. */
void natives_look(struct natives *l);
/* It is gone: its number may be another's. */
void natives_end(struct natives *l, uint32_t task);
/* The key exact.native. */
void natives_describe(const struct natives *l, struct moca_meta *meta);
/* A line on stderr, if there is one: of the first, and how many others. */
void natives_say(const struct natives *l, const char *dir, uint64_t start_ns);

#endif
