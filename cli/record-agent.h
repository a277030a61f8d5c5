/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libraries that recorded programs load, and what they are told. */
#ifndef MOCA_CLI_RECORD_AGENT_H
#define MOCA_CLI_RECORD_AGENT_H

#include <limits.h>
#include <stdint.h>

#include "lib/cmdline/options.h"

/* Options of `moca record` for allocations. */
struct agent_options {
	uint64_t min_size;	/* objects below are told in bulk, bytes */
	struct string_list alloc_fns;	/* NAME:ARG */
	struct string_list free_fns;
	const char *allocs;	/* NULL, or how: auto, full, 1/N */
	double budget;		/* slowdown that is accepted; HUGE_VAL: any */
};

/* Are they well-formed? 0, or -EINVAL after a message. */
int agent_check(const struct agent_options *o);
/*
 * Absolute path of a library that programs load: beside the tool, or where `make
 * install` puts it. folder: where the tool is, filled in. To be freed; NULL: none is
 * there, or LD_PRELOAD could not name it.
 */
char *agent_library(const char *name, char folder[PATH_MAX]);
/*
 * Absolute path of libmoca-alloc.so: beside the tool, or where `make install`
 * puts it. NULL after a warning. To be freed.
 */
char *agent_find(void);
/* Fields of MOCA_ALLOC_ENV (include/abi/agent.h), to be freed; NULL: no memory. */
char *agent_config(const struct agent_options *o);

#endif
