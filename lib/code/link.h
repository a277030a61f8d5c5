/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Linking a shared library that needs nothing but memcpy and its like (Zydis),
 * without a loader: it calls no malloc, and works where there is no C library.
 */
#ifndef MOCA_CODE_LINK_H
#define MOCA_CODE_LINK_H

#include <elf.h>
#include <stdint.h>

struct moca_linked {
	uint64_t base;		/* where it is laid out, as its segments say */
	const Elf64_Sym *symbols;
	const char *strings;
	uint32_t count;		/* of symbols */
	void (*failed)(void);	/* what it calls instead of what it lacks */
};

/* The library laid out at base. 0, or -1: it needs what we do not have. */
int moca_link(struct moca_linked *l, uint64_t base, void (*failed)(void));
/* A function of it, or NULL. */
void *moca_link_find(const struct moca_linked *l, const char *name);

#endif
