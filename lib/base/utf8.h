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

/*
 * The sequence at s as a terminal is shown it: itself, or \xNN, if it acts on one
 * or is not valid. The bytes of s that out stands for.
 */
int moca_utf8_show(const unsigned char *s, char out[5]);

#endif
