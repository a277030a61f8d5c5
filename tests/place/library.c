// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that comes by dlopen, and allocates. */
#include <stdlib.h>

void *library_make(size_t size);
void *library_make(size_t size)
{
	void *p = malloc(size);

	return p;
}
