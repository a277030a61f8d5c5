/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `moca trace start NAME`: a collector that goes on by itself. */
#ifndef MOCA_TRACE_DAEMON_H
#define MOCA_TRACE_DAEMON_H

#include "collect/trace/session.h"

/*
 * Start the collector as a process of its own session; it ends with `moca
 * trace destroy` or SIGTERM. Returns once programs can join: 0, and the
 * trace's directory (to be freed); or -errno after a message.
 */
int tracer_daemon_start(const struct tracer_options *opt, char **dir);

#endif
