// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pages THREADS: loads and stores of known number in pages of known address,
 * by inline assembly, which the compiler leaves as it is. Prints what must be
 * counted, a line per thread and page: "PAGE LOADS STORES", hexadecimal, decimal.
 * Other accesses of its own go to other pages: stacks, .data.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 8
#define PAGE 4096

static char *area(int thread)
{
	static char *all;

	if (!all)
		all = mmap(NULL, 64 * PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return all + (long)thread * PAGES * PAGE;
}

#define LOAD(p) __asm__ volatile("movl (%0), %%eax" : : "r"(p) : "eax")
#define STORE(p) __asm__ volatile("movb $1, 7(%0)" : : "r"(p) : "memory")
#define BOTH(p) __asm__ volatile("lock; addq $3, 16(%0)" : : "r"(p) : "memory", "cc")

static void touch(int thread)
{
	char *a = area(thread);
	uint64_t n;
	char *d, *s;
	long i;

	for (i = 0; i < 1000 + thread; i++)
		LOAD(a);			/* page 0 */
	for (i = 0; i < 300; i++)
		STORE(a + PAGE);
	for (i = 0; i < 77; i++)
		BOTH(a + 2 * PAGE);
	/* Two of one group, on both sides of a page's end. */
	for (i = 0; i < 50; i++)
		__asm__ volatile("movl -4(%0), %%eax\n\tmovl (%0), %%eax\n\t"
				 "movl %%eax, 4(%0)"
				 : : "r"(a + 4 * PAGE) : "eax", "memory");
	/* Across one by a single access: its first byte's page has it. */
	__asm__ volatile("movq -4(%0), %%rax" : : "r"(a + 4 * PAGE) : "rax");
	d = a + 6 * PAGE - 8;
	s = a + 5 * PAGE;
	n = 24;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}

static void expect(int thread)
{
	static const int rest[][2] = { { 0, 300 }, { 77, 77 }, { 51, 0 },
				       { 50, 50 }, { 24, 8 }, { 0, 16 } };
	char *a = area(thread);
	int i;

	printf("%llx %d 0\n", (unsigned long long)(uintptr_t)a, 1000 + thread);
	for (i = 0; i < 6; i++)
		printf("%llx %d %d\n",
		       (unsigned long long)(uintptr_t)(a + (i + 1L) * PAGE),
		       rest[i][0], rest[i][1]);
}

static void *run(void *arg)
{
	touch((int)(intptr_t)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, i;
	pthread_t t[64];
	pid_t child;

	if (n > 62)
		return 2;
	area(0);
	for (i = 1; i < n; i++)
		pthread_create(&t[i], NULL, run, (void *)(intptr_t)i);
	touch(0);
	for (i = 1; i < n; i++)
		pthread_join(t[i], NULL);
	/* A child counts where it is, not where its parent does. */
	child = fork();
	if (!child) {
		touch(63);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (i = 0; i < n; i++)
		expect(i);
	expect(63);
	return 0;
}
