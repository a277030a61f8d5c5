// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocators of all kinds, to be named as MOCA_ALLOC's fn= and free=. What they
 * compute goes to stdout, the same in each run; what should be seen of them to
 * the file named by DETOUR_LOG: "alloc ADDR SIZE", "free ADDR".
 */
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static FILE *expected;

static void *made(void *p, size_t size)
{
	if (expected && p)
		fprintf(expected, "alloc %p %zu\n", p, size);
	return p;
}

static void *ends(void *p)
{
	if (expected && p)
		fprintf(expected, "free %p\n", p);
	return p;
}

/* A pool in C, whose chunks come from malloc; NULL: it is full. */
struct pool {
	char *chunk;
	size_t used, size, turns;
};

#define NOINLINE __attribute__((noinline, noclone))

extern "C" {

NOINLINE void *pool_alloc(struct pool *p, size_t size)
{
	if (!p->chunk)
		p->chunk = (char *)malloc(p->size);
	if (p->size - p->used < size)
		return NULL;
	p->used += size;
	return p->chunk + p->used - size;
}

NOINLINE void pool_free(struct pool *p, void *object)
{
	if ((char *)object < p->chunk || (char *)object >= p->chunk + p->size)
		abort();
	p->turns++;
}

NOINLINE void *pool_realloc(struct pool *p, void *object, size_t size)
{
	void *to = pool_alloc(p, size);

	if (object && to)
		memcpy(to, object, 8);
	return to;
}

/* More arguments than registers, of both kinds, and of no fixed number. */
NOINLINE void *wide_alloc(struct pool *p, int a, double x, int b, int c,
			  size_t size, int d, double y, int e, int f, int g)
{
	char *to = (char *)pool_alloc(p, size);

	memset(to, a + b + c + d + e + f + g + (int)(x + y), size);
	return to;
}

NOINLINE void *printed_alloc(struct pool *p, size_t size, const char *format,
			     ...)
{
	char *to = (char *)pool_alloc(p, size);
	va_list args;

	va_start(args, format);
	vsnprintf(to, size, format, args);
	va_end(args);
	return to;
}

NOINLINE void *deep_alloc(struct pool *p, size_t size, int depth)
{
	volatile int d = depth;

	return depth ? d ? deep_alloc(p, size, d - 1) : NULL :
		       pool_alloc(p, size);
}

NOINLINE void *throwing_alloc(struct pool *p, size_t size)
{
	if (size > p->size)
		throw std::bad_alloc();
	return pool_alloc(p, size);
}

void *(*choose())(size_t)
{
	return malloc;
}

/* Of which program is the code that is called? */
void *chosen_alloc(size_t size) __attribute__((ifunc("choose")));

/* In assembly: bump_next is the next object; size in %rdi. */
char bump_area[1 << 16];
char *bump_next = bump_area;
void *bump_relative(size_t size);
void *bump_short(size_t size);
void *bump_endbr(size_t size);
void *bump_plain(size_t size);
void *bump_loop(size_t size);
void *bump_into(size_t size);
void *bump_tiny(size_t size);
}

