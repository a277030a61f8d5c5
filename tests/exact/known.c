// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: known FILE [THREADS [CASE]]
 *
 * Accesses memory by hand-written loops whose accesses are known, each case in an
 * area of its own, and writes how many each line of 64 bytes must have got to
 * FILE: "tid address loads stores". What C touches lies elsewhere. Every thread
 * runs every case, then all add to one shared line. Results are checked here.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cpuid.h>

#define AREA (16ul << 20)	/* of a case */
#define CASES 32ul
#define REGION 0x100000000000ul
#define SPAN (CASES * AREA)	/* of a thread */
#define SHARED (REGION - 4096)
#define ADDS 10000

struct line {
	uint64_t loads, stores;
};
static __thread struct line *table;
static __thread uint64_t mine; /* where this thread's areas begin */
static int avx512;

static void expect(uint64_t addr, uint64_t loads, uint64_t stores)
{
	if (addr < mine || addr >= mine + SPAN)
		abort();
	table[(addr - mine) / 64].loads += loads;
	table[(addr - mine) / 64].stores += stores;
}

/* n accesses from addr on, stride bytes apart. */
static void series(uint64_t addr, long stride, uint64_t n, unsigned int loads,
		   unsigned int stores)
{
	for (uint64_t i = 0; i < n; i++, addr += stride)
		expect(addr, loads, stores);
}

