// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocates known bytes below known callers: allocs BLOCKS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ul << 20)
#define ALONE __attribute__((noinline, noclone))

static char *volatile kept[8];

static ALONE char *get(size_t size)
{
	char *p = malloc(size);

	if (!p)
		exit(2);
	memset(p, 1, size);
	return p;
}

/* Three MiB that stay. */
static ALONE void keep(void)
{
	for (int i = 0; i < 3; i++)
		kept[i] = get(MIB);
}

/* n blocks of two MiB at once: most of all is alive when it has the last. */
static ALONE void hold(int n)
{
	char *block[8];

	for (int i = 0; i < n; i++)
		block[i] = get(2 * MIB);
	for (int i = 0; i < n; i++)
		free(block[i]);
}

/* Ten of half a MiB, one after the other. */
static ALONE void churn(void)
{
	for (int i = 0; i < 10; i++)
		free(get(MIB / 2));
}

/* 20,000 bytes, told in sum. */
static ALONE void little(void)
{
	for (int i = 0; i < 1000; i++)
		kept[7] = malloc(20);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	if (n < 1 || n > 8) {
		fprintf(stderr, "usage: allocs BLOCKS (1 to 8)\n");
		return 2;
	}
	keep();
	hold(n);
	churn();
	little();
	return 0;
}
