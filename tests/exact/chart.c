// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the chart of this process says of its translated code, compared with that
 * code. "chart": the instructions of probes are found in the caches; they are the
 * program's, and what is written between them is not. "own", "ours": programs that
 * spend their time in one of the two, for tests/exact/chart.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/abi/exact-arena.h"

#define END (256u << 10)	/* so many zeros: no code was written there */
#define PARTS 8

/*
 * Each part has a constant that nothing else has, so its bytes are found. Of the
 * two probes all but the last byte of those is the same.
 */
#define PROBE(name, n)                                             \
	__asm__(".text\n"                                          \
		#name ":\n"                                        \
		"0:	movq 0x5ca100" #n "1(%rdi), %rax\n"        \
		"1:	leaq 0x5ca100" #n "2(%rax), %rcx\n"        \
		"2:	movq %rcx, 0x5ca100" #n "3(%rdi)\n"        \
		"3:	cmpl $0x5ca100" #n "4, %eax\n"             \
		"4:	je 7f\n"                                   \
		"5:	pushq $0x5ca100" #n "5\n"                  \
		"6:	popq %rdx\n"                               \
		"7:	movl $0x5ca100" #n "6, %eax\n"             \
		"8:	ret\n"                                     \
		".section .data.rel.ro, \"aw\"\n"                 \
		".balign 8\n"                                      \
		#name "_parts:\n"                                  \
		".quad 0b, 1b, 2b, 3b, 4b, 5b, 6b, 7b, 8b\n"       \
		".text\n");                                        \
	long name(uint64_t data);                                   \
	extern const uint8_t *const name##_parts[PARTS + 1]

PROBE(first, a);
PROBE(second, b);

static uint64_t data[16];
static const char *who = "parent";

