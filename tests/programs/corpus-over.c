/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The corpus: memory at an address where Moca's may be, in a program of threads. */
#include "case.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define AT ((char *)0x320000000000)
#define SIZE (1ul << 45)

/* What threads do meanwhile: compute, wait in a call, wait for each other. */
static pthread_barrier_t begun;
static atomic_int stop;
static int to_read[2], to_poll[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long events;

static void *computes(void *arg)
{
	double x[64] = { 0 };

	(void)arg;
	pthread_barrier_wait(&begun);
	for (long i = 0; i < 6400 || !stop; i++)
		x[i % 64] += 0.25;
	for (int i = 0; i < 64; i++)
		CHECK(x[i] >= 25 && x[i] * 4 == (double)(long)(x[i] * 4));
	return NULL;
}

static void *reads(void *arg)
{
	char c[4];

	(void)arg;
	pthread_barrier_wait(&begun);
	CHECK(read(to_read[0], c, sizeof(c)) == 3);
	return NULL;
}

static void *waits(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&begun);
	while (!stop)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *polls(void *arg)
{
	struct pollfd p = { .fd = to_poll[0], .events = POLLIN };

	(void)arg;
	pthread_barrier_wait(&begun);
	events = poll(&p, 1, -1);
	return NULL;
}

/* A recording of pages may leave less resident. */
static const char *resident(const void *at)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[4096];
	int here = 0;
	long kb = -1;

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f)) {
		if (strtoul(line, NULL, 16) == (unsigned long)at)
			here = 1;
		if (here && !strncmp(line, "Rss:", 4)) {
			kb = strtol(line + 4, NULL, 10);
			break;
		}
	}
	fclose(f);
	return kb >= 0 && kb <= 256 ? "no other page" : "other pages";
}

static char *map_over(void)
{
	char *p = mmap(AT, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		       -1, 0);

	CHECK(p == AT);
	madvise(p, SIZE, MADV_NOHUGEPAGE);
	fill(p, 64, 7);
	return p;
}

/* Only the program writes to AT: no page but those that it fills has contents. */
static void threads(void)
{
	static void *(*const run[])(void *) = {
		computes, computes, reads, waits, polls,
	};
	const unsigned int n = sizeof(run) / sizeof(*run);
	pthread_t t[sizeof(run) / sizeof(*run)];
	char *p;

	CHECK(!pipe(to_read) && !pipe(to_poll));
	pthread_barrier_init(&begun, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++)
		CHECK(!pthread_create(&t[i], NULL, run[i], NULL));
	pthread_barrier_wait(&begun);
	p = map_over();
	pthread_mutex_lock(&mutex);
	stop = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	CHECK(write(to_read[1], "xyz", 3) == 3);
	CHECK(write(to_poll[1], "xyz", 3) == 3);
	for (unsigned int i = 0; i < n; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(filled(p, 64, 7));
	printf("%ld event, %s\n", events, resident(p));
}

static pthread_barrier_t both;

static void *maps_too(void *arg)
{
	pthread_barrier_wait(&both);
	CHECK(map_over() == AT);
	return arg;
}

/* Two of them at once. */
static void racing(void)
{
	pthread_t t;

	pthread_barrier_init(&both, NULL, 2);
	CHECK(!pthread_create(&t, NULL, maps_too, NULL));
	maps_too(NULL);
	CHECK(!pthread_join(t, NULL));
	printf("%s\n", resident(AT));
}

/* By another call than mmap. */
static void segment(void)
{
	int id = shmget(IPC_PRIVATE, 64 * PAGE, 0600);

	CHECK(id >= 0);
	CHECK(shmat(id, AT, SHM_REMAP) == AT);
	CHECK(!shmctl(id, IPC_RMID, NULL));
	fill(AT, 64, 5);
	for (int i = 0; i < 100000; i++)
		CHECK(AT[i % (64 * PAGE)] == AT[i % (64 * PAGE)]);
	CHECK(filled(AT, 64, 5));
	printf("%s\n", resident(AT));
}

/* Nothing is mapped there: what calls say that would change it. */
static void nothing(void)
{
	struct iovec v = { AT, 64 * PAGE };

	printf("remap_file_pages: %d", remap_file_pages(AT, PAGE, 0, 1, 0));
	printf(", %s\n", strerror(errno));
	printf("mprotect: %d", mprotect(AT, SIZE, PROT_NONE));
	printf(", %s\n", strerror(errno));
	printf("madvise: %d", madvise(AT, SIZE, MADV_DONTNEED));
	printf(", %s\n", strerror(errno));
	printf("mremap: %d", mremap(AT, PAGE, 2 * PAGE, MREMAP_MAYMOVE) ==
				     MAP_FAILED);
	printf(", %s\n", strerror(errno));
	syscall(SYS_process_madvise, -1, &v, 1, MADV_DONTNEED, 0);
	printf("munmap: %d\n", munmap(AT, SIZE));
}

/* One of these calls is the first, each time. */
static void alone(void)
{
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		int pid = fork();

		if (!pid) {
			if (i == 0)
				printf("%d\n", mprotect(AT, SIZE, PROT_NONE));
			if (i == 1)
				printf("%d\n", remap_file_pages(AT, PAGE, 0, 1, 0));
			if (i == 2)
				printf("%d\n", madvise(AT, SIZE, MADV_DONTFORK));
			fflush(stdout);
			_exit(0);
		}
		CHECK(wait_for(pid) == 0);
	}
}

