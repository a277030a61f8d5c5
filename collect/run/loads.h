/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a program would load libmoca-alloc, as its file and its limits tell. */
#ifndef MOCA_RUN_LOADS_H
#define MOCA_RUN_LOADS_H

#include <sys/types.h>

/* Two reasons why not, to be compared by their addresses. */
extern const char loads_static[], loads_sanitized[];

/* By its file, a program's: NULL, or why not. */
const char *loads_refusal_of(const char *path);
/* The same of a program, or of a script's interpreter, that we are to start. */
const char *loads_refusal(const char *path);
/* Has the process too little memory for the library? */
int loads_is_limited(pid_t tid);

#endif
