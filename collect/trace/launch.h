/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `moca trace -- CMD`: a trace for one command and all that it starts. */
#ifndef MOCA_TRACE_LAUNCH_H
#define MOCA_TRACE_LAUNCH_H

#include "collect/trace/session.h"

/*
 * Run opt->argv with a private trace. The exit code for the shell: the
 * program's own, or 125 to 127. A program that was killed by a signal ends the
 * caller by the same signal.
 */
int tracer_launch(const struct tracer_options *opt);

#endif
