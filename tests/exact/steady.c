// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: steady WHAT ROUNDS
 *
 * Does the same so many times. However often that is, exact mode's C is to
 * count or to look up no more of it: tests/exact/steady.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE	  4096ul
#define FUNCTIONS 40
#define APART	  65536ul /* so addresses differ in their higher bits alone */

static uint64_t sum;

/* mov eax, value; ret */
static void write_constant(uint8_t *p, uint32_t value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

/* Jumps and returns whose targets have the same low 16 bits. */
static int jumps(uint64_t rounds)
{
	uint8_t *all = mmap(NULL, FUNCTIONS * APART, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return 1;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		write_constant(all + i * APART, i);
	if (mprotect(all, FUNCTIONS * APART, PROT_READ | PROT_EXEC))
		return 1;
	for (uint64_t r = 0; r < rounds; r++)
		for (size_t i = 0; i < FUNCTIONS; i++) {
			const uint8_t *p = all + i * APART;
			uint32_t (*f)(void);

			memcpy(&f, &p, sizeof(f));
			sum = sum * 3 + f();
		}
	return 0;
}

/* Accesses of one block, across the boundary of a page at each of their
 * offsets. */
static __attribute__((noinline)) void block(uint8_t *p, uint64_t i)
{
	__asm__ volatile("mov (%[p]), %%rax; addq %%rax, 8(%[p])\n"
			 "add %[i], 24(%[p]); movb 35(%[p]), %%al\n"
			 "movl $5, 44(%[p]); mov 56(%[p]), %%rdx"
			 :
			 : [p] "r"(p), [i] "r"(i)
			 : "rax", "rdx", "memory", "cc");
}

static int straddles(uint64_t rounds)
{
	static uint8_t pages[3 * PAGE] __attribute__((aligned(4096)));

	for (uint64_t r = 0; r < rounds; r++)
		for (size_t before = 1; before < 57; before++)
			block(pages + PAGE - before, r);
	for (size_t i = 0; i < sizeof(pages); i++)
		sum = sum * 3 + pages[i];
	return 0;
}

static void on_fault(int sig)
{
	(void)sig;
	abort();
}

/* The same in a program that handles faults, which is translated otherwise. */
static int handled(uint64_t rounds)
{
	if (signal(SIGSEGV, on_fault) == SIG_ERR)
		return 1;
	return straddles(rounds);
}

static const struct {
	const char *name;
	int (*run)(uint64_t rounds);
} all[] = {
	{ "jumps", jumps },
	{ "straddles", straddles },
	{ "handled", handled },
};

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, argv[1])) {
			if (all[i].run(strtoul(argv[2], NULL, 10)))
				return 1;
			printf("%lu\n", (unsigned long)sum);
			return 0;
		}
	return 2;
}
