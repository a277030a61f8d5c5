// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads whose page faults and CPU time are known. Prints "minor major cpu_us" of
 * itself and of the children it waited for, as getrusage has them.
 *
 * usage: load touch PAGES | spin MS | threads N PAGES | stay N PAGES |
 *             short N PAGES | children N PAGES | orphan MS | idle N MS | busy N MS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static size_t pages;
static pthread_barrier_t barrier;

static void touch(size_t n)
{
	char *p = mmap(NULL, n * PAGE + PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	if (p == MAP_FAILED)
		exit(1);
	madvise(p, n * PAGE + PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < n; i++)
		p[i * PAGE] = 1;
	munmap(p, n * PAGE + PAGE);
}

static unsigned long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000 + (unsigned long)ts.tv_nsec / 1000000;
}

static void spin(unsigned long ms)
{
	unsigned long end = now_ms() + ms;

	while (now_ms() < end)
		;
}

/*
 * Each lives over several samples, on a busy machine as well, and touches k times
 * as many as the first.
 */
static void *long_thread(void *arg)
{
	usleep(150000);
	touch(pages * (size_t)arg);
	usleep(700000);
	return NULL;
}

static volatile int stays = 1;

/* Touches them again and again, until the end of stdin. */
static void *staying_thread(void *arg)
{
	while (stays) {
		touch(pages * (size_t)arg);
		usleep(200000);
	}
	return NULL;
}

static void *short_thread(void *arg)
{
	touch(pages);
	return NULL;
}

static void *idle_thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

/* Some work of its own in each sample. */
static void *busy_thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (;;) {
		touch(1);
		usleep(20000);
	}
	return NULL;
}

static void start(pthread_t *t, void *(*f)(void *), void *arg)
{
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 * 1024);
	if (pthread_create(t, &a, f, arg)) {
		perror("pthread_create");
		exit(1);
	}
}

static void many(void *(*f)(void *), size_t n, unsigned long ms)
{
	pthread_t t;
	size_t i;

	pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
	for (i = 0; i < n; i++)
		start(&t, f, NULL);
	pthread_barrier_wait(&barrier);
	printf("ready\n");
	fflush(stdout);
	usleep((useconds_t)ms * 1000);
}

/*
 * A grandchild burns ms and is left to this process, which waits for it once its
 * standard input ends, and lives for a second more.
 */
static void orphan(unsigned long ms)
{
	int done[2];
	char c;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe(done))
		exit(1);
	if (!fork()) {
		if (!fork()) {
			/* By its own CPU time, however busy the machine is. */
			while (clock() < (clock_t)(ms * (CLOCKS_PER_SEC / 1000)))
				;
			_exit(write(done[1], "", 1) != 1);
		}
		_exit(0);
	}
	if (read(done[0], &c, 1) != 1)
		exit(1);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	while (wait(NULL) > 0)
		;
	spin(20);
	usleep(999999);
}

static void report(void)
{
	struct rusage a, b;

	getrusage(RUSAGE_SELF, &a);
	getrusage(RUSAGE_CHILDREN, &b);
	printf("%ld %ld %ld\n", a.ru_minflt + b.ru_minflt,
	       a.ru_majflt + b.ru_majflt,
	       1000000 * (a.ru_utime.tv_sec + a.ru_stime.tv_sec +
			  b.ru_utime.tv_sec + b.ru_stime.tv_sec) +
	       a.ru_utime.tv_usec + a.ru_stime.tv_usec +
	       b.ru_utime.tv_usec + b.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, i;
	const char *what = argc > 2 ? argv[1] : "";
	pthread_t t[64];
	char c;

	pages = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	usleep(120000);
	if (!strcmp(what, "touch")) {
		touch(n);
	} else if (!strcmp(what, "spin")) {
		spin(n);
	} else if (!strcmp(what, "threads")) {
		for (i = 0; i < n && i < 64; i++)
			start(&t[i], long_thread, (void *)(i + 1));
		for (i = 0; i < n && i < 64; i++)
			pthread_join(t[i], NULL);
	} else if (!strcmp(what, "stay") && n <= 64) {
		for (i = 0; i < n; i++)
			start(&t[i], staying_thread, (void *)(i + 1));
		while (read(0, &c, 1) > 0)
			;
		stays = 0;
		for (i = 0; i < n; i++)
			pthread_join(t[i], NULL);
	} else if (!strcmp(what, "short")) {
		for (i = 0; i < n; i++) {
			start(t, short_thread, NULL);
			pthread_join(t[0], NULL);
		}
	} else if (!strcmp(what, "children")) {
		for (i = 0; i < n; i++) {
			if (!fork()) {
				touch(pages);
				_exit(0);
			}
			wait(NULL);
		}
	} else if (!strcmp(what, "orphan")) {
		orphan(n);
	} else if (!strcmp(what, "idle")) {
		many(idle_thread, n, pages);
	} else if (!strcmp(what, "busy")) {
		many(busy_thread, n, pages);
	} else {
		return 2;
	}
	report();
	return 0;
}