static void check(int right, const char *what)
{
	if (right)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

static void push_pop(uint64_t p)
{
	uint64_t top = p + 0x8000, n = 1000, out;

	asm volatile("mov %%rsp, %%r12; mov %[top], %%rsp\n"
		     "mov %[n], %%rcx\n"
		     "1: push %%rcx; pop %%rax; dec %%rcx; jnz 1b\n"
		     "mov %[n], %%rcx\n"
		     "2: push %%rcx; dec %%rcx; jnz 2b\n"
		     "mov %[n], %%rcx; xor %%eax, %%eax\n"
		     "3: pop %%rdx; add %%rdx, %%rax; dec %%rcx; jnz 3b\n"
		     "pushw $1; popw %%dx; push (%%rsp); pop 64(%%rsp)\n"
		     "enter $32, $0; leave\n"
		     "mov %%r12, %%rsp"
		     : "=&a"(out)
		     : [top] "r"(top), [n] "r"(n)
		     : "rcx", "rdx", "r12", "memory", "cc");
	check(out == n * (n + 1) / 2, "push_pop");
	expect(top - 8, n, n);
	series(top - 8, -8, n, 1, 1);
	expect(top - 2, 1, 1);
	expect(top, 1, 0), expect(top - 8, 1, 1);
	expect(top + 64, 0, 1);	/* pop's address is that after it */
	expect(top - 8, 1, 1);	/* enter, leave */
}

static void call_ret(uint64_t p)
{
	uint64_t top = p + 0x8000, depth = 700, out;

	asm volatile("mov %%rsp, %%r12; mov %[top], %%rsp\n"
		     "mov %[d], %%rcx; xor %%eax, %%eax\n"
		     "call 1f; jmp 2f\n"
		     "1: inc %%rax; dec %%rcx; jz 3f; call 1b; 3: ret\n"
		     "2: lea 4f(%%rip), %%rdx; call *%%rdx\n"
		     "mov %%rdx, (%%rsp); call *(%%rsp)\n"
		     "push $1; push $2; call 5f\n"
		     "jmp 6f; 4: inc %%rax; ret; 5: inc %%rax; ret $16\n"
		     "6: mov %%r12, %%rsp"
		     : "=&a"(out)
		     : [top] "r"(top), [d] "r"(depth)
		     : "rcx", "rdx", "r12", "memory", "cc");
	check(out == depth + 3, "call_ret");
	series(top - 8, -8, depth, 1, 1);
	expect(top - 8, 1, 1);
	expect(top, 1, 1), expect(top - 8, 1, 1);
	expect(top - 8, 0, 1), expect(top - 16, 0, 1), expect(top - 24, 1, 1);
}

static void rmw(uint64_t p)
{
	uint64_t n = 1000;

	asm volatile("mov %[n], %%rcx; mov $1, %%eax\n"
		     "1: addl $1, (%[p]); incb 4095(%[p]); negq 64(%[p])\n"
		     "notl 128(%[p]); xchg %%rdx, 192(%[p])\n"
		     "lock xaddq %%rax, 256(%[p]); lock incl 320(%[p])\n"
		     "cmpxchg %%rdx, 384(%[p]); btsq $3, 448(%[p])\n"
		     "shll $1, 512(%[p]); adcl $0, 576(%[p])\n"
		     "dec %%rcx; jnz 1b"
		     :
		     : [p] "r"(p), [n] "r"(n)
		     : "rax", "rcx", "rdx", "memory", "cc");
	for (unsigned int i = 0; i < 10; i++)
		expect(p + 64 * i, n, n);
	expect(p + 4095, n, n);
	asm volatile("xor %%eax, %%eax; xor %%edx, %%edx; xor %%ebx, %%ebx\n"
		     "xor %%ecx, %%ecx; lock cmpxchg16b 8192(%[p])\n"
		     "cmpxchg8b 8192(%[p])"
		     :
		     : [p] "r"(p)
		     : "rax", "rbx", "rcx", "rdx", "memory", "cc");
	expect(p + 8192, 2, 2);
}

/* What touches memory only once, or seems to and does not. */
static void singles(uint64_t p)
{
	asm volatile("lea (%[p]), %%rax; nopl (%[p]); prefetcht0 (%[p])\n"
		     "prefetchw (%[p])\n"
		     "xor %%eax, %%eax; cmovnz (%[p]), %%rax\n"
		     "setz 64(%[p]); cmpb $1, 64(%[p]); testl $1, 128(%[p])\n"
		     "movnti %%rax, 192(%[p]); bt $1, %%rax\n"
		     "mov $100, %%eax; btl %%eax, 256(%[p])\n"
		     "mov $-1, %%rax; btsq %%rax, 512(%[p])\n"
		     "mov %[p], %%rbx; mov $64, %%al; xlat\n"
		     "movzbl 4094(%[p]), %%eax; movq 4092(%[p]), %%rax\n"
		     "vmovdqu %%ymm0, 8190(%[p]); vpxor %%xmm1, %%xmm1, %%xmm1\n"
		     "vmaskmovps %%ymm0, %%ymm1, 640(%[p])\n"
		     "vpmaskmovd 640(%[p]), %%ymm1, %%ymm0\n"
		     "fldl 704(%[p]); fstpl 768(%[p]); fxsave 12288(%[p])\n"
		     "fxrstor 12288(%[p]); stmxcsr 832(%[p])\n"
		     "ldmxcsr 832(%[p]); fnstcw 896(%[p]); fldcw 896(%[p])\n"
		     "vzeroupper"
		     :
		     : [p] "r"(p)
		     : "rax", "rbx", "xmm0", "xmm1", "memory", "cc", "st");
	expect(p, 1, 0);
	expect(p + 64, 1, 1), expect(p + 128, 1, 0), expect(p + 192, 0, 1);
	expect(p + 256 + 12, 1, 0), expect(p + 512 - 8, 1, 1);
	expect(p + 64, 1, 0);	/* xlat */
	expect(p + 4094, 1, 0), expect(p + 4092, 1, 0);
	expect(p + 8190, 0, 1);
	expect(p + 640, 1, 1);	/* masked off: still one each */
	expect(p + 704, 1, 0), expect(p + 768, 0, 1);
	expect(p + 12288, 1, 1), expect(p + 832, 1, 1), expect(p + 896, 1, 1);
}

static void rep(const char *what, uint64_t src, uint64_t dst, uint64_t n,
		unsigned int size)
{
	if (!strcmp(what, "stos")) {
		if (size == 1)
			asm volatile("rep stosb" : "+D"(dst), "+c"(n)
				     : "a"(0) : "memory");
		else
			asm volatile("rep stosq" : "+D"(dst), "+c"(n)
				     : "a"(0) : "memory");
	} else if (size == 1) {
		asm volatile("rep movsb" : "+S"(src), "+D"(dst), "+c"(n)
			     : : "memory");
	} else {
		asm volatile("std; rep movsq; cld"
			     : "+S"(src), "+D"(dst), "+c"(n) : : "memory");
	}
	check(n == 0, "rep");
}

static void strings(uint64_t p)
{
	static const uint64_t lengths[] = { 0, 1, 2, 63, 4096, 100001 };
	uint64_t a = p, b = p + (4 << 20), left, found = 30011, di;

	for (unsigned int i = 0; i < 6; i++) {
		uint64_t n = lengths[i];

		rep("stos", 0, a + 13, n, 1), series(a + 13, 1, n, 0, 1);
		rep("stos", 0, a + 5, n, 8), series(a + 5, 8, n, 0, 1);
		rep("movs", a + 1, b + 2, n, 1);
		series(a + 1, 1, n, 1, 0), series(b + 2, 1, n, 0, 1);
		rep("movs", a + 2000000, b + 3000000, n, 8);
		series(a + 2000000, -8, n, 1, 0);
		series(b + 3000000, -8, n, 0, 1);
	}
	/* One byte differs: it ends compares and scans. */
	asm volatile("movb $7, (%0)" : : "r"(a + found) : "memory");
	expect(a + found, 0, 1);
	left = 100000, di = a;
	asm volatile("repne scasb" : "+D"(di), "+c"(left) : "a"(7) : "memory");
	check(di == a + found + 1, "repne scasb");
	series(a, 1, found + 1, 1, 0);
	left = 100000, di = a;
	{
		uint64_t si = b;

		asm volatile("repe cmpsb" : "+S"(si), "+D"(di), "+c"(left)
			     : : "memory");
	}
	check(di == a + found + 1, "repe cmpsb");
	series(a, 1, found + 1, 1, 0), series(b, 1, found + 1, 1, 0);
	left = 0, di = a;
	asm volatile("repe scasw" : "+D"(di), "+c"(left) : "a"(0) : "memory");
	check(di == a, "repe scasw of none");
	asm volatile("lodsb; lodsq" : "+S"(di) : : "rax");
	expect(a, 1, 0), expect(a + 1, 1, 0);
}

/* A long addition: the carry lives through the whole loop. */
static void carry(uint64_t p)
{
	uint64_t n = 3000, out;

	asm volatile("mov %[n], %%rcx; mov %[p], %%rdi\n"
		     "1: movq $-1, (%%rdi); add $8, %%rdi; dec %%rcx; jnz 1b\n"
		     "mov %[n], %%rcx; mov %[p], %%rdi; xor %%eax, %%eax; stc\n"
		     "2: mov 65536(%%rdi), %%rdx; adc %%rdx, (%%rdi)\n"
		     "lea 8(%%rdi), %%rdi; dec %%rcx; jnz 2b\n"
		     "setc %%al"
		     : "=&a"(out)
		     : [p] "r"(p), [n] "r"(n)
		     : "rcx", "rdx", "rdi", "memory", "cc");
	check(out == 1, "carry");
	series(p, 8, n, 0, 1), series(p, 8, n, 1, 1);
	series(p + 65536, 8, n, 1, 0);
}

static const uint64_t trips[] = { 0, 1, 2, 7, 8, 9, 1000, 1000000 };
#define EACH_TRIP(n) \
	for (unsigned int i_ = 0; i_ < 8; i_++) \
		for (uint64_t n = trips[i_], once_ = 1; once_; once_ = 0)

static void one_stream(uint64_t p)
{
	EACH_TRIP(n) {
		uint64_t sum;

		asm volatile("mov %[p], %%rdx; mov %[n], %%rcx\n"
			     "xor %%eax, %%eax; test %%rcx, %%rcx; jz 2f\n"
			     "1: add (%%rdx), %%rax; add $8, %%rdx\n"
			     "dec %%rcx; jnz 1b; 2:"
			     : "=&a"(sum) : [p] "r"(p), [n] "r"(n)
			     : "rcx", "rdx", "memory", "cc");
		check(sum == 0, "one_stream");
		series(p, 8, n, 1, 0);
		asm volatile("mov %[n], %%rcx; jrcxz 2f\n"
			     "1: movl %%ecx, -4(%[p],%%rcx,4); dec %%rcx\n"
			     "jnz 1b; 2:"
			     : : [p] "r"(p + (9 << 20)), [n] "r"(n)
			     : "rcx", "memory", "cc");
		series(p + (9 << 20), 4, n, 0, 1);
	}
}

static void two_streams(uint64_t p)
{
	EACH_TRIP(n) {
		if (n == 1000000)
			n = 100001;
		asm volatile("xor %%ecx, %%ecx; jmp 2f\n"
			     "1: mov (%[a],%%rcx,4), %%eax\n"
			     "mov %%eax, (%[b],%%rcx,4); inc %%rcx\n"
			     "2: cmp %[n], %%rcx; jb 1b"
			     : : [a] "r"(p), [b] "r"(p + (8 << 20)), [n] "r"(n)
			     : "rax", "rcx", "memory", "cc");
		series(p, 4, n, 1, 0), series(p + (8 << 20), 4, n, 0, 1);
	}
}

/* c[i] = a[i] + b[i], 32 bytes at a time, one of them at odd addresses. */
static void three_streams(uint64_t p)
{
	uint64_t a = p, b = p + (4 << 20) + 60, c = p + (8 << 20);

	EACH_TRIP(n) {
		if (n == 1000000)
			n = 20001; /* lines are what costs the test time */
		asm volatile("xor %%ecx, %%ecx; mov %[n], %%rdx\n"
			     "test %%rdx, %%rdx; jz 2f\n"
			     "1: vmovdqu (%[a],%%rcx), %%ymm0\n"
			     "vpaddd (%[b],%%rcx), %%ymm0, %%ymm0\n"
			     "vmovdqu %%ymm0, (%[c],%%rcx); add $32, %%rcx\n"
			     "sub $1, %%rdx; jne 1b; 2: vzeroupper"
			     : : [a] "r"(a), [b] "r"(b), [c] "r"(c), [n] "r"(n)
			     : "rcx", "rdx", "xmm0", "memory", "cc");
		series(a, 32, n, 1, 0), series(b, 32, n, 1, 0);
		series(c, 32, n, 0, 1);
	}
}

static void stride(uint64_t p, long by, uint64_t n)
{
	asm volatile("mov %[n], %%rcx; mov %[p], %%rdx\n"
		     "1: incl (%%rdx); add %[by], %%rdx; dec %%rcx; jnz 1b"
		     : : [p] "r"(p), [n] "r"(n), [by] "r"(by)
		     : "rcx", "rdx", "memory", "cc");
	series(p, by, n, 1, 1);
}

static void strides(uint64_t p)
{
	static const long by[] = { 0, 1, -1, 60, -64, 4096, -4096, 5000, -12 };

	for (unsigned int i = 0; i < sizeof(by) / sizeof(by[0]); i++)
		EACH_TRIP(n)
			if (n && n <= 1000)
				stride(p + (8 << 20) + 60, by[i], n);
	asm volatile("mov $1000000, %%ecx; 1: addq $1, (%[p])\n"
		     "dec %%ecx; jnz 1b" : : [p] "r"(p) : "rcx", "memory");
	expect(p, 1000000, 1000000);
	/* a constant stride in the instruction itself */
	asm volatile("mov $1500, %%ecx; mov %[p], %%rdx\n"
		     "1: movb $1, (%%rdx); sub $-8192, %%rdx; dec %%ecx; jnz 1b"
		     : : [p] "r"(p + 100) : "rcx", "rdx", "memory");
	series(p + 100, 8192, 1500, 0, 1);
}

static void early_exit(uint64_t p)
{
	static const uint64_t at[] = { 0, 1, 6, 7, 8, 500, 4095, 70000 };

	for (unsigned int i = 0; i < 8; i++) {
		uint64_t k = at[i], out;

		asm volatile("movq $5, (%[p],%[k],8)\n"
			     "xor %%eax, %%eax\n"
			     "1: cmpq $5, (%[p],%%rax,8); je 2f; inc %%rax\n"
			     "cmp $100000, %%rax; jb 1b\n"
			     "2: movq $0, (%[p],%[k],8)"
			     : "=&a"(out) : [p] "r"(p), [k] "r"(k)
			     : "memory", "cc");
		check(out == k, "early_exit");
		expect(p + 8 * k, 0, 2);
		series(p, 8, k + 1, 1, 0);
	}
}

static void nested(uint64_t p)
{
	/* by row, then by column, of 100 x 120; then a triangle */
	asm volatile("mov $100, %%ecx; mov %[p], %%rdx\n"
		     "1: mov $120, %%eax\n"
		     "2: incq (%%rdx); add $8, %%rdx; dec %%eax; jnz 2b\n"
		     "dec %%ecx; jnz 1b\n"
		     "xor %%ecx, %%ecx\n"
		     "3: lea (%[p],%%rcx,8), %%rdx; mov $100, %%eax\n"
		     "4: incq (%%rdx); add $960, %%rdx; dec %%eax; jnz 4b\n"
		     "inc %%ecx; cmp $120, %%ecx; jne 3b\n"
		     "mov $1, %%ecx\n"
		     "5: mov %[p], %%rdx; mov %%ecx, %%eax\n"
		     "6: incq (%%rdx); add $8, %%rdx; dec %%eax; jnz 6b\n"
		     "inc %%ecx; cmp $90, %%ecx; jle 5b"
		     : : [p] "r"(p) : "rax", "rcx", "rdx", "memory", "cc");
	series(p, 8, 12000, 2, 2);
	for (unsigned int i = 1; i <= 90; i++)
		series(p, 8, i, 1, 1);
}

/* Four times unrolled, with a remainder, calls, and an index from memory. */
static void shapes(uint64_t p)
{
	uint64_t n = 4003, q = p + (4 << 20), top = p + (8 << 20);

	asm volatile("mov %[n], %%rcx; shr $2, %%rcx; mov %[p], %%rdx\n"
		     "1: mov %%rcx, (%%rdx); mov %%rcx, 8(%%rdx)\n"
		     "mov %%rcx, 16(%%rdx); mov %%rcx, 24(%%rdx)\n"
		     "lea 32(%%rdx), %%rdx; dec %%rcx; jnz 1b\n"
		     "mov %[n], %%rcx; and $3, %%ecx\n"
		     "2: mov %%rcx, (%%rdx); add $8, %%rdx; loop 2b"
		     : : [p] "r"(p), [n] "r"(n) : "rcx", "rdx", "memory", "cc");
	series(p, 8, n, 0, 1);
	asm volatile("mov %%rsp, %%r12; mov %[top], %%rsp; mov $500, %%ecx\n"
		     "mov %[p], %%rdx; jmp 2f\n"
		     "1: incl (%%rdx); add $4, %%rdx; ret\n"
		     "2: call 1b; dec %%ecx; jnz 2b; mov %%r12, %%rsp"
		     : : [p] "r"(p), [top] "r"(top)
		     : "rcx", "rdx", "r12", "memory", "cc");
	series(p, 4, 500, 1, 1), expect(top - 8, 500, 500);
	/* b[i] = i * 7919 % 8192; sum of a[b[i]] */
	asm volatile("xor %%ecx, %%ecx\n"
		     "1: imul $7919, %%ecx, %%eax; and $8191, %%eax\n"
		     "mov %%eax, (%[q],%%rcx,4); inc %%ecx\n"
		     "cmp $8192, %%ecx; jne 1b; xor %%ecx, %%ecx\n"
		     "2: mov (%[q],%%rcx,4), %%eax; incb (%[p],%%rax,8)\n"
		     "inc %%rcx; cmp $8192, %%rcx; jne 2b"
		     : : [p] "r"(p), [q] "r"(q)
		     : "rax", "rcx", "memory", "cc");
	series(q, 4, 8192, 1, 1), series(p, 8, 8192, 1, 1);
}

static void gathers(uint64_t p)
{
	static const int32_t index[8] = { 0, 16, -16, 1024, 2048, 5, 5, 4000 };

	asm volatile("vmovdqu %[i], %%ymm1; vpcmpeqd %%ymm2, %%ymm2, %%ymm2\n"
		     "vpgatherdd %%ymm2, (%[p],%%ymm1,4), %%ymm0\n"
		     "vpcmpeqd %%ymm2, %%ymm2, %%ymm2; vpslldq $8, %%xmm2, %%xmm2\n"
		     "vpgatherdd %%xmm2, (%[p],%%xmm1,4), %%xmm0; vzeroupper"
		     : : [i] "m"(index), [p] "r"(p)
		     : "xmm0", "xmm1", "xmm2", "memory");
	for (unsigned int i = 0; i < 8; i++)
		expect(p + 4 * index[i], 1, 0);
	expect(p + 4 * index[2], 1, 0), expect(p + 4 * index[3], 1, 0);
	if (!avx512)
		return;
	asm volatile("vmovdqu %[i], %%ymm1; mov $0xb6, %%eax; kmovd %%eax, %%k1\n"
		     "vpscatterdd %%ymm0, (%[p],%%ymm1,4)%{%%k1%}\n"
		     "mov $0x0f, %%eax; kmovd %%eax, %%k1; vpmovsxdq %%ymm1, %%zmm3\n"
		     "vpgatherqq 64(%[p],%%zmm3,8), %%zmm0%{%%k1%}\n"
		     "kxord %%k1, %%k1, %%k1\n"
		     "vpscatterdd %%ymm0, (%[p],%%ymm1,4)%{%%k1%}\n"
		     "vmovdqu32 %%zmm0, 8192(%[p])%{%%k1%}\n"
		     "mov $5, %%eax; kmovd %%eax, %%k1\n"
		     "vpcompressd %%zmm0, 8192(%[p])%{%%k1%}\n"
		     "vpexpandd 8192(%[p]), %%zmm0%{%%k1%}; vzeroupper"
		     : : [i] "m"(index), [p] "r"(p)
		     : "rax", "xmm0", "xmm1", "xmm3", "memory");
	for (unsigned int i = 0; i < 8; i++)
		if (0xb6 >> i & 1)
			expect(p + 4 * index[i], 0, 1);
	for (unsigned int i = 0; i < 4; i++)
		expect(p + 64 + 8 * index[i], 1, 0);
	expect(p + 8192, 1, 2);
}

/* Iterations around where a loop is long enough to be counted as one. */
static void lengths(uint64_t p)
{
	static const uint64_t of[] = { 1, 2, 4, 16, 31, 32, 33, 47, 48, 49, 50,
					  64, 511, 512, 513, 4095, 4096, 4097,
					  9000 };
	uint64_t out;

	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		uint64_t n = of[i], q = p + 0x40000 - 8 * i;

		asm volatile("xor %%eax, %%eax; mov %[p], %%rdx\n"
			     "1: mov (%%rdx,%%rax,8), %%rcx; inc %%rax\n"
			     "cmp %[n], %%rax; jne 1b\n"
			     "mov %k[n], %%ecx\n"	/* 32 bits, downwards */
			     "2: sub $8, %%rdx; addl $1, 4(%%rdx); sub $1, %%ecx\n"
			     "jnz 2b; mov %[p], %%rdx; sub %%rdx, %%rdx\n"
			     "neg %[n]\n"		/* up to 0, nothing else */
			     "3: inc %%rdx; movl $1, (%[p],%[n],4); inc %[n]\n"
			     "js 3b; mov %%rdx, %[out]"
			     : [out] "=&r"(out), [n] "+r"(n)
			     : [p] "r"(q)
			     : "rax", "rcx", "rdx", "memory", "cc");
		check(out == of[i] && !n, "lengths");
		series(q, 8, of[i], 1, 0);
		series(q - 4, -8, of[i], 1, 1);
		series(q - 4, -4, of[i], 0, 1);
	}
}

