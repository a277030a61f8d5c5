/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the table share. */
#ifndef MOCA_ANALYSIS_COUNTS_USERS_H
#define MOCA_ANALYSIS_COUNTS_USERS_H

#include "analysis/counts/counts.h"

/* A row of a line, before it is added to its sums. 0 or -ENOMEM. */
int counts_use(struct moca_counts_table *t, struct moca_counts_line *l,
	       const struct moca_counted *x);
/* At the end: they are no hash any more. */
void counts_sort_users(struct moca_counts_table *t);

#endif
