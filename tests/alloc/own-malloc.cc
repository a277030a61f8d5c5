// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocations of each kind, in a program that brings its own allocator (a
 * library that is linked in, or with OWN, one that is written here). stdout and
 * DETOUR_LOG: as of detour-targets.cc.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN
/* Nothing is given back; each object's size is before it. */
static char *area, *next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define SIZE ((size_t)1 << 28)
/* What is inlined into its callers is nobody's to see. */
#define NOINLINE __attribute__((noinline))

extern "C" {

NOINLINE void *aligned_alloc(size_t align, size_t size)
{
	uintptr_t at;

	pthread_mutex_lock(&lock);
	if (!area)
		next = area = (char *)mmap(NULL, SIZE,
					   PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (size > SIZE - (size_t)(next - area) - 2 * align) {
		pthread_mutex_unlock(&lock);
		return NULL;
	}
	at = ((uintptr_t)next + 16 + align - 1) & -align;
	next = (char *)at + size;
	((size_t *)at)[-1] = size;
	pthread_mutex_unlock(&lock);
	return (void *)at;
}

NOINLINE void *malloc(size_t size)
{
	return aligned_alloc(16, size);
}

NOINLINE void free(void *p)
{
	/* Not to be taken for a function that does nothing. */
	__asm__ volatile("nopl 0(%0)\n\tnopl 0(%0)" : : "r"(p) : "memory");
}

NOINLINE void *calloc(size_t n, size_t size)
{
	void *p = malloc(n * size);

	return memset(p, 0, n * size);
}

NOINLINE void *realloc(void *p, size_t size)
{
	void *to = malloc(size);
	size_t old = p ? ((size_t *)p)[-1] : 0;

	if (p)
		memcpy(to, p, old < size ? old : size);
	free(p);
	return to;
}

NOINLINE int posix_memalign(void **p, size_t align, size_t size)
{
	*p = aligned_alloc(align, size);
	return 0;
}
}
#endif

static FILE *expected;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

/* Nothing is printed between an allocation and the next: stdio allocates. */
struct lines {
	size_t used;
	char text[1 << 18];
};
static struct lines *lines;	/* a child's as well */

static void note(const char *what, const void *p, size_t size)
{
	pthread_mutex_lock(&log_lock);
	lines->used += (size_t)snprintf(lines->text + lines->used,
					sizeof(lines->text) - lines->used,
					"%s %p %zu\n", what, p, size);
	pthread_mutex_unlock(&log_lock);
}

template <typename T> static T *made(T *p, size_t size)
{
	note("alloc", p, size);
	memset((void *)p, 5, size);
	return p;
}

template <typename T> static T *ends(T *p)
{
	note("free", p, 0);
	return p;
}

static void c_family()
{
	char *p = made((char *)malloc(10000), 10000), *q;
	void *aligned;

	p = made((char *)realloc(ends(p), 300000), 300000);
	q = made((char *)calloc(3, 5000), 15000);
	printf("c %d %d\n", p[299999], q[14999]);
	free(ends(p));
	free(ends(q));
	if (posix_memalign(&aligned, 4096, 20000))
		abort();
	printf("aligned %d\n", (int)((uintptr_t)made(aligned, 20000) % 4096));
	free(ends(aligned));
	aligned = made(aligned_alloc(1024, 30720), 30720);
	printf("aligned %d\n", (int)((uintptr_t)aligned % 1024));
	free(ends(aligned));
	printf("too much %d\n", malloc((size_t)1 << 60) == NULL);
}

#ifndef OWN
struct alignas(128) Wide {
	char bytes[12800];
};

static void cc_family()
{
	char *p = made(new char[12000], 12000);
	Wide *w = made(new Wide, sizeof(Wide));
	char *n = made(new (std::nothrow) char[14000], 14000);

	delete[] ends(p);
	delete ends(w);
	delete[] ends(n);
	try {
		/* Nobody has as much. */
		n = new char[(size_t)1 << 61];
		printf("made %d\n", n[0]);
	} catch (std::bad_alloc &e) {
		printf("caught\n");
	}
	p = made(new char[13000], 13000);
	printf("again %d\n", p[12999]);
	delete[] ends(p);
}
#endif

static void *thread(void *arg)
{
	for (int i = 0; i < 20; i++) {
		char *p = made((char *)malloc(5000 + (size_t)i), 5000 + (size_t)i);

		free(ends(p));
	}
	return arg;
}

int main()
{
	const char *log = getenv("DETOUR_LOG");
	pthread_t t[4];
	int status;

	lines = (struct lines *)mmap(NULL, sizeof(*lines),
				     PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	c_family();
#ifndef OWN
	cc_family();
#endif
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	fflush(stdout);
	if (!fork()) {
		c_family();
		pthread_create(&t[0], NULL, thread, NULL);
		pthread_join(t[0], NULL);
		fflush(stdout);
		_exit(7);
	}
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	/* Threads that come and go: more of them than there are at a time. */
	for (int i = 0; i < 50; i++) {
		pthread_create(&t[0], NULL, thread, NULL);
		pthread_join(t[0], NULL);
	}
	/* Libraries' calls go there as well. */
	std::string s(100000, 'x');
	printf("string %zu\n", s.size());
	if (log) {
		expected = fopen(log, "w");
		fwrite(lines->text, 1, lines->used, expected);
		fclose(expected);
	}
	return 0;
}
