// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * String instructions, and nothing else that C counts: without a C library, so that
 * each of the process is known. tests/exact/elements has the sums.
 */
#include <stddef.h>
#include <asm/unistd.h>
#include <asm/signal.h>
#include <linux/mman.h>

#include "tests/exact/call.h"

#define PAGE 4096

static void stos(char *to, long n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
}

static void movs(char *to, const char *from, long n)
{
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void lods(const char *from)
{
	long v;

	__asm__ volatile("lodsb" : "+S"(from), "=a"(v) : : "memory");
}

static void scas(const char *in, long n, char what)
{
	__asm__ volatile("repne scasb" : "+D"(in), "+c"(n)
			 : "a"(what) : "memory", "cc");
}

static void cmps(const char *a, const char *b, long n)
{
	__asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(n)
			 : : "memory", "cc");
}

static char *guarded;

static void let_in(int sig)
{
	call(__NR_mprotect, (long)guarded + PAGE, PAGE,
	     PROT_READ | PROT_WRITE, 0, 0, 0);
}

__asm__("restorer:\n\t"
	"mov $15, %eax\n\t"
	"syscall\n");
void restorer(void);

/* It faults amid its elements: what is left is counted when it goes on. */
static void amid(void)
{
	struct sigaction a = {
		.sa_handler = let_in, .sa_flags = SA_RESTORER,
		.sa_restorer = restorer,
	};

	call(__NR_rt_sigaction, 11, (long)&a, 0, 8, 0, 0);
	call(__NR_mprotect, (long)guarded + PAGE, PAGE, PROT_NONE, 0, 0, 0);
	stos(guarded + PAGE - 100, 1000);
}

void _start(void);
void _start(void)
{
	char *p = (char *)call(__NR_mmap, 0, 4 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	guarded = p + 2 * PAGE;
	stos(p, 1000);
	stos(p, 0);
	movs(p + 2048, p, 100);
	lods(p);
	p[9] = 1;
	scas(p, 500, 1);
	p[107] = 2;
	cmps(p, p + 100, 50);
	amid();
	call(__NR_exit_group, p[0] == 7 && guarded[PAGE + 899] == 7 ? 0 : 1, 0,
	     0, 0, 0, 0);
}
