/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moca info: what recording cost, by kind. */
#ifndef MOCA_CLI_INFO_COST_H
#define MOCA_CLI_INFO_COST_H

#include "analysis/trace.h"
#include "lib/text/json.h"

/* Nothing where the trace does not tell. */
void info_cost_print(const struct moca_trace *t);
/* Members slowdown_estimate and cost (null: not recorded). */
void info_cost_json(struct json *j, const struct moca_trace *t);

#endif
