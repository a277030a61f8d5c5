/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes that a plan makes, as variables of the program's environment. */
#ifndef MOCA_CLI_TRY_PLAN_H
#define MOCA_CLI_TRY_PLAN_H

#include <stdint.h>

#include "place/setup.h"
#include "try/change.h"
#include "try/run.h"

/* A plan that runs follow. The setup refers to the plan: do not copy it. */
struct try_placed {
	struct place_plan plan;
	struct place_setup setup;
	char *setting;		/* the change's, and what makes the agent load */
};

/*
 * Prepare the change's plan for that program. 0, or an exit code after a message;
 * where the program would not follow it, *why says why not (to be freed), and there
 * is no setting. To be freed in any case.
 */
int try_placed_make(struct try_placed *out, const struct try_change *c,
		    const struct try_program *p, char **why);
void try_placed_free(struct try_placed *p);

/* What all runs so far have matched. */
void try_placed_matched(const struct try_placed *p, uint64_t *blocks,
			uint64_t *bytes);
/* The first thing that was not done, in buf; 0: all was. */
int try_placed_complaint(const struct try_placed *p, char *buf, size_t size);

#endif
