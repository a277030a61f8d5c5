// SPDX-License-Identifier: GPL-2.0-or-later
/* Two mappings 2 TiB apart, but for a page: one's counters are the other's. */
#include <stddef.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static char *at(unsigned long where)
{
	return mmap((void *)where, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(void)
{
	char *a = at(0x140000000000ul), *b = at(0x160000001000ul);

	if (a == MAP_FAILED || b == MAP_FAILED)
		return 1;
	a[4096] = 1;
	b[0] = 2;
	return 0;
}
