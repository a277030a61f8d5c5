/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RLIMIT_AS, once it is below what the program has: the kernel then refuses to
 * map anything, even over what is there, and a fork's child could get neither a
 * memfd nor memory of its own. So the program leaves the memfd before.
 */
#ifndef MOCA_FAULT_LIMIT_CALL_H
#define MOCA_FAULT_LIMIT_CALL_H

#include "collect/fault/mapcall-ctx.h"

/* x is a call of setrlimit or prlimit for RLIMIT_AS: does it do so? */
int limit_is_too_low(const struct ctx *x);
int limit_leave(struct ctx *x);

#endif
