// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs whose cost is in something else than faults. usage: load WHAT N.
 * Each prints the same in every run.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static long sum;

static void *live_thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}

static void live(long n)
{
	pthread_t *t = malloc(n * sizeof(*t));
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	pthread_barrier_init(&barrier, NULL, n + 1);
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], &a, live_thread, NULL))
			abort();
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
	sum = n;
}

static void *short_thread(void *arg)
{
	return (void *)((long)arg * 3);
}

static void brief(long n)
{
	pthread_t t;
	void *r;

	for (long i = 0; i < n; i++) {
		if (pthread_create(&t, NULL, short_thread, (void *)i) ||
		    pthread_join(t, &r))
			abort();
		sum += (long)r;
	}
}

static void forks(long n)
{
	char *p = malloc(1 << 20);
	int status;

	memset(p, 1, 1 << 20);
	for (long i = 0; i < n; i++) {
		if (!fork()) {
			p[i % 256 * 4096] = 2;
			_exit(i & 7);
		}
		wait(&status);
		sum += WEXITSTATUS(status);
	}
}

static void work(volatile char *p, size_t len)
{
	for (size_t i = 0; i < len; i += 64)
		p[i]++;
}

/* Memory that is filled when it is mapped; some mappings come and go. */
static void locked(long n)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		puts("cannot lock");
	for (long i = 0; i < n; i++) {
		size_t len = (1 + i % 16) << 16;
		char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		work(p, len);
		sum += p[64];
		munmap(p, len);
	}
}

/* What numerical programs in an interpreter do: each result is a new array. */
static void arrays(long n)
{
	size_t len = 5 << 20;

	for (long i = 0; i < n; i++) {
		double *a = malloc(len), s = 0;

		for (size_t k = 0; k < len / 8; k++)
			a[k] = i + k;
		for (size_t k = 0; k < len / 8; k++)
			s += a[k];
		sum += (long)s & 0xff;
		free(a);
	}
}

static __attribute__((noinline)) long deep(long depth)
{
	char *volatile p = malloc(100);
	long r;

	p[0] = depth;
	r = depth ? deep(depth - 1) + p[0] : 1;
	free(p);
	return r;
}

static void recursion(long n)
{
	for (long i = 0; i < n; i++)
		sum += deep(100);
}

static void small(long n)
{
	void *p[1024] = { 0 };

	for (long i = 0; i < n; i++) {
		unsigned int k = (uint32_t)i * 2654435761u >> 22;

		free(p[k]);
		p[k] = malloc(16 + (i & 255));
		*(char *)p[k] = i;
	}
	sum = n;
}

/* A storm of small mappings. */
static void maps(long n)
{
	for (long i = 0; i < n; i++) {
		char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		p[4096] = i;
		sum += p[4096];
		munmap(p, 65536);
	}
}

/* A heap that gives memory back and takes it again. */
static void discard(long n)
{
	size_t len = 256 << 10;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (long i = 0; i < n; i++) {
		work(p, len);
		madvise(p, len, MADV_DONTNEED);
	}
	sum = p[0];
}

/* Half of the time it sleeps. */
static void pauses(long n)
{
	char *p = calloc(1, 16 << 20);

	for (long i = 0; i < n; i++) {
		for (int k = 0; k < 8; k++)
			work(p, 16 << 20);
		usleep(10000);
	}
	sum = p[64];
	free(p);
}

/* Two processes that wait for each other, n times. */
static void switches(long n)
{
	int there[2], back[2];
	char c = 0;

	if (pipe(there) || pipe(back))
		exit(1);
	if (!fork()) {
		while (n-- && read(there[0], &c, 1) == 1 &&
		       write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	while (n-- && write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1)
		;
	wait(NULL);
}

static const struct {
	const char *name;
	void (*run)(long n);
} loads[] = {
	{ "live", live },	{ "brief", brief },   { "forks", forks },
	{ "locked", locked },	{ "arrays", arrays }, { "small", small },
	{ "recursion", recursion }, { "maps", maps }, { "discard", discard },
	{ "pauses", pauses },	{ "switches", switches },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(loads) / sizeof(*loads); i++)
		if (!strcmp(argv[1], loads[i].name)) {
			loads[i].run(atol(argv[2]));
			printf("%s %ld\n", argv[1], sum);
			return 0;
		}
	return 2;
}
