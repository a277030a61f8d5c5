/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MOCA_RING_DESCRIBE_H
#define MOCA_RING_DESCRIBE_H

#include <stddef.h>

struct moca_trace_event;

/*
 * "FACILITY\0NAME\0FIELDS\0" of an event that MOCA_EVENT declared, with the
 * arrays' counts put in, as MOCA_MSG_EVENT has it. Its length, or -E2BIG.
 * Signal-safe.
 */
long moca_event_describe(const struct moca_trace_event *e, char *buf,
			 size_t size);

#endif
