/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages for the user. Libraries never call these: only cli/ and the
 * recorder do. Every message names what was tried, on what, why it failed and
 * what to do. One line: what could act on the terminal, such as in the name of a
 * thread or a file, is escaped.
 */
#ifndef MOCA_BASE_ERR_H
#define MOCA_BASE_ERR_H

/* "moca: error: ..." on stderr. */
void moca_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "moca: warning: ..." on stderr. */
void moca_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "moca: ..." on stderr, for what is not wrong. */
void moca_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Only when verbose (-v). */
void moca_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern int moca_verbose;

#endif
