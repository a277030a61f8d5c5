/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process that records beside another, so that neither can stop or break it. */
#ifndef MOCA_COMPANION_H
#define MOCA_COMPANION_H

#include <sys/types.h>

/*
 * Fork a companion. What has been written to stdio streams is flushed before. In the
 * companion, *control is one end of a socket of packets, its name is as given (15 bytes
 * and less), and it ignores the signals that are for the program and for who records
 * it, whose end it is told by the socket; returns 0. Here *control is the other end;
 * returns its pid, which is to be waited for. -errno: there is none. Both ends are
 * closed on exec.
 */
pid_t companion_fork(const char *name, int *control);

#endif
