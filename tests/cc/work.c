// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What C programs do, in all the ways that a rewriter could get wrong; prints
 * checksums. Each case is a function and a line in the table.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NOINLINE __attribute__((noinline))

static uint32_t state = 1;
static int table[4096];
static __thread int mine[16];
static double matrix[10][10], product[10][10];
volatile int sink;

static uint32_t next(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

static uint64_t sorting(void)
{
	uint64_t sum = 0;
	int i, j;

	for (i = 0; i < 70; i++)
		table[i] = (int)next() % 1000;
	for (i = 1; i < 70; i++) {
		int v = table[i];

		for (j = i; j > 0 && table[j - 1] > v; j--)
			table[j] = table[j - 1];
		table[j] = v;
	}
	for (i = 0; i < 70; i++)
		sum = sum * 31 + (uint32_t)table[i];
	return sum;
}

static uint64_t floats(void)
{
	double sum = 0;
	int i, j, k;

	for (i = 0; i < 10; i++)
		for (j = 0; j < 10; j++)
			matrix[i][j] = (i * 7 + j * 3) % 11 / 4.0;
	for (i = 0; i < 10; i++)
		for (j = 0; j < 10; j++) {
			product[i][j] = 0;
			for (k = 0; k < 10; k++)
				product[i][j] += matrix[i][k] * matrix[k][j];
		}
	for (i = 0; i < 10; i++)
		sum += product[i][9 - i];
	return (uint64_t)(sum * 16);
}

static NOINLINE int dense(int n)
{
	switch (n) {
	case 0: return 5;
	case 1: return table[3];
	case 2: return 11 + n * sink;
	case 3: return -4;
	case 4: table[7]++; return 8;
	case 5: return 77;
	case 6: return 1 << (n + 2);
	default: return n;
	}
}

static uint64_t switches(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 120; i++)
		sum = sum * 3 + (uint64_t)dense((int)(next() % 9));
	return sum;
}

static NOINLINE unsigned long many(unsigned long a, unsigned long b,
				   unsigned long c, unsigned long d,
				   unsigned long e, unsigned long f,
				   unsigned long g, unsigned long h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static NOINLINE long variadic(int n, ...)
{
	double d = 0;
	long sum = 0;
	va_list ap;

	va_start(ap, n);
	while (n--) {
		sum += va_arg(ap, int);
		d += va_arg(ap, double);
	}
	va_end(ap);
	return sum + (long)(d * 8);
}

static uint64_t calls(void)
{
	unsigned long sum = 0, i;

	for (i = 0; i < 50; i++) {
		sum += many(i, i + 1, i + 2, i * 3, i - 4, sum, 7, i);
		sum ^= (unsigned long)variadic(3, (int)i, 1.5, 2, 2.25, 3,
					       (double)i);
	}
	return sum;
}

static NOINLINE int ackermann(int m, int n)
{
	return !m ? n + 1 : !n ? ackermann(m - 1, 1) :
	       ackermann(m - 1, ackermann(m, n - 1));
}

static uint64_t recursion(void)
{
	return (uint64_t)ackermann(2, 3);
}

/* Carries live across memory accesses. */
static uint64_t wide(void)
{
	unsigned __int128 a = 1, b = 3;
	uint64_t limbs[8] = { 0 }, carry;
	int i, j;

	for (i = 0; i < 80; i++) {
		a = a * 0x1234567 + b;
		b += a >> 3;
		for (carry = (uint64_t)a, j = 0; j < 8; j++)
			carry = __builtin_add_overflow(limbs[j], carry,
						       &limbs[j]);
	}
	for (i = 0; i < 8; i++)
		a ^= limbs[i];
	return (uint64_t)(a >> 64) ^ (uint64_t)a;
}

static uint64_t flags_in_asm(void)
{
	uint64_t x[4] = { ~0ull, ~0ull, 5, 0 }, y[4] = { 1, 0, 7, 9 };
	uint64_t n = 4, i = 0;

	__asm__ volatile("clc\n"
			 "1:\tmovq (%3,%1,8), %%rdx\n"
			 "\tadcq %%rdx, (%2,%1,8)\n"
			 "\tleaq 1(%1), %1\n\tdecq %0\n\tjnz 1b"
			 : "+r"(n), "+r"(i) : "r"(x), "r"(y)
			 : "rdx", "cc", "memory");
	return x[0] + 3 * x[1] + 5 * x[2] + 7 * x[3];
}

static uint64_t strings_in_asm(void)
{
	static char a[9000], b[9000];
	char *d = a, *s = b, *q = a;
	uint64_t n = 8200, m, k;
	int r;

	memset(b, 'x', sizeof(b));
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	b[5000] = 'y';
	d = a;
	s = b;
	m = 8200;
	__asm__ volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(m) : : "memory", "cc");
	b[77] = 0;
	q = b;
	k = 8200;
	__asm__ volatile("repne scasb" : "+D"(q), "+c"(k) : "a"(0) : "memory", "cc");
	d = a + 4000;
	n = 3000;
	__asm__ volatile("std\n\trep stosb\n\tcld" : "+D"(d), "+c"(n) : "a"('z')
			 : "memory");
	s = a;
	__asm__ volatile("lodsb\n\tmovsbl %%al, %%eax" : "+S"(s), "=a"(r) : : "memory");
	n = 0;
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"('z') : "memory");
	return m * 7 + k * 3 + (uint64_t)r + (uint64_t)a[3500] + (uint64_t)a[900];
}

