/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs with a sanitizer's runtime (address, leak, thread, memory), of gcc
 * or clang, in a library or linked into them: their allocator must come first,
 * their shadow memory has fixed places, and LeakSanitizer is a debugger.
 */
#ifndef MOCA_RUN_SANITIZER_H
#define MOCA_RUN_SANITIZER_H

#include "lib/code/symfile.h"

/* What tells that the file has one; NULL: it has none. */
const char *sanitizer_in(const struct moca_symfile *f);
/* The same of a list of libraries, as in LD_PRELOAD; NULL is an empty one. */
const char *sanitizer_among(const char *list);

#endif
