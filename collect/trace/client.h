/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Talking to the collectors of this user, from `moca trace VERB`. */
#ifndef MOCA_TRACE_CLIENT_H
#define MOCA_TRACE_CLIENT_H

#include <stddef.h>
#include <stdio.h>

/*
 * Send a command (count strings: the verb, its arguments) to the collector of
 * a trace. 0 or -errno; *text is its answer, to be freed, or NULL: there is no
 * such collector (-ENOENT: no trace of this name; -ECONNREFUSED: its collector
 * is dead) or it did not answer.
 */
int tracer_client_ask(const char *name, const char *const *args, size_t count,
		      char **text);

/*
 * Say that there is no such trace, and which there are; or that its collector
 * is dead, and what to do. err as above.
 */
void tracer_client_explain(const char *name, const char *tried, int err);

/*
 * No collector answers: if the trace's is dead and nothing can be recovered, as its
 * directory or its buffers are gone, take away what is left of it, and say so.
 * 1, or 0: it is not so.
 */
int tracer_client_bury(const char *name);

/* s in quotes, escaped. Bytes above 127 stay as they are. */
void tracer_json_string(FILE *f, const char *s);

/* Print all traces of this user. 0; or -errno after a message. */
int tracer_client_status_all(int json);

#endif
