/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What translated code calls a helper for. Numbers are for C_HELPER. */
#ifndef MOCA_EXACT_HELP_H
#define MOCA_EXACT_HELP_H

#include "agent/exact/translate.h"

uint32_t moca_exact_help_add(struct helped *h);
/* Behind a cmps or scas, whose length is known then. */
uint32_t moca_exact_help_after(struct helped *h);
/* A group that lies in two granules, one look at which took scratch. */
uint32_t moca_exact_help_group(const struct group *g, int scratch,
			       struct straddle **out);

#endif