__asm__(".text\n"
	".macro function name\n.type \\name, @function\n.p2align 4\n"
	".globl \\name\n\\name:\n.cfi_startproc\n.endm\n"
	".macro ends name\n.cfi_endproc\n.size \\name, . - \\name\n.endm\n"
	"function bump_relative\n"
	"	movq bump_next(%rip), %rax\n"
	"	addq %rdi, bump_next(%rip)\n"
	"	ret\n"
	"ends bump_relative\n"
	"function bump_short\n"
	"	jmp 1f\n"
	"	ud2\n	ud2\n"
	"1:	movq bump_next(%rip), %rax\n"
	"	testq %rdi, %rdi\n"
	"	je 2f\n"
	"	addq %rdi, bump_next(%rip)\n"
	"2:	ret\n"
	"ends bump_short\n"
	"function bump_endbr\n"
	"	endbr64\n"
	"	testq %rdi, %rdi\n"
	"	je 1f\n"
	"	movq bump_next(%rip), %rax\n"
	"	addq %rdi, bump_next(%rip)\n"
	"	ret\n"
	"1:	xorl %eax, %eax\n"
	"	ret\n"
	"ends bump_endbr\n"
	/* It changes %rax and memory, and not even a flag. */
	"function bump_plain\n"
	"	movq bump_next(%rip), %rax\n"
	"	leaq (%rax,%rdi), %rax\n"
	"	movq %rax, bump_next(%rip)\n"
	"	pushq %rdi\n"
	"	notq (%rsp)\n"
	"	leaq 1(%rax), %rax\n"
	"	pushq %rdi\n"
	"	movq 8(%rsp), %rdi\n"
	"	leaq (%rax,%rdi), %rax\n"
	"	popq %rdi\n"
	"	leaq 8(%rsp), %rsp\n"
	"	ret\n"
	"ends bump_plain\n"
	"function bump_loop\n"
	"	decq %rdi\n"
	"	nop\n	nop\n	nop\n	nop\n"
	"	incq bump_next(%rip)\n"
	"	testq %rdi, %rdi\n"
	"	jne bump_loop\n"
	"	movq bump_next(%rip), %rax\n"
	"	ret\n"
	"ends bump_loop\n"
	"function bump_into\n"
	"	nop\n"
	"1:	nop\n	nop\n	nop\n	nop\n"
	"	incq bump_next(%rip)\n"
	"	decq %rdi\n"
	"	jne 1b\n"
	"	movq bump_next(%rip), %rax\n"
	"	ret\n"
	"ends bump_into\n"
	"function bump_tiny\n"
	"	xchgl %edi, %eax\n"
	"	ret\n"
	"ends bump_tiny\n");

/* Found in .symtab only; its caller may know which registers it leaves. */
static char static_area[4096];
static size_t static_used;

static NOINLINE void *static_alloc(size_t size)
{
	static_used += size;
	return static_area + static_used - size;
}

struct Arena {
	struct pool pool;
	NOINLINE void *take(size_t size);
};

void *Arena::take(size_t size)
{
	return pool_alloc(&pool, size);
}

static struct pool the_pool = { NULL, 0, 1 << 20, 0 };

static NOINLINE void pools()
{
	void *p = made(pool_alloc(&the_pool, 5000), 5000), *q;

	memset(p, 7, 5000);
	q = made(pool_realloc(&the_pool, ends(p), 6000), 6000);
	printf("pool %d %zu\n", *(char *)q, the_pool.used);
	pool_free(&the_pool, ends(q));
	printf("full %d\n", pool_alloc(&the_pool, 1 << 21) == NULL);
	made(deep_alloc(&the_pool, 5500, 9), 5500);
	printf("deep %zu\n", the_pool.used);
}

static NOINLINE void arguments()
{
	char *p = (char *)made(wide_alloc(&the_pool, 1, 2.5, 3, 4, 7000, 5, 6.5,
					  7, 8, 9), 7000);

	printf("wide %d %d\n", p[0], p[6999]);
	p = (char *)made(printed_alloc(&the_pool, 4500,
				       "%d %g %s %d %d %d %g %g %ld", 1, 2.5,
				       "x", 4, 5, 6, 7.5, 8.5, 9L), 4500);
	printf("%s\n", p);
}

static NOINLINE void exceptions()
{
	for (int i = 0; i < 3; i++) {
		try {
			made(throwing_alloc(&the_pool, i == 1 ? 1 << 22 : 8000),
			     8000);
			printf("made\n");
		} catch (std::bad_alloc &e) {
			printf("caught %s\n", e.what());
		}
	}
}

static NOINLINE void methods()
{
	Arena a = { { NULL, 0, 100000, 0 } };

	made(a.take(9000), 9000);
	printf("arena %zu\n", a.pool.used);
	free(ends(a.pool.chunk));
}

