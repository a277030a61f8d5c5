/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completing a trace whose collector was killed. */
#ifndef MOCA_TRACE_RECOVER_H
#define MOCA_TRACE_RECOVER_H

/*
 * Read what is left in shared memory of the trace in directory dir, write it
 * there, and remove it. 0, or -errno after a message.
 */
int tracer_recover(const char *dir);

#endif
