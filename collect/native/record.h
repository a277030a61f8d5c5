/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording page accesses on native memory, by userfaultfd's RWP (Linux 7.3):
 * nothing moves. doc/design/native-collector.md describes how.
 */
#ifndef MOCA_NATIVE_RECORD_H
#define MOCA_NATIVE_RECORD_H

#include "collect/run/record.h"

struct moca_native_check {
	int error;		/* errno; 0: this user may use it */
	char why[200];		/* for people, unless it is ready */
	const char *fix;	/* what would help; NULL: nothing known */
};

/* Try it on memory of our own: leaves nothing. */
void moca_native_try(struct moca_native_check *c);

/* As record_run (collect/run/way.h). Of no running process: opt->attach is 0. */
int moca_native_run(const struct moca_record_options *opt);

#endif
