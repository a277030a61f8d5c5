/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libraries for programs, of a moca that is one file. */
#ifndef MOCA_CLI_RECORD_UNPACK_H
#define MOCA_CLI_RECORD_UNPACK_H

/*
 * Puts libmoca-alloc.so and libmocatrace.so.0 where programs may load them from:
 * a folder of this user's in $XDG_CACHE_HOME, ~/.cache or /tmp, in a name of its
 * own for each version; they stay there. They are told to own_file(). Returns
 * the path of libmoca-alloc.so, to be freed; NULL: this moca has them not within
 * itself, or, after a warning, no such folder can be written.
 */
char *record_unpack(void);

#endif
