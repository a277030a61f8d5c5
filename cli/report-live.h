/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `moca view --live`: a page of a recording that goes on. */
#ifndef MOCA_CLI_REPORT_LIVE_H
#define MOCA_CLI_REPORT_LIVE_H

#include <stdint.h>

struct live_options {
	uint64_t pid;			/* to attach to; 0: run a command */
	const char *out;		/* the final page; NULL: in the trace */
	const char *trace;		/* NULL: a folder of ours, here */
	const char *topology;
	int no_source, stacks;
	uint64_t delay_ns;		/* between two pages, at least */
	uint64_t interval_ns, max_size;	/* 0: as moca record has them */
	const char *sample, *budget;	/* NULL: the same */
};

/* Until a signal comes. The exit code. */
int report_live(const struct live_options *o, int argc, char **argv);

#endif
