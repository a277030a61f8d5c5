/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moca info: how finely a trace resolves time, and what that allows to say. */
#ifndef MOCA_CLI_INFO_RESOLUTION_H
#define MOCA_CLI_INFO_RESOLUTION_H

#include "analysis/info/info.h"
#include "lib/text/json.h"

/* The intervals that hold accesses. */
struct resolution {
	size_t intervals;
	uint64_t all;		/* with those without accesses; 0: not known */
	uint64_t shortest_ns, median_ns, longest_ns;
};

/* 0 or -ENOMEM. */
int resolution_of(struct resolution *r, const struct moca_info *s);
/* The line "Resolution"; nothing where there are no accesses. */
void resolution_print(const struct resolution *r);
/* Member resolution. */
void resolution_json(struct json *j, const struct resolution *r);

#endif