static uint64_t atomics(void)
{
	static int shared = 5;
	static uint64_t bits[4];
	int old = 6, i;

	for (i = 0; i < 40; i++) {
		__atomic_fetch_add(&shared, i, __ATOMIC_SEQ_CST);
		__atomic_compare_exchange_n(&shared, &old, i, 0, 5, 5);
		__atomic_exchange_n(&bits[i & 3], (uint64_t)shared, 5);
		__atomic_fetch_or(&bits[1], 1ull << i, 5);
	}
	return bits[0] + 3 * bits[1] + 5 * bits[2] + (uint64_t)shared;
}

static NOINLINE int grow(int n)
{
	char *p = __builtin_alloca((size_t)n);
	char fixed[n + 3];
	int i, sum = 0;

	for (i = 0; i < n; i++) {
		p[i] = (char)(i * 3);
		fixed[i + 2] = p[i];
	}
	for (i = 0; i < n; i++)
		sum += fixed[i + 2];
	return sum;
}

static uint64_t stacks(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 1; i < 60; i += 7)
		sum = sum * 5 + (uint64_t)grow(i * 9);
	return sum;
}

static uint64_t tls(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 64; i++)
		mine[i & 15] += i * mine[(i + 3) & 15] + 1;
	for (i = 0; i < 16; i++)
		sum = sum * 7 + (uint32_t)mine[i];
	return sum;
}

static jmp_buf back;

static NOINLINE void jump(int n)
{
	if (n > 3)
		longjmp(back, n);
	jump(n + 1);
}

static uint64_t jumps(void)
{
	volatile int rounds = 0, sum = 0;

	sum += setjmp(back);
	if (rounds++ < 5)
		jump(rounds);
	return (uint64_t)sum;
}

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	handled += table[sig];
}

static uint64_t signals(void)
{
	int i;

	table[SIGUSR1] = 3;
	signal(SIGUSR1, handler);
	for (i = 0; i < 10; i++)
		raise(SIGUSR1);
	return (uint64_t)handled;
}

struct packed {
	uint8_t a : 3, b : 5;
	uint32_t c;
	uint16_t d;
	char name[40];
} __attribute__((packed));

static NOINLINE struct packed by_value(struct packed p, int n)
{
	p.a += (unsigned int)n & 7;
	p.c ^= (uint32_t)n << 4;
	p.d = (uint16_t)(p.d * 3 + p.b);
	p.name[n % 40] = (char)n;
	return p;
}

static uint64_t structures(void)
{
	struct packed p = { 1, 2, 3, 4, "name" }, *heap;
	uint64_t sum = 0;
	size_t i;

	heap = malloc(30 * sizeof(*heap));
	for (i = 0; i < 30; i++)
		heap[i] = p = by_value(p, (int)i);
	for (i = 0; i < 30; i++)
		sum = sum * 9 + heap[i].a + heap[i].c + heap[i].d +
		      (uint64_t)heap[i].name[i];
	free(heap);
	return sum;
}

static uint64_t x87(void)
{
	long double a = 1, b[5] = { 1, 2, 3, 4, 5 };
	int i;

	for (i = 0; i < 50; i++)
		a = a / b[i % 5] + b[(i + 2) % 5] * a - 0.5L;
	return (uint64_t)(a < 0 ? -a : a) & 0xffffff;
}

/* Goes through pages, so that groups lie on both sides of their ends. */
static uint64_t straddles(void)
{
	static char space[3 * 4096 + 64];
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 3 * 4096; i += 61) {
		uint64_t *p = (void *)(space + i);

		p[0] += 1;
		p[3] += p[0];
		p[6] ^= p[3];
		sum += p[6];
	}
	return sum;
}

static uint64_t gotos(void)
{
	static const void *const labels[] = { &&add, &&mul, &&sub, &&end };
	static const uint8_t program[] = { 0, 1, 0, 2, 1, 1, 0, 2, 3 };
	const uint8_t *p = program;
	uint64_t v = 3;

	goto *labels[*p++];
add:
	v += (uint64_t)table[v & 63] + 1;
	goto *labels[*p++];
mul:
	v *= 5;
	goto *labels[*p++];
sub:
	v -= 2;
	goto *labels[*p++];
end:
	return v;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static uint64_t callbacks(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 100; i++)
		table[i] = (int)(next() % 500);
	qsort(table, 100, sizeof(*table), compare);
	for (i = 0; i < 100; i++)
		sum = sum * 3 + (uint32_t)table[i];
	return sum;
}

static const struct {
	const char *name;
	uint64_t (*run)(void);
} cases[] = {
	{ "sorting", sorting }, { "floats", floats }, { "switches", switches },
	{ "calls", calls }, { "recursion", recursion }, { "wide", wide },
	{ "flags", flags_in_asm }, { "strings", strings_in_asm },
	{ "atomics", atomics }, { "stacks", stacks }, { "tls", tls },
	{ "jumps", jumps }, { "signals", signals },
	{ "structures", structures }, { "x87", x87 },
	{ "straddles", straddles }, { "gotos", gotos },
	{ "callbacks", callbacks },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name))
			printf("%s %llx\n", cases[i].name,
			       (unsigned long long)cases[i].run());
	return 0;
}
