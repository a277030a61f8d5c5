// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of small objects that are never touched becomes memory of others that
 * are written to again and again: whichever objects are told, no access is one
 * to the first. Prints how many pages are written in each round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define COUNT 20000
#define SIZE 104
#define LARGE (400 << 10)

static char *object[COUNT];

NOINLINE static void make_cold(void)
{
	for (int i = 0; i < COUNT; i++)
		object[i] = malloc(SIZE);
}

NOINLINE static void make_hot(void)
{
	for (int i = 0; i < COUNT; i++)
		object[i] = malloc(SIZE);
}

static void drop(void)
{
	for (int i = 0; i < COUNT; i++)
		free(object[i]);
}

int main(void)
{
	char *large = malloc(LARGE);

	make_cold();
	drop();
	make_hot();
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < COUNT; i++)
			memset(object[i], round, SIZE);
		memset(large, round, LARGE);
		usleep(30000);
	}
	printf("%d\n", LARGE / 4096);
	return object[COUNT / 2][0] + large[LARGE / 2] == 0;
}
