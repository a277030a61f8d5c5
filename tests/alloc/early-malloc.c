// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with a malloc of its own, which works from main on: who calls it
 * earlier ends the program. GNU Common Lisp's is such a one.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char heap[1 << 20] __attribute__((aligned(16)));
static size_t used;
static int is_ready;

static void ready(const char *call)
{
	if (is_ready)
		return;
	if (write(2, call, strlen(call)) < 0)
		_exit(2);
	abort();
}

void *malloc(size_t size)
{
	void *p = heap + used;

	ready("malloc before main\n");
	used += (size + 15) & ~(size_t)15;
	return used <= sizeof(heap) ? p : NULL;
}

void free(void *p)
{
	ready("free before main\n");
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

void *realloc(void *old, size_t size)
{
	char *p = malloc(size);
	size_t i;

	for (i = 0; p && old && i < size && (char *)old + i < p; i++)
		p[i] = ((char *)old)[i];
	return p;
}

int main(void)
{
	char *p;

	is_ready = 1;
	p = malloc(100);
	strcpy(p, "own malloc");
	puts(p);
	free(p);
	return 0;
}
