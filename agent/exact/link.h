/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading the decoder, a shared library, without a loader. */
#ifndef MOCA_EXACT_LINK_H
#define MOCA_EXACT_LINK_H

#include <stdint.h>

/* This image's own relocations: before any of its data is used. */
void moca_exact_relocate(void);
/* The library, laid out at base. 0, or -1: it needs what we do not have. */
int moca_exact_link(uint64_t base);
/* A function of it, or NULL. */
void *moca_exact_link_find(const char *name);

#endif
