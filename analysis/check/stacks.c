// SPDX-License-Identifier: GPL-2.0-or-later
/* Each call stack that an access tells is in the file `stacks`. */
#include <inttypes.h>

#include "analysis/check/rules.h"

void stacks_chunk(struct meaning *m, const struct moca_chunk *c)
{
	struct moca_stack s;
	char file[64];

	for (size_t i = 0; i < c->count; i++)
		if (c->accesses[i].stack &&
		    moca_trace_stack(m->t, c->accesses[i].stack, &s))
			meaning_wrong_anyway(m, RULE_STACKS,
				"%s: chunk %" PRIu64 ", access %zu: its call stack is number %" PRIu32 ", which the file stacks has not",
				meaning_file(c->task, file, sizeof(file)),
				c->number, i, c->accesses[i].stack);
}
