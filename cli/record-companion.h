/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes along with `moca record`: the collector of the events that the
 * program emits itself, and at the end the filter by objects.
 */
#ifndef MOCA_CLI_RECORD_COMPANION_H
#define MOCA_CLI_RECORD_COMPANION_H

#include "collect/fault/record.h"
#include "lib/cmdline/options.h"

/*
 * objects: patterns of names, none = keep all. Both are looked at when the
 * recording begins and ends. One per process.
 */
struct moca_record_companion
record_companion(const struct string_list *objects, const int *quiet);

#endif
