/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Working sets, as `moca info` and `moca summary` show them. */
#ifndef MOCA_REPORT_WORKING_SET_H
#define MOCA_REPORT_WORKING_SET_H

#include "analysis/intervals.h"

/* A character whose height is pages in proportion to most; a space: none. */
void working_set_bar(uint64_t pages, uint64_t most);
/* "most N pages (SIZE) in an interval, half of the time M (SIZE) or fewer" */
void working_set_print(const struct moca_interval_pages *p,
		       unsigned page_shift);

#endif