/*
 * Several accesses by one register, so that they leave a granule one after the
 * other; as stencils and unrolled loops have them, aligned and not.
 */
static void neighbours(uint64_t p)
{
	for (unsigned int i = 0; i < 9; i++) {
		uint64_t q = p + 0x10000 + 7 * i, r = p + 0x80000 + 456 * i;

		asm volatile("mov $8, %%ecx\n"
			     "1: movsd -8(%[q],%%rcx), %%xmm0\n"
			     "addsd 8(%[q],%%rcx), %%xmm0; addsd (%[q],%%rcx), %%xmm0\n"
			     "movsd %%xmm0, (%[r],%%rcx); add $8, %%rcx\n"
			     "cmp $16384, %%rcx; jl 1b\n"
			     "lea 200000(%[r]), %%rcx; mov %[r], %%rdx\n"
			     "2: movups (%%rdx), %%xmm0; movups 16(%%rdx), %%xmm1\n"
			     "movups %%xmm0, 40(%%rdx); movups %%xmm1, 24(%%rdx)\n"
			     "lea 64(%%rdx), %%rdx; incl -4(%%rdx)\n"
			     "cmp %%rcx, %%rdx; jb 2b"
			     : : [q] "r"(q), [r] "r"(r)
			     : "rcx", "rdx", "xmm0", "xmm1", "memory", "cc");
		series(q, 8, 2047, 1, 0), series(q + 16, 8, 2047, 1, 0);
		series(q + 8, 8, 2047, 1, 0), series(r + 8, 8, 2047, 0, 1);
		series(r, 64, 3125, 1, 0), series(r + 16, 64, 3125, 1, 0);
		series(r + 40, 64, 3125, 0, 1), series(r + 24, 64, 3125, 0, 1);
		series(r + 60, 64, 3125, 1, 1);
	}
}

