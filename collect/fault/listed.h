/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that lists its descriptors finds ours among them, and expects of it
 * what is true of all that are listed: that it is open, and can be closed.
 */
#ifndef MOCA_FAULT_LISTED_H
#define MOCA_FAULT_LISTED_H

#include "collect/fault/mapcall-ctx.h"

/*
 * x is a call of close, fcntl, dup2, dup3 or close_range that names our descriptor,
 * which is not the program's to close, to replace or to ask about. 0 or -errno.
 */
int listed_call(struct ctx *x);

#endif
