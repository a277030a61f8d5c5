/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap of brk: how far it grows, where it begins. */
#include "case.h"

#define STEP (8 * MIB)

/* 3 GB, of which one page in each step is used. */
static void far(void)
{
	char *base = sbrk(0);
	uint64_t sum = 0;

	for (uint64_t i = 0; i < 384; i++) {
		char *p = sbrk(STEP);

		CHECK(p == base + i * STEP);
		*(volatile uint64_t *)p = i;
		pause_ms(1);
	}
	for (uint64_t i = 0; i < 384; i++)
		sum += *(volatile uint64_t *)(base + i * STEP);
	CHECK(brk(base) == 0 && sbrk(0) == base);
	printf("%lu\n", sum);
}

extern char end[];

/* Below setarch -R: right behind the data. Nothing takes memory before. */
static void behind(void)
{
	uintptr_t data = ((uintptr_t)end + PAGE - 1) & ~(PAGE - 1);
	char *p = sbrk(64 * MIB);

	CHECK(p != (void *)-1);
	fill(p, 64 * MIB / PAGE, 7);
	CHECK(filled(p, 64 * MIB / PAGE, 7));
	printf("%s\n", (uintptr_t)p - data < MIB ? "behind the data" : "elsewhere");
}

static const struct test_case cases[] = {
	{ "far", far },
	{ "behind", behind },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
