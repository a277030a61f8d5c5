// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Five small programs without a C library (-DPROGRAM=1..5): every instruction of
 * the process is theirs, so all loads and stores can be compared with another
 * tool's. Each prints a checksum and how many atomic updates it made, which
 * valgrind counts otherwise.
 */
#include <stddef.h>
#include <stdint.h>

static uint64_t atomics;

static long write_out(const char *p, size_t n)
{
	long r;

	asm volatile("syscall" : "=a"(r) : "a"(1), "D"(1), "S"(p), "d"(n)
		     : "rcx", "r11", "memory");
	return r;
}

static void print(const char *what, uint64_t v)
{
	char b[64];
	int n = 0, digits = 0;
	uint64_t d = 1;

	while (what[n]) {
		b[n] = what[n];
		n++;
	}
	b[n++] = ' ';
	while (v / d >= 10)
		d *= 10;
	for (; d && digits < 20; d /= 10, digits++)
		b[n++] = (char)('0' + v / d % 10);
	b[n++] = '\n';
	write_out(b, n);
}

static uint64_t state = 88172645463325252;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

#if PROGRAM == 1 /* quicksort, compiled without optimisation */
static int32_t a[6000];

static void sort(int32_t *p, long n)
{
	long i = 0, j = n - 1;
	int32_t pivot;

	if (n < 2)
		return;
	pivot = p[n / 2];
	while (i <= j) {
		while (p[i] < pivot)
			i++;
		while (p[j] > pivot)
			j--;
		if (i <= j) {
			int32_t x = p[i];

			p[i++] = p[j];
			p[j--] = x;
		}
	}
	sort(p, j + 1);
	sort(p + i, n - i);
}

static uint64_t work(void)
{
	uint64_t h = 0;

	for (int i = 0; i < 6000; i++)
		a[i] = (int32_t)next();
	sort(a, 6000);
	for (int i = 0; i < 6000; i++)
		h = h * 31 + (uint32_t)a[i];
	return h;
}

#elif PROGRAM == 2 /* matrices and a stencil: vectors, odd lengths, x87 */
static double x[61][67], y[67][61], z[61][61];
static float f[10007], g[10007];

static uint64_t work(void)
{
	long double sum = 0;

	for (int i = 0; i < 61; i++)
		for (int j = 0; j < 67; j++) {
			x[i][j] = (double)(next() % 1000) / 7;
			y[j][i] = (double)(next() % 1000) / 11;
		}
	for (int i = 0; i < 61; i++)
		for (int k = 0; k < 67; k++)
			for (int j = 0; j < 61; j++)
				z[i][j] += x[i][k] * y[k][j];
	for (int i = 0; i < 10007; i++)
		f[i] = (float)(next() % 100);
	for (int t = 0; t < 5; t++)
		for (int i = 1; i < 10006; i++)
			g[i] = 0.25f * f[i - 1] + 0.5f * f[i] + 0.25f * f[i + 1];
	for (int i = 0; i < 61; i++)
		sum += (long double)z[i][i] * 0.5L + g[i * 100];
	return (uint64_t)sum;
}

#elif PROGRAM == 3 /* string instructions */
static char s[20000], t[20000];

static uint64_t work(void)
{
	uint64_t h = 0;

	for (int i = 0; i < 20000; i++)
		s[i] = (char)(next() >> 60);
	for (uint64_t n = 0; n < 600; n += 7) {
		void *d = t + n, *e = s + 3;
		uint64_t c = n;

		asm volatile("rep movsb" : "+D"(d), "+S"(e), "+c"(c)
			     : : "memory");
		c = n / 8, d = t + 5000;
		asm volatile("rep stosq" : "+D"(d), "+c"(c) : "a"(n)
			     : "memory");
		c = n + 1, d = t + n, e = s + 3;
		asm volatile("repe cmpsb" : "+D"(d), "+S"(e), "+c"(c)
			     : : "memory", "cc");
		h = h * 31 + c;
		c = 20000, d = s + n;
		asm volatile("repne scasb" : "+D"(d), "+c"(c)
			     : "a"((int)(n & 15)) : "memory", "cc");
		h = h * 31 + c;
		c = n, e = s + 10000, d = t + 12000;
		asm volatile("std; rep movsl; cld"
			     : "+D"(d), "+S"(e), "+c"(c) : : "memory");
		e = s + n;
		asm volatile("lodsw; lodsq" : "+S"(e) : : "rax", "memory");
	}
	for (int i = 0; i < 20000; i++)
		h = h * 31 + (unsigned char)t[i];
	return h;
}

