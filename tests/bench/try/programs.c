// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs for moca try: "programs NAME" runs one for some tenths of a second and
 * prints a sum; "programs NAME fixed" computes the same with the change made by hand
 * in the source. Those of the second list can gain nothing by what moca try changes.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIB (1ul << 20)
#define HUGE (2 * MIB)
#define NOINLINE __attribute__((noinline, noclone))

static int fixed;

static void *must(void *p)
{
	if (!p || p == MAP_FAILED)
		abort();
	return p;
}

/* By hand: memory with huge pages. */
static void *huge(size_t bytes)
{
	void *p = must(aligned_alloc(HUGE, (bytes + HUGE - 1) & ~(HUGE - 1)));

	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static NOINLINE uint64_t touch(char *p, size_t bytes, int with)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < bytes; i += 256)
		p[i] = (char)(with + (int)(i >> 12));
	for (i = 0; i < bytes; i += 4096)
		sum += (uint64_t)(unsigned char)p[i];
	return sum;
}

/* --- memory that is given back and taken again ----------------------------- */

static uint64_t churn_of(size_t bytes, int steps)
{
	char *kept = NULL, *p;
	uint64_t sum = 0;
	int i;

	for (i = 0; i < steps; i++) {
		p = fixed && kept ? kept : must(malloc(bytes));
		sum += touch(p, bytes, i);
		if (fixed)
			kept = p;
		else
			free(p);
	}
	free(kept);
	return sum;
}

/* Blocks that are freed together: more than malloc keeps. */
static uint64_t churn_blocks(size_t bytes, int count, int steps, int clear)
{
	char *blocks[64] = { NULL };
	uint64_t sum = 0;
	int step, i;

	for (step = 0; step < steps; step++) {
		for (i = 0; i < count; i++) {
			if (blocks[i] && clear)
				memset(blocks[i], 0, bytes);
			else if (!blocks[i])
				blocks[i] = must(clear ? calloc(1, bytes) :
							 malloc(bytes));
			sum += touch(blocks[i], bytes, step + i);
		}
		for (i = 0; i < count && !fixed; i++) {
			free(blocks[i]);
			blocks[i] = NULL;
		}
	}
	return sum;
}

static uint64_t churn_large(void) { return churn_blocks(2 * MIB, 12, 20, 0); }
static uint64_t churn_huge(void) { return churn_of(48 * MIB, 10); }
static uint64_t churn_rows(void)
{
	return churn_blocks(192 << 10, 64, 40, 0);
}
static uint64_t churn_calloc(void) { return churn_blocks(3 * MIB, 8, 20, 1); }

struct node {
	struct node *left, *right;
	uint64_t key[6];
};

static uint64_t churn_mixed(void) { return churn_blocks(5 * MIB, 6, 12, 0); }

static void *worker(void *arg)
{
	*(uint64_t *)arg = churn_blocks(2 * MIB, 8, 15, 0);
	return NULL;
}

static uint64_t churn_threads(void)
{
	uint64_t sums[2];
	pthread_t t[2];
	int i;

	for (i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, worker, &sums[i]))
			abort();
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return sums[0] + sums[1];
}

/* Vectors that grow to twice their size when they are full. */
static uint64_t churn_vectors(void)
{
	static uint32_t *kept[4];
	uint32_t *v[4];
	uint64_t sum = 0;
	size_t room, n;
	int step, k;

	for (step = 0; step < 12; step++) {
		for (k = 0; k < 4; k++) {
			room = fixed ? 1 << 20 : 1024;
			v[k] = kept[k] ? kept[k] : must(malloc(room * 4));
			for (n = 0; n < 1 << 20; n++) {
				if (n == room) {
					room *= 2;
					v[k] = must(realloc(v[k], room * 4));
				}
				v[k][n] = (uint32_t)(n + (size_t)step);
			}
			sum += v[k][n / 2 + (size_t)k];
			if (fixed)
				kept[k] = v[k];
		}
		for (k = 0; k < 4 && !fixed; k++)
			free(v[k]);
	}
	return sum;
}

/* --- memory that is touched once, at the start ------------------------------ */

