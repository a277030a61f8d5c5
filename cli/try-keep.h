/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What moca try measured stays with the trace, for moca summary and the report. */
#ifndef MOCA_CLI_TRY_KEEP_H
#define MOCA_CLI_TRY_KEEP_H

#include "cli/try-print.h"

/* Write it into the trace's directory; warns where that cannot be. */
/* command: what was run in place of the recorded one, or NULL. */
void try_keep(const struct try_view *v, const char *path,
	      char *const *command);

#endif
