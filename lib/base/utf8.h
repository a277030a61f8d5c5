/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MOCA_BASE_UTF8_H
#define MOCA_BASE_UTF8_H

/*
 * Length of the valid UTF-8 sequence at s (1-4), or 0. NUL ends it early, so
 * nothing behind the string is read.
 */
int moca_utf8_length(const unsigned char *s);

/* Does the sequence at s act on a terminal? C0, DEL or C1. */
int moca_utf8_is_control(const unsigned char *s);

#endif