static uint64_t fill_once(void)
{
	const size_t bytes = 320 * MIB;
	char *p = fixed ? huge(bytes) : must(malloc(bytes));
	uint64_t sum = touch(p, bytes, 3);

	free(p);
	return sum;
}

static uint64_t fill_blocks(void)
{
	static char *blocks[40];
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 40; i++) {
		blocks[i] = fixed ? huge(8 * MIB) : must(malloc(8 * MIB));
		sum += touch(blocks[i], 8 * MIB, i);
	}
	return sum;
}

static char still[320 * MIB] __attribute__((aligned(HUGE)));

static uint64_t fill_static(void)
{
	if (fixed)
		madvise(still, sizeof(still), MADV_HUGEPAGE);
	return touch(still, sizeof(still), 5);
}

static uint64_t fill_mapped(void)
{
	const size_t bytes = 320 * MIB;
	char *p = must(mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	if (fixed)
		madvise(p, bytes, MADV_HUGEPAGE);
	return touch(p, bytes, 7);
}

/* --- large memory that is used in no order ---------------------------------- */

static uint64_t random_table(void)
{
	const size_t n = 192 * MIB / 8;
	uint64_t *table = fixed ? huge(n * 8) : must(malloc(n * 8));
	uint64_t x = 88172645463325252ull, sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		table[i] = i;
	for (i = 0; i < 4000000; i++)
		sum += table[next(&x) % n]++;
	return sum;
}

static uint64_t random_chase(void)
{
	const uint32_t n = 96 * MIB / 4;
	uint32_t *to = fixed ? huge(n * 4ul) : must(malloc(n * 4ul)), at = 0, i;
	uint64_t sum = 0;

	/* One cycle, of steps that are a large odd number apart. */
	for (i = 0; i < n; i++)
		to[i] = (uint32_t)((i * 1ull + 7654321) % n);
	for (i = 0; i < 1500000; i++) {
		at = to[at];
		sum += at;
	}
	return sum;
}

static uint64_t random_hash(void)
{
	const size_t n = 1ul << 24;
	uint64_t *slots = fixed ? huge(n * 8) : must(malloc(n * 8));
	uint64_t x = 1234567, sum = 0, key;
	size_t i, at;

	memset(slots, 0, n * 8);
	for (i = 0; i < 3000000; i++) {
		key = next(&x) | 1;
		for (at = key * 0x9e3779b97f4a7c15ull >> 40; slots[at];
		     at = (at + 1) & (n - 1))
			sum++;
		slots[at] = key;
	}
	return sum;
}

/* --- what gains nothing ------------------------------------------------------- */

static NOINLINE uint64_t compute(void)
{
	uint64_t x = 1, sum = 0;
	long i;

	for (i = 0; i < 80000000; i++)
		sum += next(&x) & 7;
	return sum;
}

static uint64_t small_table(void)
{
	static uint32_t table[4096];
	uint64_t x = 5, sum = 0;
	long i;

	for (i = 0; i < 60000000; i++)
		sum += ++table[next(&x) % 4096];
	return sum;
}

static uint64_t stream_small(void)
{
	double *a = must(malloc(256 << 10)), sum = 0;
	int step, i, n = (256 << 10) / 8;

	for (i = 0; i < n; i++)
		a[i] = i;
	for (step = 0; step < 6000; step++)
		for (i = 1; i < n; i++)
			a[i] = a[i] * 0.5 + a[i - 1] * 0.5;
	for (i = 0; i < n; i++)
		sum += a[i];
	return (uint64_t)sum;
}

static uint64_t reused_buffer(void)
{
	fixed = 1;
	return churn_of(1 * MIB, 8000);
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t sorts(void)
{
	static uint32_t v[50000];
	uint64_t x = 9, sum = 0;
	int step, i;

	for (step = 0; step < 40; step++) {
		for (i = 0; i < 50000; i++)
			v[i] = (uint32_t)next(&x);
		qsort(v, 50000, sizeof(*v), by_value);
		sum += v[step];
	}
	return sum;
}

static uint64_t matrix(void)
{
	static double a[160][160], b[160][160], c[160][160];
	int step, i, j, k;

	for (i = 0; i < 160; i++)
		for (j = 0; j < 160; j++) {
			a[i][j] = i + j;
			b[i][j] = i - j;
		}
	for (step = 0; step < 50; step++)
		for (i = 0; i < 160; i++)
			for (k = 0; k < 160; k++)
				for (j = 0; j < 160; j++)
					c[i][j] += a[i][k] * b[k][j];
	return (uint64_t)c[80][90];
}

static uint64_t small_blocks(void)
{
	void *p[64] = { NULL };
	uint64_t x = 3, sum = 0;
	long i;

	for (i = 0; i < 8000000; i++) {
		unsigned at = next(&x) % 64;

		free(p[at]);
		p[at] = must(malloc(16 + x % 200));
		*(char *)p[at] = (char)i;
		sum += (uint64_t)i & 3;
	}
	return sum;
}

static NOINLINE uint64_t fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint64_t recursion(void) { return fib(39); }

static uint64_t strings(void)
{
	char text[200];
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 1500000; i++) {
		snprintf(text, sizeof(text), "%d %x %s", i, i * 7, "words");
		sum += strlen(text);
	}
	return sum;
}

static uint64_t system_calls(void)
{
	uint64_t sum = 0;
	FILE *f = must(fopen("/dev/null", "w"));
	int i;

	setvbuf(f, NULL, _IONBF, 0);
	for (i = 0; i < 600000; i++)
		sum += fwrite("x", 1, 1, f);
	fclose(f);
	return sum;
}

static void *count(void *arg)
{
	uint64_t x = 17, *sum = arg, all = 0;
	long i;

	for (i = 0; i < 40000000; i++)
		all += next(&x) & 3;
	*sum = all;
	return NULL;
}

static uint64_t own_threads(void)
{
	uint64_t sums[2];
	pthread_t t[2];
	int i;

	for (i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, count, &sums[i]))
			abort();
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return sums[0] + sums[1];
}

