// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: calls [portable]. Each function that gives memory, called by a function of its own name; says
 * on stdout what it gave: "made FUNCTION KIND ADDRESS SIZE", "gone ADDRESS",
 * "unmapped ADDRESS SIZE". First "at ADDRESS" of main.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "include/abi/alloc-events.h"

#define NOINLINE __attribute__((noinline, noipa))

#define MAKER(name, call)                       \
	NOINLINE void *call_##name(size_t n)    \
	{                                       \
		void *p = call;                 \
		__asm__ volatile("" : "+r"(p)); \
		return p;                       \
	}

static void *by_posix_memalign(size_t n)
{
	void *p = NULL;

	return posix_memalign(&p, 64, n) ? NULL : p;
}

void *call_malloc(size_t n);
void *call_calloc(size_t n);
void *call_realloc(size_t n);
void *call_reallocarray(size_t n);
void *call_posix_memalign(size_t n);
void *call_aligned_alloc(size_t n);
void *call_memalign(size_t n);
void *call_valloc(size_t n);
void *call_pvalloc(size_t n);

MAKER(malloc, malloc(n))
MAKER(calloc, calloc(n / 4, 4))
MAKER(realloc, realloc(NULL, n))
MAKER(reallocarray, reallocarray(NULL, n / 4, 4))
MAKER(posix_memalign, by_posix_memalign(n))
MAKER(aligned_alloc, aligned_alloc(16, n))
MAKER(memalign, memalign(128, n))
MAKER(valloc, valloc(n))
MAKER(pvalloc, pvalloc(n))

static const struct {
	const char *name;
	int kind;
	void *(*make)(size_t n);
} calls[] = {
	{ "call_malloc", MOCA_ALLOC_MALLOC, call_malloc },
	{ "call_calloc", MOCA_ALLOC_CALLOC, call_calloc },
	{ "call_realloc", MOCA_ALLOC_REALLOC, call_realloc },
	{ "call_reallocarray", MOCA_ALLOC_REALLOC, call_reallocarray },
	{ "call_posix_memalign", MOCA_ALLOC_ALIGNED, call_posix_memalign },
	{ "call_aligned_alloc", MOCA_ALLOC_ALIGNED, call_aligned_alloc },
	{ "call_memalign", MOCA_ALLOC_ALIGNED, call_memalign },
	{ "call_valloc", MOCA_ALLOC_ALIGNED, call_valloc },
	{ "call_pvalloc", MOCA_ALLOC_ALIGNED, call_pvalloc },	/* the last */
};

NOINLINE void maps(void);
NOINLINE void maps(void)
{
	char *p = mmap(NULL, 8 << 12, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q;

	printf("made maps %d %p %d\n", MOCA_ALLOC_MMAP, (void *)p, 8 << 12);
	munmap(p + 4096, 4096);
	printf("unmapped %p 4096\n", (void *)(p + 4096));
	q = mremap(p + 8192, 4096, 100 << 12, MREMAP_MAYMOVE);
	printf("unmapped %p 4096\n", (void *)(p + 8192));
	printf("made maps %d %p %d\n", MOCA_ALLOC_MMAP, (void *)q, 100 << 12);
	/* It cannot grow where something is in the way: stays as it is. */
	if (mremap(q, 4096, 1ull << 50, 0) != MAP_FAILED)
		exit(1);
	printf("unmapped %p 4096\n", (void *)q);
	printf("made maps %d %p 4096\n", MOCA_ALLOC_MMAP, (void *)q);
}

/* Without -fPIE their addresses are stubs in this program. */
void *volatile addresses[] = { free, malloc_usable_size, malloc };

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	unsigned i, large, count = sizeof(calls) / sizeof(calls[0]) - (argc > 1);
	size_t n;
	void *p;

	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	printf("at %p\n", (void *)main);
	for (large = 0; large < 2; large++) {
		for (i = 0; i < count; i++) {
			n = (large ? 40000 : 160) + 160 * i;
			p = calls[i].make(n);
			printf("made %s %d %p %zu\n", calls[i].name,
			       calls[i].kind, p, n);
			if (large)
				printf("gone %p\n", p);
			free(p);
		}
	}
	free(NULL);
	maps();
	return 0;
}