static NOINLINE void assembly()
{
	made(bump_relative(4096), 4096);
	made(bump_short(5000), 5000);
	bump_short(0);
	made(bump_endbr(5100), 5100);
	printf("endbr %d\n", bump_endbr(0) == NULL);
	printf("loop %ld\n", (long)((char *)bump_loop(4200) - bump_area));
	printf("into %ld\n", (long)((char *)bump_into(4300) - bump_area));
	printf("tiny %ld\n", (long)bump_tiny(44));
	free(chosen_alloc(10));
}

static NOINLINE void statics(volatile double *v)
{
	/* All live across the call: in registers, if the caller knows it. */
	double a = v[0] * 3, b = v[1] * 5, c = v[2] * 7, d = v[3] * 11;
	long e = (long)a * 13, f = (long)b * 17, g = (long)c * 19;
	void *p = made(static_alloc(1000), 1000);

	printf("static %g %g %g %g %ld %ld %ld %d\n", a, b, c, d, e, f, g,
	       p == static_area);
}

/* All that bump_plain leaves alone, as its caller sees it afterwards. */
__attribute__((optimize("no-omit-frame-pointer")))
static NOINLINE void registers()
{
	static uint64_t gp[9], flags;
	static unsigned char ymm[16][32] __attribute__((aligned(32)));
	unsigned long sum = 0;
	void *p;

	__asm__ volatile(
		"subq $256, %%rsp\n\t"
		"movl $-1, %%eax\n\tvmovd %%eax, %%xmm0\n\t"
		"vpbroadcastd %%xmm0, %%ymm0\n\t"
		".irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
		"movl $0x01010101*\\n, %%eax\n\tvmovd %%eax, %%xmm\\n\n\t"
		"vpbroadcastd %%xmm\\n, %%ymm\\n\n\t.endr\n\t"
		"movl $4800, %%edi\n\tmovl $2, %%esi\n\tmovl $3, %%edx\n\t"
		"movl $4, %%ecx\n\tmovl $5, %%r8d\n\tmovl $6, %%r9d\n\t"
		"movl $7, %%r10d\n\tmovl $8, %%r11d\n\t"
		"cmpl $3, %%esi\n\tstc\n\t"
		"call bump_plain\n\t"
		"pushfq\n\tpopq %[flags]\n\t"
		"movq %%rdi, %[gp]\n\tmovq %%rsi, 8+%[gp]\n\t"
		"movq %%rdx, 16+%[gp]\n\tmovq %%rcx, 24+%[gp]\n\t"
		"movq %%r8, 32+%[gp]\n\tmovq %%r9, 40+%[gp]\n\t"
		"movq %%r10, 48+%[gp]\n\tmovq %%r11, 56+%[gp]\n\t"
		".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
		"vmovdqa %%ymm\\n, 32*\\n+%[ymm]\n\t.endr\n\t"
		"vzeroupper\n\t"
		"addq $256, %%rsp\n\t"
		: "=&a"(p), [gp] "+m"(gp), [flags] "+m"(flags), [ymm] "+m"(ymm)
		:
		: "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11",
		  "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
		  "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
		  "xmm12", "xmm13", "xmm14", "xmm15");
	made(p, 4800);
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 32; j++)
			sum = sum * 31 + ymm[i][j];
	for (int i = 0; i < 8; i++)
		printf("%lu ", (unsigned long)gp[i]);
	printf("%lx %lx\n", sum, (unsigned long)(flags & 0x8d5));
}

int main()
{
	static volatile double v[] = { 1, 2, 3, 4 };
	const char *log = getenv("DETOUR_LOG");

	if (log)
		expected = fopen(log, "w");
	if (log && !expected)
		return 2;
	pools();
	arguments();
	exceptions();
	methods();
	assembly();
	statics(v);
	if (__builtin_cpu_supports("avx2"))
		registers();
	free(ends(the_pool.chunk));
	if (expected)
		fclose(expected);
	return 0;
}