static uint64_t list_small(void)
{
	struct node *list = NULL, *n;
	uint64_t sum = 0;
	int i, step;

	for (i = 0; i < 1000; i++) {
		n = must(malloc(sizeof(*n)));
		n->left = list;
		n->key[0] = (uint64_t)i;
		list = n;
	}
	for (step = 0; step < 100000; step++)
		for (n = list; n; n = n->left)
			sum += n->key[0];
	return sum;
}

static const struct {
	const char *name;
	uint64_t (*run)(void);
	int gains;
} programs[] = {
	{ "churn-large", churn_large, 1 }, { "churn-huge", churn_huge, 1 },
	{ "churn-rows", churn_rows, 1 }, { "churn-calloc", churn_calloc, 1 },
	{ "churn-mixed", churn_mixed, 1 },
	{ "churn-threads", churn_threads, 1 }, { "churn-vectors", churn_vectors, 1 },
	{ "fill-once", fill_once, 1 }, { "fill-blocks", fill_blocks, 1 },
	{ "fill-static", fill_static, 1 }, { "fill-mapped", fill_mapped, 1 },
	{ "random-table", random_table, 1 },
	{ "random-chase", random_chase, 1 }, { "random-hash", random_hash, 1 },
	{ "compute", compute, 0 }, { "small-table", small_table, 0 },
	{ "stream-small", stream_small, 0 },
	{ "reused-buffer", reused_buffer, 0 }, { "sorts", sorts, 0 },
	{ "matrix", matrix, 0 }, { "small-blocks", small_blocks, 0 },
	{ "recursion", recursion, 0 }, { "strings", strings, 0 },
	{ "system-calls", system_calls, 0 }, { "own-threads", own_threads, 0 },
	{ "list-small", list_small, 0 },
};

int main(int argc, char **argv)
{
	size_t i;

	fixed = argc > 2 && !strcmp(argv[2], "fixed");
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (argc < 2)
			printf("%s %d\n", programs[i].name, programs[i].gains);
		else if (!strcmp(programs[i].name, argv[1]))
			return printf("%llu\n", (unsigned long long)
				      programs[i].run()) < 0;
	}
	return argc >= 2;
}