/* Parts that are left out in some iterations: what they move, and what they access. */
static void sometimes(uint64_t p)
{
	uint64_t q = p + 0x100000, r = p + 0x200000, n = 6000, at = r;

	asm volatile("xor %%ecx, %%ecx; mov %[q], %%rdx; mov %[r], %%rsi\n"
		     "1: incl (%[p],%%rcx,8); test $3, %%cl; jnz 2f\n"
		     "mov (%%rdx), %%rax; add $16, %%rsi\n"
		     "2: add $8, %%rdx; movb $1, (%%rsi)\n"
		     "test $1, %%cl; jz 3f; incq 8(%%rsi)\n"
		     "3: add $1, %%rcx; cmp %[n], %%rcx; jb 1b"
		     : : [p] "r"(p), [q] "r"(q), [r] "r"(r), [n] "r"(n)
		     : "rax", "rcx", "rdx", "rsi", "memory", "cc");
	series(p, 8, n, 1, 1);
	for (uint64_t i = 0; i < n; i++) {
		if (i % 4 == 0) {
			expect(q + 8 * i, 1, 0);
			at += 16;
		}
		expect(at, 0, 1);
		if (i % 2)
			expect(at + 8, 1, 1);
	}
}

/*
 * What is affine only at a second look, or not: copies of registers, a stack, two
 * registers that move apart, steps that are 0, a table by what was loaded.
 */
