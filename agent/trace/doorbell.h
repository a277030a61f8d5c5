/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What libmocatrace shows libmoca-alloc of a trace beside its events. */
#ifndef MOCA_AGENT_TRACE_DOORBELL_H
#define MOCA_AGENT_TRACE_DOORBELL_H

#include <stdint.h>

#include "lib/ring/layout.h"

struct moca_trace_event;

/*
 * The page that the process shares with the first collector that wants e; it
 * stays mapped, maybe as another trace's later. NULL: none is mapped yet.
 */
struct moca_doorbell *moca_trace_doorbell(const struct moca_trace_event *e);
/*
 * Learn the ids of these events, all of one facility, now and with one request
 * to each trace that wants them: later the process may run as another user,
 * whom a collector does not answer.
 */
void moca_trace_prepare(struct moca_trace_event *const *events, unsigned n);
/* How long the calling thread has waited for room in buffers so far, ns. */
uint64_t *moca_trace_waited(void);

#endif
