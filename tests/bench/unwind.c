// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What it costs `moca record --stacks` to find the callers of an access: 256 stacks of
 * 16 frames of this process, taken as the kernel copies them, are walked again and
 * again. Fails beyond 1 us of CPU time. make bench-unwind.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "collect/perf/text.h"
#include "collect/perf/unwind.h"

#define FRAMES 16u
#define STACKS 256u
#define BYTES 2048u		/* as moca record --stacks copies */
#define TIMES 2000u		/* that each is walked, in a round */
#define ROUNDS 7u
#define LIMIT_NS 1000.0

static struct user_stack stacks[STACKS];
static uint8_t copies[STACKS][BYTES];
static unsigned int taken;
static uint64_t stack_end;

static __attribute__((noinline)) unsigned int take(void)
{
	struct user_stack *s = &stacks[taken];

	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
			 : "=r"(s->ip), "=r"(s->sp), "=r"(s->bp));
	s->bytes = stack_end - s->sp < BYTES ? (uint32_t)(stack_end - s->sp) :
					       BYTES;
	memcpy(copies[taken], (const void *)(uintptr_t)s->sp, s->bytes);
	s->copy = copies[taken];
	s->known = 1;
	return taken;
}

/* Four callers, of which bits choose: each stack is of other places. */
static unsigned int call(unsigned int bits, unsigned int depth);

#define CALLER(n)							\
	static __attribute__((noinline)) unsigned int			\
	caller##n(unsigned int bits, unsigned int depth)		\
	{								\
		volatile char room[16 * (n) + 8] = { 0 };		\
									\
		return call(bits, depth) + (unsigned int)room[n];	\
	}
CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)

static inline __attribute__((always_inline)) unsigned int
call(unsigned int bits, unsigned int depth)
{
	if (!depth)
		return take();
	switch (bits & 3) {
	case 0:
		return caller0(bits >> 2, depth - 1);
	case 1:
		return caller1(bits >> 2, depth - 1);
	case 2:
		return caller2(bits >> 2, depth - 1);
	default:
		return caller3(bits >> 2, depth - 1);
	}
}

/* What this process has mapped, as a recording tells it. */
static struct text *own_text(void)
{
	struct text *t = text_new();
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int major, minor;
	uint64_t end;
	char line[4600], prot[8], name[4200];

	if (!t || !f)
		return NULL;
	while (fgets(line, sizeof(line), f)) {
		struct moca_change c = { .type = MOCA_CHANGE_MMAP, .name = name };

		name[0] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64
			   " %x:%x %" SCNu64 " %4199[^\n]", &c.addr, &end, prot,
			   &c.offset, &major, &minor, &c.ino, name) < 7)
			continue;
		c.len = end - c.addr;
		c.prot = (prot[0] == 'r' ? PROT_READ : 0) |
			 (prot[1] == 'w' ? PROT_WRITE : 0) |
			 (prot[2] == 'x' ? PROT_EXEC : 0);
		c.dev = (uint64_t)major << 32 | minor;
		text_note(t, 0, &c);
		if ((uintptr_t)line >= c.addr && (uintptr_t)line < end)
			stack_end = end;
	}
	fclose(f);
	return t;
}

static double used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Of the i-th stack; the flags must say that nothing is cut off. */
static unsigned int walk(struct unwinder *u, unsigned int i)
{
	uint64_t frames[MOCA_STACK_FRAMES_MAX];
	uint32_t flags = 0;
	unsigned int n = unwinder_walk(u, 0, &stacks[i], frames, &flags);

	if (flags & MOCA_STACK_CUT) {
		fprintf(stderr, "unwind: a stack ends behind %u frames\n", n);
		exit(1);
	}
	return n;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	struct text *text = own_text();
	struct unwinder *u = text ? unwinder_new(text) : NULL;
	unsigned int i, k, r, depth, seed = 1;
	double ns[ROUNDS], began;

	if (!u) {
		fprintf(stderr, "unwind: no memory, or no /proc/self/maps\n");
		return 1;
	}
	call(0, 1);
	depth = 1 + FRAMES - walk(u, 0);
	for (taken = 0; taken < STACKS; taken++) {
		seed = seed * 1103515245u + 12345u;
		call(seed >> 6, depth);
	}
	for (i = 0; i < STACKS; i++)
		if (walk(u, i) != FRAMES) {
			fprintf(stderr, "unwind: stack %u has %u frames\n", i,
				walk(u, i));
			return 1;
		}
	for (r = 0; r < ROUNDS; r++) {
		began = used_ns();
		for (k = 0; k < TIMES; k++)
			for (i = 0; i < STACKS; i++)
				walk(u, i);
		ns[r] = (used_ns() - began) / (TIMES * STACKS);
	}
	qsort(ns, ROUNDS, sizeof(*ns), compare);
	printf("unwinding %u frames: %.0f ns of CPU time, least %.0f, most %.0f (limit %.0f)\n",
	       FRAMES, ns[ROUNDS / 2], ns[0], ns[ROUNDS - 1], LIMIT_NS);
	unwinder_free(u);
	text_free(text);
	return ns[ROUNDS / 2] > LIMIT_NS;
}
