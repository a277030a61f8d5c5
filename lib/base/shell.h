/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of the traced program in commands that a reader may copy into a shell. */
#ifndef MOCA_BASE_SHELL_H
#define MOCA_BASE_SHELL_H

#include <stddef.h>

/*
 * value as one word, between quotes; buf is returned. NULL: it is empty, has control
 * characters or does not fit.
 */
const char *moca_shell_word(char *buf, size_t size, const char *value);
/* Is it words that a shell takes as they are? */
int moca_shell_is_plain(const char *value);

#endif