static void mixed(uint64_t p)
{
	uint64_t q = p + 0x100000, r = p + 0x200000, n = 5000;

	for (unsigned int i = 0; i < 5000; i++)
		((volatile uint8_t *)r)[i] = i * 7 % 64;
	series(r, 1, 5000, 0, 1);
	asm volatile("mov %%rsp, %%r12; mov %[q], %%rsp; mov %[n], %%rcx\n"
		     "xor %%esi, %%esi; mov %[p], %%rdi\n"
		     "1: movzbl (%[r],%%rsi), %%eax; incq (%[q],%%rax,8)\n"
		     "mov %%rdi, %%rdx; add $8, %%rdi; mov -8(%%rdi), %%rax\n"
		     "mov %%rax, 4(%%rdx); lea 1(%%rsi), %%rsi; push %%rcx\n"
		     "mov (%[r]), %%rax; mov 16(%%rdx,%%rsi,4), %%al\n"
		     "sub %%rsi, %%rdx; cmpb $0, (%%rdx)\n"
		     "dec %%rcx; jnz 1b; mov %%r12, %%rsp"
		     : : [p] "r"(p), [q] "r"(q), [r] "r"(r), [n] "r"(n)
		     : "rax", "rcx", "rdx", "rsi", "rdi", "r12", "memory", "cc");
	for (uint64_t i = 0; i < n; i++) {
		expect(r + i, 1, 0), expect(q + i * 7 % 64 * 8, 1, 1);
		expect(p + 8 * i, 1, 0), expect(p + 8 * i + 4, 0, 1);
		expect(q - 8 * (i + 1), 0, 1), expect(r, 1, 0);
		expect(p + 8 * i + 16 + 4 * (i + 1), 1, 0);
		expect(p + 8 * i - (i + 1), 1, 0);
	}
}

