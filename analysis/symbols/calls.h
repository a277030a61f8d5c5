/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling calls of one source line apart. */
#ifndef MOCA_SYMBOLS_CALLS_H
#define MOCA_SYMBOLS_CALLS_H

#include "analysis/symbols/tables.h"

/*
 * The number, from 0, of the call that vaddr is in, among those that its line
 * makes to the same function, by address; *total of them. *total 0: unknown.
 */
unsigned call_number(struct moca_module *m, struct unit *u, uint64_t vaddr,
		     unsigned *total);

#endif
