/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moca info: what is shown of a trace, as text (cmd-info.c) or JSON (info-json.c). */
#ifndef MOCA_CLI_INFO_H
#define MOCA_CLI_INFO_H

#include "analysis/info/info.h"
#include "analysis/rates.h"
#include "cli/info-resolution.h"

struct info {
	struct moca_trace *t;
	struct moca_info s;
	struct resolution resolution;
	struct moca_rates *rates;	/* NULL: none were sampled */
	struct moca_certificate cert;
	struct moca_damage damage;
	int truncated;
	int events_only;	/* no accesses were to be recorded */
	int exact;		/* there are counts, or were to be */
	int all;
};

uint64_t info_duration(const struct info *in);
void info_json(const struct info *in, const char *path);

#endif
