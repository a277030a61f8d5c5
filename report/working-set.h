/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Working sets, as `moca info` and `moca summary` show them. */
#ifndef MOCA_REPORT_WORKING_SET_H
#define MOCA_REPORT_WORKING_SET_H

#include "analysis/intervals.h"

/*
 * A character for each column of the time: its height is pages in proportion to the
 * most of any interval; a space: none.
 */
void working_set_bars(const struct moca_interval_pages *p);
/* "most N pages (SIZE) in an interval, half of the time M (SIZE) or fewer" */
void working_set_print(const struct moca_interval_pages *p,
		       unsigned page_shift);

#endif
