// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs whose allocations are sampled; tests/alloc/run knows what they do.
 *
 *   shares N	N objects of three places, of which 1,000 live at a time, and what
 *		the places made; at the end what lives, and where
 *   forks N	the same in a child as well, after as many in the parent
 *   storm N	64 bytes, N times, from 1 to 40 calls deep
 *   killed N	as shares, and then by SIGKILL
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))
#define ALIVE 1000

static uint64_t seed = 1;

static unsigned pick(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* The place's own function calls malloc: not a tail call. */
#define PLACE(name, low, range)                            \
	NOINLINE static void *name(size_t *size)           \
	{                                                  \
		void *p = malloc(*size = (low) + pick(range)); \
		__asm__ volatile("" : "+r"(p));            \
		return p;                                  \
	}
PLACE(often, 20, 100)
PLACE(sometimes, 200, 1000)
PLACE(seldom, 3000, 9000)

static struct {
	const char *name;
	void *(*make)(size_t *size);
	unsigned long count, bytes;
} places[] = {
	{ "often", often, 0, 0 },
	{ "sometimes", sometimes, 0, 0 },
	{ "seldom", seldom, 0, 0 },
};

static struct object {
	void *p;
	size_t size;
	unsigned place;
} alive[ALIVE];

static unsigned long freed;

static void run(unsigned long n)
{
	struct object *o;
	unsigned x;

	while (n--) {
		o = &alive[pick(ALIVE)];
		freed += o->p != NULL;
		free(o->p);
		x = pick(10);
		o->place = x < 6 ? 0 : x < 9 ? 1 : 2;
		o->p = places[o->place].make(&o->size);
		places[o->place].count++;
		places[o->place].bytes += o->size;
		if (!pick(8)) {		/* it may move, and become another */
			o->size = 16 + pick(9000);
			o->p = realloc(o->p, o->size);
			freed++;
			/* Of that caller, which is none of the places. */
			o->place = 3;
		}
	}
}

static void print(void)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		printf("place %d %s %p %lu %lu\n", getpid(), places[i].name,
		       (void *)places[i].make, places[i].count,
		       places[i].bytes);
	printf("freed %d %lu\n", getpid(), freed);
	for (i = 0; i < ALIVE; i++)
		if (alive[i].p)
			printf("alive %d %p %zu %u\n", getpid(), alive[i].p,
			       alive[i].size, alive[i].place);
	fflush(stdout);
}

NOINLINE static void deep(unsigned calls)
{
	void *p;

	if (calls) {
		deep(calls - 1);
	} else {
		p = malloc(64);
		__asm__ volatile("" : "+r"(p));
		free(p);
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	int status = 0;

	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "storm")) {
		while (n--)
			deep(1 + pick(40));
		return 0;
	}
	run(n);
	if (!strcmp(argv[1], "killed"))
		raise(SIGKILL);
	if (!strcmp(argv[1], "forks")) {
		fflush(stdout);
		if (!fork()) {
			for (unsigned i = 0; i < 3; i++)
				places[i].count = places[i].bytes = 0;
			freed = 0;
			run(n);
			print();
			_exit(0);
		}
		wait(&status);
	}
	print();
	return status;
}
