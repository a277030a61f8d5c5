// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that comes and goes. PAD: so that two have other code at a place. */
#include <stdlib.h>

void *plugin_make(size_t n);

#ifdef PAD
__attribute__((noinline)) static void *inner(size_t n)
{
	char room[PAD];
	void *p;

	__asm__ volatile("" : : "r"(room) : "memory");
	p = malloc(n);
	__asm__ volatile("" : "+r"(p) : "r"(room) : "memory");
	return p;
}
#else
#define inner malloc
#endif

void *plugin_make(size_t n)
{
	void *p = inner(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

__attribute__((constructor)) static void begin(void)
{
	free(malloc(33333));
}
