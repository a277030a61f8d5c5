/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads: many, short, outliving main, locking, cancelled. */
#include "case.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define THREADS 1000

static char *area;
static uint64_t total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *own_page(void *arg)
{
	uintptr_t n = (uintptr_t)arg;

	*(uint64_t *)(area + n * PAGE) = n * n;
	pthread_mutex_lock(&lock);
	total += *(uint64_t *)(area + n * PAGE);
	pthread_mutex_unlock(&lock);
	return (void *)(n + 1);
}

static void thousand(void)
{
	static pthread_t t[THREADS];
	void *ret;

	area = map_pages(THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, own_page, (void *)i) == 0);
	for (uintptr_t i = 0; i < THREADS; i++) {
		CHECK(pthread_join(t[i], &ret) == 0);
		CHECK(ret == (void *)(i + 1));
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(*(uint64_t *)(area + i * PAGE) == i * i);
	printf("%lu\n", total);
}

static pthread_barrier_t barrier;

static void *at_barrier(void *arg)
{
	uintptr_t n = (uintptr_t)arg;

	for (int round = 0; round < 5; round++) {
		*(uint64_t *)(area + n * PAGE) += round;
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* All alive at once. */
static void together(void)
{
	static pthread_t t[500];
	pthread_attr_t attr;

	area = map_pages(500);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_barrier_init(&barrier, NULL, 500);
	for (uintptr_t i = 0; i < 500; i++)
		CHECK(pthread_create(&t[i], &attr, at_barrier, (void *)i) == 0);
	for (int i = 0; i < 500; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	for (int i = 0; i < 500; i++)
		CHECK(*(uint64_t *)(area + i * PAGE) == 10);
	puts("500 threads at five barriers");
}

static void *outlive(void *arg)
{
	char *p = map_pages(64);

	pause_ms(200);
	fill(p, 64, 1);
	pause_ms(60);
	CHECK(filled(p, 64, 1));
	puts("main is long gone");
	fflush(stdout);
	_exit(6);
}

static void outlives_main(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, outlive, NULL) == 0);
	pthread_exit(NULL);
}

struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t sem;
	int turn;
};

static struct shared *shared_init(int robust)
{
	struct shared *s = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1,
				0);
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;

	CHECK(s != MAP_FAILED);
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	if (robust)
		pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(&s->mutex, &ma) == 0);
	pthread_condattr_init(&ca);
	pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_cond_init(&s->cond, &ca) == 0);
	CHECK(sem_init(&s->sem, 1, 0) == 0);
	return s;
}

/* The owner dies; the kernel walks its list in user memory and wakes us. */
static void robust(void)
{
	struct shared *s = shared_init(1);
	int pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		CHECK(pthread_mutex_lock(&s->mutex) == 0);
		sem_post(&s->sem);
		pause_ms(100);
		_exit(0); /* still holding it */
	}
	CHECK(sem_wait(&s->sem) == 0);
	CHECK(pthread_mutex_lock(&s->mutex) == EOWNERDEAD);
	CHECK(pthread_mutex_consistent(&s->mutex) == 0);
	CHECK(pthread_mutex_unlock(&s->mutex) == 0);
	CHECK(pthread_mutex_lock(&s->mutex) == 0);
	wait_ok(pid);
	puts("the owner died");
}

static pthread_mutex_t private_robust;
static sem_t held;

static void *die_holding(void *arg)
{
	CHECK(pthread_mutex_lock(&private_robust) == 0);
	sem_post(&held);
	pause_ms(60);
	return NULL;
}

/* The same in one process: the list lies in private memory. */
static void robust_thread(void)
{
	pthread_mutexattr_t ma;
	pthread_t t;

	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(&private_robust, &ma) == 0);
	CHECK(sem_init(&held, 0, 0) == 0);
	for (int i = 0; i < 5; i++) {
		CHECK(pthread_create(&t, NULL, die_holding, NULL) == 0);
		while (sem_wait(&held))
			CHECK(errno == EINTR);
		CHECK(pthread_mutex_lock(&private_robust) == EOWNERDEAD);
		CHECK(pthread_mutex_consistent(&private_robust) == 0);
		CHECK(pthread_mutex_unlock(&private_robust) == 0);
		CHECK(pthread_join(t, NULL) == 0);
	}
	puts("five owners died");
}

