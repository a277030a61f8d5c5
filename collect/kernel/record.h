/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording page accesses by the kernel module, without ptrace.
 * doc/design/kernel-collector.md describes how.
 */
#ifndef MOCA_KERNEL_RECORD_H
#define MOCA_KERNEL_RECORD_H

#include "collect/run/record.h"

enum moca_kernel_state {
	MOCA_KERNEL_READY,	/* this user may use it */
	MOCA_KERNEL_ABSENT,	/* there is none */
	MOCA_KERNEL_REFUSED,	/* there is one */
};

struct moca_kernel_check {
	enum moca_kernel_state state;
	int error;		/* errno */
	uint32_t abi;		/* of the module; 0: it did not say */
	uint32_t features;	/* MOCA_HAS_* */
	char why[256];		/* for people, unless it is ready */
	const char *fix;	/* what would help; NULL: nothing known */
};

/* Try whether pid (0: a program of our own) can be recorded: leaves nothing. */
void moca_kernel_try(struct moca_kernel_check *c, pid_t pid);
/* Why the module cannot look at accessed bits; NULL: it can. */
const char *moca_kernel_no_heat(const struct moca_kernel_check *c);
/* "ftrace, range flush, ..." */
const char *moca_kernel_features(uint32_t features, char *buf, size_t size);

/* As record_run (collect/run/way.h). opt->stack and opt->tracepoints: it does both anyway. */
int moca_kernel_run(const struct moca_record_options *opt);

#endif
