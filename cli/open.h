/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace that a command is to read. */
#ifndef MOCA_CLI_OPEN_H
#define MOCA_CLI_OPEN_H

#include <moca/reader.h>

/* Open a trace; on failure says why and returns NULL. */
struct moca_trace *trace_open(const char *command, const char *path);

/*
 * The one operand DIR of a command; options were parsed with result first.
 * NULL after a message when there is none or more than one.
 */
const char *trace_operand(int argc, char **argv, int first);

#endif