/* Of the address space there is left what holes of up to 32 MiB have. */
static void fill_space(void)
{
	for (size_t size = 1ul << 46; size > 1ul << 24; size >>= 1)
		while (mmap(NULL, size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0) != MAP_FAILED)
			;
}

static void full(void)
{
	pthread_t t;
	char *p;

	pthread_barrier_init(&begun, NULL, 2);
	CHECK(!pthread_create(&t, NULL, computes, NULL));
	fill_space();
	pthread_barrier_wait(&begun);
	p = map_over();
	stop = 1;
	CHECK(!pthread_join(t, NULL));
	CHECK(filled(p, 64, 7));
	printf("%s\n", resident(p));
}

/* The task waits, as Moca does in its thread for a child of vfork; or has mapped. */
static int is_waiting(int tid)
{
	char path[64], text[16] = "";
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : (int)read(fd, text, sizeof(text) - 1);
	close(fd);
	return n < 0 || atoi(text) == SYS_nanosleep;
}

static int lives(void *arg)
{
	while (!stop)
		sched_yield();
	(void)arg;
	return 0;
}

static atomic_int maps, mapped;

/* More than begin at one time, and live on. */
static int begins(void *arg)
{
	static char stacks[24][16384] __attribute__((aligned(16)));
	int pid = *(int *)arg;

	maps = 1;
	while (!mapped && !is_waiting(pid))
		sched_yield();
	for (int i = 0; i < 24; i++)
		if (clone(lives, stacks[i] + sizeof(stacks[i]),
			  CLONE_VM | CLONE_PARENT | SIGCHLD, NULL) < 0 && errno != EAGAIN)
			return 1;
	return 0;
}

static void *makes(void *arg)
{
	static char stack[65536] __attribute__((aligned(16)));
	int pid = clone(begins, stack + sizeof(stack),
			CLONE_VM | CLONE_VFORK | SIGCHLD, arg);

	CHECK(pid > 0 && wait_for(pid) == 0);
	return NULL;
}

/* Tasks begin while Moca leaves its memory, in an address space that is full. */
static void crowded(void)
{
	int self = getpid();
	pthread_t t;
	char *p;

	CHECK(!pthread_create(&t, NULL, makes, &self));
	fill_space();
	while (!maps)
		;
	p = map_over();
	mapped = 1;
	CHECK(!pthread_join(t, NULL));
	stop = 1;
	while (wait(NULL) > 0)
		;
	CHECK(filled(p, 64, 7));
	printf("%s\n", resident(p));
}

/* Neither may ask for the other by kcmp: no rights, and it is not dumpable. */
static int shares(void *arg)
{
	volatile double *x = arg;

	for (long i = 0; i < 6400 || !stop; i++)
		x[i % 64] += 0.25;
	return 0;
}

static void undumpable(void)
{
	static double x[64];
	static char stack[65536] __attribute__((aligned(16)));
	char *p;
	int pid;

	CHECK(getuid() || !setuid(65534));
	CHECK(!prctl(PR_SET_DUMPABLE, 0));
	pid = clone(shares, stack + sizeof(stack), CLONE_VM | SIGCHLD, x);
	CHECK(pid > 0);
	while (!((volatile double *)x)[63])
		;
	p = map_over();
	stop = 1;
	CHECK(wait_for(pid) == 0);
	CHECK(filled(p, 64, 7));
	for (int i = 0; i < 64; i++)
		CHECK(x[i] >= 25 && x[i] * 4 == (double)(long)(x[i] * 4));
	CHECK(!prctl(PR_SET_DUMPABLE, 1));
	printf("%s\n", resident(p));
}

static const struct test_case cases[] = {
	{ "threads", threads },
	{ "racing", racing },
	{ "segment", segment },
	{ "nothing", nothing },
	{ "alone", alone },
	{ "full", full },
	{ "crowded", crowded },
	{ "undumpable", undumpable },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