/* Two arrays that nobody has touched, once from end to end: in order. */
static void sweep(uint64_t p)
{
	asm volatile("xor %%ecx, %%ecx\n"
		     "1: mov (%[p],%%rcx,8), %%rax; add $1, %%rax\n"
		     "mov %%rax, 0x600800(%[p],%%rcx,8)\n"
		     "add $1, %%rcx; cmp $153600, %%rcx; jne 1b"
		     : : [p] "r"(p) : "rax", "rcx", "memory", "cc");
	series(p, 8, 153600, 1, 0);
	series(p + 0x600800, 8, 153600, 0, 1);
}

/* More than 2^32 stores to one page. */
static void wrap(uint64_t p)
{
	for (unsigned int i = 0; i < 1100000; i++)
		rep("stos", 0, p, 4096, 1);
	for (unsigned int i = 0; i < 64; i++)
		expect(p + 64 * i, 0, 64 * 1100000ul);
}

/* Of one block, so counted at once: on both sides of a boundary, or on one. */
static __attribute__((noinline)) void block(uint64_t p, uint64_t i)
{
	asm volatile("mov (%[p], %[i], 8), %%rax; mov 8(%[p], %[i], 8), %%rdx\n"
		     "addq $1, 24(%[p], %[i], 8); movb 31(%[p], %[i], 8), %%al\n"
		     "movl $5, 44(%[p], %[i], 8); mov 56(%[p], %[i], 8), %%rdx\n"
		     "incl 100(%[p], %[i], 8); mov %%rdx, 236(%[p], %[i], 8)\n"
		     "cmpw $3, 500(%[p], %[i], 8); addl $1, 44(%[p], %[i], 8)"
		     :
		     : [p] "r"(p), [i] "r"(i)
		     : "rax", "rdx", "memory", "cc");
}

