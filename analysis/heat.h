/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heat: the pages that were touched between two looks of the kernel module. */
#ifndef MOCA_ANALYSIS_HEAT_H
#define MOCA_ANALYSIS_HEAT_H

#include <moca/reader.h>

/* What an event of heat tells. */
struct moca_heat_run {
	uint64_t time_ns;	/* of the look */
	uint64_t since_ns;	/* touched from then on */
	uint64_t addr;		/* of the first page */
	uint32_t pid;
	size_t pages;		/* a multiple of 64 */
	const struct moca_event *event;
};

/*
 * Of an event of pages. 1; 0: it is none; -EBADMSG: it is one, but makes no sense. The
 * run lives as long as the event.
 */
int moca_heat_run(struct moca_heat_run *r, const struct moca_event *e);
/* Was the page, of r->pages, touched; was it written as well? */
int moca_heat_touched(const struct moca_heat_run *r, size_t page);
int moca_heat_written(const struct moca_heat_run *r, size_t page);

/* Of an event that ends a look: 1, and how many pages it was of; else 0. */
int moca_heat_look_end(const struct moca_event *e, uint64_t *touched);

#endif
