/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program to record, before anything is started. */
#ifndef MOCA_RUN_TARGET_H
#define MOCA_RUN_TARGET_H

#include <stddef.h>
#include <sys/types.h>

/* Where execvp would find a program: out, of size bytes. 0 or -errno. */
int target_find(const char *name, char *out, size_t size);
/*
 * Whether the program can be recorded; traced: by ptrace, which takes rights
 * away. 0, or -errno after a message, with *code the exit code for the shell
 * (125 refused, 126, 127 as for exec).
 */
int target_check(const char *program, int traced, int *code);

/* The threads of a process, to be freed. NULL and *count = 0 on error. */
pid_t *target_threads(pid_t pid, size_t *count);

#endif
