/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a program that is stopped amid a run. */
#ifndef MOCA_TRY_END_H
#define MOCA_TRY_END_H

#include <sys/types.h>

/*
 * End a child and what it started: it is asked (SIGTERM), and after some seconds
 * killed. Returns when all of them are gone, or cannot be killed. What left the
 * child's tree before stays.
 */
void try_end(pid_t child);

#endif
