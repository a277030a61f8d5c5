// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "collect/ptrace/inject.h"
#include "lib/base/arch.h"

int moca_inject_static(struct recorder *rec, struct tracee_calls *c, char *why,
		       size_t size)
{
	snprintf(why, size, "to put an agent into it " MOCA_X86_ONLY);
	return 0;
}
