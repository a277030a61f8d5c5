/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction of this machine does to memory. Collector thread only. */
#ifndef MOCA_PERF_INSTRUCTION_H
#define MOCA_PERF_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arch.h"
#include <moca/types.h>

/* The longest, in bytes. */
#define INSTRUCTION_BYTES (MOCA_IS_X86 ? 15 : 4)

/* Where it is not an enum moca_access_type. */
#define INSTRUCTION_NOT_KNOWN MOCA_ACCESS_UNKNOWN
#define INSTRUCTION_DOES_BOTH                                                  \
	UINT8_MAX /* it reads one place and writes another */

/* Of the one that len bytes begin with: enum moca_access_type, or one of these.
 */
uint8_t instruction_type(const uint8_t *bytes, size_t len);

#endif
