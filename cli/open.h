/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace that a command is to read. */
#ifndef MOCA_CLI_OPEN_H
#define MOCA_CLI_OPEN_H

#include <moca/reader.h>

/* Open a trace; on failure says why and returns NULL. */
struct moca_trace *trace_open(const char *command, const char *path);

/* After it was read: 1 after a warning, if parts of it are missing or damaged; or 0. */
int trace_warn_damage(const char *command, const struct moca_trace *t,
		      const char *path);

/*
 * The one operand DIR of a command; options were parsed with result first.
 * NULL after a message when there is none or more than one.
 */
const char *trace_operand(int argc, char **argv, int first);

/*
 * The range FIRST-END of an option, both hexadecimal, END behind the last byte, into
 * q->addr_begin and q->addr_end. 0; -EINVAL: it is none, or empty.
 */
int trace_addresses(const char *s, struct moca_query *q);

#endif
