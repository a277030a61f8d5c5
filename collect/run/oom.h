/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel has ended processes because there was no memory left. */
#ifndef MOCA_RUN_OOM_H
#define MOCA_RUN_OOM_H

#include <stddef.h>
#include <stdint.h>

struct oom {
	char dir[512];		/* of the control group; "": none */
	int v2;
	uint64_t group, machine;	/* processes ended so far */
};

/* Before the program starts. */
void oom_begin(struct oom *o);
/*
 * 1 when the kernel ended a process since then, in this control group or, when
 * nobody counts for the group, anywhere; why says what was short of memory.
 */
int oom_since(const struct oom *o, char *why, size_t size);

/* 1 when our control group, or one above it, has a limit of memory. */
int oom_is_limited(void);

#endif
