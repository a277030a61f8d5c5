// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that does nothing but allocate: pairs N [named]. */
#include <stdlib.h>
#include <string.h>

#define LIVE 64

static __attribute__((noinline)) void *named(size_t size)
{
	void *p = malloc(size);

	return p;
}

static __attribute__((noinline)) void *unnamed(size_t size)
{
	void *p = malloc(size);

	return p;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	int is_named = argc > 2 && !strcmp(argv[2], "named");
	void *live[LIVE] = { NULL };

	for (long i = 0; i < n; i++) {
		void **at = &live[i % LIVE];

		free(*at);
		*at = is_named ? named(16 + i % 200) : unnamed(16 + i % 200);
		if (!*at)
			return 1;
	}
	return 0;
}
