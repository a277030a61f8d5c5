/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a plan to what the agent reads: names and lines become addresses in files
 * (include/abi/place.h). And what came of it, when the programs have ended.
 */
#ifndef MOCA_PLACE_SETUP_H
#define MOCA_PLACE_SETUP_H

#include <stdio.h>

#include "place/plan.h"

/* What of an entry was found before the program began. */
struct place_found {
	size_t pieces;		/* of code, or variables */
	char *why_not;		/* NULL: there are some */
	uint32_t module;	/* its number in the file */
};

struct place_setup {
	int fd;			/* of the file in memory; -1 */
	struct moca_place_head *head;
	/* In it; programs may write to the numbers from which these were made. */
	struct moca_place_policy *policies;
	struct moca_place_module *placed;
	size_t size;
	const struct place_plan *plan;
	struct place_found *found;	/* one of each entry */
	char **modules;		/* their paths */
	size_t module_count, module_room;
	unsigned nodes;		/* that this process may have memory on */
};

/*
 * program: the file that is executed. plan must outlive *out. 0; -ENOMEM; -E2BIG:
 * more code or files than the agent takes; or why there is no file in memory. To be
 * freed in any case.
 */
int place_setup_make(struct place_setup *out, const struct place_plan *plan,
		     const char *program);
void place_setup_free(struct place_setup *s);

/* Each entry: what was done. */
void place_report(FILE *f, const struct place_setup *s);
/*
 * The i-th thing that did not come out as planned, as a sentence in buf: 1; 0: there
 * are no more. From i = 0.
 */
int place_complaint(const struct place_setup *s, size_t i, char *buf,
		    size_t size);

#endif