static void ping_pong(void)
{
	struct shared *s = shared_init(0);
	int pid = fork(), me;

	CHECK(pid >= 0);
	me = pid == 0;
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&s->mutex);
		while (s->turn % 2 != me)
			pthread_cond_wait(&s->cond, &s->mutex);
		s->turn++;
		pthread_cond_broadcast(&s->cond);
		pthread_mutex_unlock(&s->mutex);
	}
	if (me)
		_exit(0);
	wait_ok(pid);
	printf("%d turns\n", s->turn);
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int queue[256];
static int queued, taken;

static void *consumer(void *arg)
{
	uintptr_t sum = 0;

	for (;;) {
		int v;

		pthread_mutex_lock(&lock);
		while (taken == queued)
			pthread_cond_wait(&cond, &lock);
		v = queue[taken++ % 256];
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
		if (v < 0)
			return (void *)sum;
		sum += v;
	}
}

/* Private futexes in memory whose pages come and go. */
static void queue_work(void)
{
	pthread_t t[4];
	uintptr_t sum = 0;

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, consumer, NULL) == 0);
	for (int i = 0; i < 20004; i++) {
		pthread_mutex_lock(&lock);
		while (queued - taken == 256)
			pthread_cond_wait(&cond, &lock);
		queue[queued++ % 256] = i < 20000 ? i : -1;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 4; i++) {
		void *ret;

		CHECK(pthread_join(t[i], &ret) == 0);
		sum += (uintptr_t)ret;
	}
	printf("%lu\n", sum);
}

static void *sleepy(void *arg)
{
	char *p = map_pages(16);

	fill(p, 16, 1);
	for (;;)
		pause_ms(1000);
	return NULL;
}

static void cancelled(void)
{
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		void *ret;

		CHECK(pthread_create(&t, NULL, sleepy, NULL) == 0);
		pause_ms(2);
		CHECK(pthread_cancel(t) == 0);
		CHECK(pthread_join(t, &ret) == 0);
		CHECK(ret == PTHREAD_CANCELED);
	}
	puts("fifty threads cancelled");
}

static volatile int ticks;

static void on_thread_timer(union sigval v)
{
	__atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}

static void timer_threads(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_notify_function = on_thread_timer };
	struct itimerspec every = { { 0, 5000000 }, { 0, 5000000 } };
	timer_t t;

	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0);
	CHECK(timer_settime(t, 0, &every, NULL) == 0);
	while (ticks < 20)
		pause_ms(5);
	CHECK(timer_delete(t) == 0);
	puts("twenty ticks in threads");
}

static void *mapper(void *arg)
{
	uintptr_t seed = (uintptr_t)arg;

	for (int i = 0; i < 1500; i++) {
		size_t pages = 1 + (seed * 7 + i) % 30;
		char *p = map_pages(pages);

		fill(p, pages, seed + i);
		if (i % 5 == 0)
			CHECK(mprotect(p, PAGE, PROT_READ) == 0 &&
			      mprotect(p, PAGE, RW) == 0);
		if (i % 7 == 0) {
			p = mremap(p, pages * PAGE, 2 * pages * PAGE,
				   MREMAP_MAYMOVE);
			CHECK(p != MAP_FAILED);
			CHECK(filled(p, pages, seed + i));
			pages *= 2;
		} else {
			CHECK(filled(p, pages, seed + i));
		}
		CHECK(munmap(p, pages * PAGE) == 0);
	}
	return NULL;
}

/* Four threads change the address space at once; children come and go. */
static void racing_maps(void)
{
	pthread_t t[4];

	for (uintptr_t i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, mapper, (void *)i) == 0);
	for (int i = 0; i < 5; i++) {
		int pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(0);
		wait_ok(pid);
	}
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	puts("6000 mappings");
}

static void *named(void *arg)
{
	char name[16];

	CHECK(prctl(PR_SET_NAME, "renamed") == 0);
	CHECK(pthread_getname_np(pthread_self(), name, sizeof(name)) == 0);
	return strdup(name);
}

static void names(void)
{
	pthread_t t;
	void *name;

	CHECK(pthread_create(&t, NULL, named, NULL) == 0);
	CHECK(pthread_join(t, &name) == 0);
	puts(name);
}

static const struct test_case cases[] = {
	{ "thousand", thousand },
	{ "together", together },
	{ "outlives-main", outlives_main },
	{ "robust", robust },
	{ "robust-thread", robust_thread },
	{ "ping-pong", ping_pong },
	{ "queue", queue_work },
	{ "cancelled", cancelled },
	{ "timer-threads", timer_threads },
	{ "racing-maps", racing_maps },
	{ "names", names },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