static void fail(const char *format, ...)
{
	va_list ap;

	printf("%s: ", who);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

static uint8_t *find_arena(void)
{
	static uint8_t *found;
	FILE *f = found ? NULL : fopen("/proc/self/maps", "r");
	unsigned long start = (unsigned long)found;
	char line[512];

	while (f && !start && fgets(line, sizeof(line), f))
		if (strstr(line, "/memfd:moca-exact"))
			start = strtoul(line, NULL, 16);
	if (f)
		fclose(f);
	if (!start)
		fail("there is no arena");
	found = (uint8_t *)start;
	return found;
}

/* The chart of this thread's process. */
static struct moca_exact_chart *find_chart(uint32_t *number)
{
	uint8_t *arena = find_arena();
	const struct moca_exact_shared *shared =
		(void *)(arena + MOCA_EXACT_SHARED);
	struct moca_exact_chart *c;

	*number = 0;
	for (uint32_t i = 0; i < shared->used; i++) {
		const struct moca_exact_slot *s =
			(void *)(arena + i * MOCA_EXACT_SLOT_SIZE);

		if (s->state == MOCA_EXACT_LIVE &&
		    s->tid == (uint32_t)gettid())
			*number = s->chart;
	}
	if (!*number)
		fail("its slot names no chart");
	c = (void *)(arena + (*number - 1) * MOCA_EXACT_SLOT_SIZE +
		     MOCA_EXACT_CHART);
	if (c->state != MOCA_EXACT_LIVE || !c->caches)
		fail("its chart is empty");
	return c;
}

static unsigned int code_at(const struct moca_exact_chart *c, unsigned int i,
			    uint64_t at)
{
	const uint8_t *bits;

	while (c->parent && at < c->parents[i])
		c = (void *)(find_arena() +
			     (c->parent - 1) * MOCA_EXACT_SLOT_SIZE +
			     MOCA_EXACT_CHART);
	bits = (const uint8_t *)c + MOCA_EXACT_CHART_BITS(i);
	return bits[at / 4] >> at % 4 * 2 & 3;
}

/* How many bytes of code cache i to look at: all written ones, and a few more. */
static uint64_t length(const struct moca_exact_chart *c, unsigned int i)
{
	const uint8_t *code = (const uint8_t *)c->base[i];
	uint64_t zeros = 0, at = 0;

	for (; at < MOCA_EXACT_CACHE_SIZE && zeros < END; at += 8)
		zeros = *(const uint64_t *)(code + at) ? 0 : zeros + 8;
	return at;
}

/* All bytes of it are the program's: how many are there? */
static void check_own(const struct moca_exact_chart *c, unsigned int i,
		      uint64_t at, size_t len, int part)
{
	for (size_t k = 0; k < len; k++)
		if (code_at(c, i, at + k) != MOCA_EXACT_CODE_OWN)
			fail("byte %zu of part %d is %u", k, part,
			     code_at(c, i, at + k));
}

/* What lies between two parts: nothing of it is the program's. */
static int check_between(const struct moca_exact_chart *c, unsigned int i,
			 uint64_t from, uint64_t to, int part)
{
	int updates = 0;

	for (uint64_t at = from; at < to; at++) {
		if (code_at(c, i, at) == MOCA_EXACT_CODE_OWN)
			fail("what is ahead of part %d is the program's", part);
		updates += code_at(c, i, at) == MOCA_EXACT_CODE_UPDATED;
	}
	return updates;
}

/* One translation, whose first part is at `at`. The jump and what is popped have no
 * constants: they are the program's bytes between others. */
static int check_parts(const struct moca_exact_chart *c, unsigned int i,
		       uint64_t at, uint64_t end, const uint8_t *const *parts)
{
	const uint8_t *code = (const uint8_t *)c->base[i];
	uint64_t last = at;
	int updates = 0, own = 0;

	for (int k = 0; k < PARTS; k++) {
		size_t len = (size_t)(parts[k + 1] - parts[k]);
		const uint8_t *p;

		if (k == 4 || k == 6)
			continue;
		p = memmem(code + last, end - last, parts[k], len);
		if (!p)
			return 0;	/* of another path */
		at = (uint64_t)(p - code);
		check_own(c, i, at, len, k);
		if (k == 5 || k == 7) {
			for (; last < at; last++)
				own += code_at(c, i, last) ==
				       MOCA_EXACT_CODE_OWN;
		} else {
			updates += check_between(c, i, last, at, k);
		}
		last = at + len;
	}
	/* A jump that reaches 2 GiB, and pop. */
	if (own != 6 + 1)
		fail("%d bytes of a jump and a pop are the program's", own);
	return updates ? updates : 1;
}

static int find_probe(const struct moca_exact_chart *c,
		      const uint8_t *const *parts)
{
	size_t len = (size_t)(parts[1] - parts[0]);
	int found = 0;

	for (unsigned int i = 0; i < c->caches; i++) {
		const uint8_t *code = (const uint8_t *)c->base[i], *p = code;
		uint64_t end = length(c, i);

		while ((p = memmem(p, end - (uint64_t)(p - code), parts[0],
				   len)) != NULL) {
			found += check_parts(c, i, (uint64_t)(p - code), end,
					     parts) > 0;
			p += len;
		}
	}
	return found;
}

/* Each update's jump is one, and is behind an update: subl $n, %gs:(...) */
static void check_update(const uint8_t *p)
{
	int gs = 0;

	if (p[0] != 0x0f || p[1] != 0x82)
		fail("what is behind an update is %02x %02x", p[0], p[1]);
	for (int k = 5; k <= 14; k++)
		gs |= p[-k] == 0x65;
	if (!gs)
		fail("there is no update ahead of a jump");
}

static int is_string(const uint8_t *p)
{
	while (*p == 0xf2 || *p == 0xf3 || *p == 0x66 || *p == 0x67 ||
	       *p >> 4 == 4)
		p++;
	return (*p >= 0xa4 && *p <= 0xa7) || (*p >= 0xaa && *p <= 0xaf);
}

static void check_all(const struct moca_exact_chart *c)
{
	unsigned long sums[4] = { 0 };

	for (unsigned int i = 0; i < c->caches; i++) {
		const uint8_t *code = (const uint8_t *)c->base[i];
		uint64_t end = length(c, i);
		unsigned int before = 0, update = 0;

		for (uint64_t at = 0; at < end; at++) {
			unsigned int now = code_at(c, i, at);

			sums[now]++;
			update = now == MOCA_EXACT_CODE_UPDATED ? update + 1 : 0;
			if (update % 6 == 1)
				check_update(code + at);
			if (now == MOCA_EXACT_CODE_STRING && before != now &&
			    !is_string(code + at))
				fail("%02x is no string instruction", code[at]);
			before = now;
		}
	}
	if (!sums[1] || !sums[2] || !sums[3] || sums[2] % 6)
		fail("%lu bytes are own, %lu of updates, %lu of strings",
		     sums[1], sums[2], sums[3]);
}

static void stos(void *to, long n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
}

static void *in_thread(void *arg)
{
	uint32_t number;

	find_chart(&number);
	return number == *(uint32_t *)arg ? arg : NULL;
}

static void in_child(uint32_t parents)
{
	struct moca_exact_chart *c;
	uint32_t number;

	who = "child";
	second((uint64_t)data - 0x5ca100b1);
	c = find_chart(&number);
	if (number == parents)
		fail("its chart is its parent's");
	if (!find_probe(c, first_parts))
		fail("it has not what its parent had translated");
	if (!find_probe(c, second_parts))
		fail("what it translated is not there");
	check_all(c);
	_exit(0);
}

static int chart(void)
{
	struct moca_exact_chart *c;
	uint32_t number;
	pthread_t thread;
	void *same = NULL;
	int status;
	pid_t pid;

	stos(data, 8);
	first((uint64_t)data - 0x5ca100a1);
	c = find_chart(&number);
	if (!find_probe(c, first_parts))
		fail("the probe is not in a cache");
	check_all(c);
	if (pthread_create(&thread, NULL, in_thread, &number) ||
	    pthread_join(thread, &same) || !same)
		fail("a thread has another chart");
	pid = fork();
	if (!pid)
		in_child(number);
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	/* What the child translated is not here, nor in this chart. */
	if (find_probe(c, second_parts))
		fail("it has what its child translated");
	check_all(c);
	puts("as it should be");
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (argc == 2 && !strcmp(argv[1], "chart"))
		return chart();
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "own"))
		__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
	for (; n; n--)		/* C counts each */
		stos(data, 1);
	return 0;
}
