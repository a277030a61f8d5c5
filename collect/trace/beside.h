/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A private trace beside a page trace: `moca record` starts it before the
 * program and ends it after; its events are written into the same directory.
 * The collector is a process of its own.
 */
#ifndef MOCA_TRACE_BESIDE_H
#define MOCA_TRACE_BESIDE_H

#include "collect/trace/session.h"

struct moca_meter;
struct moca_quota;
struct moca_trace_session;

/*
 * Start the collector; it gets ready while the caller goes on. The directory
 * need not be there yet: it is opened when the first program joins. The
 * collector ends by itself when the caller does. What it writes counts for the
 * quota, and it writes nothing more when that is full; NULL: no limit; else it
 * must outlive the collector. 0, or -errno.
 */
int moca_trace_session_start(struct moca_trace_session **out, const char *dir,
			     struct moca_quota *quota);
/*
 * Wait until programs can join. 0, or -errno after a message: then record
 * without; s is freed.
 */
int moca_trace_session_ready(struct moca_trace_session *s);
/*
 * What the programs tell of their own cost (lib/ring/meter.h), once the session
 * is ready, or NULL. Shared with all of them; s unmaps it.
 */
struct moca_meter *moca_trace_session_meter(struct moca_trace_session *s);
/* The descriptor of the page that they tell it in; -1: none. It is s's. */
int moca_trace_session_page(const struct moca_trace_session *s);
/* CPU time that the collector has taken so far, ns; 0: not known. */
uint64_t moca_trace_session_cpu_ns(const struct moca_trace_session *s);
pid_t moca_trace_session_pid(const struct moca_trace_session *s);
/* For the program's environment: MOCA_TRACE_ENV (lib/ring/registry.h). */
const char *moca_trace_session_id(const struct moca_trace_session *s);
/*
 * The trace has the size that it may have: programs emit nothing more. Does not
 * wait; moca_trace_session_finish is still to be called, by the same process.
 */
void moca_trace_session_stop(struct moca_trace_session *s);
/*
 * Only when it was ready. The programs have ended: have the rest written, wait for it, give all back.
 * 0, or -errno: not all is on disk (result->error says why, too); -EOWNERDEAD:
 * the collector was killed, `moca trace recover DIR` gets what was in buffers.
 * Frees s.
 */
int moca_trace_session_finish(struct moca_trace_session *s,
			      struct tracer_result *result);

#endif