static void straddles(uint64_t p)
{
	static const struct {
		uint16_t at;
		uint8_t loads, stores;
	} all[] = { { 0, 1, 0 },  { 8, 1, 0 },	  { 24, 1, 1 },
		    { 31, 1, 0 }, { 44, 1, 2 },	  { 56, 1, 0 },
		    { 100, 1, 1 }, { 236, 0, 1 }, { 500, 1, 0 } };
	const uint64_t times = 50;

	for (uint64_t before = 0; before < 520; before++) {
		uint64_t at = p + 4096 * (before % 64 + 1) - before;

		for (uint64_t i = 0; i < times; i++)
			block(at - 24, 3);
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			expect(at + all[i].at, times * all[i].loads,
			       times * all[i].stores);
	}
}

/*
 * Flags are needed from the comparison on, so the load is counted ahead of it, when
 * its base was in rsi; and in rcx, which nobody needs: that is another's to take.
 */
static void copies(uint64_t p)
{
	for (int i = 0; i < 100; i++)
		asm volatile("mov %%rsi, %%rcx\n"
			     "mov %%rax, (%%rdi)\n"
			     "cmp %%rsi, %%rdi\n"
			     "mov %%rsi, %%r8\n"
			     "mov 8(%%r8), %%rdx\n"
			     "jne 1f\n"
			     "1: mov %%rax, %%r9; mov $1, %%ecx"
			     : : "D"(p), "S"(p + 0x8000)
			     : "rax", "rcx", "rdx", "r8", "r9", "memory", "cc");
	series(p, 0, 100, 0, 1);
	series(p + 0x8008, 0, 100, 1, 0);
}

