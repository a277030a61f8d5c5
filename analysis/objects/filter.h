/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `moca record --object`: keep the accesses to some objects only. */
#ifndef MOCA_ANALYSIS_OBJECTS_FILTER_H
#define MOCA_ANALYSIS_OBJECTS_FILTER_H

#include <stdint.h>

#include "lib/cmdline/options.h"

struct object_filter_result {
	uint64_t objects;	/* rows whose name matched */
	uint64_t kept;		/* accesses */
	uint64_t dropped;
};

/*
 * Take all accesses out of the trace in directory dir that are not to an object
 * whose name matches one of the patterns (fnmatch(3)). The writers must be done
 * with it. When no object matches, all stay. 4 bytes of memory per access. 0, or -errno: then the trace is as it
 * was, but for -EIO: it may be filtered in part.
 */
int object_filter(const char *dir, const struct string_list *patterns,
		  struct object_filter_result *result);

#endif