#elif PROGRAM == 4 /* pointers and atomic updates */
struct node {
	struct node *next;
	uint64_t key, value;
};
static struct node nodes[3000], *table[257];
static uint64_t shared[8];

static uint64_t work(void)
{
	uint64_t h = 0;

	for (int i = 0; i < 3000; i++) {
		struct node *n = &nodes[i];

		n->key = next() % 10000;
		n->value = (uint64_t)i;
		n->next = table[n->key % 257];
		table[n->key % 257] = n;
	}
	for (int i = 0; i < 4000; i++) {
		uint64_t k = next() % 10000;

		for (struct node *n = table[k % 257]; n; n = n->next)
			if (n->key == k) {
				h = h * 31 + n->value++;
				__atomic_fetch_add(&shared[k % 8], k, 5);
				__atomic_exchange_n(&shared[0], k, 5);
				asm volatile("lock incl %0" : "+m"(shared[1]));
				asm volatile("lock orq $4, %0"
					     : "+m"(shared[2]));
				atomics += 4;
			}
	}
	for (int i = 0; i < 8; i++)
		h = h * 31 + shared[i];
	return h;
}

#else /* calls of all kinds, tables, stack traffic, read-modify-write */
static uint32_t bits[512];
static uint16_t small[1000];

__attribute__((noinline)) static uint64_t one(uint64_t v)
{
	return v * 3 + 1;
}
__attribute__((noinline)) static uint64_t two(uint64_t v)
{
	return v ^ v >> 7;
}
__attribute__((noinline)) static uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint64_t (*const functions[])(uint64_t) = { one, two, fib };

static uint64_t work(void)
{
	uint64_t h = 1, r;

	for (int i = 0; i < 20000; i++) {
		uint64_t v = next();

		switch (v % 9) {
		case 0: bits[v / 9 % 512] |= 1u << (v & 31); break;
		case 1: bits[v / 9 % 512] ^= (uint32_t)v; break;
		case 2: small[v / 9 % 1000]++; break;
		case 3: small[v / 9 % 1000] -= 3; break;
		case 4: h += bits[v / 9 % 512]; break;
		case 5: h ^= small[v / 9 % 1000]; break;
		case 6: h = functions[v / 9 % 2](h); break;
		case 7: bits[v / 9 % 512] = -bits[v / 9 % 512]; break;
		default: h += (uint64_t)i;
		}
	}
	for (uint64_t i = 0; i < 3000; i++)
		asm volatile("push %1; push $5; pop %0; add (%%rsp), %0; pop %0\n"
			     "push %0; popw %%ax; add $6, %%rsp\n"
			     "btsq %3, %4; adcq $1, %1; xlat"
			     : "=&r"(r), "+m"(h)
			     : "r"(i), "r"(i % 2000), "m"(bits[i % 500]),
			       "a"(i & 7), "b"(small)
			     : "cc", "memory");
	return h + functions[2](18);
}
#endif

void entry(void);
__attribute__((used, noreturn, force_align_arg_pointer)) void entry(void)
{
	print("checksum", work());
	print("atomics", atomics);
	asm volatile("syscall" : : "a"(231), "D"(0));
	__builtin_unreachable();
}

asm(".globl _start; _start: xor %ebp, %ebp; call entry");