static const struct {
	const char *name;
	void (*run)(uint64_t p);
	uint64_t offset;
} cases[] = {
	{ "push_pop", push_pop, 0 },	   { "call_ret", call_ret, 0 },
	{ "rmw", rmw, 0 },		   { "singles", singles, 0 },
	{ "strings", strings, 0 },	   { "carry", carry, 0 },
	{ "one_stream", one_stream, 0 },   { "two_streams", two_streams, 0 },
	{ "three_streams", three_streams, 0 }, { "strides", strides, 0 },
	{ "early_exit", early_exit, 0 },   { "nested", nested, 0 },
	{ "shapes", shapes, 0 },	   { "gathers", gathers, 4096 },
	{ "wrap", wrap, 0 },		   { "lengths", lengths, 0 },
	{ "neighbours", neighbours, 0 },   { "sometimes", sometimes, 0 },
	{ "mixed", mixed, 4096 },	   { "sweep", sweep, 0 },
	{ "straddles", straddles, 0 },     { "copies", copies, 0 },
};
#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static FILE *out;
static const char *only;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg)
{
	long number = (long)arg;
	struct line *e;
	int tid = gettid();

	mine = REGION + (uint64_t)number * SPAN;
	e = table = mmap(NULL, SPAN / 64 * sizeof(*table),
			 PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (e == MAP_FAILED ||
	    mmap((void *)mine, SPAN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			 MAP_FIXED_NOREPLACE, -1, 0) != (void *)mine)
		exit(1);
	for (unsigned int i = 0; i < N_CASES; i++)
		if (!only || !strcmp(only, cases[i].name))
			cases[i].run(mine + i * AREA +
				     cases[i].offset);
	asm volatile("mov %[n], %%ecx; mov $1, %%eax\n"
		     "1: mov $1, %%eax; lock xaddq %%rax, (%[p])\n"
		     "dec %%ecx; jnz 1b"
		     : : [p] "r"(SHARED), [n] "i"(ADDS)
		     : "rax", "rcx", "memory", "cc");
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; i < N_CASES * AREA / 64; i++)
		if (e[i].loads | e[i].stores)
			fprintf(out, "%d %lx %lu %lu\n", tid, mine + 64 * i,
				e[i].loads, e[i].stores);
	fprintf(out, "%d %lx %d %d\n", tid, SHARED, ADDS, ADDS);
	for (unsigned int i = 0; i < N_CASES && number == 0; i++)
		fprintf(out, "# %lx %s\n", i * AREA, cases[i].name);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int a, b, c, d;
	long threads = argc > 2 ? atol(argv[2]) : 1;
	pthread_t t[16];
	uint64_t sum;

	if (argc < 2 || threads < 1 || threads > 16)
		return 2;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 5)) {
		printf("unsupported: AVX2\n");
		return 77;
	}
	avx512 = (b & 1u << 16) && (b & 1u << 31);
	only = argc > 3 ? argv[3] : NULL;
	out = fopen(argv[1], "w");
	if (!out || mmap((void *)SHARED, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0) != (void *)SHARED)
		return 1;
	for (long i = 1; i < threads; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)i))
			return 1;
	worker((void *)0);
	for (long i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	fprintf(out, "%d %lx 1 0\n", gettid(), SHARED);
	asm volatile("mov (%1), %0" : "=r"(sum) : "r"(SHARED));
	check(sum == (uint64_t)threads * ADDS, "shared sum");
	printf("known: %ld threads, sum %lu\n", threads, sum);
	return fclose(out) ? 1 : 0;
}
