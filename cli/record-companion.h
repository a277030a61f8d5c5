/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes along with `moca record`: the sampler of page faults and CPU time,
 * the collector of the events that the program emits itself, and at the end the
 * filter by objects.
 */
#ifndef MOCA_CLI_RECORD_COMPANION_H
#define MOCA_CLI_RECORD_COMPANION_H

#include "collect/run/record.h"
#include "lib/cmdline/options.h"

/*
 * objects: patterns of names, none = keep all; pid: 0, or the process that is
 * attached to, which has no collector of events; hz: samples per second, 0 =
 * none; no_summary: not 0, no finding is told at the end. All are looked at when the recording begins and ends. One per process.
 */
struct moca_record_companion
record_companion(const struct string_list *objects, const int *quiet,
		 const uint64_t *pid, const uint64_t *hz,
		 const int *no_summary);

#endif
