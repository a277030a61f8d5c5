// SPDX-License-Identifier: GPL-2.0-or-later
/* String instructions, and a loop of one load: tests/bench/exact/told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 65536

static char to[SIZE], from[SIZE];

static void strings(const char *what, long times)
{
	for (long i = 0; i < times; i++) {
		const char *src = from;
		char *dst = to;
		long n = SIZE;

		if (!strcmp(what, "stosb"))
			__asm__ volatile("rep stosb" : "+D"(dst), "+c"(n)
					 : "a"(1) : "memory");
		else if (!strcmp(what, "movsb"))
			__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n)
					 : : "memory");
		else if (!strcmp(what, "movsq"))
			__asm__ volatile("shr $3, %%rcx; rep movsq"
					 : "+D"(dst), "+S"(src), "+c"(n)
					 : : "memory");
		else
			__asm__ volatile("repe scasb" : "+D"(src), "+c"(n)
					 : "a"(0) : "memory", "cc");
	}
}

static void shorts(long times)
{
	for (long i = 0; i < times; i++) {
		char *dst = to;
		long n = 8;

		__asm__ volatile("rep stosb" : "+D"(dst), "+c"(n)
				 : "a"(1) : "memory");
	}
}

static long load(long times)
{
	const volatile int *p = (const int *)from;
	long sum = 0;

	for (long i = 0; i < times; i++)
		sum += p[i * 7 % 4096];
	return sum;
}

int main(int argc, char **argv)
{
	long times = argc == 3 ? atol(argv[2]) : 0;

	if (times <= 0) {
		fprintf(stderr, "usage: strings stosb|movsb|movsq|scasb|short|load TIMES\n");
		return 2;
	}
	if (!strcmp(argv[1], "load"))
		printf("%ld\n", load(times));
	else if (!strcmp(argv[1], "short"))
		shorts(times);
	else
		strings(argv[1], times);
	return 0;
}
