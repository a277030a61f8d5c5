/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that lists its descriptors finds ours among them, and expects of it
 * what is true of all that are listed: that it is open, and can be closed.
 */
#ifndef MOCA_FAULT_LISTED_H
#define MOCA_FAULT_LISTED_H

#include <sys/types.h>

/* Has task tid a folder as /proc/self/fd open that has descriptor fd in it? */
int listed_is(pid_t tid, int fd);

#endif
