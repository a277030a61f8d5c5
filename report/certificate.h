/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How complete a trace is, as its recorder certified it, on stdout. */
#ifndef MOCA_REPORT_CERTIFICATE_H
#define MOCA_REPORT_CERTIFICATE_H

#include <stddef.h>

struct moca_trace;

/* Of accesses: pages seen of pages touched, what is blind, what was lost. */
void certificate_print(struct moca_trace *t);
/* Of counts: all that were executed, or what was not counted. */
void certificate_print_exact(struct moca_trace *t);
/* Of a trace that was read: that parts of it are damaged or missing; often nothing. */
void certificate_print_damage(const struct moca_trace *t);
/* Lines of a trace that has not ended properly; often none. */
void certificate_print_state(struct moca_trace *t);
/*
 * How a trace without a proper end stands, and until when it says something,
 * as a sentence without its full stop, in buf; NULL: it ended properly.
 */
const char *certificate_unfinished(const struct moca_trace *t, char *buf,
				   size_t size);

#endif
