/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that the static moca (make static) has within itself. Elsewhere they are
 * not there: all addresses are NULL.
 */
#ifndef MOCA_CODE_EMBEDDED_H
#define MOCA_CODE_EMBEDDED_H

#include <stdint.h>

#define MOCA_EMBEDDED_FILE(name)                                             \
	extern const uint8_t moca_embedded_##name[]                          \
		__attribute__((weak, visibility("hidden")));                 \
	extern const uint8_t moca_embedded_##name##_end[]                    \
		__attribute__((weak, visibility("hidden")))

MOCA_EMBEDDED_FILE(zydis);	/* libZydis.so, which the tool calls, too */
MOCA_EMBEDDED_FILE(alloc);	/* libmoca-alloc.so */
MOCA_EMBEDDED_FILE(trace);	/* libmocatrace.so.0, which that one needs */

/* A descriptor of a memfd that holds libZydis.so, or -1 with errno. */
int moca_embedded_zydis_open(void)
	__attribute__((weak, visibility("hidden")));

#endif
