/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The seccomp filter that stops the program's calls that change memory. */
#ifndef MOCA_FAULT_FILTER_H
#define MOCA_FAULT_FILTER_H

struct recorder;

/* record_way.before_exec: have it from here on, and in all children. */
int filter_install(const struct recorder *rec, const char **what);

#endif
