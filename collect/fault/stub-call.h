/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of the program for the addresses where the stub is (collect/ptrace/stub.h).
 * They are free for it: so all of the stub goes, and with it tracing.
 */
#ifndef MOCA_FAULT_STUB_CALL_H
#define MOCA_FAULT_STUB_CALL_H

#include "collect/fault/mapcall-ctx.h"

/* Does the call in x unmap, map or change any of these addresses? */
int stub_call_meets(const struct ctx *x);
/* The program makes the call itself, where nothing of ours is mapped. 0, -errno. */
int stub_call_leave(struct ctx *x);

/* Take the stub away: by one call of t, which stands in none of the program's. */
int stub_remove(struct tracee_calls *c);

#endif
