/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The baseline that moca diff compares with. */
#ifndef MOCA_CLI_DIFF_BASELINE_H
#define MOCA_CLI_DIFF_BASELINE_H

#include "analysis/baseline.h"

/* 0, or EXIT_USAGE after a message; free it with moca_baseline_free() also then. */
int diff_baseline_read(struct moca_baseline *b, const char *path);
/* As comparison_with_baseline(); 0, or EXIT_USAGE after a message. path: of both. */
int diff_baseline_compare(struct comparison *c, const struct moca_baseline *b,
			  const char *const path[2], struct moca_trace *trace,
			  const struct moca_profile *profile);

#endif
