/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where jumps by register and returns arrive. The table moca_exact.jumps, by the
 * low bits of the target, leads to a landing, which compares the whole target: it
 * is this one's, or it goes on to the next landing of the same bits. The last
 * leads to C. All under the lock; translated code may be on its way through a
 * chain while it changes.
 */
#ifndef MOCA_EXACT_LANDING_H
#define MOCA_EXACT_LANDING_H

#include <stdint.h>

struct landing;

/* At host, for jumps to pc; no jump comes to it yet. NULL: no room for its code. */
struct landing *moca_exact_landing(uint64_t pc, uint64_t host);
/* Jumps come to it. If they do already, nothing changes. */
void moca_exact_landing_show(struct landing *l);
/* No jump comes to it any more; it may be NULL. */
void moca_exact_landing_hide(struct landing *l);

#endif
