// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pool whose user says where: one object, one of another place inside its
 * memory, then the first again. To be recorded with fn=pool_take:1.
 */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE void *pool_take(char *at, size_t size);
NOINLINE void *pool_take(char *at, size_t size)
{
	static volatile size_t taken;	/* some code to be changed */

	taken += size;
	return at;
}

NOINLINE static char *mine(char *at)
{
	char *p = pool_take(at, 3000);

	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE static char *other(char *at)
{
	char *p = pool_take(at, 500);

	__asm__ volatile("" : "+r"(p));
	return p;
}

int main(void)
{
	static char pool[8192] __attribute__((aligned(4096)));
	volatile int i;	/* each object shall be from one place */

	for (i = 0; i < 9; i++) {
		if (i & 1)
			other(pool + 1024);
		else
			mine(pool);
	}
	printf("%p 3000\n", (void *)pool);
	return 0;
}
